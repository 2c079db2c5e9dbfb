"""Runs a pipeline of operators over sources, event by event, under a virtual clock or that of the wall.

Answers: what comes out and when, how long queues get, what windows hold, at declared arrivals and declared costs.
Guarantee: the rows that come out are those of the same operators run without a clock. The same sources, operators and
seed give the same trace, to the byte, in any process: events of one instant come in the order in which they were made,
and all randomness comes from the seed.
Cost: some tens of microseconds an event besides the kernels, which see a row at a time; let rows arrive `at_once` where
that is too slow.

By default every operator has a server of its own, as the operators of the rate-based paper had threads of their own
(section 5.1): then the cost formulas hold for each alone. With `cpus=n` at most n serve at a time, and the entry that
came to its queue first is served first.

Under the wall clock there is one server, this process: sources wait for their instants, work takes its time.

>>> import pyarrow as pa
>>> from thalweg.plan import predicate
>>> from thalweg.runtime.local.virtual import Costs, Selection, Source, regular
>>> small = Selection("small", "numbers", predicate(lambda n: n < 3, "n", name="below_3"), costs=Costs(predicate=2))
>>> trace = simulate({"numbers": Source(pa.table({"n": [1, 2, 3]}), regular(1))}, small)
>>> trace.results.to_pylist()  # arrived at 1, 2 and 3; each takes 2
[{'time': 3.0, 'operator': 'small', 'rows': 1, 'total': 1}, {'time': 5.0, 'operator': 'small', 'rows': 1, 'total': 2}]

Reference: Viglas, Naughton: Rate-Based Query Optimization for Streaming Information Sources. SIGMOD 2002.
"""

from __future__ import annotations

import heapq
import itertools
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from thalweg.errors import PlanError, nearest
from thalweg.plan.window import Length
from thalweg.runtime.local.operator import Coming, Operator
from thalweg.runtime.local.virtual.clock import Clock, VirtualClock
from thalweg.runtime.local.virtual.priced import size
from thalweg.runtime.local.virtual.source import Source
from thalweg.runtime.local.virtual.station import Entry, Station
from thalweg.runtime.local.virtual.ticks import UNIT, instant, ticks
from thalweg.runtime.local.virtual.trace import Recorder, Trace
from thalweg.runtime.watermark import END

Operators = Operator | Iterable["Operators"]


def simulate(
    sources: Mapping[str, Source],
    operators: Operators,
    *,
    start: float | datetime | None = None,
    until: Length | None = None,
    every: Length | None = None,
    cpus: int | None = None,
    seed: int = 0,
    clock: Clock | None = None,
    keep: bool = True,
) -> Trace:
    """Run until all is drained, or until a time.

    `start`: where time begins; None: at the first arrival that a column tells, at 0 where there is none. Processes such
    as `poisson` begin there; `until`, and all times that are recorded, are counted from there.
    `every`: how often queues, windows and rates are recorded, besides at the end. `cpus`: None: a server for every
    operator. `clock`: a `WallClock()` for real time; None: a virtual one. `keep`: the rows of results, besides their
    number. Results are what operators give that nobody reads. Operators may be given one within another, such as a
    tree of joins among others: `[tree_join(...), Selection(...)]`."""
    _check_sources(sources)
    listed = list(_flat(operators))
    if not listed:
        raise PlanError("operators: there are none")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise PlanError(f"seed={seed!r}: must be a whole number, 0 or more")
    if cpus is not None and (isinstance(cpus, bool) or not isinstance(cpus, int) or cpus < 1):
        raise PlanError(f"cpus={cpus!r}: must be a whole number, 1 or more, or None: a server for every operator")
    interval = None if every is None else ticks(every, "every")
    if interval == 0:
        raise PlanError(f"every={every!r}: must be longer than nothing")
    begin = None if start is None else instant(start)
    end = None if until is None else ticks(until, "until")
    return _Run(sources, listed, _Asked(begin, end, interval, cpus, seed, clock, keep)).trace()


