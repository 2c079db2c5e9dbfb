"""The joins of a plan that keeps sub-joins: what they have in common, and the join of two inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.kernels.binary_join import LEFT, RIGHT, BinaryJoin, Pairs
from thalweg.kernels.columns import as_index
from thalweg.kernels.salt import Salt
from thalweg.kernels.window_store import WindowStore
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.shape import Shape, streams_of, to_text
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
    classified: Mapping[str, pa.Array] = field(default_factory=dict)
    """The columns by which rows may be classified, by name; only for rows of a stream that have not been joined yet."""

    @property
    def num_rows(self) -> int:
        """The number of rows, as for a batch."""
        return len(self.times)

    def slice(self, start: int, length: int) -> PartialRows:
        """Return a part of the rows without copying."""
        part = slice(start, start + length)
        classified = {name: values.slice(start, length) for name, values in self.classified.items()}
        return PartialRows(
            self.batch.slice(start, length), self.times[part], self.ends[part], self.origin[part], classified
        )


class JoinNode(ABC):
    """One join of the plan and its place in it."""

    schema: pa.Schema
    """The columns of its results: those of the streams, and the words of their classes."""

    def __init__(self, shape: tuple[Shape, ...], sides: tuple[str, ...]) -> None:
        self.shape = shape
        self.name = to_text(shape)
        self.streams = streams_of(shape)
        self.sides = sides
        self.inputs = dict(zip(sides, map(to_text, shape), strict=True))
        """The name of the stream, table or inner result that enters on each side."""
        self.parent: tuple[JoinNode, str] | None = None
        self.made = 0
        """The number of results so far."""
        self.found = 0
        """The number of rows so far that had a result."""

    @property
    @abstractmethod
    def stores(self) -> Mapping[str, WindowStore]:
        """The rows of each side."""

    @property
    @abstractmethod
    def looked(self) -> int:
        """The number of entries compared so far."""

    @abstractmethod
    def process(self, side: str, part: PartialRows, *, keep: bool = True) -> Iterator[PartialRows]:
        """Yield the results of rows that enter on one side, in the order of these rows. Then store the rows, if
        `keep`: without it, later rows do not find them."""

    @abstractmethod
    def insert(self, side: str, part: PartialRows) -> None:
        """Store rows without computing their results."""

    @abstractmethod
    def expire(self, before: int) -> dict[str, int]:
        """Forget rows whose end is before this time. Return how many, by side."""

    def others(self, side: str) -> tuple[tuple[str, ...], ...]:
        """Return the streams of the other inputs, in the order in which rows that enter on one side are joined."""
        return tuple(streams_of(part) for part, other in zip(self.shape, self.sides, strict=True) if other != side)


class BinaryNode(JoinNode):
    """A join of two inputs, by hashing or by nested loops."""

    def __init__(
        self, shape: tuple[Shape, ...], schemas: Sequence[pa.Schema], binding: JoinBinding, method: str,
        probed: Callable[[str, int], None] | None = None,
    ) -> None:  # fmt: skip
        """`probed`: called with the input that is probed and the number of rows, before they probe it."""
        super().__init__(shape, (LEFT, RIGHT))
        self._probed = probed
        self.classes = _classes(shape, binding.plan.graph)
        self.salt = binding.salt
        left, right = schemas
        self.join = BinaryJoin(left, right, method, self.salt)
        fields = {LEFT: left, RIGHT: right}
        self._origin, self.schema = combined_schema(fields)
        self._words = {
            side: [schema.get_field_index(word_column(c)) for c in self.classes] for side, schema in fields.items()
        }

    @property
    def stores(self) -> Mapping[str, WindowStore]:
        """The rows of both sides."""
        return self.join.stores

    @property
    def looked(self) -> int:
        """The number of entries compared so far."""
        return self.join.looked

    def expire(self, before: int) -> dict[str, int]:
        """Forget rows whose end is before this time. Return how many, by side."""
        return self.join.expire(before)

    def process(self, side: str, part: PartialRows, *, keep: bool = True) -> Iterator[PartialRows]:
        """Yield the results of rows that enter on one side, in the order of these rows. `keep`: as in `BinaryJoin`."""
        other = RIGHT if side == LEFT else LEFT
        store, last = self.join.stores[other], -1
        if self._probed is not None and len(store):
            self._probed(self.inputs[other], part.num_rows)
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


def combined_schema(schemas: Mapping[str, pa.Schema]) -> tuple[list[tuple[str, int]], pa.Schema]:
    """Return the columns of a join's results as (side, number), and their schema. The word of a class is the same on
    all sides, and comes from the first."""
    origin: dict[str, tuple[str, int]] = {}
    for side, schema in schemas.items():
        for n, name in enumerate(schema.names):
            origin.setdefault(name, (side, n))
    return list(origin.values()), pa.schema([schemas[side].field(n) for side, n in origin.values()])


def _classes(shape: tuple[Shape, ...], graph: JoinGraph) -> tuple[int, ...]:
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
