"""The operations that plans are expected to make, against what the loops of joins count."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
import pytest

from tests.cost.drawn_streams import ONS, SPAN, DrawnStreams, draw
from thalweg.cost.join_numbers import JoinNumbers, Part
from thalweg.cost.join_work import COSTS, OPERATIONS, in_ns, index_counts, node_operations, work_ns
from thalweg.optimizer.joins.search_plans import all_plans
from thalweg.plan.joins.shape import Shape, nodes_of, streams_of, to_text
from thalweg.runtime.joins.join_loop import JoinLoop, make_join_loop
from thalweg.runtime.joins.join_options import JoinOptions
from thalweg.runtime.joins.join_protocol import WindowedJoin
from thalweg.runtime.joins.multiway_node import MultiwayNode
from thalweg.runtime.joins.tree_loop import TreeLoop

ROUNDS = 80
"""Each is short against every window, so that windows hold little more than they must."""


def run(drawn: DrawnStreams, shape: Shape, policy: str = "a-greedy") -> WindowedJoin:
    form = None if all(isinstance(part, str) for part in shape) else shape
    loop = make_join_loop(drawn.binding(), JoinOptions(policy), rng=np.random.default_rng(0), shape=form)
    drawn.run(loop, ROUNDS)
    return loop


def filled(drawn: DrawnStreams) -> DrawnStreams:
    """The same streams as they are while windows fill: rows are held for less time on average."""
    shorter = {alias: round(window * (1 - window / SPAN / 2)) for alias, window in drawn.windows.items()}
    return DrawnStreams(drawn.on, drawn.rows, shorter, drawn.values, drawn.seed)


def parts_of(node: Sequence[Shape]) -> list[Part]:
    return [frozenset(streams_of(part)) for part in node]


def near(value: float, counted: float, rel: float) -> bool:
    """Within a share, and four standard deviations of a count."""
    return abs(value - counted) <= rel * counted + 4 * math.sqrt(counted) + 5


@pytest.mark.parametrize("name", ONS)
@pytest.mark.parametrize("seed", range(2))
def test_the_joins_of_trees_make_what_is_expected(name: str, seed: int) -> None:
    """For every plan whose joins have two inputs: rows that arrive, results, and entries that probes visit."""
    drawn = draw(name, seed, rows=4000, partners=(1.0, 4.0))
    numbers = filled(drawn).numbers()
    seen = 0
    trees = [shape for shape in all_plans(drawn.graph) if all(len(node) == 2 for node in nodes_of(shape))]
    for shape in trees[:: len(drawn.graph.aliases) - 2]:
        loop = run(drawn, shape)
        assert isinstance(loop, TreeLoop)
        for node in loop.nodes:
            expected = node_operations(parts_of(node.shape), numbers)
            assert near(float(expected["results"]) * SPAN, node.made, 0.2), node.name
            # a bucket of an index holds at most one entry of another key on average; kept rows stay up to twice as long
            others = float(expected["probes"]) * SPAN
            entries = float(expected["entries"]) * SPAN
            assert near(min(max(entries, node.looked - others), node.looked), entries, 0.6), node.name
            came = sum(
                drawn.rows[part] if isinstance(part, str) else next(n.made for n in loop.nodes if n.shape == part)
                for part in node.shape
            )
            assert near(float(expected["arrivals"]) * SPAN, came, 0.2)
            assert expected["probes"] == pytest.approx(expected["arrivals"]) == pytest.approx(expected["indexed"])
            # a row of a tree has the columns of its streams and one key per class
            width = len(node.schema.names) - sum(len(loop.binding.stored[a].names) for a in node.streams)
            assert expected["values_gathered"] == pytest.approx(expected["results"] * (2 * len(node.streams) + width))
            seen += node.made
    assert seen > 500


@pytest.mark.parametrize("name", ["one class", "star"])
@pytest.mark.parametrize("seed", range(3))
def test_a_star_probes_as_often_as_expected(name: str, seed: int) -> None:
    """Every window is probed by a key of the row itself; a row is dropped by the first one without a partner."""
    drawn = draw(name, seed, rows=4000, partners=(0.3, 2.0))
    aliases = drawn.graph.aliases
    loop = run(drawn, aliases)
    assert isinstance(loop, JoinLoop)
    expected = node_operations([frozenset([alias]) for alias in aliases], filled(drawn).numbers())
    work = {alias: loop.take_probed(alias) for alias in aliases}
    looked_up = sum(sum(probed.work.chain.evaluated) for probed in work.values())
    made = sum(loop.counts[alias].matches.results for alias in aliases)
    assert near(float(expected["results"]) * SPAN, made, 0.2)
    lookups = float(expected["probes"] + expected["steps"]) * SPAN
    if name == "one class":  # in a star of classes, rows of the other streams look along paths
        assert near(lookups, looked_up, 0.2)
        entries = sum(work[alias].looked + loop.counts[alias].matches.looked for alias in aliases)
        assert 0.6 * (entries - looked_up) < float(expected["entries"]) * SPAN < 1.6 * entries
    else:
        assert lookups > 0.8 * looked_up


@pytest.mark.parametrize("name", ["chain", "longer chain", "star", "cycle"])
@pytest.mark.parametrize("seed", range(2))
def test_a_join_of_many_inputs_makes_what_is_expected(name: str, seed: int) -> None:
    drawn = draw(name, seed, rows=3000, partners=(1.0, 5.0))
    numbers = filled(drawn).numbers()
    some = [shape for shape in all_plans(drawn.graph) if any(len(node) > 2 for node in nodes_of(shape))]
    for shape in some[:: len(drawn.graph.aliases) - 2]:
        loop = run(drawn, shape, "static")
        nodes = loop.nodes if isinstance(loop, TreeLoop) else []
        for node in nodes:
            if isinstance(node, MultiwayNode):
                expected = float(node_operations(parts_of(node.shape), numbers)["results"]) * SPAN
                assert near(expected, node.made, 0.25), to_text(shape)
        made = sum(loop.counts[alias].matches.results for alias in drawn.graph.aliases)
        assert near(float(numbers.rate(frozenset(drawn.graph.aliases))) * SPAN, made, 0.25)


@pytest.mark.parametrize("name", ONS)
def test_indexes_are_those_that_windows_have(name: str) -> None:
    """A window of a multiway join has an index per key by which it is probed; those that only compare rows differ."""
    drawn = draw(name, 0)
    parts = [frozenset([alias]) for alias in drawn.graph.aliases]
    loop = make_join_loop(drawn.binding(), JoinOptions("static"), rng=np.random.default_rng(0))
    found = [len(loop.stores[alias].indexes) for alias in drawn.graph.aliases]
    assert index_counts(parts, drawn.numbers()) == found


def test_the_work_of_a_plan_is_the_sum_over_its_joins() -> None:
    drawn = draw("longer chain", 3)
    numbers = drawn.numbers()
    for shape in all_plans(drawn.graph):
        total = 0.0
        for node in nodes_of(shape):
            operations = node_operations(parts_of(node), numbers)
            assert sorted(operations) == sorted(OPERATIONS) == sorted(asdict(COSTS))
            assert all(count >= 0 for count in operations.values())
            total += sum(float(count) * getattr(COSTS, name) for name, count in operations.items())
            assert in_ns(operations) == pytest.approx(
                sum(float(count) * getattr(COSTS, name) for name, count in operations.items())
            )
        assert float(work_ns(shape, numbers)) == pytest.approx(total)
    assert work_ns("a", numbers) == 0.0


@pytest.mark.parametrize("name", ONS)
def test_arrays_of_one_number_give_what_it_gives(name: str) -> None:
    """Also if numbers differ: exactly for joins of two inputs, nearly for others, which have one order for all."""
    each = [draw(name, seed).numbers() for seed in range(3)]
    graph = each[0].graph

    def array(of: Sequence[JoinNumbers]) -> JoinNumbers:
        return JoinNumbers(
            graph,
            {a: np.array([float(one.rates[a]) for one in of]) for a in graph.aliases},
            {a: np.array([float(one.held[a]) for one in of]) for a in graph.aliases},
            {pair: np.array([float(one.shares[pair]) for one in of]) for pair in each[0].shares},
        )

    for shape in all_plans(graph):
        plain = [float(work_ns(shape, one)) for one in each]
        assert np.asarray(work_ns(shape, array([each[0]] * 3))) == pytest.approx([plain[0]] * 3)
        if name in ("cycle", "one class"):  # which equality is implied by others is decided for all at once
            continue
        binary = all(len(node) == 2 for node in nodes_of(shape))
        assert np.asarray(work_ns(shape, array(each))) == pytest.approx(plain, rel=1e-9 if binary else 0.15)
