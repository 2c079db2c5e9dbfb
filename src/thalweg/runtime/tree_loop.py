"""A join of many streams as a tree of binary joins: what most engines do, and what an optimizer may choose.

The same rows in, the same results out as `join_loop`; but every node stores what its inputs have put together so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.kernels.binary_join import LEFT, RIGHT, BinaryJoin
from thalweg.kernels.columns import as_index
from thalweg.kernels.salt import Salt
from thalweg.plan.join_graph import JoinGraph
from thalweg.plan.join_shape import Shape, check_shape, nodes_of, streams_of
from thalweg.runtime.join_binding import JoinBinding
from thalweg.runtime.join_intake import Admitted, JoinIntake
from thalweg.runtime.join_output import JoinOutput

Words = NDArray[np.int64]
_WORD = "\0class "


@dataclass(frozen=True, slots=True)
class Part:
    """Rows on their way up: the columns of some streams, and the words of the classes they have."""

    batch: pa.RecordBatch
    times: Words
    ends: Words

    @property
    def num_rows(self) -> int:
        """As of a batch."""
        return len(self.times)

    def slice(self, start: int, length: int) -> Part:
        """A part of the rows, without copying."""
        part = slice(start, start + length)
        return Part(self.batch.slice(start, length), self.times[part], self.ends[part])


class Node:
    """One join of the tree and its place in it."""

    def __init__(self, shape: tuple[Shape, Shape], schemas: tuple[pa.Schema, pa.Schema], binding: JoinBinding,
                 method: str) -> None:  # fmt: skip
        self.classes = _classes(shape, binding.plan.graph)
        self.salt = binding.salt
        self.join = BinaryJoin(*schemas, method, self.salt)
        self.parent: tuple[Node, str] | None = None
        origin: dict[str, tuple[str, int]] = {}
        for side, schema in zip((LEFT, RIGHT), schemas, strict=True):
            for n, name in enumerate(schema.names):
                origin.setdefault(name, (side, n))  # the word of a class is the same on both sides
        self._origin = list(origin.values())
        fields = {LEFT: schemas[0], RIGHT: schemas[1]}
        self.schema = pa.schema([fields[side].field(n) for side, n in self._origin])
        self.streams = streams_of(shape)
        self.made = 0
        """Results so far."""

    def process(self, side: str, part: Part) -> Iterator[Part]:
        """The results of rows that come in on one side."""
        other = RIGHT if side == LEFT else LEFT
        words = [part.batch.column(f"{_WORD}{c}").to_numpy() for c in self.classes]
        for pairs in self.join.process(side, part.batch, key_of(words, self.salt), part.times, part.ends):
            store, new = self.join.stores[other], as_index(pairs.new)
            columns = [
                part.batch.column(n).take(new) if origin == side else store.take(n, pairs.old)
                for origin, n in self._origin
            ]
            self.made += len(pairs.new)
            yield Part(pa.RecordBatch.from_arrays(columns, schema=self.schema), pairs.times, pairs.ends)


class TreeLoop:
    """State that outlives batches: the nodes' windows, watermarks."""

    def __init__(
        self,
        binding: JoinBinding,
        shape: Shape,
        methods: Mapping[Shape, str] | str = "hash",
        *,
        tables: Mapping[str, pa.RecordBatch | pa.Table] | None = None,
    ) -> None:
        """`methods`: `hash` or `loops`, for all nodes or by their shapes. `tables`: the rows of the plan's tables."""
        check_shape(shape, binding.plan.graph)
        self.binding = binding
        self.shape = shape
        self.intake = JoinIntake(binding)
        self.watermarks = self.intake.watermarks
        self.counts = self.intake.counts
        self.nodes: list[Node] = []
        self.leaves: dict[str, tuple[Node, str]] = {}
        """Where the rows of each stream go."""
        keys = [_classes(node, binding.plan.graph) for node in nodes_of(shape)]
        combined = {c for key in keys if len(key) > 1 for c in key}
        inexact = {c for c, kind in enumerate(binding.kinds) if not kind.exact}
        self._hashed = sorted(combined | inexact)
        self._build(shape, methods)
        self.output = JoinOutput(binding, self._hashed)
        self._hold(tables or {})

    def process(self, alias: str, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The results that come with these rows. All of them must be taken before the next rows are given."""
        entered = self.enter(alias, batch)
        if entered is None:
            return
        for part in self._up(*self.leaves[alias], entered):
            out = self.leave(part)
            self.counts[alias].results += out.num_rows
            if out.num_rows:
                yield out

    def enter(self, alias: str, batch: pa.RecordBatch) -> Part | None:
        """Rows as the stream's leaf takes them; None: none of them can have partners."""
        admitted = self.intake.admit(alias, batch)
        return None if admitted is None else self._part(alias, admitted)

    def _part(self, alias: str, admitted: Admitted) -> Part:
        columns = [admitted.batch.column(field.name) for field in self.binding.stored_with(alias, self._hashed)]
        columns += self._words(alias, admitted.batch)
        whole = pa.RecordBatch.from_arrays(columns, schema=self._leaf_schema(alias))
        return Part(whole, admitted.times, admitted.ends)

    def _hold(self, tables: Mapping[str, pa.RecordBatch | pa.Table]) -> None:
        """Rows of tables are there, and joined with each other, before any row of a stream comes."""
        assert sorted(tables) == sorted(self.binding.plan.tables), "the rows of every table of the plan, and no others"
        for alias, rows in tables.items():
            for batch in rows.to_batches() if isinstance(rows, pa.Table) else [rows]:
                admitted = self.intake.admit_table(alias, batch)
                if admitted is not None:
                    for _ in self._up(*self.leaves[alias], self._part(alias, admitted)):
                        raise AssertionError("a result has a row of a stream")

    def leave(self, part: Part) -> pa.RecordBatch:
        """What the root has put together as results, but for what fails a check of values."""
        return self.output.of(lambda alias, name: part.batch.column(f"{alias}\0{name}"), part.times)

    def _up(self, node: Node, side: str, part: Part) -> Iterator[Part]:
        for made in node.process(side, part):
            if node.parent is None:
                yield made
            else:
                yield from self._up(*node.parent, made)

    def end_round(self) -> None:
        """The batches of a round have been processed: watermarks move, rows expire."""
        before = self.watermarks.query
        self.watermarks.end_round()
        mark = self.watermarks.query
        if mark is not None and mark != before:
            for node in self.nodes:
                node.join.expire(mark)

    @property
    def stored_rows(self) -> int:
        """In all windows, of streams and of intermediate results."""
        return sum(len(store) for node in self.nodes for store in node.join.stores.values())

    @property
    def nbytes(self) -> int:
        """Memory of all windows."""
        return sum(store.nbytes for node in self.nodes for store in node.join.stores.values())

    def _build(self, shape: Shape, methods: Mapping[Shape, str] | str) -> tuple[pa.Schema, Node | None]:
        if isinstance(shape, str):
            return self._leaf_schema(shape), None
        made = [self._build(part, methods) for part in shape]
        method = methods if isinstance(methods, str) else methods.get(shape, "hash")
        node = Node(shape, (made[0][0], made[1][0]), self.binding, method)
        for part, side, (_, below) in zip(shape, (LEFT, RIGHT), made, strict=True):
            if below is not None:
                below.parent = node, side
            else:
                assert isinstance(part, str)
                self.leaves[part] = node, side
        self.nodes.append(node)
        return node.schema, node

    def _leaf_schema(self, alias: str) -> pa.Schema:
        columns = [(f"{alias}\0{field.name}", field.type) for field in self.binding.stored_with(alias, self._hashed)]
        words = [(f"{_WORD}{c}", pa.int64()) for c in self.binding.plan.graph.classes_of(alias)]
        return pa.schema([*columns, *words])

    def _words(self, alias: str, batch: pa.RecordBatch) -> list[pa.Array]:
        graph = self.binding.plan.graph
        return [
            pa.array(self.binding.kinds[c].words(batch.column(graph.column_of[c][alias]), self.binding.salt)[0])
            for c in graph.classes_of(alias)
        ]


def _classes(shape: tuple[Shape, Shape], graph: JoinGraph) -> tuple[int, ...]:
    """What both inputs of a node have, and it compares."""
    sides = [streams_of(part) for part in shape]
    return tuple(
        c for c, members in enumerate(graph.column_of)
        if all(any(alias in members for alias in side) for side in sides)
    )  # fmt: skip


def key_of(words: list[Words], salt: Salt) -> Words:
    """One word for the words of several classes."""
    from thalweg.kernels.keyed_hash import combine

    if len(words) == 1:
        return words[0]
    key = words[0].copy()
    for more in words[1:]:
        combine(key, more, salt.one, salt.other)
    return key
