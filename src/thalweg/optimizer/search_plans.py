"""Find the plans of a join: all of them, or the cheapest one.

Answers: `all_plans`, every plan in which equalities connect the inputs of each join, and `cheapest_plan`, the one with
the least sum of the costs of its joins.
Guarantee: `cheapest_plan` is exact. With up to `ALL_PARTITIONS` streams it is the cheapest of `all_plans`; with up to
`MOST_STREAMS`, of those in which all joins have two inputs, except that the last one may join one kept sub-join and any
number of single streams at once. A join of more streams keeps nothing.
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

from thalweg.plan.join_graph import JoinGraph
from thalweg.plan.join_shape import Shape, to_text

Part = frozenset[str]
NodeCost = Callable[[Sequence[Part]], float]
ALL_PARTITIONS = 6
"""With up to this many streams, joins of any number of inputs are considered everywhere."""
MOST_STREAMS = 12
"""With more streams, nothing is kept."""

__all__ = ["ALL_PARTITIONS", "MOST_STREAMS", "all_plans", "cheapest_plan", "to_text"]


def all_plans(graph: JoinGraph) -> Iterator[Shape]:
    """Yield every plan of a join, the one that keeps nothing first. Streams are in the order of the graph."""
    memo: dict[Part, list[Shape]] = {}
    sets = _Sets(graph)

    def plans(part: Part) -> list[Shape]:
        if len(part) == 1:
            return list(part)
        if part not in memo:
            memo[part] = [
                tuple(inputs)
                for parts in sets.partitions(part)
                for inputs in product(*(plans(each) for each in parts))
            ]  # fmt: skip
        return memo[part]

    yield from sorted(plans(frozenset(graph.aliases)), key=lambda shape: to_text(shape).count("("))


def cheapest_plan(graph: JoinGraph, cost: NodeCost) -> tuple[Shape, float]:
    """Return the plan with the least sum of the costs of its joins, and this sum. `cost` is asked for the inputs of one
    join at a time; it must be 0 or more."""
    sets, whole = _Sets(graph), frozenset(graph.aliases)
    if len(whole) > MOST_STREAMS:
        return graph.aliases, cost(sets.alone(whole))
    memo: dict[Part, tuple[float, Shape]] = {}

    def best(part: Part) -> tuple[float, Shape]:
        if len(part) == 1:
            return 0.0, next(iter(part))
        if part not in memo:
            few = len(whole) <= ALL_PARTITIONS
            least = math.inf
            shape: Shape = tuple(sorted(part))
            ways = sets.partitions(part) if few else sets.divisions(part, several=part == whole)
            for parts in ways:
                inputs = [best(each) for each in parts]
                below = sum(each for each, _ in inputs)
                if below < least and (total := below + cost(parts)) < least:
                    least, shape = total, tuple(one for _, one in inputs)
            memo[part] = least, shape
        return memo[part]

    least, shape = best(whole)
    return shape, least


class _Sets:
    """Connected sets of the streams of a graph, and the ways to divide them."""

    def __init__(self, graph: JoinGraph) -> None:
        self._place = {alias: n for n, alias in enumerate(graph.aliases)}
        self._near = {
            alias: frozenset(other for other in graph.aliases if other != alias and graph.shared(alias, other))
            for alias in graph.aliases
        }
        self._around: dict[Part, Part] = {}
        self._connected: dict[Part, bool] = {}

    def alone(self, part: Part) -> list[Part]:
        """Return the streams of a set, each alone."""
        return [frozenset([alias]) for alias in self._sorted(part)]

    def partitions(self, part: Part) -> Iterator[list[Part]]:
        """Yield the ways to divide a connected set into two or more connected ones; all alone first."""
        yield self.alone(part)
        for parts in self._blocks(part):
            if 1 < len(parts) < len(part):
                yield parts

    def divisions(self, part: Part, *, several: bool) -> Iterator[list[Part]]:
        """Yield the ways to divide a connected set into two connected ones; with `several`, also into one connected set
        and single streams."""
        first = self._sorted(part)[0]
        if several or len(part) == 2:
            yield self.alone(part)
        for inner in self._subsets(part, None if several else first):
            rest = part - inner
            if several and 1 < len(inner) < len(part) - 1:
                yield [inner, *(frozenset([alias]) for alias in self._sorted(rest))]
            if first in inner and len(rest) and len(part) > 2 and self.connected(rest):
                yield [inner, rest]

    def _blocks(self, part: Part) -> Iterator[list[Part]]:
        """Yield the partitions of a set into connected blocks. The first block has the first stream."""
        if not part:
            yield []
            return
        first = self._sorted(part)[0]
        for block in self._subsets(part, first):
            for others in self._blocks(part - block):
                yield [block, *others]

    def _subsets(self, part: Part, having: str | None = None) -> Iterator[Part]:
        """Yield the connected subsets of a set; only those with one stream, if it is given."""
        found: set[Part] = set()
        waiting = [frozenset([alias]) for alias in (self._sorted(part) if having is None else [having])]
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                yield one
                near = self._near_of(one) & part - one
                waiting += [one | {alias} for alias in self._sorted(near)]

    def _near_of(self, part: Part) -> Part:
        if part not in self._around:
            self._around[part] = frozenset().union(*(self._near[alias] for alias in part))
        return self._around[part]

    def connected(self, part: Part) -> bool:
        """Whether equalities connect all streams of a set."""
        if part not in self._connected:
            reached, left = {next(iter(part))}, set(part)
            waiting = list(reached)
            while waiting:
                near = self._near[waiting.pop()] & left - reached
                reached |= near
                waiting += near
            self._connected[part] = reached == left
        return self._connected[part]

    def _sorted(self, part: Part) -> list[str]:
        return sorted(part, key=self._place.__getitem__)
