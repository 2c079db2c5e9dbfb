"""Find the plans of a join: all of them, or the cheapest one.

Answers: `all_plans`, every plan in which equalities connect the inputs of each join, and `cheapest_plan`, the one with
the least sum of the costs of its joins.
Guarantee: `cheapest_plan` is exact. With up to `ALL_PARTITIONS` streams it is the cheapest of `all_plans`; with up to
`MOST_STREAMS`, of those in which all joins have two inputs, except that the last one may join one kept sub-join and any
number of single streams at once (with more than `MANY_STREAMS`, a sub-join of at most `MOST_KEPT`). A join of more
streams keeps nothing. Of plans that cost the same, the one with the least memory is returned, then the one whose sorted
text comes first, so the order of streams and equalities has no influence.
Cost: one evaluation per way to divide a connected set of streams into connected inputs; these are at most 3 to the
power of the number of streams if inputs are two. Costs must depend only on the streams of each input, not on how an
input itself is joined.

>>> graph = JoinGraph.of([("a", "k", "b", "k"), ("b", "m", "c", "m")])
>>> [to_text(plan) for plan in all_plans(graph)]
['(a b c)', '(a (b c))', '((a b) c)']

Reference: Moerkotte, Neumann: Analysis of Two Existing and One New Dynamic Programming Algorithm for the Generation of
Optimal Bushy Join Trees without Cross Products. VLDB 2006.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product

from thalweg.cost.ties import ROUNDING
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.shape import MOST_STREAMS, Shape, in_order, sorted_text, to_text

Part = frozenset[str]
NodeCost = Callable[[Sequence[Part]], float]
ALL_PARTITIONS = 6
"""With up to this many streams, joins of any number of inputs are considered everywhere."""
MANY_STREAMS = 8
"""With more streams, the sub-join that is kept beside single streams has at most `MOST_KEPT` streams."""
MOST_KEPT = 4

__all__ = ["ALL_PARTITIONS", "all_plans", "cheapest_plan", "to_text"]


def all_plans(graph: JoinGraph) -> Iterator[Shape]:
    """Yield every plan of a join, the one that keeps nothing first. Streams are in the order of the graph."""
    memo: dict[int, list[Shape]] = {}
    sets = _Sets(graph.aliases, graph)

    def plans(part: int) -> list[Shape]:
        if part.bit_count() == 1:
            return [graph.aliases[part.bit_length() - 1]]
        if part not in memo:
            memo[part] = [
                tuple(inputs)
                for parts in sets.partitions(part)
                for inputs in product(*(plans(each) for each in parts))
            ]  # fmt: skip
        return memo[part]

    yield from sorted(plans(sets.whole), key=lambda shape: to_text(shape).count("("))


def cheapest_plan(
    graph: JoinGraph, cost: NodeCost, size: Callable[[Shape], float] = lambda shape: 0.0
) -> tuple[Shape, float]:
    """Return the plan with the least sum of the costs of its joins, and this sum. `cost` is asked for the inputs of one
    join at a time; it must be 0 or more. `size`: the memory of a plan, which is asked if costs are equal."""
    aliases = sorted(graph.aliases)
    sets = _Sets(aliases, graph)
    if len(aliases) > MOST_STREAMS:
        return graph.aliases, cost([sets.streams(each) for each in sets.alone(sets.whole)])
    few = len(aliases) <= ALL_PARTITIONS
    memo: dict[int, tuple[float, Shape]] = {1 << n: (0.0, alias) for n, alias in enumerate(aliases)}

    def best(part: int) -> tuple[float, Shape]:
        if part not in memo:
            least, shape = math.inf, _nothing_kept(part)
            ways = sets.partitions(part) if few else sets.divisions(part, several=part == sets.whole)
            for parts in ways:
                inputs = [best(each) for each in parts]
                below = sum(each for each, _ in inputs)
                if below > least:
                    continue
                total, plan = below + cost([sets.streams(each) for each in parts]), tuple(one for _, one in inputs)
                equal = abs(total - least) <= ROUNDING * least < math.inf
                if _decided(plan) < _decided(shape) if equal else total < least:
                    least, shape = total, plan
            memo[part] = least, shape
        return memo[part]

    def _nothing_kept(part: int) -> Shape:
        return tuple(aliases[each.bit_length() - 1] for each in sets.alone(part))

    def _decided(plan: Shape) -> tuple[float, str]:
        return size(plan), sorted_text(plan)

    least, shape = best(sets.whole)
    return in_order(shape, graph.aliases), least


class _Sets:
    """Connected sets of the streams of a graph, and the ways to divide them. A set is the bits of a number."""

    def __init__(self, aliases: Sequence[str], graph: JoinGraph) -> None:
        """`aliases`: the streams of the graph, in the order of the bits."""
        self.whole = (1 << len(aliases)) - 1
        self._aliases = aliases
        self._near = [
            sum(1 << m for m, other in enumerate(aliases) if m != n and graph.shared(alias, other))
            for n, alias in enumerate(aliases)
        ]
        self._connected: dict[int, bool] = {}
        self._streams: dict[int, Part] = {}

    def streams(self, part: int) -> Part:
        """Return the streams of a set."""
        if part not in self._streams:
            self._streams[part] = frozenset(alias for n, alias in enumerate(self._aliases) if part >> n & 1)
        return self._streams[part]

    def alone(self, part: int) -> list[int]:
        """Return the streams of a set, each alone."""
        return [1 << n for n in range(part.bit_length()) if part >> n & 1]

    def partitions(self, part: int) -> Iterator[list[int]]:
        """Yield the ways to divide a connected set into two or more connected ones; all alone first."""
        yield self.alone(part)
        for parts in self._blocks(part):
            if 1 < len(parts) < part.bit_count():
                yield parts

    def divisions(self, part: int, *, several: bool) -> Iterator[list[int]]:
        """Yield the ways to divide a connected set into two connected ones; with `several`, also into one connected set
        and single streams."""
        size, first = part.bit_count(), part & -part
        if several or size == 2:
            yield self.alone(part)
        if size == 2:
            return
        most = size - 2 if size <= MANY_STREAMS else MOST_KEPT
        for inner in _subsets(part):
            if several and 1 < inner.bit_count() <= most and self.connected(inner):
                yield [inner, *self.alone(part & ~inner)]
            if inner & first and inner != part and self.connected(inner) and self.connected(part & ~inner):
                yield [inner, part & ~inner]

    def _blocks(self, part: int) -> Iterator[list[int]]:
        """Yield the partitions of a set into connected blocks. The first block has the first stream."""
        if not part:
            yield []
            return
        first = part & -part
        for rest in (0, *_subsets(part & ~first)):
            block = first | rest
            if self.connected(block):
                for others in self._blocks(part & ~block):
                    yield [block, *others]

    def connected(self, part: int) -> bool:
        """Whether equalities connect all streams of a set."""
        found = self._connected.get(part)
        if found is None:
            reached = waiting = part & -part
            while waiting:
                near = 0
                for n in range(waiting.bit_length()):
                    if waiting >> n & 1:
                        near |= self._near[n]
                waiting = near & part & ~reached
                reached |= waiting
            found = self._connected[part] = reached == part
        return found


def _subsets(part: int) -> Iterator[int]:
    """Yield the subsets of a set that have at least one stream, small numbers first."""
    subset = -part & part
    while subset:
        yield subset
        subset = (subset - part) & part
