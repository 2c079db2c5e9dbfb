"""The search of plans: all plans against the trees that can be built by adding one stream after the other, and the
cheapest plan against the least of all of them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.long_run import examples
from thalweg.optimizer.joins.search_plans import all_plans, cheapest_plan
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.shape import Shape, check_shape, nodes_of, streams_of

Tree = str | frozenset["Tree"]
"""A tree without an order of inputs."""
Part = frozenset[str]


def chain(n: int) -> JoinGraph:
    return JoinGraph.of([(f"s{i}", f"k{i}", f"s{i + 1}", f"k{i}") for i in range(n - 1)])


def star(n: int) -> JoinGraph:
    return JoinGraph.of([("s0", f"k{i}", f"s{i}", "k") for i in range(1, n)])


def cycle(n: int) -> JoinGraph:
    return JoinGraph.of([(f"s{i}", f"k{i}", f"s{(i + 1) % n}", f"k{i}") for i in range(n)])


def one_class(n: int) -> JoinGraph:
    return JoinGraph.of([("s0", "k", f"s{i}", "k") for i in range(1, n)])


@st.composite
def graphs(draw: st.DrawFn, least: int, most: int) -> JoinGraph:
    """A tree of equalities and some more, of which some are of one class."""
    n = draw(st.integers(least, most))
    pairs = [(draw(st.integers(0, i - 1)), i) for i in range(1, n)]
    more = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda pair: pair[0] != pair[1])
    pairs += draw(st.lists(more, max_size=3))
    columns = [draw(st.sampled_from([f"k{i}", f"k{i}", "same"])) for i in range(len(pairs))]
    return JoinGraph.of([(f"s{a}", column, f"s{b}", column) for (a, b), column in zip(pairs, columns, strict=True)])


def leaves(tree: Tree) -> Part:
    return frozenset([tree]) if isinstance(tree, str) else frozenset().union(*map(leaves, tree))


def grown(tree: Tree, leaf: str) -> Iterator[Tree]:
    """Every tree that becomes this one if a leaf is taken away."""
    yield frozenset([tree, leaf])
    if not isinstance(tree, str):
        yield tree | {leaf}
        for child in tree:
            for new in grown(child, leaf):
                yield tree - {child} | {new}


@cache
def all_trees(aliases: tuple[str, ...]) -> frozenset[Tree]:
    if len(aliases) == 1:
        return frozenset(aliases)
    return frozenset(tree for smaller in all_trees(aliases[:-1]) for tree in grown(smaller, aliases[-1]))


def is_connected(part: Part, graph: JoinGraph) -> bool:
    """Whether every way to divide the set into two has an equality between them."""
    first, *others = sorted(part)
    for n in range(len(others)):
        for some in itertools.combinations(others, n):
            one = {first, *some}
            if not any(graph.shared(a, b) for a in one for b in part - one):
                return False
    return True


def nodes(tree: Tree) -> Iterator[frozenset[Tree]]:
    if not isinstance(tree, str):
        yield tree
        for child in tree:
            yield from nodes(child)


def expected_trees(graph: JoinGraph) -> set[Tree]:
    """Trees in which the streams of every join are connected; then its inputs are, too."""
    known = cache(lambda part: is_connected(part, graph))
    return {tree for tree in all_trees(graph.aliases) if all(known(leaves(node)) for node in nodes(tree))}


def tree_of(shape: Shape) -> Tree:
    return shape if isinstance(shape, str) else frozenset(map(tree_of, shape))


@pytest.mark.parametrize("n", [3, 4, 5])
@pytest.mark.parametrize("make", [chain, star, cycle, one_class])
def test_all_plans_are_all_trees_that_equalities_connect(make: Callable[[int], JoinGraph], n: int) -> None:
    graph = make(n)
    plans = list(all_plans(graph))
    assert plans[0] == graph.aliases
    assert len({tree_of(plan) for plan in plans}) == len(plans)
    assert {tree_of(plan) for plan in plans} == expected_trees(graph)
    for plan in plans:
        check_shape(plan, graph)


@examples(25, long=500)
@given(graph=graphs(3, 5))
def test_all_plans_of_any_graph(graph: JoinGraph) -> None:
    plans = [tree_of(plan) for plan in all_plans(graph)]
    assert len(plans) == len(set(plans))
    assert set(plans) == expected_trees(graph)


@pytest.mark.parametrize(
    ("graph", "count"),
    [
        # the trees over n leaves in their order: the little Schröder numbers
        (chain(3), 3), (chain(4), 11), (chain(5), 45), (chain(6), 197),
        # the trees over n leaves: Schröder's fourth problem
        (one_class(3), 4), (one_class(4), 26), (one_class(5), 236), (one_class(6), 2752),
        (cycle(3), 4), (star(3), 3),
    ],
    ids=str,
)  # fmt: skip
def test_known_numbers_of_plans(graph: JoinGraph, count: int) -> None:
    assert sum(1 for _ in all_plans(graph)) == count


class Costs:
    """A random cost of each join, by the streams of its inputs."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._known: dict[frozenset[Part], float] = {}

    def __call__(self, parts: Sequence[Part]) -> float:
        key = frozenset(parts)
        if key not in self._known:
            text = repr(sorted(sorted(part) for part in parts))
            self._known[key] = random.Random(f"{self._seed} {text}").choice([0.0, 1.0, 2.5, 10.0, 100.0])
            # joins of many inputs are not the best too often
            self._known[key] += random.Random(f"{text} {self._seed}").random() * 3 ** len(key)
        return self._known[key]

    def of(self, shape: Shape) -> float:
        assert not isinstance(shape, str)
        return sum(self([frozenset(streams_of(part)) for part in node]) for node in nodes_of(shape))


