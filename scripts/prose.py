"""Count words and docstrings that make a reader stop: `make prose`.

The rules are those of CONTRIBUTING.md, "Language". They are checked in the documentation, in all texts of `src` (which
include what errors, reports and `explain` print), and in docstrings and comments. The exit code is 1 if anything is
found that `EXCEPTIONS` does not list.
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
_SPACE = r"(?: |\n[ #>]*)"
"""Between two words of a rule: a line of prose may end there."""
_NUMBER = r"(?:\d(?:[\d,.]*\d)?|one|two|three|four|five|six|ten|twelve|hundred|thousand|million|several|few)"
_UNIT = r"(?:ns|µs|us|ms|s|seconds|bytes|MB|GB|rows|times|calls|files|probes|results|lines|filters|once|twice|\d+)"
_TIME = r"an? (?:row|tuple|second(?! time)|minute|hour|day|batch|call)"
_THING = r"an? (?:row|batch|call|file|policy|stream|query|slice|probe|predicate|filter|page|task|worker|key)"
_SMALL = r"(?:of|in|for|to|with|by|on|as|at|from|is|and|or|are|has|was|than|like|if|into|that|per|over|not|under|makes)"
RULES = {
    r"told|tells?|telling": "reports, logs, prints, shows, says",
    r"dear|dearer|dearest|dearly": "expensive",
    r"for ?ever": "indefinitely",
    rf"{_UNIT} {_TIME}|{_NUMBER} (?!{_SMALL}\b)[a-zµ]+ (?:{_TIME}|{_THING})": "per",
    r"some (?:ten|hundred|thousand|\d[\d,]*) (?:thousand|hundred|million|rows|seconds|minutes|files)": "about",
    r"whoever|nobody|somebody": "name who it is, or use the passive",
    r"(?:stands?|stood) (?:after|at|in|on|there|here|behind|before|between|below|above|first|last)": "is, comes",
    r"behind": "after",
    r"of an? [a-z]+ or more": "one ... or longer, at least one",
    r"leave[s]? word": "writes a record, notes",
    r"can be had|is had|are had": "is available",
}
"""Words that are not used, and what to write instead."""
EXCEPTIONS = {
    r"look-behind|looks behind": "the name of an assertion in regular expressions",
    r"furthest behind(?:, \S+ behind)?": "how far a stream is in time, not its position",
    r"fall(?:s|en) behind": "how fast something is, not its position",
    r"not \"behind\"": "CONTRIBUTING.md names the word in order to rule it out",
}
"""Phrases in which these words are meant as they are, and why."""
FEWEST_WORDS = 4
"""A docstring with fewer words cannot say what something does."""
DOCUMENTS = ("*.md", "docs/**/*.md", "examples/**/*.md")
CODE = ("src", "bench", "tests", "scripts", "examples", "docs")
"""Folders whose Python files are read."""


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
        "texts": [found for path in sources("src") for found in in_texts(path)],
        "docstrings and comments": [found for path in sources(*CODE) for found in in_prose(path)],
        "short docstrings": [found for path in sources(*CODE) for found in short_docstrings(path)],
    }
    places = [found for part in parts.values() for found in part]
    print("\n".join(map(str, places)), end="\n" if places else "")
    print(", ".join(f"{name}: {len(found)}" for name, found in parts.items()))
    return int(bool(places))


def sources(*folders: str) -> list[Path]:
    """Return the Python files of folders."""
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def in_documents() -> Iterator[Found]:
    """Places in the documentation. Blocks of code are left out."""
    for pattern in DOCUMENTS:
        for path in sorted(ROOT.glob(pattern)):
            text = re.sub(r"```.*?```", lambda block: "\n" * block[0].count("\n"), path.read_text("utf-8"), flags=re.S)
            yield from matches(path, 1, re.sub(r"`[^`\n]*`", "``", text))


def in_texts(path: Path) -> Iterator[Found]:
    """Places in string literals that are not docstrings: messages, tables of messages, reports, help."""
    tree = ast.parse(path.read_text("utf-8"))
    inner: set[ast.AST] = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):  # breadth first: an f-string comes before its parts
        if isinstance(node, ast.JoinedStr):
            inner.update(node.values)
            yield from matches(path, node.lineno, "".join(map(_shown, node.values)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inner:
            yield from matches(path, node.lineno, node.value)


def in_prose(path: Path) -> Iterator[Found]:
    """Places in docstrings, in strings after attributes, and in comments."""
    text = path.read_text("utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            prose = re.sub(r"^\s*>>>.*?(?=\n\s*\n|\Z)", _blank, node.value.value, flags=re.S | re.M)
            yield from matches(path, node.lineno, re.sub(r"`[^`]*`", _blank, prose))
    for line, comment in _comments(text):
        yield from matches(path, line, re.sub(r"`[^`]*`", _blank, comment))


def short_docstrings(path: Path) -> Iterator[Found]:
    """Docstrings of fewer than `FEWEST_WORDS` words."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            docstring = ast.get_docstring(node)
            if docstring is not None and len(docstring.split()) < FEWEST_WORDS:
                line = getattr(node, "lineno", 1)
                yield Found(_relative(path), line, docstring, "what it does or is, in a sentence")


def matches(path: Path, line: int, text: str) -> Iterator[Found]:
    """Places in a text that begins at a line of a file."""
    meant = [found.span() for phrase in EXCEPTIONS for found in re.finditer(_anywhere(phrase), text, flags=re.I)]
    for pattern, instead in RULES.items():
        for found in re.finditer(_anywhere(pattern), text, flags=re.I):
            if not any(begin <= found.start() and found.end() <= end for begin, end in meant):
                line_found = line + text.count("\n", 0, found.start())
                yield Found(_relative(path), line_found, re.sub(r"\s[\s#>]*", " ", found[0]), instead)


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield the comments with their first lines; comments on successive lines are one text."""
    begin, lines = 0, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            if lines and token.start[0] != begin + len(lines):
                yield begin, "\n".join(lines)
                lines = []
            if not lines:
                begin = token.start[0]
            lines.append(token.string)
    if lines:
        yield begin, "\n".join(lines)


def _anywhere(pattern: str) -> str:
    """Return a pattern for whole words, which may be on two lines."""
    start, end = r"\b" if pattern[0] != '"' else "", r"\b" if pattern[-1] != '"' else ""
    return f"{start}(?:{pattern.replace(' ', _SPACE)}){end}"


def _relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _blank(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


def _shown(part: ast.expr) -> str:
    """Return a part of an f-string as it may be printed: a value as a number."""
    return str(part.value) if isinstance(part, ast.Constant) else "0"


if __name__ == "__main__":
    sys.exit(main())
