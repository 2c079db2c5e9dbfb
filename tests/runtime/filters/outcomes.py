"""Filters that are true, false, null or raise according to a table, and an oracle for the outcome of each row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import pyarrow as pa
from hypothesis import strategies as st

import thalweg as tw
from tests.plan.filters.pipelines import pipelines
from thalweg.plan import FilterPlan, Pipeline

TRUE, FALSE, NULL, RAISES = "T", "F", "N", "E"
ANSWERS = {TRUE: True, FALSE: False, NULL: None}


class Outcomes:
    """Filter k on row e is `table[e][k]`. It remembers which filter was called on which rows, and how often."""

    def __init__(self, table: Sequence[str], pipeline: Pipeline, by_array: Sequence[bool]) -> None:
        self.table = list(table)
        self.pipeline = pipeline
        self.by_array = list(by_array)
        self.calls: Counter[tuple[int, int]] = Counter()
        names = pipeline.names
        self.predicates = tuple(
            tw.predicate(
                self._arrow(k) if by_array[k] else self._row(k),
                "row",
                name=names[k],
                after=[names[g] for g in pipeline.guards[k]],
                profile=pipeline.profiled[k],
                vectorized=by_array[k],
            )
            for k in range(len(names))
        )
        self.plan = FilterPlan(self.predicates)

    @property
    def seen(self) -> set[tuple[int, int]]:
        """The filters and rows that were called together."""
        return set(self.calls)

    def counts_itself(self, k: int) -> bool:
        """Whether filter k is called once per evaluation. One of arrays that raises is called again, on fewer rows."""
        return not (self.by_array[k] and any(row[k] == RAISES for row in self.table))

    def _row(self, k: int) -> Callable[[int], bool | None]:
        def passes(row: int) -> bool | None:
            self.calls[k, row] += 1
            if self.table[row][k] == RAISES:
                raise ValueError(f"row {row}")
            return ANSWERS[self.table[row][k]]

        return passes

    def _arrow(self, k: int) -> Callable[[pa.Array], pa.Array]:
        def passes(rows: pa.Array) -> pa.Array:
            numbers = rows.to_pylist()
            self.calls.update((k, row) for row in numbers)
            bad = [row for row in numbers if self.table[row][k] == RAISES]
            if bad:
                raise ValueError(f"row {bad[0]}")
            return pa.array([ANSWERS[self.table[row][k]] for row in numbers], pa.bool_())

        return passes

    def known_true(self, row: int, k: int) -> bool:
        """Whether filter k, and so all that guards it, is true there."""
        return self.table[row][k] == TRUE and self.may_be_called(row, k)

    def may_be_called(self, row: int, k: int) -> bool:
        return all(self.known_true(row, g) for g in self.pipeline.guards[k])

    def drops(self, row: int, k: int) -> bool:
        return self.table[row][k] in (FALSE, NULL)

    def fate(self, row: int) -> bool | list[tuple[str, str]]:
        """Return True if the row passes, False if it is dropped, and otherwise the filters by which it fails."""
        reached = [k for k in range(len(self.pipeline)) if self.may_be_called(row, k)]
        if any(self.drops(row, k) for k in reached):
            return False
        raised = [k for k in reached if self.table[row][k] == RAISES]
        return [(self.pipeline.names[k], f"ValueError: row {row}") for k in raised] or True


@st.composite
def outcomes(draw: st.DrawFn, most_rows: int = 40) -> Outcomes:
    """Few patterns, repeated: only then do slices hold several of a kind. Mostly true, or nothing would be left."""
    pipeline = draw(pipelines(most=5))
    n = len(pipeline)
    pattern = st.text(st.sampled_from(TRUE * 6 + FALSE + NULL + 2 * RAISES), min_size=n, max_size=n)
    patterns = draw(st.lists(pattern, min_size=1, max_size=6))
    table = draw(st.lists(st.sampled_from(patterns), max_size=most_rows))
    return Outcomes(table, pipeline, draw(st.lists(st.booleans(), min_size=n, max_size=n)))
