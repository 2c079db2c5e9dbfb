"""Rows that take different routes: the answer of all filters on all rows, and the work of a plain fabric of stacks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.long_run import examples
from tests.plan.filters.pipelines import valid_orders
from tests.runtime.filters.outcomes import RAISES, Outcomes, outcomes
from thalweg.kernels import FilterChain, SliceResult
from thalweg.kernels.fabric import large_enough, run_routes
from thalweg.plan import Pipeline

Route = tuple[int, ...]


class Routed:
    """Filters, routes that respect their guards, and the route of each row."""

    def __init__(self, case: Outcomes, routes: Sequence[Route], of_row: Sequence[int]) -> None:
        self.case, self.routes = case, list(routes)
        self.of_row = np.array(of_row, dtype=np.int16)
        ticks = itertools.count()
        self.chain = FilterChain(case.plan, lambda: next(ticks), cpu_clock=lambda: 0)
        self.batch = pa.record_batch({"row": pa.array(range(len(case.table)), pa.int64())})

    def run(self, start: int, rows: int) -> SliceResult:
        part = self.chain.columns(self.batch.slice(start, rows))
        return run_routes(self.chain, part, self.routes, self.of_row[start : start + rows])

    def visits(self, row: int) -> tuple[list[int], int]:
        """Pop the operators of one row's stack. Return those that evaluate the row, and the position that drops it."""
        case, stack = self.case, list(reversed(self.routes[self.of_row[row]]))
        evaluated: list[int] = []
        unknown: set[int] = set()
        while stack:
            k = stack.pop()
            if unknown & set(case.pipeline.guards[k]):
                unknown.add(k)
                continue
            evaluated.append(k)
            if case.table[row][k] == RAISES:
                unknown.add(k)
            elif case.drops(row, k):
                return evaluated, len(case.pipeline) - len(stack) - 1
        return evaluated, len(case.pipeline)


@st.composite
def routed(draw: st.DrawFn) -> Routed:
    case = draw(outcomes())
    routes = draw(st.lists(valid_orders(case.pipeline), min_size=1, max_size=4))
    rows = len(case.table)
    return Routed(case, routes, draw(st.lists(st.integers(0, len(routes) - 1), min_size=rows, max_size=rows)))


@st.composite
def cuts(draw: st.DrawFn, rows: int) -> list[tuple[int, int]]:
    """Draw slices, as their starts and lengths."""
    edges = [0, *sorted(draw(st.sets(st.integers(0, rows), max_size=5))), rows]
    return [(a, b - a) for a, b in itertools.pairwise(edges)]


@examples(300, long=5_000)
@given(routed(), st.data())
def test_rows_and_errors_are_those_of_all_filters_on_all_rows(fabric: Routed, data: st.DataObject) -> None:
    case = fabric.case
    kept: list[int] = []
    failed: list[tuple[int, list[tuple[str, str]]]] = []
    for start, rows in data.draw(cuts(len(case.table))):
        done = fabric.run(start, rows)
        kept += (start + done.kept).tolist()
        for row in done.failed.tolist():
            assert done.unknown is not None
            raised = done.unknown.raised_on(row)
            failed.append((start + row, [(case.pipeline.names[k], f"{type(e).__name__}: {e}") for k, e in raised]))
    fates = {row: case.fate(row) for row in range(len(case.table))}
    assert kept == [row for row, fate in fates.items() if fate is True]
    assert failed == [(row, fate) for row, fate in fates.items() if isinstance(fate, list)]
    assert all(case.may_be_called(row, k) for k, row in case.seen), "called where a guard is not known to be true"


