"""The rows of a simulation, and the times at which they arrive.

>>> from thalweg.simulation.arrivals import regular
>>> source = Source(pa.table({"k": [7, 8, 9]}), regular(2), stamp="ts")
>>> [(at, batch.column("k").to_pylist()) for at, batch in source.arriving(np.random.default_rng())]
[(500000000, [7]), (1000000000, [8]), (1500000000, [9])]
>>> source.schema.names
['k', 'ts']
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from thalweg.cost.ticks import UNIT
from thalweg.errors import PlanError, nearest
from thalweg.plan.joins.window import TICK_NS
from thalweg.simulation.arrivals import Arrivals

STAMP = pa.timestamp("ns")
"""The type of stamps. A tick counts as a nanosecond after 1970, so that windows can be given as lengths of time."""


class Source:
    """The rows of a simulation, and the times at which they arrive.

    Parameters
    ----------
    rows
        A table, Arrow batches, or tuples or dicts with a schema. An iterator can be read only once.
    arrivals
        A process such as ``poisson(10)``, or the column with the time at which a row arrives (in time units, or as a
        timestamp).
    stamp
        A column for the instant of arrival, which is added or overwritten. Use it as the time of rows that have none.
    at_once
        The number of rows that arrive together; None for whole batches.
    schema
        The schema of tuples and dicts; batches have their own.

    Raises
    ------
    PlanError
        If an argument is invalid.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from thalweg.simulation import Source, regular
    >>> Source(pa.table({"k": [7, 8, 9]}), regular(2), stamp="ts")
    Source(k, ts; regular(rate=2))
    """

    def __init__(
        self,
        rows: pa.Table | pa.RecordBatch | Iterable[Any],
        arrivals: Arrivals | str,
        *,
        stamp: str | None = None,
        at_once: int | None = 1,
        schema: pa.Schema | None = None,
    ) -> None:
        if at_once is not None and (isinstance(at_once, bool) or not isinstance(at_once, int) or at_once < 1):
            raise PlanError(f"at_once={at_once!r}: must be a whole number of rows, 1 or more, or None")
        if isinstance(rows, (str, bytes, Mapping)) or not isinstance(rows, (pa.Table, pa.RecordBatch, Iterable)):
            raise PlanError(f"a source takes a table, Arrow batches or tuples, not {type(rows).__name__}")
        if isinstance(rows, pa.Table):
            schema, rows = rows.schema, rows.combine_chunks().to_batches()
        elif isinstance(rows, pa.RecordBatch):
            schema, rows = rows.schema, [rows]
        elif schema is None:
            first, rows = _peek(rows)
            if not isinstance(first, pa.RecordBatch):
                raise PlanError("a source of tuples, or an empty source, needs schema=pa.schema([...])")
            schema = first.schema
        if isinstance(arrivals, str) and arrivals not in schema.names:
            raise PlanError(
                f"arrivals={arrivals!r}: no such column{nearest(arrivals, schema.names)}; there are "
                f"{', '.join(schema.names)}"
            )
        if isinstance(arrivals, str):
            kind = schema.field(arrivals).type
            if not (pa.types.is_timestamp(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
                raise PlanError(
                    f"arrivals={arrivals!r}: the column is {kind}, but a time must be a timestamp or a number; cast it"
                )
        elif isinstance(arrivals, type) or not hasattr(arrivals, "instants"):
            raise PlanError(
                f"arrivals={arrivals!r}: must be poisson(rate), regular(rate), replayed(gaps), scripted(times), or the "
                "name of a column"
            )
        self.arrivals, self.at_once, self.stamp = arrivals, at_once, stamp
        self._rows, self._given = rows, schema
        if stamp is not None:
            schema = pa.schema([*(field for field in schema if field.name != stamp), pa.field(stamp, STAMP)])
        self.schema = schema

    def __repr__(self) -> str:
        when = f"at {self.arrivals}" if isinstance(self.arrivals, str) else repr(self.arrivals)
        return f"Source({', '.join(self.schema.names)}; {when})"

    @property
    def dated(self) -> str | None:
        """The kind of the column with times of arrival, `timestamps` or `numbers`; None if there is no such column."""
        if not isinstance(self.arrivals, str):
            return None
        return "timestamps" if pa.types.is_timestamp(self._given.field(self.arrivals).type) else "numbers"

    def arriving(self, rng: np.random.Generator, start: int = 0) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Return instants in ticks, and the rows of each.

        Parameters
        ----------
        rng
            The generator of all random numbers.
        start
            The instant at which processes begin, in ticks. Times in columns are absolute.

        Returns
        -------
        Iterator of (int, pyarrow.RecordBatch)

        Raises
        ------
        PlanError
            If a row arrives before the previous one, or has no time of arrival.

        Examples
        --------
        >>> import numpy as np, pyarrow as pa
        >>> from thalweg.simulation import Source, regular
        >>> source = Source(pa.table({"k": [7, 8]}), regular(2))
        >>> [(at, batch["k"].to_pylist()) for at, batch in source.arriving(np.random.default_rng())]
        [(500000000, [7]), (1000000000, [8])]
        """
        together: Iterable[tuple[int, pa.RecordBatch]]
        if isinstance(self.arrivals, str):
            column = self.arrivals
            together = ((_instant(part.column(column)), part) for part in self._parts())
        else:
            together = zip((start + at for at in self.arrivals.instants(rng)), self._parts(), strict=False)
        last: int | None = None
        for at, part in together:
            if last is not None and at < last:
                raise PlanError(f"arrivals={self.arrivals!r}: a row arrives before the previous one; sort the rows")
            last = at
            yield at, self._stamped(part, at)

    def _parts(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches():
            if not batch.schema.equals(self._given):
                raise PlanError(
                    f"the batches of a source differ in their columns: {batch.schema} after {self._given}; cast them "
                    "to one schema"
                )
            each = self.at_once or max(batch.num_rows, 1)
            for start in range(0, batch.num_rows, each):
                yield batch.slice(start, each)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        rows, schema = iter(self._rows), self._given
        for row in rows:
            if isinstance(row, pa.RecordBatch):
                yield row
            elif isinstance(row, Mapping):
                # read no further than the rows that arrive together, because a generator may pace its rows
                yield pa.RecordBatch.from_pylist([row, *itertools.islice(rows, (self.at_once or 1) - 1)], schema)
            elif isinstance(row, Sequence) and not isinstance(row, (str, bytes)):
                columns = zip(row, *itertools.islice(rows, (self.at_once or 1) - 1), strict=True)
                arrays = [pa.array(values, kind) for values, kind in zip(columns, schema.types, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)
            else:
                raise PlanError(f"a source takes Arrow batches, tuples or dicts, not {type(row).__name__}")

    def _stamped(self, part: pa.RecordBatch, at: int) -> pa.RecordBatch:
        if self.stamp is None:
            return part
        kept = [part.column(name) for name in self.schema.names[:-1]]
        words = pa.py_buffer(np.full(part.num_rows, at, np.int64))
        instants = pa.Array.from_buffers(STAMP, part.num_rows, [None, words])
        return pa.RecordBatch.from_arrays([*kept, instants], schema=self.schema)


def _peek(rows: Iterable[Any]) -> tuple[Any, Iterable[Any]]:
    """Return the first row, and an iterable of all rows."""
    if isinstance(rows, Sequence):
        return (rows[0] if rows else None), rows
    rest = iter(rows)
    first = next(rest, None)
    return first, itertools.chain([first], rest)


def _instant(times: pa.Array) -> int:
    """Return the instant of arrival of rows that arrive together: that of the last one."""
    if times.null_count:
        raise PlanError("arrivals=: a row has no time of arrival; filter out such rows")
    if pa.types.is_timestamp(times.type):
        return int(times.cast(pa.int64()).to_numpy().max()) * TICK_NS[times.type.unit]
    largest = times.to_numpy().max()
    if not math.isfinite(largest):
        raise PlanError(f"arrivals=: a row arrives at {largest}, which is not a time; filter out such rows")
    return int(largest) * UNIT if pa.types.is_integer(times.type) else round(float(largest) * UNIT)
