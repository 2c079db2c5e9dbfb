"""The profiled rows from which a mesh is trained: their outcomes, and the values by which rows may be classified.

Answers: the newest rows as a `Sample`, oldest first.
How: rows are kept in the order in which they arrived, so that a mesh can be judged by rows that are newer than those it
was trained with. An outcome that is not known is the share that the filter passes of the rows on which it is known; of
a filter that must not be profiled, and of which nothing is known, it is 1.
Rows that other workers have profiled count too, if their data are like those of this worker.
Guarantee: at most `MOST_ROWS` rows and about `MOST_BYTES` bytes of values are kept, however long texts are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.adapt.alike_classes import alike_by_class
from thalweg.adapt.policy import ClassifiedTuples
from thalweg.optimizer.mesh.column_values import decoded, kind_of
from thalweg.optimizer.mesh.training import Sample

MOST_ROWS = 4_096
MOST_BYTES = 8 << 20
Bits = NDArray[np.bool_]


class _Chunk(NamedTuple):
    values: dict[str, pa.Array]
    dropped: Bits
    known: Bits
    own: bool = True
    """Whether this worker has profiled these rows."""

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.values.values())


class MeshSamples:
    """The newest profiled rows of one loop."""

    def __init__(self) -> None:
        self._chunks: deque[_Chunk] = deque()
        self._bytes = 0
        self.rows = 0
        """The rows that are kept."""
        self.added = 0
        """The rows that were ever added."""
        self._shares = True  # rows of other workers are used

    def add(self, values: Mapping[str, pa.Array], dropped: Bits, known: Bits) -> None:
        """Add profiled rows. Columns whose values cannot be compared are left out; if types have changed, older rows
        are forgotten."""
        if not len(dropped):
            return
        chunk = _Chunk(_compared(values), dropped, known)
        if self._chunks and _types(self._chunks[-1].values) != _types(chunk.values):
            self.clear()
        self._append(chunk)

    def add_shared(self, shared: ClassifiedTuples) -> None:
        """Add rows that another worker has profiled. They are left out if their columns have other types, or if its
        data differ."""
        if not self._shares:
            return
        filters = shared.tuples.shape[1] // 2
        chunk = _Chunk(_compared(shared.values), shared.tuples[:, :filters], shared.tuples[:, filters:], own=False)
        if not self._chunks or _types(self._chunks[-1].values) == _types(chunk.values):
            self._append(chunk)

    def drop_strangers(self) -> bool:
        """Forget the rows of other workers if their data differ from those of this worker, and ignore them from now on.
        Return whether that was so."""
        if len({chunk.own for chunk in self._chunks}) < 2:
            return False
        own = np.concatenate([np.full(len(chunk.dropped), chunk.own) for chunk in self._chunks])
        values, dropped, known = self._joined()
        if alike_by_class(values, np.concatenate([dropped, known], axis=1), own):
            return False
        mine = [chunk for chunk in self._chunks if chunk.own]
        self.clear()
        for chunk in mine:
            self._keep(chunk)
        self._shares = False
        return True

    def _append(self, chunk: _Chunk) -> None:
        self.added += len(chunk.dropped)
        self._keep(chunk)

    def _keep(self, chunk: _Chunk) -> None:
        self._chunks.append(chunk)
        self.rows += len(chunk.dropped)
        self._bytes += chunk.nbytes
        while len(self._chunks) > 1 and (self.rows > MOST_ROWS or self._bytes > MOST_BYTES):
            first = self._chunks.popleft()
            self.rows -= len(first.dropped)
            self._bytes -= first.nbytes

    def clear(self) -> None:
        """Remove all rows from the sample."""
        self._chunks.clear()
        self.rows = self._bytes = 0

    def sample(self, newest: int = MOST_ROWS) -> Sample:
        """Return the newest rows, at most so many, oldest first."""
        values, dropped, known = self._joined()
        dropped, known = dropped[-newest:], known[-newest:]
        rows, of = len(dropped), known.sum(axis=0)
        share = np.where(of > 0, 1.0 - (dropped & known).sum(axis=0) / np.maximum(of, 1), 1.0)
        passes = np.where(known, 1.0 - dropped, share)
        return Sample({name: array[-rows:] for name, array in values.items()}, passes, np.ones(rows))

    def _joined(self) -> tuple[dict[str, pa.Array], Bits, Bits]:
        values = {
            name: pa.concat_arrays([chunk.values[name] for chunk in self._chunks])
            for name in (self._chunks[-1].values if self._chunks else ())
        }
        dropped = np.concatenate([chunk.dropped for chunk in self._chunks])
        return values, dropped, np.concatenate([chunk.known for chunk in self._chunks])


def _compared(values: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """Return the columns whose values can be compared. Dictionaries are decoded: each batch may have another one, of
    another type, and with values that no row has."""
    return {name: decoded(array) for name, array in values.items() if kind_of(array.type) is not None}


def _types(values: Mapping[str, pa.Array]) -> dict[str, pa.DataType]:
    return {name: array.type for name, array in values.items()}


def part_of(sample: Sample, begin: int, end: int) -> Sample:
    """Return some of the rows of a sample.

    >>> rows = Sample({"x": pa.array([1, 2, 3])}, np.zeros((3, 1)), np.ones(3))
    >>> part_of(rows, 1, 3).values["x"].to_pylist()
    [2, 3]
    """
    values = {name: array[begin:end] for name, array in sample.values.items()}
    return Sample(values, sample.passes[begin:end], sample.weights[begin:end])
