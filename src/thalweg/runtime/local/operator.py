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
    from thalweg.runtime.clock import Clock

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
    """One step of a pipeline, the base class of all operators. Under the virtual clock each operator has one server.

    `simulate` calls these methods; call them yourself only to write or to test an operator of your own.
    """

    name: str
    reads: Mapping[str, str]
    """The source or operator that each port reads."""

    @abstractmethod
    def set_up(self, schemas: Mapping[str, pa.Schema], clock: Clock | None, rng: np.random.Generator) -> pa.Schema:
        """Start from scratch.

        Parameters
        ----------
        schemas
            The columns of the rows that enter, by port.
        clock
            The clock that costs advance; None if the time of work is measured.
        rng
            The generator of all random numbers.

        Returns
        -------
        pyarrow.Schema
            The columns of the output.

        Examples
        --------
        >>> import numpy as np, pyarrow as pa, thalweg as tw
        >>> from thalweg.simulation import Selection, VirtualClock
        >>> small = Selection("small", "numbers", tw.predicate(lambda n: n < 3, "n", name="below_3"))
        >>> columns = pa.schema([("n", pa.int64())])
        >>> made = small.set_up({"in": columns}, VirtualClock(), np.random.default_rng(0))
        >>> made.names
        ['n']
        """

    @abstractmethod
    def serve(self, port: str, rows: Any) -> Iterator[Any]:
        """Return the output for some rows. Consume all of it before passing more rows.

        Parameters
        ----------
        port
            The port at which the rows enter.
        rows
            The rows, usually a record batch.

        Returns
        -------
        Iterator
            Rows of the output.

        Examples
        --------
        >>> import numpy as np, pyarrow as pa, thalweg as tw
        >>> from thalweg.simulation import Selection, VirtualClock
        >>> small = Selection("small", "numbers", tw.predicate(lambda n: n < 3, "n", name="below_3"))
        >>> columns = pa.schema([("n", pa.int64())])
        >>> made = small.set_up({"in": columns}, VirtualClock(), np.random.default_rng(0))
        >>> [out.to_pylist() for out in small.serve("in", pa.record_batch({"n": [1, 5]}))]
        [[{'n': 1}]]
        """

    def mark(self, port: str, mark: int) -> AfterMark:
        """Take a mark. An operator without state passes it on unchanged.

        Parameters
        ----------
        port
            The port at which no row with an earlier time enters any more.
        mark
            That time, in ticks.

        Returns
        -------
        AfterMark
            The mark for the readers of the operator, and rows that were held until now.

        Examples
        --------
        >>> import numpy as np, pyarrow as pa, thalweg as tw
        >>> from thalweg.simulation import Selection, VirtualClock
        >>> small = Selection("small", "numbers", tw.predicate(lambda n: n < 3, "n", name="below_3"))
        >>> small.mark("in", 5).mark
        5
        """
        return AfterMark(mark)

    def entering(self, port: str, rows: Any, mark: int | None) -> Iterable[Delivery]:
        """Return what is queued for an arrival. This costs no virtual time.

        Parameters
        ----------
        port
            The port at which rows or a mark arrive.
        rows
            The rows; None if a mark arrives.
        mark
            The mark; None if rows arrive.

        Returns
        -------
        Iterable of Delivery

        Examples
        --------
        >>> import numpy as np, pyarrow as pa, thalweg as tw
        >>> from thalweg.simulation import Selection, VirtualClock
        >>> small = Selection("small", "numbers", tw.predicate(lambda n: n < 3, "n", name="below_3"))
        >>> [delivery.mark for delivery in small.entering("in", None, 5)]
        [5]
        """
        return [Delivery(self, port, rows, mark)]

    def windows(self) -> tuple[int, int]:
        """Return the rows and bytes that the operator holds.

        Returns
        -------
        tuple of int

        Examples
        --------
        >>> import numpy as np, pyarrow as pa, thalweg as tw
        >>> from thalweg.simulation import Selection, VirtualClock
        >>> small = Selection("small", "numbers", tw.predicate(lambda n: n < 3, "n", name="below_3"))
        >>> small.windows()
        (0, 0)
        """
        return 0, 0

    def late(self) -> int:
        """Return the number of rows so far that came too late and were left out.

        Returns
        -------
        int

        Examples
        --------
        >>> import numpy as np, pyarrow as pa, thalweg as tw
        >>> from thalweg.simulation import Selection, VirtualClock
        >>> small = Selection("small", "numbers", tw.predicate(lambda n: n < 3, "n", name="below_3"))
        >>> small.late()
        0
        """
        return 0

    def orders(self) -> Mapping[str, tuple[str, ...]]:
        """Return the current orders of predicates or probes.

        Returns
        -------
        dict
            The order by port; empty if the operator has no choice.

        Examples
        --------
        >>> import numpy as np, pyarrow as pa, thalweg as tw
        >>> from thalweg.simulation import Selection, VirtualClock
        >>> small = Selection("small", "numbers", tw.predicate(lambda n: n < 3, "n", name="below_3"))
        >>> columns = pa.schema([("n", pa.int64())])
        >>> made = small.set_up({"in": columns}, VirtualClock(), np.random.default_rng(0))
        >>> small.orders()
        {'in': ('below_3',)}
        """
        return {}


def empty_batch(schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch without rows, for its columns."""
    return pa.RecordBatch.from_arrays([pa.array([], kind) for kind in schema.types], schema=schema)
