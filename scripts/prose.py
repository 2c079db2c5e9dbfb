"""Count words and docstrings that make a reader stop: `make prose`.

The rules are those of CONTRIBUTING.md, "Language". They are checked in the documentation, in the messages of errors and
warnings, and in the docstrings and comments of `src`. The exit code is 1 if anything is found that `EXCEPTIONS` does
not list.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
RULES = {
    r"told|tells?|telling": "reports, logs, prints, shows, says",
    r"dear|dearer|dearest|dearly": "expensive",
    r"for ever": "indefinitely",
    r"some (?:ten|hundred|thousand|\d[\d,]*) (?:thousand|hundred|million|rows|seconds|minutes|files)": "about",
    r"whoever|nobody|somebody": "name who it is, or use the passive",
    r"stands? (?:behind|before|in front)": "comes after, comes before",
    r"behind (?:the|a|an|it|its|them|each|every|that|which|one)": "after",
    r"leave[s]? word": "writes a record, notes",
    r"can be had|is had|are had": "is available",
}
"""Words that are not used, and what to write instead."""
EXCEPTIONS: dict[tuple[str, str], str] = {}
"""File and text that are meant as they are, and why."""
FEWEST_WORDS = 4
"""A docstring with fewer words cannot say what something does."""
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "docs/**/*.md", "examples/**/*.md")
MESSAGES = {"warn", "warn_deprecated", "fail", "refuse", "_refuse"}
"""Functions whose arguments are shown to users."""


@dataclass(frozen=True)
class Found:
    """A place that breaks a rule."""

    file: str
    line: int
    text: str
    instead: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text!r}; write: {self.instead}"


def main() -> int:
    """Print every place, then a count for each part."""
    parts = {
        "documentation": list(in_documents()),
        "messages": [found for path in sources() for found in in_messages(path)],
        "docstrings and comments": [found for path in sources() for found in in_prose(path)],
        "short docstrings": [found for path in sources() for found in short_docstrings(path)],
    }
    places = [found for part in parts.values() for found in part]
    print("\n".join(map(str, places)), end="\n" if places else "")
    print(", ".join(f"{name}: {len(found)}" for name, found in parts.items()))
    return int(bool(places))


def sources() -> list[Path]:
    """The Python files of the package."""
    return sorted((ROOT / "src").rglob("*.py"))


def in_documents() -> Iterator[Found]:
    """Places in the documentation. Blocks of code are left out."""
    for pattern in DOCUMENTS:
        for path in sorted(ROOT.glob(pattern)):
            text = re.sub(r"```.*?```", lambda block: "\n" * block[0].count("\n"), path.read_text("utf-8"), flags=re.S)
            yield from matches(path, 1, re.sub(r"`[^`\n]*`", "``", text))


def in_messages(path: Path) -> Iterator[Found]:
    """Places in the texts of `raise` statements and of calls that warn or refuse."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and _name(node.func) in MESSAGES):
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield from matches(path, part.lineno, part.value)


def in_prose(path: Path) -> Iterator[Found]:
    """Places in docstrings, in strings after attributes, and in comments."""
    text = path.read_text("utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            prose = re.sub(r"^\s*>>>.*?(?=\n\s*\n|\Z)", _blank, node.value.value, flags=re.S | re.M)
            yield from matches(path, node.lineno, re.sub(r"`[^`]*`", _blank, prose))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield from matches(path, token.start[0], token.string)


def short_docstrings(path: Path) -> Iterator[Found]:
    """Docstrings of fewer than `FEWEST_WORDS` words."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
            docstring = ast.get_docstring(node)
            if docstring is not None and len(docstring.split()) < FEWEST_WORDS:
                line = getattr(node, "lineno", 1)
                yield from _unless_excepted(path, line, docstring, "what it does or is, in a sentence")


def matches(path: Path, line: int, text: str) -> Iterator[Found]:
    """Places in a text that begins at a line of a file."""
    for pattern, instead in RULES.items():
        for found in re.finditer(rf"\b(?:{pattern})\b", text, flags=re.I):
            yield from _unless_excepted(path, line + text.count("\n", 0, found.start()), found[0], instead)


def _unless_excepted(path: Path, line: int, text: str, instead: str) -> Iterator[Found]:
    file = path.relative_to(ROOT).as_posix()
    if (file, text) not in EXCEPTIONS:
        yield Found(file, line, text, instead)


def _blank(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


if __name__ == "__main__":
    sys.exit(main())
