"""The trace of a simulation: results over time, and the queues, windows and rates of every operator.

It is available as tables, as JSON lines that are the same to the byte if the simulation is the same, and as a figure.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa

from thalweg.cost.ticks import UNIT
from thalweg.errors import PlanError
from thalweg.formatting import plural, whole_percent
from thalweg.simulation.station import Station


@dataclass(frozen=True, slots=True)
class Sample:
    """The counters of one operator at one time. Times are in time units and counts in rows, since the start unless
    stated otherwise."""

    time: float
    operator: str
    arrived: int
    served: int
    emitted: int
    queue: int
    """Rows waiting now, without those being served."""
    most_queued: int
    """The most rows waiting so far, even for an instant: a row that finds the server idle counts until it is taken."""
    mean_queue: float
    """The mean length of the queue since the start."""
    mean_wait: float
    """The mean time from arrival to the start of service, of rows whose service has started."""
    busy: float
    """The time spent serving."""
    arrival_rate: float
    """Arrivals per time unit since the previous sample."""
    output_rate: float
    window_rows: int
    window_bytes: int
    late: int


@dataclass(frozen=True, slots=True)
class Reordered:
    """A change of the order in which an operator evaluates predicates or probes."""

    time: float
    operator: str
    port: str
    order: tuple[str, ...]


_SAMPLES = pa.schema(
    [(f.name, {"int": pa.int64(), "float": pa.float64(), "str": pa.string()}[str(f.type)]) for f in fields(Sample)]
)
_QUEUES = pa.schema([("time", pa.float64()), ("operator", pa.string()), ("queue", pa.int64())])
_RESULTS = pa.schema([("time", pa.float64()), ("operator", pa.string()), ("rows", pa.int64()), ("total", pa.int64())])


class Trace:
    """The trace of one simulation, which :func:`simulate` returns."""

    def __init__(
        self,
        start: float,
        end: float,
        samples: list[Sample],
        results: list[tuple[float, str, int, int]],
        reordered: list[Reordered],
        queues: pa.Table,
        rows: Mapping[str, pa.Table] | None,
    ) -> None:
        self.start = start
        """The start of time, in time units; all other times are relative to it. If sources use timestamps, it is in
        seconds since 1970."""
        self.end = end
        """The end of the simulation."""
        self.reordered = tuple(reordered)
        self.queues = queues
        """One row per change of the queue of an operator: the number of rows that wait from then on. Operators come one
        after the other."""
        self._samples, self._results, self._rows = samples, results, rows

    def __repr__(self) -> str:
        """Return the end of the simulation and the totals of each operator."""
        lines = [f"Trace: {plural(self.count(), 'result')} in {self.end:g} time units"]
        for name, last in self.final.items():
            lines.append(
                f"  {name}: {last.arrived:,} arrived, {last.emitted:,} emitted, {last.queue:,} waiting "
                f"(at most {last.most_queued:,}), busy {whole_percent(last.busy / self.end if self.end else 0.0)}"
            )
        return "\n".join(lines)

    @property
    def samples(self) -> pa.Table:
        """One row per operator and sample."""
        return pa.Table.from_pylist([asdict(sample) for sample in self._samples], _SAMPLES)

    @property
    def results(self) -> pa.Table:
        """One row per time at which results appeared: their number, and the number of the operator's results so far."""
        columns = zip(*self._results, strict=True) if self._results else [[]] * len(_RESULTS)
        return pa.table([pa.array(c, kind) for c, kind in zip(columns, _RESULTS.types, strict=True)], schema=_RESULTS)

    @property
    def final(self) -> Mapping[str, Sample]:
        """The last sample of each operator."""
        return {sample.operator: sample for sample in self._samples}

    def count(self, until: float | None = None, operator: str | None = None) -> int:
        """Return the number of results.

        Parameters
        ----------
        until
            Count the results up to and including this time; None for all.
        operator
            Count only the results of this operator; None for all.

        Returns
        -------
        int

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from thalweg.simulation import Selection, Source, regular, simulate
        >>> small = Selection("small", "numbers", tw.predicate(lambda n: n < 3, "n", name="below_3"))
        >>> trace = simulate({"numbers": Source(pa.table({"n": [1, 2, 3]}), regular(1))}, small)
        >>> trace.count(), trace.count(until=1)
        (2, 1)
        """
        return sum(
            rows for time, name, rows, _ in self._results
            if (until is None or time <= until) and operator in (None, name)
        )  # fmt: skip

    def rows(self, operator: str | None = None) -> pa.Table:
        """Return the rows of the results, in the order in which they appeared.

        Parameters
        ----------
        operator
            The operator of the results. It can be left out if only one operator has results.

        Returns
        -------
        pyarrow.Table

        Raises
        ------
        PlanError
            If the rows were not kept, or `operator` is not an operator with results.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from thalweg.simulation import Selection, Source, regular, simulate
        >>> small = Selection("small", "numbers", tw.predicate(lambda n: n < 3, "n", name="below_3"))
        >>> trace = simulate({"numbers": Source(pa.table({"n": [1, 2, 3]}), regular(1))}, small)
        >>> trace.rows().to_pylist()
        [{'n': 1}, {'n': 2}]
        """
        if self._rows is None:
            raise PlanError("the rows of results were not kept: use simulate(..., keep=True)")
        if operator is None and len(self._rows) == 1:
            (operator,) = self._rows
        if operator is None or operator not in self._rows:
            raise PlanError(f"rows({operator!r}): results come from {', '.join(self._rows)}; name one of them")
        return self._rows[operator]

    def to_json_lines(self) -> bytes:
        """Return everything except the rows, as JSON lines: one object per line, with its ``kind``.

        Returns
        -------
        bytes

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from thalweg.simulation import Selection, Source, regular, simulate
        >>> small = Selection("small", "numbers", tw.predicate(lambda n: n < 3, "n", name="below_3"))
        >>> trace = simulate({"numbers": Source(pa.table({"n": [1, 2, 3]}), regular(1))}, small)
        >>> trace.to_json_lines().splitlines()[0]
        b'{"kind": "start", "time": 0.0}'
        """
        lines: list[Mapping[str, Any]] = [{"kind": "start", "time": self.start}, {"kind": "end", "time": self.end}]
        lines += [{"kind": "sample", **asdict(sample)} for sample in self._samples]
        lines += [{"kind": "order", **asdict(change)} for change in self.reordered]
        lines += [{"kind": "results", "time": t, "operator": o, "rows": n, "total": total}
                  for t, o, n, total in self._results]  # fmt: skip
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Plot results and queues over time to a PNG file. This needs the extra ``lab``.

        Parameters
        ----------
        path
            The file to write.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from thalweg.simulation import Selection, Source, regular, simulate
        >>> small = Selection("small", "numbers", tw.predicate(lambda n: n < 3, "n", name="below_3"))
        >>> trace = simulate({"numbers": Source(pa.table({"n": [1, 2, 3]}), regular(1))}, small)
        >>> trace.plot("queues.png")  # doctest: +SKIP
        """
        from thalweg.simulation.picture import draw

        draw(self, path)


class Recorder:
    """Records the events of a simulation."""

    def __init__(
        self, stations: Mapping[str, Station], schemas: Mapping[str, pa.Schema], start: int, every: int | None,
        keep: bool,
    ) -> None:  # fmt: skip
        self._stations, self._schemas, self._start = stations, schemas, start
        self._every = self._next = every
        self._samples: list[Sample] = []
        self._results: list[tuple[float, str, int, int]] = []
        self._reordered: list[Reordered] = []
        self._kept: dict[str, list[pa.RecordBatch]] | None = (
            {name: [] for name, station in stations.items() if not station.readers} if keep else None
        )
        self._before = dict.fromkeys(stations, (0, 0, 0))  # time, arrived, emitted of the last sample

    def sample_before(self, now: int) -> None:
        """Take all samples that are due before `now`."""
        while self._next is not None and self._every is not None and self._next < now:
            self._sample(self._next)
            self._next += self._every

    def result(self, station: Station, rows: Any, at: int) -> None:
        """Record results: rows that no other operator reads."""
        name = station.operator.name
        self._results.append((at / UNIT, name, rows.num_rows, station.emitted))
        if self._kept is not None:
            self._kept[name].append(rows)

    def orders(self, station: Station, at: int) -> None:
        """Record changes of the operator's orders."""
        for port, order in station.operator.orders().items():
            if station.orders[port] != order:
                station.orders[port] = order
                self._reordered.append(Reordered(at / UNIT, station.operator.name, port, order))

    def trace(self, end: int) -> Trace:
        """Take the last samples, and return the trace."""
        self.sample_before(end)
        self._sample(end)
        rows = None
        if self._kept is not None:
            rows = {name: pa.Table.from_batches(kept, self._schemas[name]) for name, kept in self._kept.items()}
        queues = pa.concat_tables([_queue(name, station) for name, station in self._stations.items()])
        return Trace(self._start / UNIT, end / UNIT, self._samples, self._results, self._reordered, queues, rows)

    def _sample(self, now: int) -> None:
        for name, station in self._stations.items():
            time, arrived, emitted = self._before[name]
            self._before[name] = now, station.arrived, station.emitted
            units = (now - time) / UNIT
            begun = station.arrived - station.waiting
            window_rows, window_bytes = station.operator.windows()
            self._samples.append(
                Sample(
                    now / UNIT, name, station.arrived, station.served, station.emitted,
                    station.waiting, station.most_waiting, station.mean_waiting(now),
                    station.waited / UNIT / begun if begun else 0.0, station.busy_until(now) / UNIT,
                    (station.arrived - arrived) / units if units else 0.0,
                    (station.emitted - emitted) / units if units else 0.0,
                    window_rows, window_bytes, station.operator.late(),
                )
            )  # fmt: skip


def _queue(name: str, station: Station) -> pa.Table:
    times = np.array(station.queue_times, np.int64) / UNIT
    names = pa.repeat(pa.scalar(name), len(times))
    return pa.table([times, names, np.array(station.queue_lengths, np.int64)], schema=_QUEUES)
