"""Local rate maximization and local time minimization against all trees, and the paper's examples (section 4.2)."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.long_run import examples
from thalweg.cost.operator_costs import Costs
from thalweg.cost.rate import Arriving, Filtering, JoinCosts, halved_rate, join_rate
from thalweg.errors import PlanError
from thalweg.optimizer.joins.binary_trees import BinaryTrees
from thalweg.optimizer.joins.local_rate_maximization import local_rate_maximization
from thalweg.optimizer.joins.local_time_minimization import (
    Info,
    fastest,
    local_time_minimization,
    longest_time,
    longest_times,
    required,
)
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.shape import Shape, nodes_of, sorted_text, streams_of, to_text

NAMES = "abcdef"


def every_tree(names: Sequence[str]) -> Iterator[Shape]:
    """All binary trees over the names, products included, each once."""
    if len(names) == 1:
        yield names[0]
    first, *rest = names
    for size in range(len(rest)):
        for beside in itertools.combinations(rest, size):
            others = [name for name in rest if name not in beside]
            for left in every_tree([first, *beside]):
                for right in every_tree(others):
                    yield left, right


def products(shape: Shape, pairs: Sequence[tuple[str, str]]) -> int:
    """The joins of a tree between whose inputs there is no pair."""
    count = 0
    for left, right in nodes_of(shape):
        across = {frozenset((a, b)) for a in streams_of(left) for b in streams_of(right)}
        count += not any(frozenset(pair) in across for pair in pairs)
    return count


def without_avoidable_products(names: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[Shape]:
    trees = list(every_tree(names))
    fewest = min(products(tree, pairs) for tree in trees)
    return [tree for tree in trees if products(tree, pairs) == fewest]


@dataclass(frozen=True)
class Drawn:
    """A join of three to five streams."""

    streams: dict[str, Arriving]
    joins: JoinCosts

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return list(self.joins.selectivities)


@st.composite
def drawn_joins(draw: st.DrawFn) -> Drawn:
    names = NAMES[: draw(st.integers(3, 5))]
    numbers = st.floats(0.5, 200.0)
    streams = {}
    for name in names:
        rows = draw(st.sampled_from([math.inf, 300.0, 5_000.0]))
        filters = draw(st.sampled_from([(), (Filtering(0.01, 0.5),)]))
        streams[name] = Arriving(draw(numbers), rows, filters=filters)
    pairs = {(draw(st.sampled_from(names[:i])), names[i]) for i in range(1, len(names))}
    pairs |= set(draw(st.lists(st.sampled_from(list(itertools.combinations(names, 2))), max_size=2)))
    selectivities = {pair: draw(st.floats(0.001, 1.0)) for pair in sorted(pairs)}
    expensive = draw(st.sampled_from(sorted(pairs)))
    base, more, loops = draw(st.floats(0.0, 0.02)), draw(st.floats(0.0, 0.05)), draw(st.booleans())
    costs: dict[Shape, Costs] = {}
    for size in range(2, len(names) + 1):
        for some in itertools.combinations(names, size):
            for tree in every_tree(some):
                assert isinstance(tree, tuple)
                sides = [set(streams_of(below)) for below in tree]
                meets = any(expensive[0] in one and expensive[1] in other for one, other in (sides, sides[::-1]))
                costs[tree] = Costs(move=base, handling=more if meets else 0, comp=0.001 if loops else 0)
    shape: Shape = tuple(names)
    return Drawn(streams, JoinCosts(shape, selectivities, costs, "loops" if loops else "hash"))


@given(drawn_joins(), st.floats(0.1, 100.0))
@examples(25, long=250)
def test_no_tree_has_a_higher_rate(join: Drawn, t: float) -> None:
    trees = without_avoidable_products(list(join.streams), join.pairs)
    chosen = local_rate_maximization(join.streams, join.joins, t)
    assert chosen in trees
    best = max(halved_rate(join.joins, tree, join.streams, t) for tree in trees)
    assert halved_rate(join.joins, chosen, join.streams, t) == pytest.approx(best, rel=1e-6)


def estimated_time(shape: Shape, join: Drawn, sizes: dict[str, float], phi: float) -> tuple[float, float]:
    """The rate of a tree's root and its longest time, by halving intervals instead of a formula."""
    if isinstance(shape, str):
        rate = halved_rate(join.joins, shape, join.streams, 1.0)
        return rate, phi * sizes[shape] / rate
    (left, slow), (right, slower) = (estimated_time(below, join, sizes, math.sqrt(phi)) for below in shape)
    share = [join.joins.selectivity(streams_of(part)) for part in (shape, *shape)]
    needed = phi * share[0] * math.prod(sizes[alias] for alias in streams_of(shape))
    low, high = 0.0, 1e12
    for _ in range(300):
        t = (low + high) / 2.0
        reached = join_rate(left, right, share[0] / (share[1] * share[2]), join.joins.of(shape), t / 2.0) * t
        low, high = (low, t) if reached >= needed else (t, high)
    return needed / high, max(high, slow, slower)


