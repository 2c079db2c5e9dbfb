"""The interface of the operators of a pipeline in this process, independent of what drives them.

An operator is created first, and set up when the columns of its inputs are known. Then it `serve`s rows that enter at
its ports, and receives `mark`s: watermarks, which say that no further row with a time before the mark enters at that
port (`END`: no row at all). A mark may release rows that were held, such as closed groups.

Operators are driven in two ways. In this process results are pulled: the stream with the oldest next rows is read next
(`joins.py`, `plan_run.py`). Under the virtual clock rows are pushed: they arrive when a source sends them, wait in the
queue of an operator, and everything takes the time that was declared (`virtual/simulation.py`). What an operator does
with a batch is the same in both.
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
"""The name of the port of an operator that has only one."""


@dataclass(frozen=True, slots=True)
class AfterMark:
    """What an operator passes on after a mark."""

    mark: int | None = None
    """The mark for the readers of the operator; None if it has not changed."""
    rows: tuple[pa.RecordBatch, ...] = ()
    """Rows that were held until now. They come before the mark."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """Rows, or a mark, to put into an operator's queue."""

    operator: Operator
    port: str
    rows: Any = None
    mark: int | None = None


class Operator(ABC):
    """One step of a pipeline. Under the virtual clock each operator has one server."""

    name: str
    reads: Mapping[str, str]
    """The source or operator that each port reads."""

    @abstractmethod
    def set_up(self, schemas: Mapping[str, pa.Schema], clock: Clock | None, rng: np.random.Generator) -> pa.Schema:
        """Start from scratch, with these columns by port. Return the schema of the output. If `clock` is None, the time
        of work is measured."""

    @abstractmethod
    def serve(self, port: str, rows: Any) -> Iterator[Any]:
        """Return the output for these rows. Consume all of it before passing more rows."""

    def mark(self, port: str, mark: int) -> AfterMark:
        """Take a mark. An operator without state passes it on unchanged."""
        return AfterMark(mark)

    def entering(self, port: str, rows: Any, mark: int | None) -> Iterable[Delivery]:
        """Return what is queued for an arrival. This costs no virtual time."""
        return [Delivery(self, port, rows, mark)]

    def windows(self) -> tuple[int, int]:
        """Return the rows and bytes that the operator holds."""
        return 0, 0

    def late(self) -> int:
        """Return the number of rows so far that came too late and were left out."""
        return 0

    def orders(self) -> Mapping[str, tuple[str, ...]]:
        """Return the current orders of predicates or probes, by port; empty if the operator has no choice."""
        return {}


def empty_batch(schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch without rows, for its columns."""
    return pa.RecordBatch.from_arrays([pa.array([], kind) for kind in schema.types], schema=schema)
