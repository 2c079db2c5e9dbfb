"""Trees that are induced from training tuples: no training error, information gain, and the three stops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.long_run import examples
from thalweg.optimizer.mesh.induction import Induction
from thalweg.optimizer.mesh.partitions import of_labels
from thalweg.optimizer.mesh.tree import CutNode, Leaf, ValueNode
from thalweg.stats.training_set import Axis, TrainingSet

SOURCE = Axis("source", "text", groups=((b"a", b"b"), (b"c",), (b"d",)))
FLAG = Axis("flag", "bool", groups=((False,), (True,)))
SIZE = Axis("size", "number", cuts=(1.0, 2.0, 3.0))
HEIGHT = Axis("height", "number", cuts=(1.0, 2.0, 3.0))


def training_of(axes: tuple[Axis, ...], cells: Sequence[tuple[int, ...]], density: list[float]) -> TrainingSet:
    """A tuple per cell, with one row each."""
    places = np.arange(len(cells))
    array = np.array(cells, np.int64).reshape(len(cells), len(axes))
    return TrainingSet(axes, array, np.array(density), places, np.ones((len(cells), 1)), np.array(density), places)


def value_in(axis: Axis, category: int) -> Any:
    """A value of a category."""
    if category == axis.null:
        return None
    if category == axis.other:
        return "unseen" if axis.kind == "text" else object()
    if axis.ordered:
        return [*axis.cuts, math.inf][category]
    value = axis.groups[category][0]
    return value.decode() if isinstance(value, bytes) else value


@st.composite
def trainings(draw: st.DrawFn) -> TrainingSet:
    axes = tuple(draw(st.lists(st.sampled_from([SOURCE, FLAG, SIZE, HEIGHT]), min_size=1, max_size=3, unique=True)))
    cell = st.tuples(*(st.integers(0, axis.size + 1) for axis in axes))
    cells = draw(st.lists(cell, min_size=1, max_size=12, unique=True))
    density = draw(st.lists(st.floats(0.01, 100.0), min_size=len(cells), max_size=len(cells)))
    return training_of(axes, cells, density)


@examples(150, long=3_000)
@given(trainings(), st.data())
def test_different_cells_are_sent_along_their_own_routes(training: TrainingSet, data: st.DataObject) -> None:
    labels = data.draw(st.lists(st.integers(0, 3), min_size=len(training), max_size=len(training)))
    partition = of_labels(labels)
    induction = Induction(training)
    tree = induction.tree(partition)
    tests = 0.0
    for t, cell in enumerate(training.cells.tolist()):
        row = {axis.column: value_in(axis, category) for axis, category in zip(training.axes, cell, strict=True)}
        assert partition[tree.route_of(row)] >> t & 1
        node, path = tree.root, 0
        while not isinstance(node, Leaf):  # the length of its path, walked without the code under test
            value = row[node.column]
            unknown = value == "unseen" or type(value) is object
            if isinstance(node, CutNode):
                known = node.null if value is None or unknown else node.low if value <= node.cut else node.high
            else:
                key = value.encode() if isinstance(value, str) else value
                known = node.null if value is None else node.of_value.get(key, node.other)
            node, path = node.other if unknown else known, path + 1
        tests += path * float(training.density[t])
    assert induction.tests(partition) == pytest.approx(tests / float(training.density.sum()))
    assert tree.tests == pytest.approx(tests / float(training.density.sum()))
    assert induction.sent(partition) == partition
    assert tree.depth == 0 if len(partition) == 1 else tree.depth >= 1


def gain(routes: list[int], branch: list[int], density: list[float]) -> float:
    """Information gain as textbooks define it."""

    def entropy(members: list[int]) -> float:
        total = sum(density[t] for t in members)
        by_route = [sum(density[t] for t in members if routes[t] == r) for r in set(routes)]
        return -sum(w / total * math.log2(w / total) for w in by_route if w)

    everything = list(range(len(routes)))
    whole = sum(density)
    parts = [[t for t in everything if branch[t] == b] for b in set(branch)]
    return entropy(everything) - sum(sum(density[t] for t in part) / whole * entropy(part) for part in parts)


@pytest.mark.parametrize("seed", range(30))
def test_the_root_has_the_test_with_the_largest_gain(seed: int) -> None:
    rng = np.random.default_rng(seed)
    axes = (SOURCE, SIZE)
    cells = [(i, j) for i in range(3) for j in range(4)]
    density = rng.uniform(1.0, 10.0, 12).tolist()
    routes = rng.integers(0, 3, 12).tolist()
    tests: dict[tuple[str, float | None], list[int]] = {("source", None): [cell[0] for cell in cells]}
    tests |= {("size", cut): [int(cell[1] > i) for cell in cells] for i, cut in enumerate(SIZE.cuts)}
    gains = {test: gain(routes, branch, density) for test, branch in tests.items()}
    root = Induction(training_of(axes, cells, density)).tree(of_labels(routes)).root
    assert isinstance(root, (CutNode, ValueNode))
    found = (root.column, root.cut if isinstance(root, CutNode) else None)
    whole = gain(routes, list(range(12)), density)
    if max(gains.values()) >= 0.2 * whole:
        assert gains[found] == pytest.approx(max(gains.values()))
    else:  # looks one test further
        assert gains[found] >= 0.0


def test_exclusive_or_needs_two_levels() -> None:
    cells = [(i, j) for i in range(4) for j in range(4)]
    training = training_of((SIZE, HEIGHT), cells, [1.0] * 16)
    tree = Induction(training).tree(of_labels([int((i > 1) != (j > 1)) for i, j in cells]))
    assert (tree.depth, tree.nodes, tree.leaves) == (2, 3, 4)
    assert tree.route_of({"size": 0.5, "height": 2.5}) != tree.route_of({"size": 0.5, "height": 1.5})


def test_equal_cells_take_the_route_of_the_majority() -> None:
    training = training_of((FLAG,), [(0,), (0,), (1,)], [2.0, 3.0, 1.0])
    induction = Induction(training)
    assert not induction.separates
    partition = (0b001, 0b010, 0b100)
    assert induction.sent(partition) == (0, 0b011, 0b100)
    tree = induction.tree(partition)
    assert (tree.route_of({"flag": False}), tree.route_of({"flag": True})) == (1, 2)


def test_null_and_unseen_values_take_the_majority_of_the_node() -> None:
    training = training_of((SOURCE,), [(0,), (1,), (2,)], [1.0, 5.0, 2.0])
    tree = Induction(training).tree((0b001, 0b010, 0b100))
    assert [tree.route_of({"source": value}) for value in ("a", "b", "c", "d", "unseen", None)] == [0, 0, 1, 2, 1, 1]


def test_null_and_others_have_routes_of_their_own_if_trained() -> None:
    training = training_of((SOURCE,), [(0,), (SOURCE.null,), (SOURCE.other,)], [5.0, 1.0, 1.0])
    tree = Induction(training).tree((0b001, 0b010, 0b100))
    assert [tree.route_of({"source": value}) for value in ("a", "c", None, "unseen")] == [0, 0, 1, 2]
