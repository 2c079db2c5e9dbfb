"""The tests that `make test` leaves out and `make test-all` runs: each has the marker of its kind.

`tests/conftest.py` marks those of `PLACES`. A test that runs a benchmark's command has `@pytest.mark.benchmark`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable

import pytest

PLACES = {"tests/runtime/spark/deployments": "deployment", "tests/test_packages.py": "package"}
"""Folders and files in which all tests are of one kind."""
BENCHMARKS = "tests/bench"
"""A test in this folder is of the kind `benchmark` if its source has `--quick`."""
KINDS = frozenset({"benchmark", *PLACES.values()})


def kind_of_place(item: pytest.Item) -> str | None:
    """The kind of all tests that lie where this one does, if they have one."""
    return next((kind for place, kind in PLACES.items() if _lies_in(item, place)), None)


def kinds(item: pytest.Item) -> frozenset[str]:
    """The kinds that the test is marked with."""
    return KINDS & {mark.name for mark in item.iter_markers()}


def without_kind(items: Iterable[pytest.Item]) -> list[str]:
    """The tests that lack the marker of their kind, each with the marker."""
    wanted = [(item, kind_of_place(item) or _kind_of_source(item)) for item in items]
    return [f"{item.nodeid}: {kind}" for item, kind in wanted if kind is not None and kind not in kinds(item)]


def _kind_of_source(item: pytest.Item) -> str | None:
    if not (isinstance(item, pytest.Function) and _lies_in(item, BENCHMARKS)):
        return None
    return "benchmark" if "--quick" in inspect.getsource(inspect.unwrap(item.function)) else None


def _lies_in(item: pytest.Item, place: str) -> bool:
    return item.path.is_relative_to(item.config.rootpath / place)
