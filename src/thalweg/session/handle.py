"""What `q.start` returns: a run on a Spark stream, or a run over finished data with the same interface."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import uuid
import weakref
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from thalweg.errors import PlanError, QueryError, warn_user
from thalweg.printable import printable

if TYPE_CHECKING:
    from thalweg.events import BatchTimed, Record
    from thalweg.report import Explanation
    from thalweg.runtime.spark.checkpoint import Checkpoint
    from thalweg.session.adaptive_parts import QueryReport
    from thalweg.session.continuous_query import ContinuousQuery
    from thalweg.session.local_run import LocalRun
    from thalweg.session.spark_run import SparkRun


SECONDS_AT_EXIT = 10.0
"""How long a process that ends waits for its runs. Each ends after the current batch, but a source may block."""
CLOCK_IS_SET_S = 60.0
"""By how much two clocks may differ; Spark reports a micro-batch some time after it has ended."""
ASK_AGAIN_S = 1.0
"""The time between two attempts to interrupt work, because work that has not started cannot be interrupted."""


class Stopped(Exception):  # noqa: N818 - no error
    """Raised in a run that was asked to stop. What it has found is kept."""


class ProcessEnds(Exception):  # noqa: N818 - no error
    """Raised in a run whose process ends, or whose start was interrupted. Nothing is kept, because a part of the
    results was not asked for."""


class Handle(Protocol):
    """A started query, which :meth:`ContinuousQuery.start` returns. Its methods have the names of Spark's
    StreamingQuery.

    On a Spark stream, ``run.streaming_query`` is Spark's own StreamingQuery.
    """

    @property
    def id(self) -> str:
        """The id of the query. A query on a Spark stream keeps it after a restart from its checkpoint."""
        ...

    @property
    def name(self) -> str | None:
        """The name given to ``s.query(name=...)``; None if there is none."""
        ...

    @property
    def isActive(self) -> bool:  # noqa: N802
        """Whether the query is running."""
        ...

    @property
    def lastProgress(self) -> Any:  # noqa: N802
        """The progress so far: on a Spark stream, what Spark reports about the last micro-batch; otherwise a dict with
        the number of results, or None if it is not known."""
        ...

    @property
    def recentProgress(self) -> list[Any]:  # noqa: N802
        """What `lastProgress` has been lately: on a Spark stream, one entry for each of the last micro-batches."""
        ...

    def awaitTermination(self, timeout: float | None = None) -> bool | None:  # noqa: N802
        """Wait until the query ends.

        Parameters
        ----------
        timeout
            The number of seconds to wait at most; None to wait as long as the query runs.

        Returns
        -------
        bool or None
            With a timeout, whether the query has ended. Without one, None.

        Raises
        ------
        ThalwegError
            The error that ended the query. An exception that a source raised is raised as it is.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from datetime import datetime
        >>> s = tw.session()
        >>> s.stream("events", pa.table({"ts": [datetime(2026, 1, 1)] * 2, "n": [5, 7]}), time="ts")
        >>> run = s.query("SELECT n FROM events WHERE n > 5", name="large").start(format="noop")
        >>> run.awaitTermination(timeout=60)
        True
        """
        ...

    def exception(self) -> Exception | None:
        """Return the error that ended the query.

        Returns
        -------
        Exception or None
            None if the query is running, or ended without an error.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from datetime import datetime
        >>> s = tw.session()
        >>> s.stream("events", pa.table({"ts": [datetime(2026, 1, 1)] * 2, "n": [5, 7]}), time="ts")
        >>> run = s.query("SELECT n FROM events WHERE n > 5", name="large").start(format="noop")
        >>> run.awaitTermination()
        >>> run.exception() is None
        True
        """
        ...

    def stop(self) -> None:
        """Stop the query and wait until it has ended.

        In this process, it ends after the batch that is being read or written, and the results so far are kept. A Spark
        job on finished data is cancelled.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from datetime import datetime
        >>> s = tw.session()
        >>> s.stream("events", pa.table({"ts": [datetime(2026, 1, 1)] * 2, "n": [5, 7]}), time="ts")
        >>> run = s.query("SELECT n FROM events WHERE n > 5", name="large").start(format="noop")
        >>> run.stop()
        >>> run.isActive
        False
        """
        ...

    def report(self) -> QueryReport:
        """Return what the adaptive parts of this run have counted so far. Never waits for the query.

        Returns
        -------
        QueryReport

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from datetime import datetime
        >>> s = tw.session()
        >>> s.stream("events", pa.table({"ts": [datetime(2026, 1, 1)] * 2, "n": [5, 7]}), time="ts")
        >>> run = s.query("SELECT n FROM events WHERE n > 5", name="large").start(format="noop")
        >>> run.awaitTermination()
        >>> run.report().to_dict()["left_out"]
        {}
        """
        ...

    def explain(self) -> Explanation:
        """Return the plan of this run, and what was counted so far.

        Returns
        -------
        Explanation

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from datetime import datetime
        >>> s = tw.session()
        >>> s.stream("events", pa.table({"ts": [datetime(2026, 1, 1)] * 2, "n": [5, 7]}), time="ts")
        >>> run = s.query("SELECT n FROM events WHERE n > 5", name="large").start(format="noop")
        >>> run.awaitTermination()
        >>> run.explain().of
        'Query large'
        """
        ...

    def events(self) -> list[Record]:
        """Return what was observed and decided in this run, as plain records; the latest record is the last.

        Returns
        -------
        list of Record
            At most the latest 10,000 records.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from datetime import datetime
        >>> s = tw.session()
        >>> s.stream("events", pa.table({"ts": [datetime(2026, 1, 1)] * 2, "n": [5, 7]}), time="ts")
        >>> s.function("is_prime", lambda n: n in (2, 3, 5, 7), returns="boolean")
        >>> run = s.query("SELECT n FROM events WHERE is_prime(n)", name="large").start(format="noop")
        >>> run.awaitTermination()
        >>> [(record.event, record.rows) for record in run.events()]
        [('observed', 2)]
        """
        ...

    checkpoint: str | None
    """The folder from which a restart continues; None if there is none."""


def seconds_to_wait(timeout: float | None) -> float | None:
    """Return the timeout, but at most as long as a thread can wait, 292 years."""
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout != timeout:
        raise PlanError(f"awaitTermination(timeout={timeout!r}): must be a number of seconds, or None for no limit")
    return min(timeout, threading.TIMEOUT_MAX)


def _shown(handle: Handle) -> str:
    state = "running" if handle.isActive else "ended" if handle.exception() is None else "failed"
    return printable(f"<query {handle.name or handle.id}: {state}>")


class _RunHandle:
    """The part of the interface that all runs share: name, report, explanation and events of this run."""

    def __init__(self, query: ContinuousQuery, run: SparkRun | LocalRun) -> None:
        self._query, self._plan_run = query, run
        self._events: deque[Record] = deque(maxlen=10_000)
        before = run.listener

        def both(record: Record) -> None:
            before(record)
            self._events.append(record)

        run.listener = both

    checkpoint: str | None = None
    """The folder from which a restart continues; None if there is none."""

    def __reduce__(self) -> Any:
        """Refuse to be pickled."""
        query = "a started query" if self.name is None else f"the started query {self.name!r}"
        raise PlanError(
            f"{query} cannot be pickled, because it runs in this process; pickle what its report(), explain() and "
            "events() return, or the query itself"
        )

    @property
    def name(self) -> str | None:
        """The name given to `s.query(name=...)`."""
        return self._query.name

    def report(self) -> QueryReport:
        """Return what the adaptive parts of this run have counted so far."""
        return self._plan_run.parts.report()

    def explain(self) -> Explanation:
        """Return the plan of this run, and what was counted."""
        return self._query.explained(self._plan_run.plan, self._plan_run.parts)

    def events(self) -> list[Record]:
        """Return what was observed and decided in this run, as plain records; the latest record is the last."""
        return list(self._events)


class SetClock:
    """Finds out whether the clock of the system, by which Spark times micro-batches, was set.

    >>> clock = SetClock()
    >>> [clock.was_set(at, steady) for at, steady in [(100.0, 7.0), (160.0, 67.0), (3780.0, 87.0), (3790.0, 97.0)]]
    [False, False, True, False]
    """

    def __init__(self) -> None:
        self._before: tuple[float, float] | None = None

    def was_set(self, at: float, steady: float) -> bool:
        """Whether it was set since the last call. `at`: its time now; `steady`: that of a clock that cannot be set."""
        before, self._before = self._before, (at, steady)
        return before is not None and abs((at - before[0]) - (steady - before[1])) > CLOCK_IS_SET_S


class StreamRun(_RunHandle):
    """A query on a Spark stream. ``h.streaming_query`` is Spark's StreamingQuery, for all that this class lacks."""

    def __init__(
        self, query: ContinuousQuery, run: SparkRun, streaming_query: Any, checkpoint: Checkpoint | None = None
    ) -> None:
        super().__init__(query, run)
        self._spark = next(iter(run.data.values())).sparkSession
        self.streaming_query = streaming_query
        self._storing = threading.Lock()
        self._clock = SetClock()
        self._checkpoint = checkpoint
        self.checkpoint = None if checkpoint is None else checkpoint.folder

    def __repr__(self) -> str:
        return _shown(self)

    @property
    def id(self) -> str:
        """The id of the query, which its checkpoint keeps: it is the same after a restart."""
        return str(self.streaming_query.id)

    @property
    def isActive(self) -> bool:  # noqa: N802
        """Whether the query is running."""
        return bool(self.streaming_query.isActive)

    @property
    def lastProgress(self) -> Any:  # noqa: N802
        """The progress of the last micro-batch, as Spark reports it."""
        return self.streaming_query.lastProgress

    @property
    def recentProgress(self) -> list[Any]:  # noqa: N802
        """The progress of the last micro-batches, as Spark reports them."""
        return list(self.streaming_query.recentProgress)

    def awaitTermination(self, timeout: float | None = None) -> bool | None:  # noqa: N802
        """Wait until the query ends, or for `timeout` seconds. Raise the error that ended it."""
        from thalweg.runtime.spark.sql.failures import run
        from thalweg.runtime.spark.stream_watch import await_reports

        seconds = seconds_to_wait(timeout)
        ended = run(lambda: self.streaming_query.awaitTermination(seconds), self._plan_run.settings.redact)
        if timeout is None or ended:
            await_reports(self._spark, str(self.streaming_query.runId))  # so that `report` has the last micro-batch
        return None if timeout is None else bool(ended)

    def exception(self) -> Exception | None:
        """Return the error that ended the query, if any. Spark's own error is its cause, unless values are redacted."""
        from thalweg.runtime.spark.sql.failures import query_error

        found: Exception | None = self.streaming_query.exception()
        return None if found is None else query_error(found, self._plan_run.settings.redact)

    def stop(self) -> None:
        """Stop the query and wait until it has ended."""
        self.streaming_query.stop()
        times = self._plan_run.parts.batch_times
        if self.checkpoint is not None and times is not None and times.batches > max(self._stored, 2):
            self._store_times()

    def batch_ended(self, record: BatchTimed) -> None:
        """Count the time of a micro-batch. The times are stored in the checkpoint after 4, 8, 16, ... micro-batches, so
        that the next start can choose its interval from them."""
        times = self._plan_run.parts.batch_times
        assert times is not None
        if self._clock.was_set(record.at + record.seconds, time.monotonic()):
            times.clock_was_set()
        else:
            times.add(record.origin.start or "", at=record.at, rows=record.rows, seconds=record.seconds)
        self._plan_run.listener(record)
        count = times.batches
        if self.checkpoint is not None and count >= 4 and count & (count - 1) == 0 and count != self._stored:
            # Spark waits for this call, so they are not stored in it
            try:
                start_thread(self._store_times, "thalweg micro-batch times")
            except QueryError as error:
                warn_user(f"the times of micro-batches cannot be stored in {self.checkpoint}: {error}")

    def _store_times(self) -> None:
        from thalweg.runtime.checkpoint_parts import TIMES

        times = self._plan_run.parts.batch_times
        assert times is not None
        assert self._checkpoint is not None
        try:
            with self._storing:  # one after the other
                self._checkpoint.write(TIMES, times)
                self._stored = times.batches
        except Exception as error:
            if self.isActive:  # otherwise Spark is being stopped
                warn_user(f"the times of micro-batches cannot be stored in {self.checkpoint}: {error}")

    _stored = 0
    """The number of micro-batches whose times are in the checkpoint."""


