"""Every name of Thalweg's that the documentation writes exists, and every error a user may catch is public."""

from __future__ import annotations

import builtins
import inspect
import re
from pathlib import Path

import pytest

import thalweg as tw
from thalweg import errors

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
OBJECTS = {
    r"keep\.([a-z]\w+)": tw.Filters,
    r"s\.([a-z]\w+)\(": tw.Session,  # in SQL, s is a stream, whose columns are not called
    r"q\.([a-z]\w+)": tw.ContinuousQuery,
    r"j\.([a-z]\w+)": tw.Join,
}
"""What the pages call an object of each class."""


def names(page: Path, pattern: str) -> set[str]:
    return set(re.findall(pattern, page.read_text(encoding="utf-8")))


def known(cls: type) -> set[str]:
    """Methods, properties and what is set when an object is made."""
    return set(dir(cls)) | set(re.findall(r"self\.([a-z]\w*)", inspect.getsource(cls)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_name_in_the_documentation_exists(page: Path):
    assert {name for name in names(page, r"\btw\.(\w+)") if name not in tw.__all__} == set()
    assert {
        name for name in names(page, r"`(\w+Error)`") if not hasattr(tw, name) and not hasattr(builtins, name)
    } == set()
    for written, cls in OBJECTS.items():
        assert names(page, rf"(?<![\w./-]){written}") - known(cls) == set(), f"of an object of {cls.__name__}"


def test_every_error_is_public():
    made = {name for name, thing in vars(errors).items() if inspect.isclass(thing) and issubclass(thing, Exception)}
    assert made <= set(tw.__all__)
    assert all(hasattr(tw, name) for name in tw.__all__)
