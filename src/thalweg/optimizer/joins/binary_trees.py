"""The binary trees of a join that have no Cartesian product, or only those that cannot be avoided.

A set of streams is a number whose bit i says whether the i-th stream belongs to it. A set can be a part of a tree if
equalities connect its streams. If equalities do not connect all streams, so that products are needed, products are
built last: a part is then also any union of whole connected components.

>>> chain = BinaryTrees.of(("a", "b", "c", "d"), [("a", "b"), ("b", "c"), ("c", "d")])
>>> len(list(chain.trees())), next(chain.trees())
(5, ('a', ('b', ('c', 'd'))))
>>> list(BinaryTrees.of(("a", "b", "c"), [("a", "c")]).trees())
[(('a', 'c'), 'b')]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from thalweg.cost.operator_costs import Costs
from thalweg.cost.rate import Arriving, JoinCosts, NodeCosts
from thalweg.errors import PlanError
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.shape import Shape, streams_of, to_text


@dataclass(frozen=True)
class BinaryTrees:
    """All trees over some streams, with the stream that is written first always on the left of a join."""

    aliases: tuple[str, ...]
    neighbors: tuple[int, ...]
    """For each stream, the set of streams that an equality connects it with."""

    @classmethod
    def of(cls, aliases: Iterable[str], pairs: Iterable[tuple[str, str]]) -> BinaryTrees:
        """Return the trees of streams that these pairs connect."""
        order = tuple(aliases)
        neighbors = [0] * len(order)
        for one, other in pairs:
            neighbors[order.index(one)] |= 1 << order.index(other)
            neighbors[order.index(other)] |= 1 << order.index(one)
        return cls(order, tuple(neighbors))

    @classmethod
    def of_join(cls, streams: Mapping[str, Arriving], joins: JoinCosts, graph: JoinGraph | None) -> BinaryTrees:
        """Return the trees of a join: connected by its graph or, without one, by the pairs with a selectivity."""
        for what, there in (("joins", streams_of(joins.shape)), ("graph", graph.aliases if graph else tuple(streams))):
            if set(there) != set(streams):
                raise PlanError(
                    f"{what} has the streams {', '.join(sorted(there))}, but streams has {', '.join(sorted(streams))}; "
                    "give both the same streams"
                )
        if graph is None:
            return cls.of(streams, joins.selectivities)
        return cls.of(streams, [(a, b) for a in streams for b in streams if a != b and graph.shared(a, b)])

    @property
    def all(self) -> int:
        """The set of all streams."""
        return (1 << len(self.aliases)) - 1

    def names(self, part: int) -> tuple[str, ...]:
        """Return the streams of a set."""
        return tuple(alias for i, alias in enumerate(self.aliases) if part >> i & 1)

    def parts(self) -> Iterator[int]:
        """Yield all sets that can be part of a tree, each after those it contains."""
        reached_from = cache(self._reached)
        components = {reached_from(1 << i, self.all) for i in range(len(self.aliases))}
        for part in range(1, self.all + 1):
            connected = reached_from(part & -part, part) == part
            if connected or all(whole & part in (0, whole) for whole in components):
                yield part

    def splits(self) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        """Yield each part with the pairs of parts that can be joined to it, the part with the first stream left."""
        parts = set(self.parts())
        for part in sorted(parts):
            rest = part & (part - 1)
            pairs, right = [], rest
            while right:
                if right in parts and part ^ right in parts:
                    pairs.append((part ^ right, right))
                right = (right - 1) & rest
            yield part, pairs

    def trees(self) -> Iterator[Shape]:
        """Yield every tree over all streams, each once."""
        return iter(_trees(self.all, dict(self.splits()), self))

    def _reached(self, start: int, within: int) -> int:
        reached, new = start, start
        while new:
            near = 0
            for i, neighbors in enumerate(self.neighbors):
                if new >> i & 1:
                    near |= neighbors
            new = near & within & ~reached
            reached |= new
        return reached


def _trees(part: int, splits: Mapping[int, list[tuple[int, int]]], of: BinaryTrees) -> Iterator[Shape]:
    if not splits[part]:
        yield of.names(part)[0]
    for left, right in splits[part]:
        for one in _trees(left, splits, of):
            for other in _trees(right, splits, of):
                yield one, other


def costs_of(joins: JoinCosts, part: Shape) -> NodeCosts:
    """Return what one join costs. A search must not take a join for free because its costs are not listed."""
    if not isinstance(joins.costs, Costs) and part not in joins.costs:
        raise PlanError(
            f"costs: the join {to_text(part)} is not listed; give one Costs for all joins, or costs for every part "
            "that a tree can have"
        )
    return joins.of(part)
