"""One join of a tree of binary joins: its two inputs, and the pairs that it passes to its parent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.kernels.binary_join import LEFT, RIGHT, BinaryJoin, Pairs
from thalweg.kernels.columns import as_index
from thalweg.kernels.salt import Salt
from thalweg.kernels.window_store import WindowStore
from thalweg.plan.join_graph import JoinGraph
from thalweg.plan.join_shape import Shape, streams_of, to_text
from thalweg.runtime.joins.join_binding import JoinBinding

Words = NDArray[np.int64]
_WORD = "\0class "


@dataclass(frozen=True, slots=True)
class PartialRows:
    """Rows on their way up the tree: the columns of some streams, and the words of their classes."""

    batch: pa.RecordBatch
    times: Words
    ends: Words
    origin: Words
    """For each row, the row of the batch at the leaf from which it was made; in the order of the batch."""

    @property
    def num_rows(self) -> int:
        """The number of rows, as for a batch."""
        return len(self.times)

    def slice(self, start: int, length: int) -> PartialRows:
        """Return a part of the rows without copying."""
        part = slice(start, start + length)
        return PartialRows(self.batch.slice(start, length), self.times[part], self.ends[part], self.origin[part])


class Node:
    """One join of the tree and its place in it."""

    def __init__(self, shape: tuple[Shape, Shape], schemas: tuple[pa.Schema, pa.Schema], binding: JoinBinding,
                 method: str) -> None:  # fmt: skip
        self.shape = shape
        self.name = to_text(shape)
        self.inputs = dict(zip((LEFT, RIGHT), map(to_text, shape), strict=True))
        """The name of the stream, table or inner result that enters on each side."""
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
        self._words = {
            side: [schema.get_field_index(word_column(c)) for c in self.classes] for side, schema in fields.items()
        }
        self.streams = streams_of(shape)
        self.made = 0
        """The number of results so far."""
        self.found = 0
        """The number of rows so far that had a result."""

    def process(self, side: str, part: PartialRows, *, keep: bool = True) -> Iterator[PartialRows]:
        """Return the results of rows that enter on one side, in the order of these rows. `keep`: as in `BinaryJoin`."""
        other = RIGHT if side == LEFT else LEFT
        store, last = self.join.stores[other], -1
        words = self._words_of(side, part)
        for pairs in self.join.process(
            side, part.batch, key_of(words, self.salt), part.times, part.ends, keep=keep
        ):  # fmt: skip
            if len(words) > 1:
                pairs = self._equal(pairs, words, store, other)
                if not len(pairs.new):
                    continue
            new = as_index(pairs.new)
            columns = [
                part.batch.column(n).take(new) if origin == side else store.take(n, pairs.old)
                for origin, n in self._origin
            ]
            self.made += len(pairs.new)
            self.found += int(np.count_nonzero(np.diff(pairs.new, prepend=last)))
            last = int(pairs.new[-1])
            made = pa.RecordBatch.from_arrays(columns, schema=self.schema)
            yield PartialRows(made, pairs.times, pairs.ends, part.origin[pairs.new])

    def insert(self, side: str, part: PartialRows) -> None:
        """Store rows without computing their results."""
        key = key_of(self._words_of(side, part), self.salt)
        self.join.insert(side, part.batch, key, part.times, part.ends)

    def _words_of(self, side: str, part: PartialRows) -> list[Words]:
        return [part.batch.column(n).to_numpy() for n in self._words[side]]

    def _equal(self, pairs: Pairs, words: list[Words], store: WindowStore, other: str) -> Pairs:
        """Return the pairs without those whose words of several classes have the same hash but are not equal."""
        right = np.ones(len(pairs.new), bool)
        for mine, n in zip(words, self._words[other], strict=True):
            right &= mine[pairs.new] == store.take(n, pairs.old).to_numpy()
        if right.all():
            return pairs
        return Pairs(pairs.new[right], pairs.old[right], pairs.times[right], pairs.ends[right])


def word_column(c: int) -> str:
    """Return the name of the column that holds the words of a class."""
    return f"{_WORD}{c}"


def _classes(shape: tuple[Shape, Shape], graph: JoinGraph) -> tuple[int, ...]:
    """Return the classes that both inputs of a node have, and that it compares."""
    sides = [streams_of(part) for part in shape]
    return tuple(
        c for c, members in enumerate(graph.column_of)
        if all(any(alias in members for alias in side) for side in sides)
    )  # fmt: skip


def key_of(words: list[Words], salt: Salt) -> Words:
    """Combine the words of several classes into one."""
    from thalweg.kernels.keyed_hash import combine

    if len(words) == 1:
        return words[0]
    key = words[0].copy()
    for more in words[1:]:
        combine(key, more, salt.one, salt.other)
    return key
