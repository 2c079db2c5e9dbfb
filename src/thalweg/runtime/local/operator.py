"""What every step of a pipeline in this process does, whoever drives it.

An operator is made when it is written down and set up when the columns of its inputs are known. Then it `serve`s rows
that come in at its ports, and is given `mark`s: watermarks, which say that no row with a time before the mark comes
through that port any more (`END`: no row at all). A mark may release rows that were held, such as closed groups.

Two things drive operators. In this process results are pulled: the stream that is furthest behind is read next
(`joins.py`, `plan_run.py`). Under the virtual clock rows are pushed: they arrive when a source says so, wait in the
queue of an operator, and everything costs what was declared (`virtual/simulation.py`). What an operator does with a
batch is the same in both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from thalweg.runtime.local.virtual.clock import Clock

PORT = "in"
"""The port of an operator that has one."""


@dataclass(frozen=True, slots=True)
class Passed:
    """What follows from a mark."""

    mark: int | None = None
    """For whoever reads the operator; None: nothing new."""
    rows: tuple[pa.RecordBatch, ...] = ()
    """That were held until now. They come before the mark."""


@dataclass(frozen=True, slots=True)
class Coming:
    """To be put into an operator's queue: rows, or a mark."""

    operator: Operator
    port: str
    rows: Any = None
    mark: int | None = None


class Operator(ABC):
    """One step; under the virtual clock, the work of one server."""

    name: str
    reads: Mapping[str, str]
    """By port: the source or operator whose rows come in there."""

    @abstractmethod
    def set_up(self, schemas: Mapping[str, pa.Schema], clock: Clock | None, rng: np.random.Generator) -> pa.Schema:
        """Begin anew, with these columns by port; the columns of what comes out. `clock`: None: time is that of
        work."""

    @abstractmethod
    def serve(self, port: str, rows: Any) -> Iterator[Any]:
        """What comes out with these rows. All of it must be taken before more is given."""

    def mark(self, port: str, mark: int) -> Passed:
        """Take a mark. An operator that holds nothing passes it on as it is."""
        return Passed(mark)

    def entering(self, port: str, rows: Any, mark: int | None) -> Iterable[Coming]:
        """What becomes of an arrival before it is queued. Costs nothing."""
        return [Coming(self, port, rows, mark)]

    def windows(self) -> tuple[int, int]:
        """Rows and bytes it remembers."""
        return 0, 0

    def late(self) -> int:
        """Rows that came too late so far, and were left out."""
        return 0

    def orders(self) -> Mapping[str, tuple[str, ...]]:
        """In which order it tries things now, where it has a choice."""
        return {}


def empty_batch(schema: pa.Schema) -> pa.RecordBatch:
    """No rows, for the columns."""
    return pa.RecordBatch.from_arrays([pa.array([], kind) for kind in schema.types], schema=schema)
