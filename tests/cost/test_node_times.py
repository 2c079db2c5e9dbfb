"""The times of many joins are those of the operations of each."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.long_run import examples
from thalweg.cost.join_numbers import JoinNumbers
from thalweg.cost.join_work import NodeTimes, in_ns, node_operations, work_ns
from thalweg.optimizer.joins.estimates import neighbors
from thalweg.optimizer.joins.search_plans import all_plans
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.shape import nodes_of, streams_of

GRAPHS = (
    [("a", "k", "b", "k")],
    [("a", "k", "b", "k"), ("b", "m", "c", "m")],
    [("a", "k", "b", "k"), ("b", "k", "c", "k"), ("c", "m", "d", "m")],
    [("a", "k", "b", "k"), ("b", "m", "c", "m"), ("c", "n", "d", "n"), ("d", "o", "a", "o")],
)


@examples(100, long=5_000)
@given(edges=st.sampled_from(GRAPHS), seed=st.integers(0, 2**32), known=st.booleans())
def test_times_are_those_of_the_operations(edges: list[tuple[str, str, str, str]], seed: int, known: bool) -> None:
    graph, r = JoinGraph.of(edges), random.Random(seed)
    rates = {alias: r.choice([0.0, 10.0 ** r.uniform(-9, 6)]) for alias in graph.aliases}
    numbers = JoinNumbers(
        graph, rates, {alias: 10.0 ** r.uniform(0, 7) for alias in graph.aliases},
        {pair: r.choice([0.0, 1e-300, 10.0 ** r.uniform(-9, 0)]) for pair in neighbors(graph)},
        {alias: r.randint(0, 5) for alias in graph.aliases}, batches=r.uniform(0, 100) if known else None,
    )  # fmt: skip
    times = NodeTimes(numbers)
    for plan in all_plans(graph):
        for node in nodes_of(plan):
            parts = [frozenset(streams_of(part)) for part in node]
            for _ in range(2):  # computed, and remembered
                assert times(parts) == pytest.approx(float(in_ns(node_operations(parts, numbers))))
        whole = sum(times([frozenset(streams_of(part)) for part in node]) for node in nodes_of(plan))
        assert whole == pytest.approx(float(work_ns(plan, numbers)))
