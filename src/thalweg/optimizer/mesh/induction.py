"""Induce a decision tree from training tuples and their routes, by information gain.

Answers: a tree that sends each training tuple along its route (`tree`), and how many tests rows pass through (`tests`).
How: at each node, the test with the largest information gain divides the cells of the training tuples, weighted by
their densities. A branch ends if all its cells have one route, if no test divides them (majority vote), or if no cell
is left (the majority of the node above).
Guarantee: no training error, unless tuples with different routes have a cell in common.
Cost: O(nodes * tests * categories * routes) operations on integers: a set of cells is a bit mask. Nodes that trees of
several partitions have in common are computed once.
Differs from the paper: if no test gains much, as for (x > 0.5) xor (y > 0.5), where each test alone gains nothing, the
test is chosen that gains most together with the best tests after it. Categories that lead to the same route are one
branch.

>>> axis = Axis("source", "text", groups=((b"web",), (b"app",)))
>>> sets = TrainingSet(
...     (axis,), np.array([[0], [1]]), np.array([3.0, 1.0]), np.array([0, 1]), np.ones((2, 1)), np.ones(2),
...     np.array([0, 1]),
... )
>>> tree = Induction(sets).tree([0b01, 0b10])
>>> tree.route_of({"source": "app"}), tree.route_of({"source": "unseen"}), tree.depth
(1, 0, 1)

Reference: Nehme et al. 2013, section 4.4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thalweg.optimizer.mesh.tree import CutNode, Leaf, Node, RouteTree, ValueNode
from thalweg.stats.training_set import Axis, TrainingSet, Value

LOOK_AHEAD = 0.2
"""If the best test removes less than this share of the entropy, tests are judged together with those after them."""


@dataclass(frozen=True, slots=True)
class _Test:
    """A test of an axis, by the cells of each branch. `cut`: the number of the threshold; -1 for values."""

    axis: int
    cut: int
    branches: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Split:
    """A test of a tree in the making, and what follows in each branch: a test, a route, or None if no cell arrives."""

    test: _Test
    below: tuple[_Split | int | None, ...]
    majority: int


class _Weights(dict[int, float]):
    """The weight of each set of cells that was asked for."""

    def __init__(self, density: Sequence[float]) -> None:
        self._density = density

    def __missing__(self, cells: int) -> float:
        total, left = 0.0, cells
        while left:
            low = left & -left
            total += self._density[low.bit_length() - 1]
            left ^= low
        self[cells] = total
        return total


class _Terms(dict[int, float]):
    """Of sets of cells: weight * log(weight), a term of the entropy."""

    def __init__(self, weights: _Weights) -> None:
        self._weights = weights

    def __missing__(self, cells: int) -> float:
        weight = self._weights[cells]
        self[cells] = found = weight * math.log(weight) if weight > 0.0 else 0.0
        return found


class Induction:
    """Induces trees for partitions of one training set."""

    def __init__(self, training: TrainingSet) -> None:
        self.training = training
        self._density = training.cell_density.tolist()
        self._total = sum(self._density)
        self._cells = len(self._density)
        self._of_tuple = [0] * len(training)
        for cell, tuple_ in enumerate(training.tuple_of_cell.tolist()):
            self._of_tuple[tuple_] |= 1 << cell
        self._tests = [test for i in range(len(training.axes)) for test in self._tests_of(i)]
        self._weight = _Weights(self._density)
        self._term = _Terms(self._weight)
        self._choices: dict[tuple[int, ...], _Test | None] = {}
        self._path: dict[tuple[int, ...], float] = {}
        self.separates = len(np.unique(training.cells, axis=0)) == self._cells
        """Whether no cell is part of two training tuples, so that trees make no error."""

    def _tests_of(self, i: int) -> list[_Test]:
        axis = self.training.axes[i]
        masks = [0] * (axis.size + 2)
        for cell, category in enumerate(self.training.cells[:, i].tolist()):
            masks[category] |= 1 << cell
        if not axis.ordered:
            return [_Test(i, -1, tuple(masks))]
        unknown = masks[axis.null], masks[axis.other]
        cuts = range(len(axis.cuts) + any(unknown))  # the last threshold, infinity, divides known from unknown values
        return [_Test(i, cut, (sum(masks[: cut + 1]), sum(masks[cut + 1 : axis.size]), *unknown)) for cut in cuts]

    def cells_of(self, tuples: int) -> int:
        """Return the cells of a set of training tuples. Sets are bit masks."""
        cells, t = 0, 0
        while tuples:
            if tuples & 1:
                cells |= self._of_tuple[t]
            tuples >>= 1
            t += 1
        return cells

    def tests(self, partition: Sequence[int]) -> float:
        """Return how many tests a row passes through in the mean, in the tree for a partition."""
        return self._tests_below(tuple(sorted(self._routes(partition)))) / (self._total or 1.0)

    def sent(self, partition: Sequence[int]) -> tuple[int, ...]:
        """Return the training tuples that the tree for a partition sends along each route. A tuple that has cells in
        common with others goes where most of its density goes."""
        if self.separates:
            return tuple(partition)
        routes = self._routes(partition)
        arrives = [0] * len(partition)
        self._arrives(self._split((1 << self._cells) - 1, routes), (1 << self._cells) - 1, arrives)
        sent = [0] * len(partition)
        for t, cells in enumerate(self._of_tuple):
            shares = [self._weight[cells & mask] for mask in arrives]
            sent[shares.index(max(shares))] |= 1 << t
        return tuple(sent)

    def tree(self, partition: Sequence[int]) -> RouteTree:
        """Return the tree for a partition. The number of a route is the position of its subset.

        Parameters
        ----------
        partition
            Disjoint sets of training tuples, as bit masks, that contain all training tuples.

        Returns
        -------
        RouteTree
            The classifier.
        """
        everything = (1 << self._cells) - 1
        return RouteTree(self._node(self._split(everything, self._routes(partition)), everything))

    def _routes(self, partition: Sequence[int]) -> list[int]:
        return [self.cells_of(tuples) for tuples in partition]

    def _impurity(self, cells: int, routes: Sequence[int]) -> float:
        """Return the entropy of the routes of these cells, times their weight."""
        terms = self._term
        found = terms[cells]
        for mask in routes:
            if here := cells & mask:
                found -= terms[here]
        return found

    def _split(self, cells: int, routes: Sequence[int]) -> _Split | int:
        weights = [self._weight[cells & mask] for mask in routes]
        majority = weights.index(max(weights))
        test = self._chosen(tuple(sorted(cells & mask for mask in routes if cells & mask)))
        if test is None:
            return majority
        below = tuple(self._split(cells & b, routes) if cells & b else None for b in test.branches)
        return _Split(test, below, majority)

    def _tests_below(self, here: tuple[int, ...]) -> float:
        """Return the tests that cells pass through, times their weight. `here`: the cells of each route."""
        found = self._path.get(here)
        if found is None:
            found, test = 0.0, self._chosen(here)
            if test is not None:
                found = self._weight[sum(here)]
                for branch in test.branches:
                    below = tuple(sorted(part for mask in here if (part := mask & branch)))
                    if len(below) > 1:
                        found += self._tests_below(below)
            self._path[here] = found
        return found

    def _chosen(self, here: tuple[int, ...]) -> _Test | None:
        """Return the best test for the cells of each route, or None if there is no use in one."""
        if len(here) <= 1:
            return None
        if here not in self._choices:
            self._choices[here] = self._best_test(sum(here), here)
        return self._choices[here]

    def _best_test(self, cells: int, here: Sequence[int]) -> _Test | None:
        tests = [(test, [b & cells for b in test.branches if b & cells]) for test in self._tests]
        tests = [(test, parts) for test, parts in tests if len(parts) > 1]
        if not tests:
            return None
        left = [sum([self._impurity(part, here) for part in parts]) for _, parts in tests]
        best = left.index(min(left))
        whole = self._impurity(cells, here)
        if whole - left[best] < LOOK_AHEAD * whole:
            every = [parts for _, parts in tests]
            ahead = [(self._after(parts, every, here), left[i]) for i, parts in enumerate(every)]
            best = ahead.index(min(ahead))
        return tests[best][0]

    def _after(self, parts: Sequence[int], tests: Sequence[Sequence[int]], routes: Sequence[int]) -> float:
        """Return the entropy that is left after a test and the best test in each of its branches."""
        total = 0.0
        for part in parts:
            least = self._impurity(part, routes)
            if least > 1e-12 * self._total:
                least = min([sum([self._impurity(part & b, routes) for b in test]) for test in tests])
            total += least
        return total

    def _arrives(self, split: _Split | int, cells: int, arrives: list[int]) -> None:
        if isinstance(split, int):
            arrives[split] |= cells
            return
        for branch, below in zip(split.test.branches, split.below, strict=True):
            if below is not None:
                self._arrives(below, cells & branch, arrives)

    def _node(self, split: _Split | int, cells: int) -> Node:
        if isinstance(split, int):
            return Leaf(split, self._weight[cells] / (self._total or 1.0))
        test, axis = split.test, self.training.axes[split.test.axis]
        made = [
            Leaf(split.majority) if below is None else self._node(below, cells & branch)
            for branch, below in zip(test.branches, split.below, strict=True)
        ]
        null, other = made[-2:]
        if test.cut >= 0:
            cut = (*axis.cuts, math.inf)[test.cut]
            return CutNode(axis.column, axis.kind, cut, made[0], made[1], null, other)
        return ValueNode(axis.column, axis.kind, _merged(axis, made[:-2]), null, other)


def _merged(axis: Axis, made: Sequence[Node]) -> tuple[tuple[tuple[Value, ...], Node], ...]:
    """Put the groups of values that lead to the same leaf together."""
    values: dict[object, list[Value]] = {}
    nodes: dict[object, Node] = {}
    for i, (group, node) in enumerate(zip(axis.groups, made, strict=True)):
        key = ("route", node.route) if isinstance(node, Leaf) else i
        values.setdefault(key, []).extend(group)
        before = nodes.get(key)
        same = isinstance(before, Leaf) and isinstance(node, Leaf)
        nodes[key] = Leaf(node.route, before.share + node.share) if same else node  # type: ignore[union-attr]
    return tuple((tuple(values[key]), nodes[key]) for key in nodes)