@given(drawn_joins(), st.floats(0.0, 1.0))
@examples(25, long=250)
def test_no_tree_has_a_shorter_time(join: Drawn, share: float) -> None:
    sizes = {alias: stream.rows * stream.kept for alias, stream in join.streams.items()}
    total = join.joins.selectivity(tuple(join.streams)) * math.prod(sizes.values())
    if total < 1.0:
        with pytest.raises(PlanError, match="ask for fewer"):
            local_time_minimization(join.streams, join.joins, 1.0)
        return
    results = max(1.0, total * share) if math.isfinite(total) else 10_000.0 * share + 1.0
    trees = without_avoidable_products(list(join.streams), join.pairs)
    chosen = local_time_minimization(join.streams, join.joins, results)
    assert chosen in trees
    if math.isinf(total):
        compared = {tree: longest_time(required(tree, join.streams, join.joins, results)) for tree in trees}
    else:
        compared = {tree: estimated_time(tree, join, sizes, results / total)[1] for tree in trees}
    assert compared[chosen] == pytest.approx(min(compared.values()), rel=1e-6)


def test_the_rate_of_figure_4() -> None:
    """Section 4.2.1: a join of two sources has the rate f r1 r2 / (r1 C1 + r2 C2) * tp / 2, and so on upwards."""
    streams = {"a": Arriving(50.0), "b": Arriving(500.0), "c": Arriving(100.0)}
    joins = JoinCosts((("a", "b"), "c"), {("a", "b"): 0.002, ("a", "c"): 0.005}, Costs(move="5 ms"))
    lower = 0.002 * 50 * 500 / (550 * 0.005) * 5.0
    assert halved_rate(joins, ("a", "b"), streams, 10.0) == pytest.approx(lower)
    upper = 0.005 * lower * 100 / max((lower + 100) * 0.005, 1.0) * 5.0
    assert halved_rate(joins, (("a", "b"), "c"), streams, 10.0) == pytest.approx(upper)


def test_a_quarter_of_the_results_of_a_join_of_three() -> None:
    """Section 4.2.2: half of a and half of what b and c have; of b and c each the root of a half."""
    streams = {"a": Arriving(5.0, 1_000), "b": Arriving(4.0, 2_000), "c": Arriving(2.0, 500)}
    joins = JoinCosts(("a", ("b", "c")), {("a", "b"): 0.01, ("b", "c"): 0.02})
    everything = 0.01 * 0.02 * 1_000 * 2_000 * 500
    root = required(("a", ("b", "c")), streams, joins, 0.25 * everything)
    a, b_and_c = root.inputs
    assert a.results == pytest.approx(500)
    assert b_and_c.results == pytest.approx(0.5 * 0.02 * 2_000 * 500)
    assert 0.01 * a.results * b_and_c.results == pytest.approx(root.results)
    assert [below.results for below in b_and_c.inputs] == pytest.approx([2_000 * 0.5**0.5, 500 * 0.5**0.5])
    assert 0.02 * b_and_c.inputs[0].results * b_and_c.inputs[1].results == pytest.approx(b_and_c.results)
    assert (a.rate, a.time) == pytest.approx((5.0, 100.0))
    for join in (root, b_and_c):
        left, right = join.inputs
        between = 0.01 if join is root else 0.02
        assert join.rate == pytest.approx(between * left.rate * right.rate * join.time / 2)
        assert join.results == pytest.approx(join.rate * join.time)


