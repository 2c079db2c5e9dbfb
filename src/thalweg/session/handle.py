"""What `q.start` gives: Spark's StreamingQuery and, in the same words, a run over finished data."""

from __future__ import annotations

import threading
import uuid
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from thalweg.events import Record
    from thalweg.session.continuous_query import ContinuousQuery
    from thalweg.session.explanation import Explanation
    from thalweg.session.local_run import LocalRun
    from thalweg.session.parts import QueryReport
    from thalweg.session.spark_run import SparkRun


class Stopped(Exception):  # noqa: N818 - no error
    """A run was asked to stop."""


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
        self, query: ContinuousQuery, run: SparkRun | LocalRun, work: Callable[[Callable[[int | None], None]], None]
    ) -> None:
        """`work` tells the rows of each batch it has written, and None for one it has read; it hears of a wish to stop
        by `Stopped`."""
        super().__init__(query, run)
        self._id = str(uuid.uuid4())
        self._work = work
        self._rows = self._batches = 0
        self._stopping = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=f"thalweg {query.name or self._id[:8]}", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._work(self._told)
        except Stopped:
            pass  # as it was asked to
        except Exception as error:  # told by exception() and awaitTermination(), as Spark does
            self._error = error

    def _told(self, rows: int | None) -> None:
        """A batch of results was written, or one was read."""
        if rows is not None:
            self._rows, self._batches = self._rows + rows, self._batches + 1
        if self._stopping.is_set():
            raise Stopped

    def __repr__(self) -> str:
        return _shown(self)

    @property
    def id(self) -> str:
        """Of this run."""
        return self._id

    @property
    def isActive(self) -> bool:  # noqa: N802
        """Whether it runs."""
        return self._thread.is_alive()

    @property
    def lastProgress(self) -> dict[str, Any] | None:  # noqa: N802
        """Results so far; None: none, or nobody knows (Spark, on finished data)."""
        if not self._batches:
            return None
        return {"id": self._id, "name": self.name, "batchId": self._batches - 1, "numOutputRows": self._rows}

    def awaitTermination(self, timeout: float | None = None) -> bool | None:  # noqa: N802
        """Until it ends, or for so many seconds; raises what ended it."""
        self._thread.join(timeout)
        if self._error is not None:
            raise self._error
        return None if timeout is None else not self._thread.is_alive()

    def exception(self) -> Exception | None:
        """What ended it."""
        return self._error

    def stop(self) -> None:
        """After the batch that is being read or written; a job of Spark's on finished data runs to its end."""
        self._stopping.set()
        self._thread.join()
