"""Rows, rates and partners of sub-joins: against random keys that are compared one by one, and joins by DuckDB."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cost.drawn_streams import ONS, SPAN, DrawnStreams, draw
from tests.long_run import examples
from tests.runtime.joins.oracle import expected
from thalweg.cost.join_numbers import BATCH_ROWS, JoinNumbers
from thalweg.optimizer.joins.estimates import neighbors
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.join_plan import JoinPlan

VALUES = {"k": 7, "m": 5, "n": 3}
DRAWS = 300_000


def drawn_keys(graph: JoinGraph, rng: np.random.Generator) -> dict[str, dict[str, np.ndarray]]:
    """Many combinations of one row of each stream."""
    return {alias: {name: rng.integers(0, size, DRAWS) for name, size in VALUES.items()} for alias in graph.aliases}


def numbers_of(graph: JoinGraph) -> JoinNumbers:
    held = {alias: 100.0 * (n + 1) for n, alias in enumerate(graph.aliases)}
    rates = {alias: 10.0 * (n + 2) for n, alias in enumerate(graph.aliases)}
    shares: dict[tuple[str, str], Any] = {}
    for one, other in neighbors(graph):
        names = [graph.column_of[c][one] for c in graph.shared(one, other)]
        shares[one, other] = math.prod(1 / VALUES[name] for name in names)
    return JoinNumbers(graph, rates, held, shares)


@pytest.mark.parametrize("name", [*ONS, "two columns"])
def test_shares_are_those_of_random_keys(name: str) -> None:
    """Also where equalities imply others: around a class, and for a key of two columns."""
    on = ONS.get(name, "a.k = b.k AND a.m = b.m AND b.m = c.m")
    graph = JoinPlan.of(on, 1, "t", 0).graph
    numbers, keys = numbers_of(graph), drawn_keys(graph, np.random.default_rng(1))
    for n in range(1, len(graph.aliases) + 1):
        for part in itertools.combinations(graph.aliases, n):
            joins = np.ones(DRAWS, bool)
            for members in graph.column_of:
                words = [keys[alias][column] for alias, column in members.items() if alias in part]
                for word in words[1:]:
                    joins &= words[0] == word
            share, streams = float(joins.mean()), frozenset(part)
            near = 5 * math.sqrt(share / DRAWS)
            assert numbers.share(streams) == pytest.approx(share, abs=near)
            held = math.prod(float(numbers.held[alias]) for alias in part)
            assert numbers.rows(streams) == pytest.approx(share * held, abs=near * held)


@pytest.mark.parametrize("name", ONS)
def test_partners_are_rows_over_rows(name: str) -> None:
    """All pairs of sub-joins: how many rows of one a row of the other finds is how many both have, over its own."""
    graph = JoinPlan.of(ONS[name], 1, "t", 0).graph
    numbers = numbers_of(graph)
    parts = [frozenset(part) for n in range(1, len(graph.aliases)) for part in itertools.combinations(graph.aliases, n)]
    for one, other in itertools.permutations(parts, 2):
        if not one & other:
            both = numbers.rows(one | other) / numbers.rows(one)
            assert numbers.partners(one, other) == pytest.approx(both)


@pytest.mark.parametrize("name", ONS)
@pytest.mark.parametrize("seed", range(2))
def test_the_rate_of_results_is_that_of_a_join_by_duckdb(name: str, seed: int) -> None:
    """Over streams that have run for many windows; in the first one, windows are still empty."""
    drawn = draw(name, seed, partners=(3.0, 8.0) if name == "cycle" else (0.5, 4.0))
    found = expected(drawn.tables(), drawn.on, drawn.windows)
    begin = max(drawn.windows.values())
    results = sum(time >= begin for time in found["event_time"].to_pylist())
    assert results > 100
    rate = float(drawn.numbers().rate(frozenset(drawn.graph.aliases)))
    assert rate * (SPAN - begin) == pytest.approx(results, rel=0.1 + 4 / math.sqrt(results))


def test_what_was_counted_is_used_instead() -> None:
    drawn = draw("chain", 0)
    abc, bc = frozenset("abc"), frozenset("bc")
    counted = drawn.numbers(counted={bc: 0.25})
    assert counted.share(bc) == 0.25
    assert counted.share(abc) == drawn.numbers().share(abc)
    assert counted.partners(frozenset("a"), bc) == pytest.approx(counted.rows(abc) / counted.held["a"])
    never = drawn.numbers(counted={bc: 0.0})
    assert never.partners(bc, frozenset("a")) == 0.0


def test_batches_are_those_of_the_fastest_stream() -> None:
    graph = JoinPlan.of("a.k = b.k", 1, "t", 0).graph
    numbers = JoinNumbers(graph, {"a": 5 * BATCH_ROWS, "b": 2.0}, {"a": 1.0, "b": 1.0}, {("a", "b"): 1.0})
    assert numbers.batches_per_second == 5.0 + 2.0
    assert JoinNumbers(graph, numbers.rates, numbers.held, numbers.shares, batches=3.0).batches_per_second == 3.0


@examples(20, long=200)
@given(seed=st.integers(0, 2**32), name=st.sampled_from(["chain", "star", "longer chain"]))
def test_arrays_give_what_plain_numbers_give(seed: int, name: str) -> None:
    drawn = [draw(name, seed + n) for n in range(3)]
    each = [one.numbers() for one in drawn]
    graph = drawn[0].graph
    together = JoinNumbers(
        graph,
        {a: np.array([float(one.rates[a]) for one in each]) for a in graph.aliases},
        {a: np.array([float(one.held[a]) for one in each]) for a in graph.aliases},
        {pair: np.array([float(one.shares[pair]) for one in each]) for pair in each[0].shares},
    )
    for n in range(1, len(graph.aliases) + 1):
        for some in itertools.combinations(graph.aliases, n):
            part, rest = frozenset(some), frozenset(graph.aliases) - frozenset(some)
            assert together.rows(part) == pytest.approx([one.rows(part) for one in each])
            assert together.rate(part) == pytest.approx([one.rate(part) for one in each])
            if rest:
                assert together.partners(part, rest) == pytest.approx([one.partners(part, rest) for one in each])


def test_drawn_streams_are_what_they_say() -> None:
    drawn = DrawnStreams("a.k = b.k", {"a": 50, "b": 20}, {"a": 100, "b": 200}, {"k": 4})
    numbers = drawn.numbers()
    assert numbers.held == {"a": 0.5, "b": 0.4}
    assert numbers.shares == {("a", "b"): 0.25}
