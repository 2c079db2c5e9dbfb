"""Predicates that count the rows on which they are called, whether a row is filtered or profiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from bench.check import Check


class CountedRows:
    """A function of Arrow arrays that counts rows. It serves one variant in one run."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func
        self.rows = 0

    def __call__(self, *arrays: Any) -> Any:
        """Count the rows and call the function."""
        self.rows += len(arrays[0])
        return self.func(*arrays)


def counting(checks: Sequence[Check]) -> tuple[Check, ...] | None:
    """Return checks that count rows. None if one of them is a function of one row: to count in it would take as long as
    the predicate itself, so such a scenario relies on the counts of reports."""
    if not all(check.vectorized for check in checks):
        return None
    return tuple(replace(check, func=CountedRows(check.func)) for check in checks)


def counts_of(checks: Sequence[Check]) -> dict[str, int]:
    """Return the rows on which each check was called."""
    return {check.name: check.func.rows for check in checks if isinstance(check.func, CountedRows)}
