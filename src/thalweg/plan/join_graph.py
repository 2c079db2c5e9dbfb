"""Which streams a join connects, by which columns, and along which tree a new row of each of them looks for partners.

Columns that must be equal, directly or through others, form a *class*: in any result they hold one value. Two streams
are neighbours when they have a class in common, so `a.k = b.k AND a.k = c.k` lets a row of b probe c without a detour
(predicate transitivity; a-greedy, section 8).

For new rows of one stream, the root, the others form a tree: each has a parent, with which it shares the key it is
probed by. A stream must come after its parent (a-greedy, section 8.2). Classes that a tree does not use, as every
cycle has, are checked when rows are put together.

>>> graph = JoinGraph.of([("a", "k", "b", "k"), ("b", "m", "c", "m")])
>>> graph.aliases, [dict(members) for members in graph.classes]
(('a', 'b', 'c'), [{'a': 'k', 'b': 'k'}, {'b': 'm', 'c': 'm'}])
>>> graph.tree("a").parents
{'b': 'a', 'c': 'b'}
>>> graph.tree("a").pipeline().guards
((), (0,))

Reference: Babu, Motwani, Munagala, Nishizawa, Widom: Adaptive Ordering of Pipelined Stream Filters. SIGMOD 2004,
section 8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from thalweg.errors import PlanError
from thalweg.plan.pipeline import Pipeline

Key = tuple[int, ...]
"""The numbers of the classes two streams share, ascending: what one is probed by."""
Equality = tuple[str, str, str, str]
"""alias, column = alias, column."""
Trees = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
"""By root: every other stream and its parent."""


@dataclass(frozen=True)
class JoinGraph:
    """Streams by alias, and the classes of equal columns: alias to column, one column a stream."""

    aliases: tuple[str, ...]
    classes: tuple[tuple[tuple[str, str], ...], ...]
    within: tuple[tuple[str, str, str], ...] = ()
    """(alias, column, column) that must be equal within one row: two columns of a stream in one class."""
    trees: Trees = ()
    """Trees that a plan has chosen; `tree` makes those of other roots itself."""

    @classmethod
    def of(cls, equalities: Sequence[Equality], aliases: Iterable[str] = ()) -> JoinGraph:
        """From equalities; refuses a graph in parts."""
        order = dict.fromkeys(aliases)
        found: list[list[tuple[str, str]]] = []
        for alias, column, other, other_column in equalities:
            order.setdefault(alias)
            order.setdefault(other)
            ends = (alias, column), (other, other_column)
            touched = [members for members in found if any(end in members for end in ends)]
            merged = [member for members in touched for member in members]
            merged += [end for end in dict.fromkeys(ends) if end not in merged]
            place = found.index(touched[0]) if touched else len(found)
            found = [members for members in found if members not in touched]
            found.insert(place, merged)  # classes stay in the order they are first written
        classes, within = [], []
        for members in found:
            first: dict[str, str] = {}
            for alias, column in members:
                if alias in first:
                    within.append((alias, first[alias], column))
                else:
                    first[alias] = column
            if len(first) > 1:
                classes.append(tuple(first.items()))
            elif len(members) == 1:  # a.k = a.k, which says that it is not null
                ((alias, column),) = members
                within.append((alias, column, column))
        graph = cls(tuple(order), tuple(classes), tuple(within))
        graph._refuse_parts()
        return graph

    def _refuse_parts(self) -> None:
        if len(self.aliases) < 2:
            raise PlanError("a join needs two streams or more: on='a.k = b.k'")
        parts: list[list[str]] = []
        for alias in self.aliases:
            if not any(alias in part for part in parts):
                parts.append([alias, *self.tree(alias, whole=False).parents])
        if len(parts) > 1:
            text = " and ".join("{" + ", ".join(sorted(part)) + "}" for part in parts)
            raise PlanError(f"on= does not connect all streams: {text} have no equality between them; add one")

    @cached_property
    def column_of(self) -> tuple[Mapping[str, str], ...]:
        """By class: alias to column."""
        return tuple(dict(members) for members in self.classes)

    def with_trees(self, trees: Trees) -> JoinGraph:
        """With trees that a plan has chosen.

        >>> graph = JoinGraph.of([("a", "k", "b", "k"), ("a", "k", "c", "k")])
        >>> graph.tree("a").parents, graph.with_trees((("a", (("b", "a"), ("c", "b"))),)).tree("a").parents
        ({'b': 'a', 'c': 'a'}, {'b': 'a', 'c': 'b'})
        """
        graph = replace(self, trees=trees)
        for root, parents in trees:
            assert sorted([root, *dict(parents)]) == sorted(self.aliases), f"a tree of {root} reaches every stream once"
            tree = graph.tree(root)
            for alias in tree.others:
                assert tree.key(alias), f"{alias} and {tree.parents[alias]} have no column in common"
            assert len(tree.pipeline().start) == len(parents)  # which refuses a circle
        return graph

    @cached_property
    def _chosen(self) -> Mapping[str, Mapping[str, str]]:
        return {root: dict(parents) for root, parents in self.trees}

    def shared(self, one: str, other: str) -> Key:
        """The classes both have a column in."""
        return tuple(c for c, members in enumerate(self.column_of) if one in members and other in members)

    def classes_of(self, alias: str) -> Key:
        """The classes it has a column in."""
        return tuple(c for c, members in enumerate(self.column_of) if alias in members)

    def tree(self, root: str, *, whole: bool = True) -> JoinTree:
        """The one a plan has chosen, else every other stream below the nearest one it shares a class with, the root
        where that is possible; among equally near ones below that with which it shares most."""
        if root in self._chosen:
            return JoinTree(self, root, self._chosen[root])
        depth, parents = {root: 0}, {}
        layer = [root]
        while layer:
            reached: dict[str, str] = {}
            for alias in self.aliases:
                near = [above for above in layer if self.shared(above, alias)]
                if alias not in depth and near:
                    reached[alias] = max(near, key=lambda above: len(self.shared(above, alias)))
            parents.update(reached)
            depth.update(dict.fromkeys(reached, depth[layer[0]] + 1))
            layer = list(reached)
        assert not whole or len(parents) == len(self.aliases) - 1
        return JoinTree(self, root, parents)

    def keys_of(self, alias: str) -> tuple[Key, ...]:
        """What rows of a stream are probed by or compared by, in any tree: the keys of its edges, and each class alone
        that some tree leaves to be checked."""
        keys: dict[Key, None] = {}
        for root in self.aliases:
            tree = self.tree(root)
            for child, parent in tree.parents.items():
                if alias in (child, parent):
                    keys.setdefault(self.shared(child, parent))
            for child in tree.parents:
                for c in tree.unused(child):
                    # what stands below the child is always chosen later, and compared when it is
                    earlier = [a for a in self.column_of[c] if a == root or child not in tree.path(a)]
                    if earlier and alias in (child, *earlier):
                        keys.setdefault((c,))
        return tuple(keys)


@dataclass(frozen=True)
class JoinTree:
    """How new rows of the root find their partners."""

    graph: JoinGraph
    root: str
    parents: Mapping[str, str]

    @cached_property
    def others(self) -> tuple[str, ...]:
        """All streams but the root, in the order they are written."""
        return tuple(alias for alias in self.graph.aliases if alias != self.root)

    @cached_property
    def keys(self) -> Mapping[str, Key]:
        """What each of the others is probed by."""
        return {alias: self.graph.shared(parent, alias) for alias, parent in self.parents.items()}

    def key(self, alias: str) -> Key:
        """What a stream is probed by."""
        return self.keys[alias]

    @cached_property
    def unused_classes(self) -> Mapping[str, Key]:
        """The classes of each of the others that its own edge does not look at."""
        return {
            alias: tuple(c for c in self.graph.classes_of(alias) if c not in key) for alias, key in self.keys.items()
        }

    def unused(self, alias: str) -> Key:
        """The classes of a stream that its own edge does not look at."""
        return self.unused_classes[alias]

    def path(self, alias: str) -> tuple[str, ...]:
        """The streams from below the root down to this one."""
        above = self.parents[alias]
        return (alias,) if above == self.root else (*self.path(above), alias)

    def pipeline(self) -> Pipeline:
        """The others as filters: each drops the rows that find no partner on the path to it."""
        others = self.others
        guards = tuple(() if self.parents[a] == self.root else (others.index(self.parents[a]),) for a in others)
        return Pipeline(others, guards)
