"""What a simulation recorded: results against time, and queues, windows and rates of every operator.

As tables, as JSON lines that are the same to the byte whenever the simulation is the same, and as a picture.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa

from thalweg.errors import PlanError
from thalweg.runtime.local.virtual.station import Station
from thalweg.runtime.local.virtual.ticks import UNIT


@dataclass(frozen=True, slots=True)
class Sample:
    """One operator at one time. Times are in time units, counts in rows, since the start where nothing else is said."""

    time: float
    operator: str
    arrived: int
    served: int
    emitted: int
    queue: int
    """Waiting now, without what is being served."""
    most_queued: int
    """So far, also if only for an instant: a row that finds the server idle counts until it is taken."""
    mean_queue: float
    """Over all the time since the start."""
    mean_wait: float
    """Of rows whose service has begun, from their coming to that."""
    busy: float
    """Time spent serving."""
    arrival_rate: float
    """A time unit, since the sample before."""
    output_rate: float
    window_rows: int
    window_bytes: int
    late: int


@dataclass(frozen=True, slots=True)
class Reordered:
    """An operator changed the order in which it tries things."""

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
    """Of one run."""

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
        """Where time began, in time units; all other times are counted from there. Where sources go by timestamps:
        seconds after 1970."""
        self.end = end
        """When it ended."""
        self.reordered = tuple(reordered)
        self.queues = queues
        """One row whenever the queue of an operator changed: how many rows wait from then on. One operator after the
        other."""
        self._samples, self._results, self._rows = samples, results, rows

    def __repr__(self) -> str:
        """The end, and what each operator had done by then."""
        lines = [f"Trace: {self.count():,} results in {self.end:g} time units"]
        for name, last in self.final.items():
            lines.append(
                f"  {name}: {last.arrived:,} arrived, {last.emitted:,} emitted, {last.queue:,} waiting "
                f"(at most {last.most_queued:,}), busy {last.busy / self.end if self.end else 0:.0%}"
            )
        return "\n".join(lines)

    @property
    def samples(self) -> pa.Table:
        """One row an operator and sample."""
        return pa.Table.from_pylist([asdict(sample) for sample in self._samples], _SAMPLES)

    @property
    def results(self) -> pa.Table:
        """One row whenever results appeared: how many, and how many their operator has given so far."""
        columns = zip(*self._results, strict=True) if self._results else [[]] * len(_RESULTS)
        return pa.table([pa.array(c, kind) for c, kind in zip(columns, _RESULTS.types, strict=True)], schema=_RESULTS)

    @property
    def final(self) -> Mapping[str, Sample]:
        """By operator, at the end."""
        return {sample.operator: sample for sample in self._samples}

    def count(self, until: float | None = None, operator: str | None = None) -> int:
        """Results up to and including that time; None: all."""
        return sum(
            rows for time, name, rows, _ in self._results
            if (until is None or time <= until) and operator in (None, name)
        )  # fmt: skip

    def rows(self, operator: str | None = None) -> pa.Table:
        """The results themselves, in the order they appeared."""
        if self._rows is None:
            raise PlanError("the rows of results were not kept: simulate(..., keep=True)")
        if operator is None and len(self._rows) == 1:
            (operator,) = self._rows
        if operator is None or operator not in self._rows:
            raise PlanError(f"rows({operator!r}): results come from {', '.join(self._rows)}")
        return self._rows[operator]

    def to_json_lines(self) -> bytes:
        """Everything but the rows: one object a line, with its `kind`."""
        lines: list[Mapping[str, Any]] = [{"kind": "start", "time": self.start}, {"kind": "end", "time": self.end}]
        lines += [{"kind": "sample", **asdict(sample)} for sample in self._samples]
        lines += [{"kind": "order", **asdict(change)} for change in self.reordered]
        lines += [{"kind": "results", "time": t, "operator": o, "rows": n, "total": total}
                  for t, o, n, total in self._results]  # fmt: skip
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Results and queues against time, as a PNG. Needs the extra `lab`."""
        from thalweg.runtime.local.virtual.picture import draw

        draw(self, path)


class Recorder:
    """Writes down what a run does."""

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
        """All samples that are due before what happens now."""
        while self._next is not None and self._every is not None and self._next < now:
            self._sample(self._next)
            self._next += self._every

    def result(self, station: Station, rows: Any, at: int) -> None:
        """Rows nobody reads."""
        name = station.operator.name
        self._results.append((at / UNIT, name, rows.num_rows, station.emitted))
        if self._kept is not None:
            self._kept[name].append(rows)

    def orders(self, station: Station, at: int) -> None:
        """Whether the operator has changed one."""
        for port, order in station.operator.orders().items():
            if station.orders[port] != order:
                station.orders[port] = order
                self._reordered.append(Reordered(at / UNIT, station.operator.name, port, order))

    def trace(self, end: int) -> Trace:
        """All of it."""
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
