"""What the listener of a session receives and forgets."""

from __future__ import annotations

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