def test_the_printed_roots_do_not_give_the_results() -> None:
    a, b, c, f_ab, f_bc, phi = 1_000, 2_000, 500, 0.01, 0.02, 0.25
    printed = f_ab * math.sqrt(phi * f_ab * f_bc * a) * math.sqrt(phi * f_ab * f_bc * b * c)
    assert printed < 0.001 * phi * f_ab * f_bc * a * b * c


def test_max_is_the_slowest_point_wherever_it_is() -> None:
    deep = Info("c", 1, 1, 9.0)
    inner = Info(("b", "c"), 1, 1, 4.0, (Info("b", 1, 1, 2.0), deep))
    assert longest_time(Info(("a", ("b", "c")), 1, 1, 5.0, (Info("a", 1, 1, 1.0), inner))) == 9.0
    assert longest_time(inner.inputs[0]) == 2.0


def test_min_returns_the_fastest_tree_and_not_bottom() -> None:
    forest = [Info("a", 1, 1, 3.0), Info("b", 1, 1, 2.0), Info("c", 1, 1, 4.0)]
    assert {fastest(order) for order in itertools.permutations(forest)} == {forest[1]}
    assert fastest([]) is None


def test_a_product_only_between_whole_components() -> None:
    streams = {name: Arriving(rate) for name, rate in zip("abcd", (90.0, 1.0, 90.0, 1.0), strict=True)}
    joins = JoinCosts(tuple("abcd"), {("a", "b"): 0.01, ("c", "d"): 0.01}, Costs(move=0.01))
    for chosen in (local_rate_maximization(streams, joins, 9.0), local_time_minimization(streams, joins, 100)):
        assert chosen == (("a", "b"), ("c", "d"))


def test_the_graph_says_what_is_connected() -> None:
    """A class of three columns connects b and c, whatever pairs have a selectivity."""
    graph = JoinGraph.of([("a", "k", "b", "k"), ("a", "k", "c", "k")])
    streams = {"a": Arriving(500.0), "b": Arriving(20.0), "c": Arriving(20.0)}
    joins = JoinCosts(tuple("abc"), {("a", "b"): 0.1, ("a", "c"): 0.1}, Costs(move=0.05))
    trees = list(BinaryTrees.of_join(streams, joins, graph).trees())
    assert sorted(map(to_text, trees)) == ["((a b) c)", "((a c) b)", "(a (b c))"]
    assert local_rate_maximization(streams, joins, 10.0) != ("a", ("b", "c"))
    assert local_rate_maximization(streams, joins, 10.0, graph) == ("a", ("b", "c"))


@pytest.mark.parametrize(("n", "count"), [(2, 1), (3, 2), (4, 5), (5, 14), (6, 42)])
def test_a_chain_has_as_many_trees_as_the_catalan_number(n: int, count: int) -> None:
    chain = BinaryTrees.of(NAMES[:n], list(itertools.pairwise(NAMES[:n])))
    trees = list(chain.trees())
    assert len(trees) == len(set(trees)) == count


def test_streams_that_keep_up_have_equal_estimates() -> None:
    """The tree whose text comes first is returned, whatever rounding does and in whatever order streams are given."""
    rates = dict(zip("abcd", (0.7, 0.3, 0.11, 0.23), strict=True))
    joins = JoinCosts(tuple("abcd"), {("a", "b"): 0.1, ("b", "c"): 0.7, ("c", "d"): 0.3})
    for names in itertools.permutations("abcd"):
        streams = {name: Arriving(rates[name]) for name in names}
        assert sorted_text(local_rate_maximization(streams, joins, 7.0)) == "(((a b) c) d)"
        assert sorted_text(local_time_minimization(streams, joins, 5.0)) == "(((a b) c) d)"


