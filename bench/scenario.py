"""A scenario: its data, the predicates as written, phases, and the outcome of every predicate for every row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.check import Check

Bits = NDArray[np.bool_]
Order = tuple[int, ...]
BATCH_ROWS = 10_000
"""The default size of Spark's Arrow batches."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A range of rows in which the distribution does not change."""

    start: int
    rows: int


@dataclass(frozen=True)
class Scenario:
    """A scenario, fixed before anything is timed. `table` has a column `id`, so that results can be compared."""

    name: str
    table: pa.Table
    checks: tuple[Check, ...]
    """The predicates in the written order."""
    passed: Bits
    """The outcomes, with one row per row and one column per check."""
    phases: tuple[Phase, ...]

    @cached_property
    def units(self) -> list[float]:
        """The cost per row of each check."""
        return [check.units for check in self.checks]

    @cached_property
    def written(self) -> Order:
        """The written order of the checks."""
        return tuple(range(len(self.checks)))

    @cached_property
    def best_orders(self) -> tuple[Order, ...]:
        """The cheapest order of each phase, computed exactly from all of its rows: known only in hindsight."""
        from thalweg.cost.pipeline import best_order  # earlier checkouts, which need no order, may not have it here

        return tuple(
            best_order(~self.passed[phase.start : phase.start + phase.rows], self.units)[0] for phase in self.phases
        )

    @cached_property
    def expected(self) -> tuple[int, int]:
        """The number of rows that pass, and the sum of their ids."""
        kept = np.flatnonzero(self.passed.all(axis=1))
        return len(kept), int(self.table.column("id").to_numpy()[kept].sum())

    def evaluations(self, orders: tuple[Order, ...]) -> dict[str, int]:
        """Return the rows that each check sees if each phase runs in its order and a row stops at the first false."""
        counts = np.zeros(len(self.checks), dtype=np.int64)
        for phase, order in zip(self.phases, orders, strict=True):
            alive = self.passed[phase.start : phase.start + phase.rows]
            for k in order:
                counts[k] += len(alive)
                alive = alive[alive[:, k]]
        return {check.name: int(count) for check, count in zip(self.checks, counts, strict=True)}

    def weighted(self, evaluations: dict[str, int]) -> float:
        """Return the cost-weighted sum of evaluations, in units."""
        return sum(check.units * evaluations.get(check.name, 0) for check in self.checks)

    def batches(self, phase: Phase) -> list[pa.RecordBatch]:
        """Return the rows of a phase in batches of the size that Spark uses."""
        rows = self.table.slice(phase.start, phase.rows).combine_chunks()
        batches: list[pa.RecordBatch] = rows.to_batches(max_chunksize=BATCH_ROWS)
        return batches


def truth_table(table: pa.Table, checks: tuple[Check, ...]) -> Bits:
    """Evaluate every check on every row."""
    passed = np.empty((table.num_rows, len(checks)), dtype=bool)
    for k, check in enumerate(checks):
        start = 0
        for batch in table.select(list(dict.fromkeys(check.columns))).to_batches(max_chunksize=BATCH_ROWS):
            passed[start : start + batch.num_rows, k] = check.over_arrow(*(batch.column(c) for c in check.columns))
            start += batch.num_rows
    return passed