class BatchRun(_RunHandle):
    """A run over finished data in its own thread."""

    def __init__(
        self,
        query: ContinuousQuery,
        run: SparkRun | LocalRun,
        work: Callable[[Callable[[int | None], None]], None],
        interrupt: Callable[[], None] = lambda: None,
        prepare: Callable[[], None] = lambda: None,
        release: Callable[[], None] = lambda: None,
    ) -> None:
        """Make a run, which `begin` starts.

        `work` calls its argument with the number of rows of each batch it has written, and with None for each batch it
        has read. This call raises `Stopped` if the run shall stop. `interrupt` ends work that does not make such calls.
        `prepare` is called before work and claims what it needs, `release` gives that up, also for work that never
        ends. All of them run in the thread of the run, which Ctrl-C does not interrupt.
        """
        super().__init__(query, run)
        self._id = str(uuid.uuid4())
        self._work, self._interrupt, self._prepare, self._release = work, interrupt, prepare, release
        self._rows = self._batches = 0
        self._stopping: type[Stopped | ProcessEnds] | None = None
        self._error: Exception | None = None
        self._cut_short = self._interrupted = self._is_prepared = False
        # not Thread.is_alive(): before Python 3.13, Ctrl-C in Thread.join() makes it report that the thread has ended
        self._begun, self._ended = threading.Event(), threading.Event()

    def begin(self) -> None:
        """Start the run. Raise what `prepare` raises."""
        _going.add(self)
        # registered again, because the last one is called first: runs must end before what they need, such as Spark
        atexit.unregister(_end_runs)
        atexit.register(_end_runs)
        try:
            start_thread(self._run, f"thalweg {self.name or self._id[:8]}")
        except QueryError:
            self._ended.set()
            raise
        self._begun.wait()
        if self._error is not None and not self._is_prepared:
            raise self._error

    def cancel(self) -> None:
        """End a run whose start was interrupted, so that its handle is lost. Nothing is kept."""
        self._ask(ProcessEnds)
        if not self._ended.wait(ASK_AGAIN_S) and not self._begun.is_set():  # otherwise its source blocks
            self._ended.set()  # interrupted before its thread has begun

    def _run(self) -> None:
        try:
            self._count(None)
            self._prepare()
            self._is_prepared = True
            self._begun.set()
            self._work(self._count)
        except (Stopped, ProcessEnds):  # as it was asked to do
            self._cut_short = True
        except Exception as error:  # for exception() and awaitTermination(), as on Spark; also while it stops
            self._error = error
        except BaseException as error:  # sys.exit() in a source or a function, which only ends its thread
            redact = self._plan_run.settings.redact
            what = f"{type(error).__name__}, whose message is left out by redact," if redact else f"{error!r},"
            self._error = QueryError(f"the run was ended by {what} which a source or a function raised")
            self._error.__cause__ = None if redact else error
        finally:
            try:
                self._release()
            finally:
                self._begun.set()
                self._ended.set()

    def _count(self, rows: int | None) -> None:
        """Count a batch that was written, or None for one that was read. Raise if the run shall stop."""
        if rows is not None:
            self._rows, self._batches = self._rows + rows, self._batches + 1
        if self._stopping is not None:
            raise self._stopping

    def __repr__(self) -> str:
        return _shown(self)

    @property
    def id(self) -> str:
        """The id of this run."""
        return self._id

    @property
    def isActive(self) -> bool:  # noqa: N802
        """Whether the query is running."""
        return not self._ended.is_set()

    @property
    def lastProgress(self) -> dict[str, Any] | None:  # noqa: N802
        """The results so far; None if there are none, or if that is unknown (on Spark, over finished data)."""
        if not self._batches:
            return None
        return {"id": self._id, "name": self.name, "batchId": self._batches - 1, "numOutputRows": self._rows}

    @property
    def recentProgress(self) -> list[Any]:  # noqa: N802
        """A list with `lastProgress`; empty if that is None."""
        last = self.lastProgress
        return [] if last is None else [last]

    def awaitTermination(self, timeout: float | None = None) -> bool | None:  # noqa: N802
        """Wait until the query ends, or for `timeout` seconds. Raise the error that ended it."""
        try:
            ended = self._ended.wait(seconds_to_wait(timeout))
        except KeyboardInterrupt:
            self._interrupted = True
            raise
        if self._error is not None:
            raise self._error
        return None if timeout is None else ended

    def exception(self) -> Exception | None:
        """Return the error that ended the run, if any."""
        return self._error

    def stop(self) -> None:
        """Stop the run after the batch that is being read or written. A Spark job on finished data is canceled."""
        self._ask(Stopped)
        while not self._ended.wait(ASK_AGAIN_S):
            self._interrupt()

    def _ask(self, reason: type[Stopped | ProcessEnds]) -> None:
        if self._stopping is None and self.isActive:
            self._stopping = reason
            self._interrupt()


