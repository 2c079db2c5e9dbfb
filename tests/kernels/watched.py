"""Filters whose outcomes are a table, that record the rows they saw and advance their own clock.

Filter k drops row e if `drops[e][k]`. Rows contain only their number, so every evaluation can be distinguished from
every other, and ordinary work from profiling.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from thalweg import predicate
from thalweg.kernels import Columns, FilterChain
from thalweg.kernels.filter_chain import SliceCounts
from thalweg.plan import FilterPlan, Pipeline


@dataclass(frozen=True)
class Call:
    """A call of one filter on some rows; `work` is False for profiling."""

    work: bool
    filter: int
    rows: tuple[int, ...]


class Watched:
    """The filters, their chain, and the record of their calls."""

    def __init__(
        self,
        drops: Sequence[Sequence[bool]] | np.ndarray,
        pipeline: Pipeline | None = None,
        costs_ns: Sequence[int] | None = None,
        vectorized: Sequence[bool] | bool = True,
    ) -> None:
        self.drops = np.array(drops, dtype=bool)
        n = self.drops.shape[1]
        self.pipeline = pipeline or Pipeline(tuple(f"f{k}" for k in range(n)))
        self.costs_ns = list(costs_ns) if costs_ns is not None else [1] * n
        by_array = [vectorized] * n if isinstance(vectorized, bool) else list(vectorized)
        self.now_ns = 0
        self.working = True
        self.calls: list[Call] = []
        self.passes: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        """The rows of each slice, and the order in which it was evaluated."""
        names = self.pipeline.names
        self.plan = FilterPlan(
            tuple(
                predicate(
                    self._arrow(k) if by_array[k] else self._row(k),
                    "row",
                    name=names[k],
                    after=[names[g] for g in self.pipeline.guards[k]],
                    profile=self.pipeline.profiled[k],
                    vectorized=by_array[k],
                )
                for k in range(n)
            )
        )
        self.chain = _Chain(self)

    def clock(self) -> int:
        """Return the time, which passes only in filters."""
        return self.now_ns

    def batch(self, rows: Sequence[int]) -> pa.RecordBatch:
        """Return a batch of these rows, by number."""
        return pa.RecordBatch.from_arrays([pa.array(list(rows), pa.int64())], names=["row"])

    def evaluated(self, work: bool) -> list[int]:
        """Return the rows that each filter saw in ordinary work, or in profiling."""
        counts = [0] * len(self.plan.predicates)
        for call in self.calls:
            if call.work == work:
                counts[call.filter] += len(call.rows)
        return counts

    def _see(self, k: int, rows: list[int]) -> None:
        self.now_ns += self.costs_ns[k] * len(rows)
        self.calls.append(Call(self.working, k, tuple(rows)))

    def _arrow(self, k: int) -> Callable[[pa.Array], pa.Array]:
        def passes(rows: pa.Array) -> pa.Array:
            numbers = rows.to_pylist()
            self._see(k, numbers)
            return pa.array(~self.drops[numbers, k])

        return passes

    def _row(self, k: int) -> Callable[[int], bool]:
        def passes(row: int) -> bool:
            self._see(k, [row])
            return not self.drops[row, k]

        return passes


class _Chain(FilterChain):
    """The real chain, which records whether it works or profiles. Rows that take routes of their own make no passes."""

    def __init__(self, watched: Watched) -> None:
        super().__init__(watched.plan, watched.clock)
        self._watched = watched

    def begin(self, columns: Columns) -> SliceCounts:
        self._watched.working = True
        return super().begin(columns)

    def run(self, columns: Columns, order: Sequence[int]) -> Any:
        self._watched.passes.append((tuple(columns.arrow("row", None).to_pylist()), tuple(order)))
        return super().run(columns, order)

    def profile(self, *args: Any, **options: Any) -> Any:
        self._watched.working = False
        return super().profile(*args, **options)
