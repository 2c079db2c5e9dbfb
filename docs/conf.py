"""The documentation site: `make docs` builds it into build/docs, from these pages and the docstrings of `src`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pygments.lexers.special import TextLexer

import thalweg

project = "Thalweg"
author = "The Thalweg authors"
copyright = f"2026, {author}"
release = version = thalweg.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_templates", "lab/*/**"]
templates_path = ["_templates"]

# The pages are Markdown as GitHub shows it; a link to a heading of another page is `page.md#heading`.
myst_heading_anchors = 4

default_role = "code"  # `name` in a docstring
add_module_names = False
autosummary_generate = False  # docs/api/*.md list the names themselves
autodoc_member_order = "bysource"
autodoc_typehints = "description"  # signatures with all their types are too long to read
autodoc_typehints_description_target = "documented"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_rtype = False
python_maximum_signature_line_length = 80

html_theme = "pydata_sphinx_theme"
html_title = "Thalweg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_sidebars = {"**": ["all-pages.html"]}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_center": [],  # the side bar lists every page
    "navbar_persistent": [],
    "navbar_end": ["search-button", "theme-switcher"],
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def setup(app: Any) -> None:
    """Put the README on the front page, and show Mermaid sources as text: drawing them would need a script."""
    app.add_lexer("mermaid", TextLexer)
    app.connect("source-read", prepare_page)
    app.connect("autodoc-process-signature", hide_constructor)


def prepare_page(app: Any, page: str, source: list[str]) -> None:
    """Resolve the links of a page. Files outside of this folder are not part of the site: their paths are shown."""
    if page == "index":
        app.env.note_dependency(str(ROOT / "README.md"))
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        source[0] = source[0].replace("<!-- README.md -->", re.sub(r"(\]\(|src=\")docs/", r"\1", readme))
    outside = FROM_README if page == "index" else FROM_PAGE if "/" not in page else FROM_FOLDER
    source[0] = re.sub(outside, path_as_text, source[0])


def hide_constructor(app: Any, what: str, name: str, *ignored: object) -> tuple[str, str] | None:
    """Leave out the parameters of classes that only functions such as `thalweg.filters` construct."""
    return ("", "") if what == "class" and name.rpartition(".")[2] in MADE_BY_FUNCTIONS else None


def path_as_text(link: re.Match[str]) -> str:
    """Return a link's text and, unless it is the same, the path that it leads to."""
    text, path = link[1], link[2]
    return f"`{path}`" if text.strip("`") in (path, f"{path.split('/')[0]}/") else f"{text} (`{path}`)"


MADE_BY_FUNCTIONS = {
    "ContinuousQuery", "Explanation", "Filters", "Handle", "Join", "JoinObserved", "JoinReport", "JoinSection",
    "NativeObserved", "NativePredicate", "Observed", "Predicate", "PredicateReport", "QueryReport", "Report", "Section",
    "Session", "Skipped", "StreamReport", "SwitchReport", "Switched", "TableReport", "Trace", "VerdictGiven",
}  # fmt: skip
ROOT = Path(__file__).parents[1]
FROM_README = r"\[([^\]]+)\]\(((?:examples|src|bench|tests)/[^):#]*|[A-Z_]+(?:\.md)?)\)"
FROM_PAGE = r"\[([^\]]+)\]\(\.\./([^):#]+)\)"
FROM_FOLDER = r"\[([^\]]+)\]\(\.\./\.\./([^):#]+)\)"
