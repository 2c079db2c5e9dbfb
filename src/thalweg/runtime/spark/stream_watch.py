"""Receives what streaming queries observe, with one listener per session. Metric names identify filters and joins."""

from __future__ import annotations

import atexit
import contextlib
import json
import socket
import threading
import time
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, ClassVar, Protocol
from weakref import WeakKeyDictionary

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

from thalweg.events import BatchTimed, Origin

REPORTED_WITHIN_S = 5.0
"""The longest wait for the events of a query that has ended."""
MOST_ENDED = 1_000
"""How many ended starts are remembered, in case one ends before its times are asked for."""


class WorkSink(Protocol):
    """A function that receives what tasks have reported."""

    def __call__(self, run: str, batch: int | None, texts: list[str], name: str | None = None) -> None:
        """Receive the texts of a run (query id and run id), its micro-batch (None for finished data), and the name of
        the query, if it has one."""
        ...


def run_name(query: str, start: str, metric: str) -> str:
    """Return the name that a report uses for one start of a streaming query with one filter set.

    >>> run_name("q", "r", "thalweg_0123456789abcdef")
    'q run r chain 89abcdef'
    """
    return f"{query} run {start} chain {metric[-8:]}"


def of_query(run: str) -> tuple[str, str]:
    """Return the query and the start that the name of a run contains.

    >>> of_query("q run r chain 89abcdef")
    ('q', 'r')
    """
    query, _, rest = run.partition(" run ")
    return query, rest.partition(" chain ")[0]


