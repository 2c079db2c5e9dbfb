"""What `q.start` gives: Spark's StreamingQuery and, in the same words, a run over finished data."""

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

from thalweg.errors import QueryError

if TYPE_CHECKING:
    from thalweg.events import Record
    from thalweg.report import Explanation
    from thalweg.session.continuous_query import ContinuousQuery
    from thalweg.session.local_run import LocalRun
    from thalweg.session.parts import QueryReport
    from thalweg.session.spark_run import SparkRun


SECONDS_AT_EXIT = 10.0
"""That the end of a process waits for its runs: each ends with the batch it reads or writes, but a source may block."""
ASK_AGAIN_S = 1.0
"""Between two attempts to interrupt work: what has not begun cannot be interrupted."""


class Stopped(Exception):  # noqa: N818 - no error
    """A run was asked to stop: what it has found is kept."""


class ProcessEnds(Exception):  # noqa: N818 - no error
    """The process of a run ends: nothing is kept, since nobody asked for a part of the results."""


class Handle(Protocol):
    """In Spark's spelling."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str | None: ...
    @property
    def isActive(self) -> bool: ...  # noqa: N802
    @property
    def lastProgress(self) -> Any: ...  # noqa: N802
    def awaitTermination(self, timeout: float | None = None) -> bool | None: ...  # noqa: N802
    def exception(self) -> Exception | None: ...
    def stop(self) -> None: ...
    def report(self) -> QueryReport: ...
    def explain(self) -> Explanation: ...
    def events(self) -> list[Record]: ...

    checkpoint: str | None


def _shown(handle: Handle) -> str:
    state = "running" if handle.isActive else "ended" if handle.exception() is None else "failed"
    return f"<query {handle.name or handle.id}: {state}>"


class _Asked:
    """What a run can be asked, as its query can be of the latest one."""

    def __init__(self, query: ContinuousQuery, run: SparkRun | LocalRun) -> None:
        self._query, self._asked = query, run
        self._events: deque[Record] = deque(maxlen=10_000)
        before = run.listener

        def both(record: Record) -> None:
            before(record)
            self._events.append(record)

        run.listener = both
        for part in run.parts.named.values():
            part.listeners.append(self._events.append)

    checkpoint: str | None = None
    """Where a restart goes on; None: nowhere."""

    @property
    def name(self) -> str | None:
        """As `s.query(name=...)` gave it."""
        return self._query.name

    def report(self) -> QueryReport:
        """What the adaptive parts of this run have counted so far."""
        return self._asked.parts.report()

    def explain(self) -> Explanation:
        """The plan of this run, and what was counted."""
        return self._query.explained(self._asked.plan, self._asked.parts)

    def events(self) -> list[Record]:
        """What was observed and decided in this run, as plain records, the latest last."""
        return list(self._events)


class StreamRun(_Asked):
    """A query of Spark's that runs; what this does not have, Spark's has: ``h.streaming_query``."""

    def __init__(
        self, query: ContinuousQuery, run: SparkRun, streaming_query: Any, checkpoint: str | None = None
    ) -> None:
        super().__init__(query, run)
        self.streaming_query = streaming_query
        self.checkpoint = checkpoint

    def __repr__(self) -> str:
        return _shown(self)

    @property
    def id(self) -> str:
        """Of the checkpoint: the same after a restart."""
        return str(self.streaming_query.id)

    @property
    def isActive(self) -> bool:  # noqa: N802
        """Whether it runs."""
        return bool(self.streaming_query.isActive)

    @property
    def lastProgress(self) -> Any:  # noqa: N802
        """Of the last micro-batch."""
        return self.streaming_query.lastProgress

    def awaitTermination(self, timeout: float | None = None) -> bool | None:  # noqa: N802
        """Until it ends, or for so many seconds; raises what ended it."""
        from thalweg.runtime.spark.sql.failures import run

        ended = run(lambda: self.streaming_query.awaitTermination(timeout), self._asked.settings.redact)
        return None if timeout is None else bool(ended)

    def exception(self) -> Exception | None:
        """What ended it, in a sentence; Spark's own is its cause, unless values are redacted."""
        from thalweg.runtime.spark.sql.failures import query_error

        found: Exception | None = self.streaming_query.exception()
        return None if found is None else query_error(found, self._asked.settings.redact)

    def stop(self) -> None:
        """And wait until it has."""
        self.streaming_query.stop()


