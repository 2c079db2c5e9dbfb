"""Rows on uncertain routes: the answer is that of brute force, and what is counted is what happened."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.watched import Watched
from tests.long_run import examples
from tests.plan.filters.pipelines import pipelines, valid_orders
from tests.runtime.filters.outcomes import TRUE, Outcomes, outcomes
from thalweg.kernels import FilterChain, SliceResult
from thalweg.kernels.fabric import run_routes
from thalweg.kernels.lottery import Lottery
from thalweg.plan import Pipeline


def drawn(data: st.DataObject, pipeline: Pipeline, rows: int) -> tuple[Any, ...]:
    """Routes, the route of each row, a lottery, and the most rows of a ruster."""
    n = len(pipeline)
    routes = data.draw(st.lists(valid_orders(pipeline), min_size=1, max_size=3))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    sets = []
    for _ in routes:
        cuts = sorted(data.draw(st.sets(st.integers(0, n), max_size=4)))
        sets.append([pair for pair in itertools.pairwise(cuts) if data.draw(st.booleans())])
    lottery = Lottery(rng, rng.random((len(routes), n)).tolist(), sets, pipeline.guards)
    return routes, rng.integers(len(routes), size=rows), lottery, data.draw(st.sampled_from([None, 1, 3, 100]))


def run(chain: FilterChain, rows: int, routed: tuple[Any, ...]) -> SliceResult:
    routes, route, lottery, most_rows = routed
    columns = chain.columns(pa.RecordBatch.from_arrays([pa.array(range(rows), pa.int64())], ["row"]))
    return run_routes(chain, columns, routes, route, lottery, most_rows)


@examples(150, long=3_000)
@given(case=outcomes(), data=st.data())
def test_rows_and_failures_are_those_of_brute_force(case: Outcomes, data: st.DataObject) -> None:
    rows = len(case.table)
    if not rows:
        return
    done = run(FilterChain(case.plan, lambda: 0), rows, drawn(data, case.pipeline, rows))
    fates = [case.fate(row) for row in range(rows)]
    assert done.kept.tolist() == [row for row, fate in enumerate(fates) if fate is True]
    assert done.failed.tolist() == [row for row, fate in enumerate(fates) if isinstance(fate, list)]
    for row in done.failed.tolist():
        assert done.unknown is not None
        raised = [(case.pipeline.names[k], f"ValueError: {error}") for k, error in done.unknown.raised_on(row)]
        assert raised == fates[row]
    assert all(case.may_be_called(row, k) for k, row in case.seen), "guards come first"
    assert (done.dropped_at < len(case.pipeline)).tolist() == [fate is False for fate in fates]


@examples(100, long=2_000)
@given(data=st.data())
def test_places_and_counts_are_those_of_the_calls(data: st.DataObject) -> None:
    pipeline = data.draw(pipelines(hidden=False))
    n, rows = len(pipeline), data.draw(st.integers(1, 60))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    watched = Watched(rng.random((rows, n)) < 0.3, pipeline)
    routed = drawn(data, pipeline, rows)
    done = run(watched.chain, rows, routed)
    assert done.routed is not None
    way: dict[int, list[int]] = {row: [] for row in range(rows)}
    for call in watched.calls:
        for row in call.rows:
            way[row].append(call.filter)
    places = done.routed.places(np.arange(rows))
    for row, visited in way.items():
        expected = [visited.index(k) if k in visited else n for k in range(n)]
        assert places[row].tolist() == expected
        passed = [k for k in visited if not watched.drops[row, k]]
        assert done.dropped_at[row] == len(passed)
    assert done.evaluated == watched.evaluated(work=True)
    assert done.routed.evaluated.sum(axis=0).tolist() == done.evaluated
    for r in range(len(routed[0])):
        here = [row for row in range(rows) if routed[1][row] == r]
        assert done.routed.rows[r] == len(here)
        assert done.routed.evaluated[r].tolist() == [sum(k in way[row] for row in here) for k in range(n)]
    together = done.routed.on_one_route(pipeline.start)
    assert together.evaluated.tolist() == [done.evaluated]
    assert together.rows.tolist() == [rows]


def test_each_ruster_of_an_open_route_decides_by_itself() -> None:
    case = Outcomes([TRUE * 3] * 600, Pipeline(("a", "b", "c")), [True] * 3)
    for most_rows, rusters in ((1, 600), (100, 6), (None, 1), (7, 86)):
        lottery = Lottery(np.random.default_rng(3), [[1.0, 1.0, 1.0]], [[(0, 3)]], [()] * 3)
        routed = [(0, 1, 2)], np.zeros(600, np.int16), lottery, most_rows
        done = run(FilterChain(case.plan, lambda: 0), 600, routed)
        assert done.routed is not None
        assert done.routed.decisions == 2 * rusters, "the third filter is the only one left"
        ways = {tuple(way) for way in done.routed.places(np.arange(600)).tolist()}
        assert len(ways) <= rusters
        assert rusters < 50 or len(ways) == 6


def test_a_certain_route_is_followed_exactly() -> None:
    case = Outcomes([TRUE * 3] * 5, Pipeline(("a", "b", "c")), [True] * 3)
    done = run(FilterChain(case.plan, lambda: 0), 5, ([(2, 0, 1)], np.zeros(5, np.int16), None, None))
    assert done.routed is not None
    assert done.routed.decisions == 0
    assert done.routed.places(np.arange(5)).tolist() == [[1, 2, 0]] * 5