def cpu_of(seed: int) -> Callable[[Sequence[frozenset[str]]], float]:
    """A random CPU time of each join, of few values, so that sums are often equal."""
    return lambda parts: float(random.Random(f"{seed} {sorted(map(sorted, parts))}").choice([1, 2, 3, 7]))


def cpu_of_tree(tree: Shape, cpu: Callable[[Sequence[frozenset[str]]], float]) -> float:
    return sum(cpu([frozenset(streams_of(part)) for part in node]) for node in nodes_of(tree))


@given(drawn_joins(), st.floats(0.1, 100.0), st.integers(0, 1000))
@examples(25, long=250)
def test_cpu_time_decides_between_equal_rates(join: Drawn, t: float, seed: int) -> None:
    cpu = cpu_of(seed)
    trees = without_avoidable_products(list(join.streams), join.pairs)
    rates = {tree: halved_rate(join.joins, tree, join.streams, t) for tree in trees}
    chosen = local_rate_maximization(join.streams, join.joins, t, cpu=cpu)
    limit = max(rates.values()) * 0.99
    assert rates[chosen] >= limit * (1 - 1e-6)
    parts = {part: halved_rate(join.joins, part, join.streams, t) for tree in trees for part in nodes_of(tree)}
    best: dict[frozenset[str], float] = {}
    for part, rate in parts.items():
        of = frozenset(streams_of(part))
        best[of] = max(rate, best.get(of, 0.0))
    equal = [
        tree for tree in trees
        if all(parts[part] >= best[frozenset(streams_of(part))] * (1 - 1e-12) for part in nodes_of(tree))
    ]  # fmt: skip
    assert cpu_of_tree(chosen, cpu) <= min(cpu_of_tree(tree, cpu) for tree in equal)


@given(drawn_joins(), st.floats(1.0, 10_000.0), st.integers(0, 1000))
@examples(25, long=250)
def test_cpu_time_decides_between_equal_times(join: Drawn, results: float, seed: int) -> None:
    cpu = cpu_of(seed)
    endless = {name: replace(stream, rows=math.inf) for name, stream in join.streams.items()}
    trees = without_avoidable_products(list(endless), join.pairs)
    times = {tree: longest_time(required(tree, endless, join.joins, results)) for tree in trees}
    assert longest_times(trees, endless, join.joins, results) == times
    chosen = local_time_minimization(endless, join.joins, results, cpu=cpu)
    # within 1 %, apart from trees at the limit, which rounding decides
    sure = [tree for tree in trees if times[tree] <= min(times.values()) * (1.01 - 1e-6)]
    assert times[chosen] <= min(times.values()) * (1.01 + 1e-6)
    assert cpu_of_tree(chosen, cpu) <= min(cpu_of_tree(tree, cpu) for tree in sure)


TWO = {"a": Arriving(1.0, 10), "b": Arriving(1.0, 10)}
JOIN = JoinCosts(("a", "b"), {("a", "b"): 0.5})


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: local_rate_maximization(TWO, JOIN, 0.0), "t=0.0: .* above 0"),
        (lambda: local_rate_maximization(TWO, JOIN, math.nan), "t=nan"),
        (lambda: local_rate_maximization({"a": Arriving(1.0)}, JOIN, 1.0), "joins has the streams a, b"),
        (lambda: local_time_minimization(TWO, JOIN, 0.5), "results=0.5: .* 1 or more"),
        (lambda: local_time_minimization(TWO, JOIN, 51), "results=51: .* about 50 results; ask for fewer"),
        (lambda: local_time_minimization(TWO, JoinCosts(("a", "b"), {("a", "b"): 0.0}), 1), "about 0 results"),
        (
            lambda: local_time_minimization(TWO, JOIN, 1, JoinGraph.of([("a", "k", "c", "k")])),
            "graph has the streams a, c",
        ),
        (lambda: local_rate_maximization(TWO, JoinCosts(("a", "b"), {}, {}), 1.0), r"the join \(a b\) is not listed"),
    ],
)
def test_impossible_questions_are_refused(call: object, says: str) -> None:
    assert callable(call)
    with pytest.raises(PlanError, match=says):
        call()
