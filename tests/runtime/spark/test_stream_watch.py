"""What the listener of a session receives and forgets."""

from __future__ import annotations

import threading
from pathlib import Path

from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.joins.streams import files, rows
from tests.runtime.spark.waiting import wait_until
from thalweg.events import BatchTimed
from thalweg.runtime.spark.stream_watch import _Listener


def test_a_start_that_has_ended_is_not_watched() -> None:
    """`awaitTermination` waits until the times of a watched start are reported."""
    seen: list[BatchTimed] = []
    listener = _Listener()
    listener.watch("first", seen.append)
    listener.ended("first")
    listener.ended("second")  # before anyone asks for its times
    listener.watch("second", seen.append)
    listener.watch("third", seen.append)
    assert set(listener.batches) == {"third"}


def test_streams_that_have_ended_leave_no_thread(spark: SparkSession, tmp_path: Path) -> None:
    """Py4J serves each thread of the JVM that calls Python by a thread, and keeps it."""

    def run_one(n: int) -> None:
        stream = files(tmp_path / str(n), {"a": [rows([0])]})["a"].stream(spark)
        s = tw.session(spark)
        s.stream("a", stream, time="ts")
        s.query("SELECT id FROM a").start(format="noop", trigger="availableNow").awaitTermination(60)

    run_one(0)  # the first adds the listener, which keeps one
    before = set(threading.enumerate())
    run_one(1)
    run_one(2)
    wait_until(lambda: set(threading.enumerate()) <= before, "the threads of before")
