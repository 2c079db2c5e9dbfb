"""Every Thalweg name in the documentation exists, and every error that a user may catch is public."""

from __future__ import annotations

import builtins
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import thalweg
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
"""How the pages name an object of each class."""


def names(page: Path, pattern: str) -> set[str]:
    return set(re.findall(pattern, page.read_text(encoding="utf-8")))


def known(cls: type) -> set[str]:
    """Return the methods and properties of a class, and the attributes that its constructor sets."""
    return set(dir(cls)) | set(re.findall(r"self\.([a-z]\w*)", inspect.getsource(cls)))


EXCEPTION = r"\b([A-Z]\w*(?:Error|Exception|Warning))\b"
OF_OTHERS = {"StackOverflowError"}
"""Java exceptions that the pages mention."""


def unknown_exceptions(text: str) -> set[str]:
    """Return the exceptions that a text names and that a reader can import neither from Thalweg nor from Python."""
    named = set(re.findall(EXCEPTION, text)) - OF_OTHERS
    return {name for name in named if name not in tw.__all__ and not hasattr(builtins, name)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_name_in_the_documentation_exists(page: Path) -> None:
    assert {name for name in names(page, r"\btw\.(\w+)") if name not in tw.__all__} == set()
    assert unknown_exceptions(page.read_text(encoding="utf-8")) == set()
    for written, cls in OBJECTS.items():
        assert names(page, rf"(?<![\w./-]){written}") - known(cls) == set(), f"of an object of {cls.__name__}"


def test_every_exception_in_a_public_docstring_exists() -> None:
    assert unknown_exceptions("a `NobodysError`, or TimeLimitError") == {"NobodysError"}
    for name in tw.__all__:
        public = getattr(tw, name)
        members = vars(public).values() if inspect.isclass(public) else ()
        for each in (public, *(member for member in members if callable(member))):
            assert unknown_exceptions(inspect.getdoc(each) or "") == set(), name


def test_every_error_is_public() -> None:
    """A user can catch every error that Thalweg raises, wherever it is defined."""
    for module in pkgutil.walk_packages(thalweg.__path__, "thalweg."):
        if not module.name.startswith("thalweg.lab"):  # its extra need not be installed
            importlib.import_module(module.name)
    found, waiting = set(), [errors.ThalwegError]
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        if cls.__module__.partition(".")[0] == "thalweg":  # and not of a test
            found.add(cls.__name__)
    assert len(found) > 10
    assert found <= set(tw.__all__)
    assert all(hasattr(tw, name) for name in tw.__all__)
