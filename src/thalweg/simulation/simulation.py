"""Runs a pipeline of operators over sources, event by event, under a virtual clock or the wall clock.

Answers: the results and their times, the lengths of queues and the sizes of windows, for declared arrivals and costs.
Guarantee: the results are those of the same operators run without a clock. The same sources, operators and seed give
the same trace, to the byte, in any process: events of one instant are handled in the order in which they were created,
and all randomness comes from the seed.
Cost: tens of microseconds per event, in addition to the kernels, which process one row at a time. If that is too slow,
let several rows arrive `at_once`.

By default every operator has its own server, as each operator of the rate-based paper had its own thread (section 5.1).
Then the cost formulas hold for each operator alone. With `cpus=n` at most n operators serve at a time, and the entry
that entered its queue first is served first.

Under the wall clock there is one server, this process: sources wait for their instants, and work takes its real time.

>>> import pyarrow as pa
>>> from thalweg import predicate
>>> from thalweg.simulation import Costs, Selection, Source, regular
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

from thalweg.cost.ticks import UNIT, instant, ticks
from thalweg.errors import PlanError, nearest
from thalweg.plan.joins.window import Length
from thalweg.runtime.clock import Clock, VirtualClock
from thalweg.runtime.local.operator import Delivery, Operator
from thalweg.runtime.watermark import END
from thalweg.simulation.priced_operator import size
from thalweg.simulation.source import Source
from thalweg.simulation.station import Entry, Station
from thalweg.simulation.trace import Recorder, Trace

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
    """Simulate a pipeline until all rows are processed, or until a time.

    Results are the output of operators that no other operator reads.

    Parameters
    ----------
    sources
        The sources by name.
    operators
        One operator, or a list of them, which may be nested: ``[tree_join(...), Selection(...)]``.
    start
        The start of time. If None, it is the first arrival in a column of times, or 0 if there is no such column.
        Processes such as `poisson` begin there; `until` and all recorded times are relative to it.
    until
        The time at which the simulation ends; None to process all rows.
    every
        The interval at which queues, windows and rates are recorded, in addition to the end.
    cpus
        The number of servers; None for one server per operator.
    seed
        The seed of everything that is random.
    clock
        A ``WallClock()`` for real time; None for a virtual clock.
    keep
        Whether to keep the rows of results, in addition to their number.

    Returns
    -------
    Trace

    Raises
    ------
    PlanError
        If an argument is invalid, or the operators cannot be connected.

    Examples
    --------
    >>> import pyarrow as pa, thalweg as tw
    >>> from thalweg.simulation import Costs, Selection, Source, regular, simulate
    >>> below_3 = tw.predicate(lambda n: n < 3, "n", name="below_3")
    >>> small = Selection("small", "numbers", below_3, costs=Costs(predicate="2 seconds"))
    >>> simulate({"numbers": Source(pa.table({"n": [1, 2, 3]}), regular(1))}, small)
    Trace: 2 results in 7 time units
      small: 3 arrived, 2 emitted, 0 waiting (at most 1), busy 86 %
    """
    _check_sources(sources)
    listed = list(_flat(operators))
    if not listed:
        raise PlanError("operators: the list is empty; give at least one operator")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise PlanError(f"seed={seed!r}: must be a whole number, 0 or more")
    if cpus is not None and (isinstance(cpus, bool) or not isinstance(cpus, int) or cpus < 1):
        raise PlanError(f"cpus={cpus!r}: must be a whole number, 1 or more, or None for one server per operator")
    interval = None if every is None else ticks(every, "every")
    if interval == 0:
        raise PlanError(f"every={every!r}: must be longer than 0")
    begin = None if start is None else instant(start)
    end = None if until is None else ticks(until, "until")
    return _Simulation(sources, listed, _Arguments(begin, end, interval, cpus, seed, clock, keep)).trace()


_ARRIVAL, _OUTPUT, _DONE = range(3)


@dataclass(frozen=True, slots=True)
class _Arguments:
    """The arguments of `simulate`, with times in ticks."""

    start: int | None
    until: int | None
    every: int | None
    cpus: int | None
    seed: int
    clock: Clock | None
    keep: bool


class _Simulation:
    def __init__(self, sources: Mapping[str, Source], operators: list[Operator], arguments: _Arguments) -> None:
        self._until = arguments.until
        self._wall = arguments.clock if arguments.clock is not None and arguments.clock.real else None
        self._servers = 1 if self._wall else arguments.cpus
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
            schemas[operator.name] = operator.set_up(seen, own, _seeded(arguments.seed, operator.name))
        for operator in operators:
            self._stations[operator.name] = Station(operator, clocks[operator.name])
        self._entrances: dict[str, list[tuple[Station, str]]] = {name: [] for name in sources}
        for station in self._stations.values():
            for port, name in station.operator.reads.items():
                readers = self._entrances[name] if name in sources else self._stations[name].readers
                readers.append((station, port))
        self._start_at, self._arriving = _from_the_start(sources, arguments.start, arguments.seed)
        self._recorder = Recorder(self._stations, schemas, self._start_at, arguments.every, arguments.keep)

    def trace(self) -> Trace:
        """Run the simulation and return its trace."""
        for name in self._arriving:
            self._next_arrival(name)
        while self._events and (self._until is None or self._events[0][0] <= self._until):
            at, _, kind, whose, rows = heapq.heappop(self._events)
            if self._wall:
                self._wall.begin(at)
            self._now = at  # the event's time: rows that arrived while an operator worked came before it was done
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

    def _put(self, coming: Delivery) -> None:
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
        """Start serving all entries that can be served now."""
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
    # seeded by name, so that a further source does not change the others
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
            f"operators: {operators!r} is not an operator; give a Selection, a MultiwayJoin, a tree_join, or a list of "
            "them"
        )


Arriving = Iterator[tuple[int, pa.RecordBatch]]


def _from_the_start(sources: Mapping[str, Source], start: int | None, seed: int) -> tuple[int, Mapping[str, Arriving]]:
    """Return the start of time, in ticks, and the arrivals from then on, by source."""
    kinds = {source.dated: name for name, source in sources.items() if source.dated}
    if len(kinds) > 1:  # time would start at the numbers, years before the timestamps
        (kind, name), (other_kind, other) = kinds.items()
        raise PlanError(f"arrivals: {name!r} uses {kind}, {other!r} uses {other_kind}; cast one of the columns")
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
            raise PlanError(
                f"start={begin / UNIT:g}: the first row of {name!r} arrives earlier, at {at / UNIT:g}; give an earlier "
                "start"
            )
    for name, source in sources.items():
        if not source.dated:
            arriving[name] = source.arriving(_seeded(seed, name), begin)
    return begin, {name: arriving[name] for name in sources}


def _in_order(sources: Mapping[str, Source], operators: list[Operator]) -> Iterator[Operator]:
    """Return the operators, each after those it reads. Raise `PlanError` if they cannot be connected."""
    names = [*sources, *(operator.name for operator in operators)]
    for name in names:
        if names.count(name) > 1:
            raise PlanError(f"{name!r} is the name of several sources or operators; rename all but one")
    read = {name for operator in operators for name in operator.reads.values()}
    for name in read - set(names):
        raise PlanError(
            f"an operator reads {name!r}, which does not exist{nearest(name, names)}; there are {', '.join(names)}"
        )
    for name in sources:
        if name not in read:
            raise PlanError(f"no operator reads the source {name!r}; remove it, or name it in reads=")
    known, left = set(sources), list(operators)
    while left:
        ready = [operator for operator in left if known.issuperset(operator.reads.values())]
        if not ready:
            raise PlanError(
                f"{', '.join(operator.name for operator in left)} read each other in a cycle; change reads= of one of "
                "them"
            )
        yield from ready
        known.update(operator.name for operator in ready)
        left = [operator for operator in left if operator not in ready]