@examples(40, long=1_000)
@given(graph=graphs(3, 6), seed=st.integers(0, 2**32))
def test_the_cheapest_plan_is_the_least_of_all(graph: JoinGraph, seed: int) -> None:
    costs = Costs(seed)
    plan, cost = cheapest_plan(graph, costs)
    check_shape(plan, graph)
    assert cost == pytest.approx(costs.of(plan))
    assert cost == pytest.approx(min(costs.of(each) for each in all_plans(graph)))


def least_of_family(graph: JoinGraph, costs: Costs) -> float:
    """Joins of two inputs everywhere; the last one may join one kept sub-join, or none, and single streams at once."""
    connected = cache(lambda part: is_connected(part, graph))

    def halves(part: Part) -> Iterator[tuple[Part, Part]]:
        first, *others = sorted(part)
        for n in range(len(others)):
            for some in itertools.combinations(others, n):
                one = frozenset([first, *some])
                if connected(one) and connected(part - one):
                    yield one, part - one

    @cache
    def binary(part: Part) -> float:
        if len(part) == 1:
            return 0.0
        return min(binary(one) + binary(other) + costs([one, other]) for one, other in halves(part))

    whole = frozenset(graph.aliases)
    found = [binary(whole), costs([frozenset([alias]) for alias in whole])]
    for n in range(2, len(whole)):
        for some in itertools.combinations(sorted(whole), n):
            kept = frozenset(some)
            if connected(kept):
                found.append(binary(kept) + costs([kept, *(frozenset([alias]) for alias in whole - kept)]))
    return min(found)


@examples(10, long=200)
@given(graph=graphs(7, 8), seed=st.integers(0, 2**32))
def test_with_many_streams_it_is_the_least_of_its_family(graph: JoinGraph, seed: int) -> None:
    costs = Costs(seed)
    plan, cost = cheapest_plan(graph, costs)
    check_shape(plan, graph)
    assert cost == pytest.approx(costs.of(plan))
    assert cost == pytest.approx(least_of_family(graph, costs))


def test_twelve_streams_are_searched_and_thirteen_keep_nothing() -> None:
    def cost(parts: Sequence[Part]) -> float:
        return float(len(parts) ** 3)

    plan, least = cheapest_plan(chain(12), cost)
    assert least == 11 * 2**3
    assert all(len(node) == 2 for node in nodes_of(plan))
    assert cheapest_plan(chain(13), cost) == (chain(13).aliases, 13.0**3)
