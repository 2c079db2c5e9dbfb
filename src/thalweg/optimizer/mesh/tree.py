"""The classifier of a query mesh: a decision tree that maps the values of a row to the number of a route.

Answers: the route of one row (`route_of`, which walks the tree) and the routes of a batch (`compiled`).
How: a node tests one column. A text or truth value has a branch per group of values, a number or a time has two
branches, up to and above a threshold. Null has a branch, and so have unseen values and values of another type. The
compiled form turns each column into category numbers, once per batch and with Arrow, and each node into a table from
category to branch, so that no Python code runs per row. A column that one node alone tests is read only on the rows
that get there.
Guarantee: both forms give the same route for every row. No value, type or missing column raises an error.
Cost: per batch, one `index_in` or `searchsorted` per column and one look-up per node on the rows that get there.
Differs from the paper: values that were not in the training set, and nulls, have branches.

>>> low_or_high = CutNode("size", "number", 10.0, Leaf(0, 0.5), Leaf(1, 0.5), null=Leaf(0), other=Leaf(0))
>>> tree = RouteTree(low_or_high)
>>> tree.route_of({"size": 11}), tree.route_of({"size": None}), tree.route_of({"size": "large"})
(1, 0, 0)
>>> tree.compiled().classify({"size": pa.array([10, 11, None])}, 3).tolist()
[0, 1, 0]

Reference: Nehme, Works, Lei, Rundensteiner, Bertino: Multi-route query processing and optimization. Journal of Computer
and System Sciences 79 (2013), section 4.4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.kernels.columns import take_rows
from thalweg.optimizer.mesh.column_values import column_codes, key_of, kind_of_value, number_of
from thalweg.stats.training_set import Kind, Value

Routes = NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class Leaf:
    """The route of the rows that get here, and their share of the training set."""

    route: int
    share: float = 0.0


@dataclass(frozen=True)
class ValueNode:
    """A test of a text or a truth value: one branch per group of values."""

    column: str
    kind: Kind
    branches: tuple[tuple[tuple[Value, ...], Node], ...]
    null: Node
    other: Node

    @cached_property
    def of_value(self) -> dict[Value, Node]:
        """The branch of each value."""
        return {value: node for values, node in self.branches for value in values}

    @property
    def children(self) -> tuple[Node, ...]:
        """The nodes that follow this test."""
        return (*(node for _, node in self.branches), self.null, self.other)


@dataclass(frozen=True)
class CutNode:
    """A test of a number or a time: up to the threshold, or above it."""

    column: str
    kind: Kind
    cut: float
    low: Node
    high: Node
    null: Node
    other: Node

    @property
    def children(self) -> tuple[Node, ...]:
        """The nodes that follow this test."""
        return (self.low, self.high, self.null, self.other)


Node = Leaf | ValueNode | CutNode


@dataclass(frozen=True)
class RouteTree:
    """A decision tree over classifier columns. Its leaves are numbers of routes."""

    root: Node

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the tree tests, in the order of their first test."""
        return tuple(dict.fromkeys(node.column for node in _below(self.root) if not isinstance(node, Leaf)))

    @property
    def depth(self) -> int:
        """The most tests on a path."""
        return _depth(self.root)

    @property
    def nodes(self) -> int:
        """The number of tests in the tree."""
        return sum(not isinstance(node, Leaf) for node in _below(self.root))

    @property
    def leaves(self) -> int:
        """The number of leaves that training tuples reach, at least 1."""
        return max(sum(isinstance(node, Leaf) and node.share > 0.0 for node in _below(self.root)), 1)

    @property
    def tests(self) -> float:
        """How many tests a row passes through in the mean, for rows like those of the training set."""
        return _tests(self.root, 0)

    def route_of(self, row: Mapping[str, Any]) -> int:
        """Return the route of one row, by walking down the tree."""
        node = self.root
        while not isinstance(node, Leaf):
            node = _next(node, row.get(node.column, _MISSING))
        return node.route

    def compiled(self) -> CompiledTree:
        """Return the tree in the form that classifies batches."""
        return CompiledTree(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the tree as JSON values."""
        return _to_dict(self.root)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> RouteTree:
        """Return the tree that `to_dict` described."""
        return cls(_from_dict(stored))


_MISSING = object()


def _next(node: ValueNode | CutNode, value: Any) -> Node:
    if value is None:
        return node.null
    if kind_of_value(value) != node.kind:
        return node.other
    if isinstance(node, ValueNode):
        return node.of_value.get(key_of(value), node.other)
    number = number_of(value)
    if number != number:
        return node.null  # NaN
    return node.low if number <= node.cut else node.high


def _below(node: Node) -> Iterator[Node]:
    yield node
    if not isinstance(node, Leaf):
        for child in node.children:
            yield from _below(child)


def _tests(node: Node, above: int) -> float:
    return node.share * above if isinstance(node, Leaf) else sum(_tests(child, above + 1) for child in node.children)


def _depth(node: Node) -> int:
    return 0 if isinstance(node, Leaf) else 1 + max(_depth(child) for child in node.children)


@dataclass(frozen=True)
class _Reader:
    """Turns a column into category numbers: those of all tests of this column."""

    column: str
    kind: Kind
    values: tuple[Value, ...]
    cuts: tuple[float, ...]
    tests: int

    @classmethod
    def of(cls, nodes: Sequence[ValueNode | CutNode]) -> _Reader:
        values = dict.fromkeys(value for node in nodes if isinstance(node, ValueNode) for value in node.of_value)
        cuts = sorted({node.cut for node in nodes if isinstance(node, CutNode)})
        return cls(nodes[0].column, nodes[0].kind, tuple(values), tuple(cuts), len(nodes))

    @property
    def size(self) -> int:
        return len(self.cuts) + 1 if self.kind in ("number", "time") else len(self.values)

    def codes(self, column: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
        return column_codes(column, self.kind, self.values, self.cuts)

    def branches(self, node: ValueNode | CutNode) -> list[Node]:
        """Return the branch of each category, then those of null and others."""
        if isinstance(node, ValueNode):
            known = [node.of_value.get(value, node.other) for value in self.values]
        else:
            known = [node.low if cut <= node.cut else node.high for cut in self.cuts] + [node.high]
        return [*known, node.null, node.other]


@dataclass(frozen=True)
class _Step:
    """A node: `table[category]` is the route, or -1 - i for the child i."""

    reader: _Reader
    table: Routes
    children: tuple[_Step, ...]


class CompiledTree:
    """A tree that classifies whole batches."""

    def __init__(self, tree: RouteTree) -> None:
        tests: dict[tuple[str, Kind], list[ValueNode | CutNode]] = {}
        for node in _below(tree.root):
            if not isinstance(node, Leaf):
                tests.setdefault((node.column, node.kind), []).append(node)
        self._readers = {key: _Reader.of(nodes) for key, nodes in tests.items()}
        self._root = tree.root.route if isinstance(tree.root, Leaf) else self._step(tree.root)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that classification reads."""
        return tuple(dict.fromkeys(column for column, _ in self._readers))

    def classify(self, columns: Mapping[str, pa.Array | pa.ChunkedArray], rows: int) -> Routes:
        """Return the route of each row.

        Parameters
        ----------
        columns
            The classifier columns of a batch. In a missing column all values count as unseen.
        rows
            The number of rows of the batch.

        Returns
        -------
        numpy.ndarray
            A number of a route per row.
        """
        if isinstance(self._root, int):
            return np.full(rows, self._root, np.int16)
        if not self._root.children and self._root.reader.column in columns:  # one test for all rows
            return self._root.table[self._root.reader.codes(columns[self._root.reader.column])]
        out = np.empty(rows, np.int16)
        seen: dict[_Reader, NDArray[np.int64]] = {}
        waiting: list[tuple[_Step, NDArray[np.int64] | None]] = [(self._root, None)]
        while waiting:
            step, at = waiting.pop()
            reader, column = step.reader, columns.get(step.reader.column)
            if column is None:
                codes = np.full(rows if at is None else len(at), reader.size + 1)
            elif reader.tests == 1:
                codes = reader.codes(column if at is None else _at(column, at))
            else:
                if reader not in seen:
                    seen[reader] = reader.codes(column)
                codes = seen[reader] if at is None else seen[reader][at]
            routes = step.table[codes]
            out[slice(None) if at is None else at] = routes
            for i, child in enumerate(step.children):
                here = np.flatnonzero(routes == -1 - i)
                if len(here):
                    waiting.append((child, here if at is None else at[here]))
        return out

    def _step(self, node: ValueNode | CutNode) -> _Step:
        reader = self._readers[node.column, node.kind]
        children: list[_Step] = []
        place: dict[int, int] = {}
        table = []
        for branch in reader.branches(node):
            if id(branch) not in place:
                if isinstance(branch, Leaf):
                    place[id(branch)] = branch.route
                else:
                    children.append(self._step(branch))
                    place[id(branch)] = -len(children)
            table.append(place[id(branch)])
        return _Step(reader, np.array(table, np.int16), tuple(children))


def _at(column: pa.Array | pa.ChunkedArray, rows: NDArray[np.int64]) -> pa.Array | pa.ChunkedArray:
    return column.take(pa.array(rows)) if isinstance(column, pa.ChunkedArray) else take_rows(column, rows)


def _to_dict(node: Node) -> dict[str, Any]:
    if isinstance(node, Leaf):
        return {"route": node.route, "share": node.share}
    stored: dict[str, Any] = {"column": node.column, "kind": node.kind}
    if isinstance(node, CutNode):
        cut = None if node.cut == math.inf else node.cut  # JSON has no infinity
        stored |= {"cut": cut, "low": _to_dict(node.low), "high": _to_dict(node.high)}
    else:
        stored["branches"] = [[[_to_json(value) for value in values], _to_dict(n)] for values, n in node.branches]
    return stored | {"null": _to_dict(node.null), "other": _to_dict(node.other)}


def _from_dict(stored: Mapping[str, Any]) -> Node:
    if "route" in stored:
        return Leaf(int(stored["route"]), float(stored.get("share", 0.0)))
    column, kind = stored["column"], stored["kind"]
    null, other = _from_dict(stored["null"]), _from_dict(stored["other"])
    if "cut" in stored:
        low, high = _from_dict(stored["low"]), _from_dict(stored["high"])
        cut = math.inf if stored["cut"] is None else float(stored["cut"])
        return CutNode(column, kind, cut, low, high, null, other)
    branches = tuple((tuple(map(_from_json, values)), _from_dict(node)) for values, node in stored["branches"])
    return ValueNode(column, kind, branches, null, other)


def _to_json(value: Value) -> str | bool:
    # a key may end within a character, or may not be text at all
    return value if isinstance(value, bool) else value.decode("utf-8", "surrogateescape")


def _from_json(value: str | bool) -> Value:
    return value if isinstance(value, bool) else value.encode("utf-8", "surrogateescape")
