"""Print the figures of the package's size, each with its limit and its target: `make house`.

The exit code is 1 if a figure is beyond its limit. `--no-walks` leaves out the walks, one of
which starts Spark.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

import thalweg as tw
from bench import walk

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "tests", "bench", "scripts")
SHORT = 60
"""A file with fewer lines is short: many of them are one thing in several places."""
RECORDS = ("thalweg.events", "thalweg.report")
"""The packages with records and sections."""


@dataclass(frozen=True)
class Figure:
    """A figure: what it is, and the most or the least that it may be."""

    name: str
    limit: float
    target: float
    least: bool = False
    """Whether the figure must not be below its limit; otherwise it must not be above."""

    def kept(self, value: float) -> bool:
        """Whether a value is within the limit."""
        return value >= self.limit if self.least else value <= self.limit


def lines_of_all() -> int:
    """Return the lines of all Python files."""
    return sum(len(_lines(path)) for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def code_of_src() -> int:
    """Return the lines of code in `src`."""
    return sum(code_and_docstrings(path)[0] for path in _src())


def files_of_src() -> int:
    """Return the number of files in `src`, without `__init__`."""
    return sum(path.name != "__init__.py" for path in _src())


def short_files_of_src() -> int:
    """Return the number of short files in `src`, without `__init__`."""
    return sum(path.name != "__init__.py" and len(_lines(path)) < SHORT for path in _src())


def docstrings_of_src() -> float:
    """Return the lines of docstrings in `src`, in percent of all lines."""
    files = _src()
    return 100 * sum(code_and_docstrings(path)[1] for path in files) / sum(len(_lines(path)) for path in files)


def most_fields() -> int:
    """Return the fields of the largest record or section."""
    return max(len(fields(kind)) for kind in record_types())


def most_parameters() -> int:
    """Return the parameters of the public function or method with most of them."""
    return max(parameters(function) for function in public_functions())


# Limits only fall: lower them with every change that makes a figure smaller. A new capability may raise those of lines,
# code and files, with its reason here. The longest walks are limited by bench/walk.py. The first is above its first
# value of 149,610 because of the goldens of printed texts, and tests of counters, policies' texts and checkpoints.
FIGURES: dict[Figure, Callable[[], float]] = {
    Figure("lines of Python in src, tests, bench and scripts", 151_500, 146_200): lines_of_all,
    Figure("lines of code in src", 39_300, 38_350): code_of_src,
    Figure("files in src, without __init__", 460, 449): files_of_src,
    Figure(f"of these with fewer than {SHORT} lines", 72, 72): short_files_of_src,
    Figure("docstrings in src, % of its lines", 18, 18, least=True): docstrings_of_src,
    Figure("most fields of a record or a section", 18, 20): most_fields,
    Figure("most parameters of a public function", 20, 20): most_parameters,
}


@cache
def code_and_docstrings(path: Path) -> tuple[int, int]:
    """Return the lines of code of a file, and those of the docstrings of its module, classes and functions. A line of
    code is no comment, no import, not blank, and belongs to no docstring. A text below a field is no code either."""
    text = path.read_text("utf-8")
    docstrings: set[int] = set()
    texts: set[int] = set()
    others: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            docstrings |= _lines_of(node.body[0]) if ast.get_docstring(node, clean=False) is not None else set()
        elif isinstance(node, (ast.Import, ast.ImportFrom)) or _is_text(node):
            others |= _lines_of(node)
        elif isinstance(node, (ast.Constant, ast.JoinedStr)):
            texts |= _lines_of(node)  # a line in it is code, whatever it begins with
    lines = enumerate(text.splitlines(), 1)
    begun = {n for n, line in lines if line.strip() and (n in texts or not line.lstrip().startswith("#"))}
    return len(begun - docstrings - others), len(docstrings)


def record_types() -> Iterator[type[Any]]:
    """Yield the dataclasses of records and of sections."""
    for package in RECORDS:
        for module in _modules(package):
            for found in vars(module).values():
                if isinstance(found, type) and is_dataclass(found) and found.__module__ == module.__name__:
                    yield found


def public_functions() -> Iterator[Callable[..., Any]]:
    """Yield the functions that `thalweg` exports, those of its modules, and the named methods of its classes."""
    for name in tw.__all__:
        found = getattr(tw, name)
        if isinstance(found, (type, ModuleType)):
            for member, function in inspect.getmembers(found):
                is_function = inspect.isfunction(function) or inspect.ismethod(function)
                if is_function and function.__module__.startswith("thalweg.") and not member.startswith("_"):
                    yield function
        else:
            yield found


def parameters(function: Callable[..., Any]) -> int:
    """Return the number of parameters, without `self`."""
    return sum(name != "self" for name in inspect.signature(function).parameters)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.house", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--no-walks", action="store_true", help="leave out the walks")
    asked = parser.parse_args(arguments)
    print(f"{'':74}{'now':>9}{'limit':>9}{'target':>9}")
    kept = [shown(figure, count()) for figure, count in FIGURES.items()]
    for name, found in () if asked.no_walks else walk.walks(walk.LIMITS):
        kept.append(shown(Figure(f"files: {walk.MEANING[name]}", walk.LIMITS[name], walk.TARGETS[name]), len(found)))
    return int(not all(kept))


def shown(figure: Figure, value: float) -> bool:
    """Print a line of the table, and return whether the value is within the limit."""
    numbers = "".join(f"{n:9,.0f}" if n == round(n) else f"{n:9,.1f}" for n in (value, figure.limit, figure.target))
    print(f"{figure.name:74}{numbers}{'' if figure.kept(value) else '  beyond its limit'}")
    return figure.kept(value)


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


def _src() -> list[Path]:
    return sorted((ROOT / "src").rglob("*.py"))


def _lines_of(node: ast.stmt | ast.expr) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def _is_text(node: ast.AST) -> TypeGuard[ast.Expr]:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _modules(package: str) -> Iterator[ModuleType]:
    found = import_module(package)
    yield found
    for module in pkgutil.walk_packages(found.__path__, f"{package}."):
        yield import_module(module.name)


if __name__ == "__main__":
    sys.exit(main())
