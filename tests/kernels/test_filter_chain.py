"""Which rows pass, which filter drops the others, and what is evaluated: compared with every filter on every row."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.watched import Watched
from tests.plan.filters.pipelines import pipelines, valid_orders
from thalweg import predicate
from thalweg.kernels import FilterChain
from thalweg.plan import FilterPlan, Pipeline, Predicate


@st.composite
def chains(draw: st.DrawFn) -> tuple[Watched, tuple[int, ...]]:
    """A table of outcomes, filters of both kinds, and an order."""
    pipeline = draw(pipelines(most=5))
    n = len(pipeline)
    patterns = draw(st.lists(st.integers(0, 2**n - 1), max_size=12))
    drops = np.array([[p >> k & 1 for k in range(n)] for p in patterns], dtype=bool).reshape(-1, n)
    kinds = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    costs = [2**k for k in range(n)]
    return Watched(drops, pipeline, costs, kinds), draw(valid_orders(pipeline))


def fate(drops: np.ndarray, order: tuple[int, ...]) -> list[int]:
    """Return the position that drops each row; the number of filters if none does."""
    return [next((i for i, k in enumerate(order) if row[k]), len(order)) for row in drops]


def seen_by(watched: Watched) -> dict[int, list[int]]:
    """Return the rows that each filter saw, in order."""
    rows: dict[int, list[int]] = {k: [] for k in range(len(watched.plan.predicates))}
    for call in watched.calls:
        rows[call.filter] += call.rows
    return rows


@given(chains())
def test_a_row_is_evaluated_until_a_filter_drops_it(case: tuple[Watched, tuple[int, ...]]) -> None:
    watched, order = case
    drops = watched.drops
    done = watched.chain.run(watched.chain.columns(watched.batch(range(len(drops)))), order)
    places = fate(drops, order)
    assert done.dropped_at.tolist() == places
    assert done.kept.tolist() == [e for e, place in enumerate(places) if place == len(order)]
    reach = {k: [e for e, place in enumerate(places) if place >= i] for i, k in enumerate(order)}
    assert seen_by(watched) == reach
    assert done.evaluated == [len(reach[k]) for k in range(len(order))]
    assert done.passed == [sum(not drops[e, k] for e in reach[k]) for k in range(len(order))]
    assert done.ns == [watched.costs_ns[k] * len(reach[k]) for k in range(len(order))]


@given(chains(), st.data())
def test_a_sampled_row_is_evaluated_only_as_guards_allow(
    case: tuple[Watched, tuple[int, ...]], data: st.DataObject
) -> None:
    watched, order = case
    drops, n = watched.drops, len(order)
    places = fate(drops, order)
    sample = [e for e, place in enumerate(places) if place < n]
    evaluate = np.array(data.draw(st.lists(st.booleans(), min_size=n * n, max_size=n * n))).reshape(n, n)
    dropped_at = np.array([places[e] for e in sample], dtype=np.int16)
    watched.working = False
    profile = watched.chain.profile(watched.chain.columns(watched.batch(sample)), dropped_at, order, evaluate)

    asked: dict[int, list[int]] = {k: [] for k in range(n)}
    bits = np.zeros((len(sample), n), dtype=bool)
    for s, e in enumerate(sample):
        true = set(order[: places[e]])
        bits[s, order[places[e]]] = True
        for k in order[places[e] + 1 :]:
            if evaluate[places[e], k] and set(watched.pipeline.guards[k]) <= true:
                asked[k].append(e)
                bits[s, k] = drops[e, k]
                if not drops[e, k]:
                    true.add(k)
    assert seen_by(watched) == asked
    assert profile.dropped.tolist() == bits.tolist()
    assert profile.evaluated == [len(asked[k]) for k in range(n)]
    assert profile.ns == [watched.costs_ns[k] * len(asked[k]) for k in range(n)]
    assert profile.errors == [0] * n


def test_no_filter_is_called_without_rows() -> None:
    watched = Watched([[True, False], [True, False]])
    watched.chain.run(watched.chain.columns(watched.batch([0, 1])), (0, 1))
    assert [call.filter for call in watched.calls] == [0]


def picky(row: int) -> bool:
    if row == 1:
        raise KeyError("no such row")
    return row != 2


def chain_of(*predicates: Predicate) -> FilterChain:
    return FilterChain(FilterPlan(predicates), lambda: 0)


def test_profiling_never_raises_and_errors_drop_nothing() -> None:
    watched = Watched([[True]] * 3, Pipeline(("always",)))
    chain = chain_of(*watched.plan.predicates, predicate(picky, "row"))
    columns = chain.columns(watched.batch([1, 2, 3]))
    everything = np.ones((2, 2), dtype=bool)
    profile = chain.profile(columns, np.zeros(3, dtype=np.int16), (0, 1), everything)
    assert profile.errors == [0, 1]
    assert profile.dropped.tolist() == [[True, False], [True, True], [True, False]]
    calm = chain.profile(chain.columns(watched.batch([2, 3])), np.zeros(2, dtype=np.int16), (0, 1), everything)
    assert calm.errors == [0, 0]
    assert calm.dropped.tolist() == [[True, True], [True, False]]


def test_no_profiling_on_rows_on_which_the_guard_raised() -> None:
    watched = Watched([[True]] * 3, Pipeline(("always",)))
    saw: list[int] = []

    def guarded(row: int) -> bool:
        saw.append(row)
        return True

    chain = chain_of(
        *watched.plan.predicates,
        predicate(picky, "row"),
        predicate(guarded, "row", after="picky"),
    )
    columns = chain.columns(watched.batch([1, 2, 3]))
    chain.profile(columns, np.zeros(3, dtype=np.int16), (0, 1, 2), np.ones((3, 3), dtype=bool))
    assert saw == [3], "row 1 is unknown to the guard, row 2 is dropped by it"