def start_thread(work: Callable[[], None], name: str) -> None:
    """Start a thread that does not keep the process from ending."""
    try:
        threading.Thread(target=work, name=name, daemon=True).start()
    except RuntimeError as error:
        raise QueryError(
            f"the thread {name!r} cannot be started: {error}; end other threads or processes of this user, or raise "
            "their limit (ulimit -u)"
        ) from None


_going: weakref.WeakSet[BatchRun] = weakref.WeakSet()


def _forget_runs() -> None:
    """Mark the runs as ended in a forked child, which has the handles but not the threads."""
    for run in list(_going):
        run._ended = threading.Event()
        run._ended.set()
    _going.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_runs)


def _end_runs() -> None:
    """End the active runs when the process ends, so that they leave nothing incomplete. They must end before the
    interpreter, which would abort if a thread were inside Arrow."""
    runs = [run for run in _going if run.isActive]
    deadline = time.monotonic() + SECONDS_AT_EXIT
    try:
        for run in runs:
            run._ask(ProcessEnds)
        for run in runs:
            while not run._ended.wait(min(ASK_AGAIN_S, max(deadline - time.monotonic(), 0))):
                if time.monotonic() >= deadline:
                    break
                run._interrupt()
    except KeyboardInterrupt:
        pass  # the user does not want to wait
    for run in runs:
        if run.isActive:
            run._release()
        elif not run._cut_short:  # it has ended by itself in the meantime
            continue
        if sys.stderr is not None:
            if run._interrupted:
                remedy = "to keep the results so far, catch KeyboardInterrupt and call stop() on its handle"
            else:
                remedy = "call awaitTermination() on its handle before the script ends"
            named = f"the query {printable(run.name or run.id)}"
            print(
                f"thalweg: the process ended while {named} was running, so it wrote no results; {remedy}",
                file=sys.stderr,
            )