@examples(300, long=5_000)
@given(routed(), st.data())
def test_the_work_is_that_of_stacks_and_adds_up_by_route(fabric: Routed, data: st.DataObject) -> None:
    case, n = fabric.case, len(fabric.case.pipeline)
    for start, rows in data.draw(cuts(len(case.table))):
        case.calls.clear()
        done = fabric.run(start, rows)
        evaluated = np.zeros((len(fabric.routes), n), dtype=int)
        passed = evaluated.copy()
        expected: set[tuple[int, int]] = set()
        places = []
        for row in range(start, start + rows):
            visited, place = fabric.visits(row)
            places.append(place)
            expected |= {(k, row) for k in visited}
            for k in visited:
                evaluated[fabric.of_row[row], k] += 1
                passed[fabric.of_row[row], k] += not case.drops(row, k)
        counts = done.routed
        assert counts is not None
        assert done.dropped_at.tolist() == places
        assert case.seen == expected
        assert counts.evaluated.tolist() == evaluated.tolist()
        assert counts.passed.tolist() == passed.tolist()
        assert counts.rows.tolist() == [
            (fabric.of_row[start : start + rows] == r).sum() for r in range(len(counts.rows))
        ]
        assert counts.route.tolist() == fabric.of_row[start : start + rows].tolist()
        assert (done.evaluated, done.passed) == (evaluated.sum(axis=0).tolist(), passed.sum(axis=0).tolist())
        for k in range(n):
            if case.counts_itself(k):
                assert all(times == 1 for (called, _), times in case.calls.items() if called == k), "visited twice"
                assert sum(times for (called, _), times in case.calls.items() if called == k) == done.evaluated[k]
            of_k = [call for call in counts.calls if call.predicate == k]
            assert sum(call.rows for call in of_k) == done.evaluated[k]
            assert sum(call.ns for call in of_k) == done.ns[k]
            assert len(of_k) <= len(set(fabric.of_row[start : start + rows].tolist()))


@examples(200, long=3_000)
@given(routed())
def test_one_row_at_a_time_is_a_fabric_of_stacks(fabric: Routed) -> None:
    for row in range(len(fabric.case.table)):
        done = fabric.run(row, 1)
        visited, place = fabric.visits(row)
        assert done.routed is not None
        assert [call.predicate for call in done.routed.calls if call.rows] == visited
        assert done.dropped_at.tolist() == [place]
        assert done.kept.tolist() == [0] * (fabric.case.fate(row) is True)
        assert done.failed.tolist() == [0] * isinstance(fabric.case.fate(row), list)


@examples(100, long=2_000)
@given(routed(), st.data())
def test_one_route_for_all_rows_is_the_chain(fabric: Routed, data: st.DataObject) -> None:
    route = data.draw(st.integers(0, len(fabric.routes) - 1))
    fabric.of_row[:] = route
    done = fabric.run(0, len(fabric.case.table))
    calls = fabric.case.calls.copy()
    fabric.case.calls.clear()
    alone = fabric.chain.run(fabric.chain.columns(fabric.batch), fabric.routes[route])
    assert done.kept.tolist() == alone.kept.tolist()
    assert done.failed.tolist() == alone.failed.tolist()
    assert done.dropped_at.tolist() == alone.dropped_at.tolist()
    assert (done.evaluated, done.passed, done.raised) == (alone.evaluated, alone.passed, alone.raised)
    assert calls == fabric.case.calls


def test_rusters_that_wait_for_one_operator_are_one_call() -> None:
    pipeline = Pipeline(("a", "b", "c"))
    fabric = Routed(Outcomes(["TTT"] * 6, pipeline, [True] * 3), [(0, 1, 2), (0, 2, 1), (0, 1, 2)], [0, 1, 2, 0, 1, 2])
    done = fabric.run(0, 6)
    assert done.routed is not None
    assert [call[:2] for call in done.routed.calls] == [(0, 6), (1, 4), (2, 6), (1, 2)], "at c the slower ones catch up"
    assert done.kept.tolist() == list(range(6)), "in their order, whatever their routes"


def test_an_empty_slice_calls_nothing() -> None:
    fabric = Routed(Outcomes([], Pipeline(("a", "b")), [True, False]), [(0, 1), (1, 0)], [])
    done = fabric.run(0, 0)
    assert done.kept.tolist() == []
    assert fabric.case.calls == {}


@given(
    st.integers(1, 6).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1), st.lists(st.integers(0, n - 1)))),
    st.integers(0, 6),
)
def test_small_rusters_take_the_default_route(case: tuple[int, int, list[int]], least: int) -> None:
    routes, default, rows = case
    given_routes: NDArray[np.int16] = np.array(rows, dtype=np.int16)
    found = large_enough(given_routes, routes, least, default)
    assert found.dtype == np.int16
    assert found.tolist() == [route if rows.count(route) >= least else default for route in rows]
    assert given_routes.tolist() == rows, "the routes given are not changed"
