"""What streaming queries observed, as it arrives: one listener a session, told apart by metric names."""

from __future__ import annotations

import atexit
import contextlib
import json
import threading
import warnings
import weakref
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol
from weakref import WeakKeyDictionary

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener


class WorkSink(Protocol):
    """Takes what tasks have left."""

    def __call__(self, run: str, batch: int | None, texts: list[str], name: str | None = None) -> None:
        """Of a run (query id and run id), a micro-batch of it (None: finished data), and the query's name if it has
        one."""
        ...


def run_name(query: str, start: str, metric: str) -> str:
    """What a report calls one start of a streaming query with one filter set.

    >>> run_name("q", "r", "thalweg_0123456789abcdef")
    'q run r chain 89abcdef'
    """
    return f"{query} run {start} chain {metric[-8:]}"


def of_query(run: str) -> tuple[str, str]:
    """The query and the start of it that a run's name holds.

    >>> of_query("q run r chain 89abcdef")
    ('q', 'r')
    """
    query, _, rest = run.partition(" run ")
    return query, rest.partition(" chain ")[0]


class _Listener(StreamingQueryListener):
    def __init__(self) -> None:
        self.told: dict[str, WorkSink] = {}
        self._latest: dict[tuple[str, str], int] = {}  # by metric and start of a query
        self._lock = threading.Lock()

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802  (Spark's name)
        """Nothing is observed yet."""

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Nothing was observed."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """What it observed has been told."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """A micro-batch is done, on Connect."""
        progress = event.progress
        self.progressed(
            {
                "id": str(progress.id), "runId": str(progress.runId), "name": progress.name,
                "batchId": int(progress.batchId), "observedMetrics": progress.observedMetrics,
            }
        )  # fmt: skip

    def progressed(self, progress: Mapping[str, Any]) -> None:
        """A micro-batch is done; as Spark tells of it in JSON."""
        query, start, batch = progress["id"], progress["runId"], progress["batchId"]
        for metric, row in (progress.get("observedMetrics") or {}).items():
            told = self.told.get(metric)
            if told is None:
                continue
            # progress also comes without a new batch; a batch run again after a restart is told, and replaces the first
            with self._lock:
                if batch <= self._latest.get((metric, start), -1):
                    continue
                self._latest[metric, start] = batch
            told(run_name(query, start, metric), batch, list(row["work"] or ()), progress.get("name") or None)


class _JavaEvents:
    """What the JVM calls on classic Spark. PySpark's own would make Python objects of all that an event holds, one call
    into the JVM for each value, and look for a class in every jar: some 50 ms of a core for each micro-batch."""

    def __init__(self, listener: _Listener) -> None:
        self._listener = listener

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802  (Spark's name)
        """Nothing is observed yet."""

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Nothing was observed."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """What it observed has been told."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """A micro-batch is done."""
        self._listener.progressed(json.loads(event.progress().json()))

    class Java:
        """For Py4J."""

        implements: ClassVar = ["org.apache.spark.sql.streaming.PythonStreamingQueryListener"]


_LISTENERS: WeakKeyDictionary[SparkSession, _Listener] = WeakKeyDictionary()
_LOCK = threading.Lock()


def watch(spark: SparkSession, metric: str, told: WorkSink) -> None:
    """Tell `told` about every micro-batch that observed `metric`."""
    with _LOCK:
        listener = _LISTENERS.get(spark)
        if listener is None:
            listener = _LISTENERS[spark] = _Listener()
            if hasattr(spark, "_jsparkSession"):
                gateway = spark.sparkContext._gateway
                ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
                wrapper = gateway.jvm.org.apache.spark.sql.streaming.PythonStreamingQueryListenerWrapper  # type: ignore[union-attr]
                listener._jlistenerobj = wrapper(_JavaEvents(listener))  # where PySpark keeps its own
            spark.streams.addListener(listener)
            if hasattr(spark, "_jsparkSession"):
                atexit.register(_forget, weakref.ref(spark), listener)
            else:  # Connect hears events in a thread for which the interpreter waits before it calls `atexit`
                ending = threading.Thread(target=_forget_at_the_end, args=(weakref.ref(spark), listener), daemon=True)
                ending.start()
    listener.told[metric] = told


def _forget_at_the_end(spark: weakref.ref[SparkSession], listener: _Listener) -> None:
    threading.main_thread().join()
    _forget(spark, listener)


def _forget(spark: weakref.ref[SparkSession], listener: _Listener) -> None:
    """Before the interpreter ends: the JVM would log an error for each event it can no longer deliver."""
    session = spark()
    if session is not None:
        # the JVM may be gone already, which is as good
        with contextlib.suppress(Exception), warnings.catch_warnings(action="ignore"):
            session.streams.removeListener(listener)