_ARRIVAL, _OUTPUT, _DONE = range(3)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The arguments of `simulate`, with times in ticks."""

    start: int | None
    until: int | None
    every: int | None
    cpus: int | None
    seed: int
    clock: Clock | None
    keep: bool


class _Run:
    def __init__(self, sources: Mapping[str, Source], operators: list[Operator], asked: _Asked) -> None:
        self._until = asked.until
        self._wall = asked.clock if asked.clock is not None and asked.clock.real else None
        self._servers = 1 if self._wall else asked.cpus
        self._serving = 0
        self._numbers = itertools.count()
        self._events: list[tuple[int, int, int, Any, Any]] = []
        self._now = 0
        schemas = {name: source.schema for name, source in sources.items()}
        self._stations: dict[str, Station] = {}
        clocks: dict[str, Clock] = {}
        for operator in _in_order(sources, operators):
            own = clocks[operator.name] = self._wall or VirtualClock()
            seen = {port: schemas[name] for port, name in operator.reads.items()}
            schemas[operator.name] = operator.set_up(seen, own, _seeded(asked.seed, operator.name))
        for operator in operators:
            self._stations[operator.name] = Station(operator, clocks[operator.name])
        self._entrances: dict[str, list[tuple[Station, str]]] = {name: [] for name in sources}
        for station in self._stations.values():
            for port, name in station.operator.reads.items():
                readers = self._entrances[name] if name in sources else self._stations[name].readers
                readers.append((station, port))
        self._start_at, self._arriving = _from_the_start(sources, asked.start, asked.seed)
        self._recorder = Recorder(self._stations, schemas, self._start_at, asked.every, asked.keep)

    def trace(self) -> Trace:
        """Run."""
        for name in self._arriving:
            self._next_arrival(name)
        while self._events and (self._until is None or self._events[0][0] <= self._until):
            at, _, kind, whose, rows = heapq.heappop(self._events)
            if self._wall:
                self._wall.begin(at)
            self._now = at  # of the event: what came while an operator was at work came before it was done
            self._recorder.sample_before(self._now)
            if kind == _ARRIVAL:
                for station, port in self._entrances[whose]:
                    self._deliver(station, port, rows=rows)
                self._next_arrival(whose)
            elif kind == _OUTPUT:
                self._emit(whose, rows)
            else:
                self._finish(whose)
            self._start()
        return self._recorder.trace(self._now if self._until is None else max(self._now, self._until))

    def _next_arrival(self, name: str) -> None:
        following = next(self._arriving[name], None)
        if following is not None:
            self._push(following[0] - self._start_at, _ARRIVAL, name, following[1])
            return
        for station, port in self._entrances[name]:
            self._deliver(station, port, mark=END)

    def _push(self, at: int, kind: int, whose: Any, rows: Any = None) -> None:
        heapq.heappush(self._events, (at, next(self._numbers), kind, whose, rows))

    def _deliver(self, station: Station, port: str, *, rows: Any = None, mark: int | None = None) -> None:
        for coming in station.operator.entering(port, rows, mark):
            self._put(coming)

    def _put(self, coming: Coming) -> None:
        station = self._stations[coming.operator.name]
        if coming.rows is not None:
            entry = Entry(coming.port, coming.rows, size(coming.rows), self._now, next(self._numbers))
            station.put(entry, self._now)
        elif coming.mark is not None:
            last = station.last()
            if last is not None:
                last.marks.append((coming.port, coming.mark))
            else:
                self._mark(station, coming.port, coming.mark)

    def _mark(self, station: Station, port: str, mark: int) -> None:
        passed = station.operator.mark(port, mark)
        for rows in passed.rows:
            if size(rows):
                self._emit(station, rows)
        if passed.mark is not None:
            for reader, its_port in station.readers:
                self._deliver(reader, its_port, mark=passed.mark)

    def _emit(self, station: Station, rows: Any) -> None:
        station.emitted += size(rows)
        for reader, port in station.readers:
            self._deliver(reader, port, rows=rows)
        if not station.readers:
            self._recorder.result(station, rows, self._now)

    def _finish(self, station: Station) -> None:
        self._serving -= 1
        for port, mark in station.finish(self._now).marks:
            self._mark(station, port, mark)

    def _start(self) -> None:
        """Serve what can be served now."""
        while self._servers is None or self._serving < self._servers:
            ready = [s for s in self._stations.values() if s.queue and s.serving is None]
            if not ready:
                return
            self._serve(min(ready, key=lambda station: station.queue[0].number))

    def _serve(self, station: Station) -> None:
        operator = station.operator
        entry = station.take(self._now)
        self._serving += 1
        clock = station.clock
        clock.begin(self._now)
        for rows in operator.serve(entry.port, entry.rows):
            self._push(clock(), _OUTPUT, station, rows)
        self._push(clock(), _DONE, station)
        self._recorder.orders(station, clock())


def _seeded(seed: int, name: str) -> np.random.Generator:
    # by name, so that one source more does not change what the others do
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def _check_sources(sources: Any) -> None:
    if not isinstance(sources, Mapping):
        raise PlanError(
            f"sources: must be a mapping of names to sources, {{'a': Source(...)}}, not {type(sources).__name__}"
        )
    for name, source in sources.items():
        if not isinstance(source, Source):
            raise PlanError(
                f"the source {name!r} is a {type(source).__name__}, which does not say when its rows arrive: write "
                "Source(rows, poisson(rate)), or Source(rows, 'column of times')"
            )


def _flat(operators: Any) -> Iterator[Operator]:
    if isinstance(operators, Operator):
        yield operators
    elif isinstance(operators, Iterable) and not isinstance(operators, (str, bytes, Mapping)):
        for one in operators:
            yield from _flat(one)
    else:
        raise PlanError(
            f"operators: {operators!r} is none; give a Selection, a MultiwayJoin, a tree_join, or a list of them"
        )


Arriving = Iterator[tuple[int, pa.RecordBatch]]


def _from_the_start(sources: Mapping[str, Source], start: int | None, seed: int) -> tuple[int, Mapping[str, Arriving]]:
    """Where time begins, in ticks, and what arrives from there on, by source."""
    kinds = {source.dated: name for name, source in sources.items() if source.dated}
    if len(kinds) > 1:  # time would begin at the numbers, years before the others
        (kind, name), (other_kind, other) = kinds.items()
        raise PlanError(f"arrivals: {name!r} goes by {kind}, {other!r} by {other_kind}; cast one of the columns")
    arriving: dict[str, Arriving] = {}
    first: dict[str, int] = {}
    for name, source in sources.items():
        if source.dated:
            rest = source.arriving(_seeded(seed, name))
            head = next(rest, None)
            arriving[name] = rest if head is None else itertools.chain([head], rest)
            if head is not None:
                first[name] = head[0]
    begin = min(first.values(), default=0) if start is None else start
    for name, at in first.items():
        if at < begin:
            raise PlanError(f"start={begin / UNIT:g}: the first row of {name!r} arrives before that, at {at / UNIT:g}")
    for name, source in sources.items():
        if not source.dated:
            arriving[name] = source.arriving(_seeded(seed, name), begin)
    return begin, {name: arriving[name] for name in sources}


def _in_order(sources: Mapping[str, Source], operators: list[Operator]) -> Iterator[Operator]:
    """Each after those it reads; refuses what cannot be wired."""
    names = [*sources, *(operator.name for operator in operators)]
    for name in names:
        if names.count(name) > 1:
            raise PlanError(f"two things are called {name!r}: a source, or an operator, must have another name")
    read = {name for operator in operators for name in operator.reads.values()}
    for name in read - set(names):
        raise PlanError(f"an operator reads {name!r}, which is not there{nearest(name, names)}")
    for name in sources:
        if name not in read:
            raise PlanError(f"nobody reads the source {name!r}")
    known, left = set(sources), list(operators)
    while left:
        ready = [operator for operator in left if known.issuperset(operator.reads.values())]
        if not ready:
            raise PlanError(f"{', '.join(operator.name for operator in left)} read each other in a circle")
        yield from ready
        known.update(operator.name for operator in ready)
        left = [operator for operator in left if operator not in ready]
