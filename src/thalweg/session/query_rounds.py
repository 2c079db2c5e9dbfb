"""Several queries in this process that take turns, one round each."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from thalweg.draw.html import paragraph
from thalweg.errors import PlanError, nearest
from thalweg.formatting import plural, time_span
from thalweg.printable import printable
from thalweg.report.view import View
from thalweg.session.handle import BatchRun, Stopped, seconds_to_wait

Read = Callable[[], Iterable[pa.RecordBatch]]


@dataclass(slots=True)
class Waits:
    """The turns of one query. A turn is the processing of one batch that it has read."""

    rounds: int = 0
    waited_ns: int = 0
    longest_ns: int = 0


class Turns:
    """One turn, which queries take in the order in which they ask for it.

    A query gives its turn back before it reads, so that one whose source has nothing to read does not hold up the
    others.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[object] = deque()
        self._is_taken = False
        self.waits: dict[str, Waits] = {}

    def take(self, name: str, *, is_round: bool = True) -> None:
        """Wait for the turn. `is_round`: it is counted, because a batch was read."""
        ticket, begun = object(), time.perf_counter_ns()
        with self._changed:
            self._waiting.append(ticket)
            while self._is_taken or self._waiting[0] is not ticket:
                self._changed.wait()
            self._waiting.popleft()
            self._is_taken = True
            waited, one = time.perf_counter_ns() - begun, self.waits.setdefault(name, Waits())
            one.rounds += is_round
            one.waited_ns += waited
            one.longest_ns = max(one.longest_ns, waited)

    def give(self) -> None:
        """Give the turn back."""
        with self._changed:
            self._is_taken = False
            self._changed.notify_all()

    def reading(self, name: str, read: Read, report: Callable[[int | None], None]) -> Read:
        """Return a source whose batches are read outside the turn of a query, and returned in its next turn.
        `report`: raises if the query shall stop."""

        def batches() -> Iterator[pa.RecordBatch]:
            source = iter(read())
            while True:
                self.give()
                batch = None
                try:
                    batch = next(source, None)
                finally:
                    self.take(name, is_round=batch is not None)
                report(None)
                if batch is None:
                    return
                yield batch

        return batches


class QueryRounds:
    """Queries that take turns, which :meth:`Session.rounds` returns."""

    def __init__(self, runs: Mapping[str, BatchRun], turns: Turns, results: Mapping[str, list[pa.RecordBatch]]) -> None:
        self.runs = dict(runs)
        """The running queries by name, with the interface of Spark's StreamingQuery."""
        self._turns, self._results = turns, results

    @property
    def isActive(self) -> bool:  # noqa: N802
        """Whether a query is running."""
        return any(run.isActive for run in self.runs.values())

    def __repr__(self) -> str:
        return f"<rounds of {', '.join(map(repr, self.runs.values()))}>"

    def table(self, name: str) -> pa.Table:
        """Return the results of a query so far.

        Parameters
        ----------
        name
            The name of the query.

        Returns
        -------
        pyarrow.Table

        Raises
        ------
        PlanError
            If there is no query of this name.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from datetime import datetime
        >>> s = tw.session()
        >>> s.stream("events", pa.table({"ts": [datetime(2026, 1, 1)] * 2, "n": [5, 7]}), time="ts")
        >>> rounds = s.rounds([s.query("SELECT n FROM events WHERE n > 5", name="large")])
        >>> rounds.awaitTermination()
        >>> rounds.table("large").to_pylist()
        [{'n': 7}]
        """
        if name not in self._results:
            raise PlanError(f"there is no query {name!r} in these rounds{nearest(name, self._results)}")
        schema = self.runs[name]._query.schema
        return pa.Table.from_batches(list(self._results[name]), schema)

    def awaitTermination(self, timeout: float | None = None) -> bool | None:  # noqa: N802
        """Wait until all queries have ended. An error of one query does not end the others, and is raised at the end.

        Parameters
        ----------
        timeout
            The number of seconds to wait at most; None to wait as long as a query runs.

        Returns
        -------
        bool or None
            With a timeout, whether all queries have ended. Without one, None.

        Raises
        ------
        ThalwegError
            The error that ended a query, the first one if there are several. An exception that a source raised is
            raised as it is.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from datetime import datetime
        >>> s = tw.session()
        >>> s.stream("events", pa.table({"ts": [datetime(2026, 1, 1)] * 2, "n": [5, 7]}), time="ts")
        >>> s.rounds([s.query("SELECT n FROM events", name="all")]).awaitTermination(timeout=60)
        True
        """
        seconds = seconds_to_wait(timeout)
        deadline = None if seconds is None else time.monotonic() + seconds
        try:
            for run in self.runs.values():
                run._ended.wait(None if deadline is None else max(deadline - time.monotonic(), 0.0))
        except KeyboardInterrupt:
            for run in self.runs.values():
                run._interrupted = True
            raise
        if self.isActive:
            return False
        for run in self.runs.values():
            if (error := run.exception()) is not None:
                raise error
        return None if timeout is None else True

    def stop(self) -> None:
        """Stop all queries and wait until they have ended. To stop one, use ``rounds.runs[name].stop()``.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from datetime import datetime
        >>> s = tw.session()
        >>> s.stream("events", pa.table({"ts": [datetime(2026, 1, 1)] * 2, "n": [5, 7]}), time="ts")
        >>> rounds = s.rounds([s.query("SELECT n FROM events", name="all")])
        >>> rounds.stop()
        >>> rounds.isActive
        False
        """
        for run in self.runs.values():
            run._ask(Stopped)  # all before waiting for one, whose source may have nothing to read for long
        for run in self.runs.values():
            run.stop()

    def report(self) -> RoundsReport:
        """Return how many rounds each query had so far, and how long it waited for them.

        Returns
        -------
        RoundsReport

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from datetime import datetime
        >>> s = tw.session()
        >>> s.stream("events", pa.table({"ts": [datetime(2026, 1, 1)] * 2, "n": [5, 7]}), time="ts")
        >>> rounds = s.rounds([s.query("SELECT n FROM events", name="all")])
        >>> rounds.awaitTermination()
        >>> rounds.report().to_dict()["all"]["rounds"] > 0
        True
        """
        return RoundsReport({name: self._turns.waits.get(name, Waits()) for name in self.runs})


@dataclass(frozen=True, repr=False)
class RoundsReport(View):
    """How queries shared the rounds."""

    queries: Mapping[str, Waits]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON.

        Returns
        -------
        dict

        Examples
        --------
        >>> from thalweg.session.query_rounds import RoundsReport, Waits
        >>> RoundsReport({"all": Waits(2, 1_000, 900)}).to_dict()
        {'all': {'rounds': 2, 'waited_ns': 1000, 'longest_ns': 900}}
        """
        return {
            name: {"rounds": one.rounds, "waited_ns": one.waited_ns, "longest_ns": one.longest_ns}
            for name, one in self.queries.items()
        }

    def __str__(self) -> str:
        return "\n".join(
            f"{printable(name)}: {plural(one.rounds, 'round')}, waited {time_span(one.waited_ns, 1)}, at most "
            f"{time_span(one.longest_ns, 1)} for one"
            for name, one in self.queries.items()
        )

    def _repr_html_(self) -> str:
        return "".join(map(paragraph, str(self).splitlines()))

    def _title(self) -> str:
        return "Rounds of queries"