class _Listener(StreamingQueryListener):
    def __init__(self) -> None:
        self.sinks: dict[str, WorkSink] = {}
        self.batches: dict[str, Callable[[BatchTimed], None]] = {}
        """Functions that receive the times of micro-batches, by the run id of a query."""
        self._ended: deque[str] = deque(maxlen=MOST_ENDED)  # the starts that ended last
        self._latest: dict[tuple[str, str], int] = {}  # by metric and start of a query
        self._lock = threading.Lock()

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802  (Spark's name)
        """Do nothing, because nothing is observed yet."""

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Do nothing, because nothing was observed."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Forget a start that has ended, on Connect."""
        self.ended(str(event.runId))

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """Report a finished micro-batch, on Connect."""
        progress = event.progress
        self.progressed(
            {
                "id": str(progress.id), "runId": str(progress.runId), "name": progress.name,
                "batchId": int(progress.batchId), "observedMetrics": progress.observedMetrics,
                "numInputRows": progress.numInputRows, "durationMs": progress.durationMs,
                "timestamp": progress.timestamp,
            }
        )  # fmt: skip

    def ended(self, start: str) -> None:
        """Forget who receives the times of a start, because all of them were reported."""
        with self._lock:
            self._ended.append(start)
            self.batches.pop(start, None)

    def watch(self, start: str, sink: Callable[[BatchTimed], None]) -> None:
        """Report the times of a start, unless it has ended already."""
        with self._lock:
            if start not in self._ended:
                self.batches[start] = sink

    def progressed(self, progress: Mapping[str, Any]) -> None:
        """Report a finished micro-batch, from the progress that Spark writes as JSON."""
        query, start, batch = progress["id"], progress["runId"], progress["batchId"]
        for metric, row in (progress.get("observedMetrics") or {}).items():
            sink = self.sinks.get(metric)
            if sink is None:
                continue
            # progress may have no new batch; a batch that a restart runs again is reported, and replaces the first
            with self._lock:
                if batch <= self._latest.get((metric, start), -1):
                    continue
                self._latest[metric, start] = batch
            sink(run_name(query, start, metric), batch, list(row["work"] or ()), progress.get("name") or None)
        timed = self.batches.get(start)
        if timed is not None and "addBatch" in (progress.get("durationMs") or {}):  # otherwise nothing was run
            timed(_timed(progress))


class _JavaEvents:
    """The object that the JVM calls on classic Spark. PySpark's own class would convert all values of an event to
    Python, with one call to the JVM per value, and search a class in every jar: about 50 ms of a core per
    micro-batch."""

    def __init__(self, listener: _Listener, gateway: Any) -> None:
        self._listener = listener
        self._connection: Callable[[], Any] = getattr(gateway._gateway_client, "get_thread_connection", lambda: None)
        self._of_stream: dict[str, Any] = {}
        """The connections of the threads of running streams, by the start of the query. Py4J would keep each, and a
        Python thread that serves it, as long as the driver runs."""

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802  (Spark's name)
        """Remember the connection. Spark makes this call in the thread of the stream, and the others in its own."""
        self._of_stream[str(event.runId().toString())] = self._connection()

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Do nothing, because nothing was observed."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Forget a start that has ended, and end the thread that served it."""
        start = str(event.runId().toString())
        self._listener.ended(start)
        connection = self._of_stream.pop(start, None)
        if connection is not None and connection is not self._connection():
            with contextlib.suppress(AttributeError, OSError):  # it is closed already, and has no socket
                connection.socket.shutdown(socket.SHUT_RD)

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """Report a finished micro-batch."""
        self._listener.progressed(json.loads(event.progress().json()))

    class Java:
        """The Java interface, for Py4J."""

        implements: ClassVar = ["org.apache.spark.sql.streaming.PythonStreamingQueryListener"]


_LISTENERS: WeakKeyDictionary[SparkSession, _Listener] = WeakKeyDictionary()
_LOCK = threading.Lock()


def _timed(progress: Mapping[str, Any]) -> BatchTimed:
    """Return the time of a micro-batch, from its progress."""
    query, start, batch = progress["id"], progress["runId"], int(progress["batchId"])
    at = datetime.fromisoformat(progress["timestamp"]).timestamp()
    seconds = progress["durationMs"]["triggerExecution"] / 1e3
    name = progress.get("name") or None
    origin = Origin(f"{query} run {start}", "stream", batch, query=query, start=start, query_name=name)
    return BatchTimed(origin, int(progress["numInputRows"]), seconds, at)


def watch(spark: SparkSession, metric: str, sink: WorkSink) -> None:
    """Call `sink` for every micro-batch that observed `metric`."""
    _listener(spark).sinks[metric] = sink


def watch_batches(spark: SparkSession, start: str, sink: Callable[[BatchTimed], None]) -> None:
    """Call `sink` for every micro-batch of one start of a query, given by its run id."""
    _listener(spark).watch(start, sink)


def await_reports(spark: SparkSession, start: str) -> None:
    """Wait until the last micro-batch of a start that has ended is reported: Spark's events arrive a moment later."""
    listener, deadline = _listener(spark), time.monotonic() + REPORTED_WITHIN_S
    while start in listener.batches and time.monotonic() < deadline:
        time.sleep(0.01)


def _listener(spark: SparkSession) -> _Listener:
    """Return the listener of a session; the first call adds it."""
    with _LOCK:
        listener = _LISTENERS.get(spark)
        if listener is None:
            listener = _LISTENERS[spark] = _Listener()
            if hasattr(spark, "_jsparkSession"):
                gateway: Any = spark.sparkContext._gateway
                ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
                wrapper = gateway.jvm.org.apache.spark.sql.streaming.PythonStreamingQueryListenerWrapper
                listener._jlistenerobj = wrapper(_JavaEvents(listener, gateway))  # where PySpark keeps its own object
            spark.streams.addListener(listener)
            if hasattr(spark, "_jsparkSession"):
                atexit.register(_forget, weakref.ref(spark), listener)
            else:  # Connect receives events in a thread that the interpreter joins before it calls `atexit`
                ending = threading.Thread(target=_forget_at_the_end, args=(weakref.ref(spark), listener), daemon=True)
                ending.start()
    return listener


def _forget_at_the_end(spark: weakref.ref[SparkSession], listener: _Listener) -> None:
    threading.main_thread().join()
    _forget(spark, listener)


def _forget(spark: weakref.ref[SparkSession], listener: _Listener) -> None:
    """Remove the listener before the interpreter ends; the JVM would log an error for each undelivered event."""
    session = spark()
    if session is not None:
        # the JVM may have ended already
        with contextlib.suppress(Exception), warnings.catch_warnings(action="ignore"):
            session.streams.removeListener(listener)