class BatchRun(_Asked):
    """A run over finished data in a thread of its own."""

    def __init__(
        self,
        query: ContinuousQuery,
        run: SparkRun | LocalRun,
        work: Callable[[Callable[[int | None], None]], None],
        interrupt: Callable[[], None] = lambda: None,
        release: Callable[[], None] = lambda: None,
    ) -> None:
        """`work` tells the rows of each batch it has written, and None for one it has read; it hears of a wish to stop
        by `Stopped`. `interrupt` ends work that does not listen, `release` gives back what work took that never
        ends."""
        super().__init__(query, run)
        self._id = str(uuid.uuid4())
        self._work, self._interrupt, self._release = work, interrupt, release
        self._rows = self._batches = 0
        self._stopping: type[Stopped | ProcessEnds] | None = None
        self._error: Exception | None = None
        self._cut_short = self._interrupted = False
        # not the thread's own: until Python 3.13 Ctrl-C in Thread.join() makes it say that the thread has ended
        self._ended = threading.Event()
        threading.Thread(target=self._run, name=f"thalweg {query.name or self._id[:8]}", daemon=True).start()
        _going.add(self)
        # again, since the last that is registered is called first: before what the run needs is shut down, as Spark
        atexit.unregister(_end_runs)
        atexit.register(_end_runs)

    def _run(self) -> None:
        try:
            self._work(self._told)
        except (Stopped, ProcessEnds):  # as it was asked to
            self._cut_short = True
        except Exception as error:  # for exception() and awaitTermination(), as with Spark; also while it stops
            self._error = error
        except BaseException as error:  # sys.exit() in a source or a function, which ends no more than its thread
            redact = self._asked.settings.redact
            what = f"{type(error).__name__}, whose message is left out by redact," if redact else f"{error!r},"
            self._error = QueryError(f"the run was ended by {what} which a source or a function raised")
            self._error.__cause__ = None if redact else error
        finally:
            self._ended.set()

    def _told(self, rows: int | None) -> None:
        """A batch of results was written, or one was read."""
        if rows is not None:
            self._rows, self._batches = self._rows + rows, self._batches + 1
        if self._stopping is not None:
            raise self._stopping

    def __repr__(self) -> str:
        return _shown(self)

    @property
    def id(self) -> str:
        """Of this run."""
        return self._id

    @property
    def isActive(self) -> bool:  # noqa: N802
        """Whether it runs."""
        return not self._ended.is_set()

    @property
    def lastProgress(self) -> dict[str, Any] | None:  # noqa: N802
        """Results so far; None: none, or nobody knows (Spark, on finished data)."""
        if not self._batches:
            return None
        return {"id": self._id, "name": self.name, "batchId": self._batches - 1, "numOutputRows": self._rows}

    def awaitTermination(self, timeout: float | None = None) -> bool | None:  # noqa: N802
        """Until it ends, or for so many seconds; raises what ended it."""
        try:
            ended = self._ended.wait(timeout)
        except KeyboardInterrupt:
            self._interrupted = True
            raise
        if self._error is not None:
            raise self._error
        return None if timeout is None else ended

    def exception(self) -> Exception | None:
        """What ended it."""
        return self._error

    def stop(self) -> None:
        """After the batch that is being read or written; a job of Spark's on finished data is cancelled."""
        self._ask(Stopped)
        while not self._ended.wait(ASK_AGAIN_S):
            self._interrupt()

    def _ask(self, reason: type[Stopped | ProcessEnds]) -> None:
        if self._stopping is None and self.isActive:
            self._stopping = reason
            self._interrupt()


_going: weakref.WeakSet[BatchRun] = weakref.WeakSet()


def _forget_runs() -> None:
    """A forked child has the handles, and not the threads."""
    for run in list(_going):
        run._ended = threading.Event()
        run._ended.set()
    _going.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_runs)


def _end_runs() -> None:
    """The process ends: runs that are going on end before the interpreter does, which would abort where one is inside
    Arrow, and leave nothing that is incomplete."""
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
        pass  # somebody does not want to wait
    for run in runs:
        if run.isActive:
            run._release()
        elif not run._cut_short:  # it has ended by itself meanwhile
            continue
        if sys.stderr is not None:
            if run._interrupted:
                remedy = "to keep what it had found, catch KeyboardInterrupt and call stop() on its handle"
            else:
                remedy = "call awaitTermination() on its handle before the script ends"
            print(
                f"thalweg: the process ended while the query {run.name or run.id} was running, so that it wrote no "
                f"result: {remedy}",
                file=sys.stderr,
            )
