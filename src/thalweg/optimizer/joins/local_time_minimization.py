"""Local time minimization: the tree of joins whose slowest part reaches its share of N results first.

Answers: in which tree to join streams in order to have the first N results as soon as possible.
How: from the root down, every join and stream gets the number of results that it has to contribute (figure 5). If a
join must return a share phi of all its results, each of its inputs must return the share sqrt(phi) of its own. The time
that a point needs is this number divided by its rate: the rate of a stream, and for a join the constant rate of local
rate maximization. The time of a tree is the longest time of its points (`longest_time`, the paper's `max`), and the
tree with the shortest time is the best (`fastest`, the paper's `min`).
Guarantee: of all trees without avoidable products, the one with the shortest time by this estimate, if costs depend on
the streams of both inputs only. Of trees whose estimate is equal to the shortest (`ties`), the one with the least CPU
time is returned, if that is known, and then the one whose sorted text comes first.
Cost: for each set of streams and depth in the tree, the trees of which no other is better in its own time, in its
longest time and in CPU time. Usually these are one or two, so the cost is that of local rate maximization times the
depth.
Differs from the paper:

- It prints square roots over phi, the selectivities and |A|, or |B| |C|, for what A and the join of B and C must
  contribute to A join (B join C). They must be sqrt(phi) |A| and sqrt(phi) |B join C|: the product of these with the
  selectivity between them is phi times all results, that of the printed ones is not.
- Its `min` takes a tree if its time is *longer* than the best time of the others, which is infinite if there are no
  others. So it always returns bottom. Here it takes the tree with the shorter time.
- It does not say at which time a rate that grows with time is taken. Here the time t of a join is the one for which its
  rate at t/2, times t, is the number of results that it needs.
- It needs the sizes of the streams. If a stream is endless, the sizes are those of the rows that have arrived when
  streams that are joined without delay have N results, so phi is 1.

Windows have no influence, as in the paper.

>>> streams = {"a": Arriving(50.0), "b": Arriving(500.0), "c": Arriving(100.0)}
>>> first, last = (("a", "b"), "c"), (("a", "c"), "b")
>>> hash_join, expensive = Costs(move="3.75 ms"), Costs(move="3.75 ms", handling="5 ms")  # a and c, as in table 5
>>> costs = {first[0]: hash_join, first: expensive, last[0]: expensive, last: hash_join}
>>> joins = JoinCosts(first, {("a", "b"): 0.002, ("a", "c"): 0.005}, costs)
>>> to_text(local_time_minimization(streams, joins, 100)), to_text(local_time_minimization(streams, joins, 10_000))
('((a b) c)', '((a c) b)')

Reference: Viglas, Naughton: Rate-Based Query Optimization for Streaming Information Sources. SIGMOD 2002, section
4.2.2, figure 5.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from thalweg.cost.operator_costs import Costs
from thalweg.cost.rate import Arriving, JoinCosts, NodeCosts, halved_rate
from thalweg.cost.ties import ROUNDING, TIES, ranked
from thalweg.errors import PlanError
from thalweg.optimizer.joins.binary_trees import BinaryTrees, costs_of
from thalweg.optimizer.joins.search_plans import NodeCost
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.shape import Shape, sorted_text, streams_of, to_text

__all__ = [
    "Arriving", "Costs", "Info", "JoinCosts", "fastest", "local_time_minimization", "longest_time", "longest_times",
    "required", "to_text",
]  # fmt: skip

HALVINGS = 200


@dataclass(frozen=True, slots=True)
class Info:
    """A point of a tree, a stream or a join: what it must return, how fast, and when it is done (the paper's grammar).

    >>> a, b = Info("a", 100.0, 50.0, 2.0), Info("b", 200.0, 40.0, 5.0)
    >>> longest_time(Info(("a", "b"), 30.0, 10.0, 3.0, (a, b)))
    5.0
    """

    point: Shape
    results: float
    rate: float
    time: float
    inputs: tuple[Info, ...] = ()
    cpu: float = 0.0
    """The CPU time of its joins, if it is known."""


def longest_time(info: Info) -> float:
    """Return the longest time of a point and the points below it (the paper's `max`)."""
    return max(info.time, *(longest_time(below) for below in info.inputs), 0.0)


def fastest(forest: Iterable[Info], equal: float = ROUNDING) -> Info | None:
    """Return the tree whose longest time is shortest, None if there is no tree (the paper's `min`, corrected). `equal`:
    the share by which times differ that are equal, so that the CPU time decides.

    >>> slow, quick = Info("a", 10.0, 1.0, 10.0), Info("b", 10.0, 5.0, 2.0)
    >>> fastest([slow, quick]).point, fastest([])
    ('b', None)
    """
    return next(ranked(forest, [(longest_time, equal), (lambda tree: tree.cpu, ROUNDING)], _text), None)


def _text(tree: Info) -> str:
    return sorted_text(tree.point)


def local_time_minimization(
    streams: Mapping[str, Arriving], joins: JoinCosts, results: float, graph: JoinGraph | None = None,
    cpu: NodeCost | None = None,
) -> Shape:  # fmt: skip
    """Return the tree with the shortest estimated time until a number of results.

    Parameters
    ----------
    streams
        The rates, sizes and selections of the streams, by alias.
    joins
        What joins select and cost. Its tree does not matter. If it has costs or methods by part of a tree, they must
        list every part that can be considered, with the stream that comes first in `streams` on the left.
    results
        The number of results that are needed as soon as possible.
    graph
        The join graph; None to connect the pairs of streams that have a selectivity.
    cpu
        The CPU time of a join of these inputs, which decides between trees with equal estimates; None: unknown.

    Returns
    -------
    Shape

    Raises
    ------
    PlanError
        If `results` is below 1 or more than the join returns, or the arguments have different streams.

    Examples
    --------
    >>> from thalweg.cost.rate import Arriving, JoinCosts
    >>> streams = {"a": Arriving(9.0), "b": Arriving(9.0), "c": Arriving(1.0)}
    >>> joins = JoinCosts(("a", "b", "c"), {("a", "b"): 0.5, ("b", "c"): 0.1}, Costs(move=0.2))
    >>> local_time_minimization(streams, joins, 1000)
    ('a', ('b', 'c'))
    """
    trees = BinaryTrees.of_join(streams, joins, graph)
    estimates = _Estimates(streams, joins, results, cpu)
    splits = dict(trees.splits())
    fronts: dict[tuple[int, int], list[Info]] = {}

    def front(part: int, depth: int) -> list[Info]:
        """Return the trees of a part of which no other is better in its own time, its longest time and CPU time."""
        if (part, depth) not in fronts:
            fronts[part, depth] = _not_dominated(candidates(part, depth))
        return fronts[part, depth]

    def candidates(part: int, depth: int) -> Iterator[Info]:
        if not splits[part]:
            yield estimates.stream(trees.names(part)[0], depth)
        for left, right in splits[part]:
            for one in front(left, depth + 1):
                for other in front(right, depth + 1):
                    yield estimates.join(one, other, depth)

    best = fastest(front(trees.all, 0), ROUNDING if cpu is None else TIES)
    assert best is not None, "a join of streams has at least one tree"
    return best.point


def required(shape: Shape, streams: Mapping[str, Arriving], joins: JoinCosts, results: float) -> Info:
    """Return what every point of a binary tree must return for a number of results, and when it is done (figure 5).

    >>> streams = {"a": Arriving(1.0, 100), "b": Arriving(1.0, 200), "c": Arriving(1.0, 400)}
    >>> joins = JoinCosts(("a", ("b", "c")), {("a", "b"): 0.5, ("b", "c"): 0.25})
    >>> root = required(("a", ("b", "c")), streams, joins, 0.25 * 0.5 * 0.25 * 100 * 200 * 400)
    >>> [below.results for below in root.inputs]  # half of the rows of a, half of the results of b and c
    [50.0, 10000.0]
    """
    return _required(shape, 0, _Estimates(streams, joins, results))


def _required(shape: Shape, depth: int, estimates: _Estimates) -> Info:
    if isinstance(shape, str):
        return estimates.stream(shape, depth)
    left, right = (_required(below, depth + 1, estimates) for below in shape)
    return estimates.join(left, right, depth)


def longest_times(
    trees: Iterable[Shape], streams: Mapping[str, Arriving], joins: JoinCosts, results: float
) -> dict[Shape, float]:
    """Return the longest time of each binary tree for a number of results."""
    estimates = _Estimates(streams, joins, results)
    return {tree: longest_time(_required(tree, 0, estimates)) for tree in trees}


def _not_dominated(found: Iterable[Info]) -> list[Info]:
    kept: list[tuple[float, Info]] = []
    numbers = [(lambda tree: tree.time, ROUNDING), (longest_time, ROUNDING), (lambda tree: tree.cpu, ROUNDING)]
    for info in ranked(found, numbers, _text):
        longest, cpu = longest_time(info) * (1.0 + ROUNDING), info.cpu * (1.0 + ROUNDING)
        if not any(time <= longest and other.cpu <= cpu for time, other in kept):
            kept.append((longest_time(info), info))
    return [info for _, info in kept]


@dataclass
class _Estimates:
    """The estimates for one number of results of one join."""

    streams: Mapping[str, Arriving]
    joins: JoinCosts
    needed: float
    cpu: NodeCost | None = None
    shares: dict[tuple[str, ...], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 1.0 <= self.needed < math.inf:
            raise PlanError(f"results={self.needed!r}: the number of results must be 1 or more and finite")
        self.rates = {alias: halved_rate(self.joins, alias, self.streams, 1.0) for alias in self.streams}
        self.sizes = {alias: stream.rows * stream.kept for alias, stream in self.streams.items()}
        total = self.total(self.sizes)
        if total < self.needed:
            raise PlanError(
                f"results={self.needed:g}: the join of these streams has about {total:g} results; ask for fewer"
            )
        if math.isinf(total):
            self.sizes = self._arrived()
            total = self.needed
        self.phi = self.needed / total

    def total(self, sizes: Mapping[str, float]) -> float:
        """Return the number of results of streams of these sizes."""
        share = self.share(tuple(self.streams))
        return share * math.prod(sizes.values()) if share and all(sizes.values()) else 0.0

    def share(self, aliases: tuple[str, ...]) -> float:
        """Return the share of the combinations of rows that join."""
        key = tuple(sorted(aliases))
        if key not in self.shares:
            self.shares[key] = self.joins.selectivity(key)
        return self.shares[key]

    def size(self, aliases: tuple[str, ...]) -> float:
        """Return the number of results of a join of these streams."""
        return self.share(aliases) * math.prod(self.sizes[alias] for alias in aliases)

    def part(self, depth: int) -> float:
        """Return the share of its results that a point at this depth of the tree must return."""
        return float(self.phi ** (0.5**depth))

    def stream(self, alias: str, depth: int) -> Info:
        """Return what a stream must contribute."""
        results, rate = self.part(depth) * self.sizes[alias], self.rates[alias]
        return Info(alias, results, rate, results / rate)

    def join(self, left: Info, right: Info, depth: int) -> Info:
        """Return what a join of two points must contribute."""
        point = left.point, right.point
        sides = streams_of(left.point), streams_of(right.point)
        results = self.part(depth) * self.size(sides[0] + sides[1])
        between = self.share(sides[0] + sides[1]) / (self.share(sides[0]) * self.share(sides[1]))
        time = _time(results, left.rate, right.rate, between, costs_of(self.joins, point))
        own = 0.0 if self.cpu is None else self.cpu([frozenset(side) for side in sides])
        return Info(point, results, results / time, time, (left, right), own + left.cpu + right.cpu)

    def _arrived(self) -> dict[str, float]:
        """Return the sizes at which streams of which some are endless have the results that are needed."""

        def at(time: float) -> dict[str, float]:
            return {alias: min(self.rates[alias] * time, self.sizes[alias]) for alias in self.streams}

        low, high = 0.0, 1.0
        while self.total(at(high)) < self.needed:
            high *= 2.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            low, high = (low, middle) if self.total(at(middle)) >= self.needed else (middle, high)
        return at(high)


def _time(results: float, left: float, right: float, selectivity: float, costs: NodeCosts) -> float:
    """Return the time t after which a join has these results at its rate at t/2 (equation 2)."""
    pairs = selectivity * left * right / 2.0
    in_time = math.sqrt(results / pairs)
    fixed, growing = results * costs.arrival * (left + right), results * costs.comp * left * right
    overloaded = (growing + math.sqrt(growing**2 + 4.0 * pairs * fixed)) / (2.0 * pairs)
    return max(in_time, overloaded)
