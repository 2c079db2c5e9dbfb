"""The graph of a join: which streams it connects by which columns, and along which tree new rows look for partners.

Columns that must be equal, directly or through other columns, form a *class*: in any result they have the same value.
Two streams are neighbors if they have a class in common, so with `a.k = b.k AND a.k = c.k` a row of b can probe c
directly (predicate transitivity; a-greedy, section 8).

For new rows of one stream, the root, the other streams form a tree: each has a parent, with which it shares the key
that it is probed by. A stream must come after its parent (a-greedy, section 8.2). Classes that a tree does not use,
which every cycle has, are checked when rows are joined.

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
from thalweg.plan.filters.pipeline import Pipeline

KeyClasses = tuple[int, ...]
"""The key by which one stream is probed from another: the numbers of the classes that both share, ascending."""
EqualColumns = tuple[str, str, str, str]
"""An equality of two columns: alias, column, other alias, other column."""
Trees = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
"""For each root: every other stream and its parent."""


@dataclass(frozen=True)
class JoinGraph:
    """The streams of a join, and its classes of equal columns, as (alias, column) with one column per stream."""

    aliases: tuple[str, ...]
    classes: tuple[tuple[tuple[str, str], ...], ...]
    within: tuple[tuple[str, str, str], ...] = ()
    """(alias, column, column): two columns of a stream in one class, which must be equal within a row."""
    trees: Trees = ()
    """The trees that a plan has chosen. `tree` derives the trees of other roots."""

    @classmethod
    def of(cls, equalities: Sequence[EqualColumns], aliases: Iterable[str] = ()) -> JoinGraph:
        """Return the graph of these equalities. A graph that is not connected is refused."""
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
            found.insert(place, merged)  # classes stay in the order in which they are first written
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
            elif len(members) == 1:  # a.k = a.k, which means that it is not null
                ((alias, column),) = members
                within.append((alias, column, column))
        graph = cls(tuple(order), tuple(classes), tuple(within))
        graph._refuse_unconnected()
        return graph

    def _refuse_unconnected(self) -> None:
        if len(self.aliases) < 2:
            raise PlanError("a join needs at least two streams: write on='a.k = b.k'")
        parts: list[list[str]] = []
        for alias in self.aliases:
            if not any(alias in part for part in parts):
                parts.append([alias, *self.tree(alias, whole=False).parents])
        if len(parts) > 1:
            text = " and ".join("{" + ", ".join(sorted(part)) + "}" for part in parts)
            raise PlanError(
                f"on= does not connect all streams: no equality of two plain columns links {text}; add one (an "
                "equality with CAST or an operator is only checked on joined rows)"
            )

    @cached_property
    def column_of(self) -> tuple[Mapping[str, str], ...]:
        """For each class, the column of each stream, by alias."""
        return tuple(dict(members) for members in self.classes)

    def with_trees(self, trees: Trees) -> JoinGraph:
        """Return the graph with trees that a plan has chosen.

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
            assert len(tree.pipeline().start) == len(parents)  # `start` refuses a cycle
        return graph

    @cached_property
    def _chosen(self) -> Mapping[str, Mapping[str, str]]:
        return {root: dict(parents) for root, parents in self.trees}

    def shared(self, one: str, other: str) -> KeyClasses:
        """Return the classes in which both streams have a column."""
        return tuple(c for c, members in enumerate(self.column_of) if one in members and other in members)

    def classes_of(self, alias: str) -> KeyClasses:
        """Return the classes in which a stream has a column."""
        return tuple(c for c, members in enumerate(self.column_of) if alias in members)

    def tree(self, root: str, *, whole: bool = True) -> JoinTree:
        """Return the tree of a root: the one that a plan has chosen, else the tree in which the parent of a stream is
        the nearest stream that it shares a class with, the root if possible. Among equally near streams, the parent is
        the one with which it shares the most classes."""
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

    def keys_of(self, alias: str) -> tuple[KeyClasses, ...]:
        """Return the keys by which rows of a stream are probed or compared in any tree: the keys of its edges, and each
        single class that some tree leaves to be checked."""
        keys: dict[KeyClasses, None] = {}
        for root in self.aliases:
            tree = self.tree(root)
            for child, parent in tree.parents.items():
                if alias in (child, parent):
                    keys.setdefault(self.shared(child, parent))
            for child in tree.parents:
                for c in tree.unused(child):
                    # streams below the child are always probed later, and are compared then
                    earlier = [a for a in self.column_of[c] if a == root or child not in tree.path(a)]
                    if earlier and alias in (child, *earlier):
                        keys.setdefault((c,))
        return tuple(keys)


@dataclass(frozen=True)
class JoinTree:
    """The tree along which new rows of the root find their partners."""

    graph: JoinGraph
    root: str
    parents: Mapping[str, str]

    @cached_property
    def others(self) -> tuple[str, ...]:
        """All streams except the root, in the order in which they are written."""
        return tuple(alias for alias in self.graph.aliases if alias != self.root)

    @cached_property
    def keys(self) -> Mapping[str, KeyClasses]:
        """The key by which each of the other streams is probed."""
        return {alias: self.graph.shared(parent, alias) for alias, parent in self.parents.items()}

    def key(self, alias: str) -> KeyClasses:
        """Return the key by which a stream is probed."""
        return self.keys[alias]

    @cached_property
    def unused_classes(self) -> Mapping[str, KeyClasses]:
        """For each of the other streams, the classes that are not part of its key."""
        return {
            alias: tuple(c for c in self.graph.classes_of(alias) if c not in key) for alias, key in self.keys.items()
        }

    def unused(self, alias: str) -> KeyClasses:
        """Return the classes of a stream that are not part of its key."""
        return self.unused_classes[alias]

    def path(self, alias: str) -> tuple[str, ...]:
        """Return the streams on the path from below the root to this one."""
        above = self.parents[alias]
        return (alias,) if above == self.root else (*self.path(above), alias)

    def pipeline(self) -> Pipeline:
        """Return the other streams as filters: each drops the rows that find no partner on the path to it."""
        others = self.others
        guards = tuple(() if self.parents[a] == self.root else (others.index(self.parents[a]),) for a in others)
        return Pipeline(others, guards)
