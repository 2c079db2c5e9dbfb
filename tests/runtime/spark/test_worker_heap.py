"""A worker's heap is frozen when it is large, so that collecting garbage after every task is cheap."""

from __future__ import annotations

import gc
import os
import weakref
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from thalweg.runtime.spark import worker_heap


class Thing:
    """Something that can be watched."""


@pytest.fixture
def thawed() -> Iterator[None]:
    gc.collect()
    gc.freeze()  # what other tests left is none of our business
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("thawed")
def test_only_a_large_heap_is_frozen_and_garbage_is_freed() -> None:
    assert not worker_heap.settle()
    things = [Thing() for _ in range(worker_heap.ENOUGH_OBJECTS)]
    assert any(isinstance(thing, Thing) for thing in gc.get_objects())
    assert worker_heap.settle()
    assert not any(isinstance(thing, Thing) for thing in gc.get_objects())  # only those that are not frozen
    assert not worker_heap.settle()
    gone = weakref.ref(things[0])
    del things
    assert gone() is None


@pytest.mark.usefixtures("thawed")
def test_a_heap_that_never_stops_growing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_heap, "_times", iter([0, worker_heap.MOST_TIMES]))
    monkeypatch.setattr(worker_heap, "ENOUGH_OBJECTS", 10)
    first = [Thing() for _ in range(20)]
    assert worker_heap.settle()
    second = [Thing() for _ in range(20)]
    assert not worker_heap.settle()
    assert len(first) == len(second)


def test_filters_leave_a_frozen_heap_to_the_next_task(spark: SparkSession, tmp_path: Path) -> None:
    def load() -> list[list[int]]:
        return [[] for _ in range(worker_heap.ENOUGH_OBJECTS)]

    def looks(things: list[list[int]], column: pa.Array) -> pa.Array:
        with (tmp_path / f"{os.getpid()}").open("a") as out:
            out.write(f"{gc.get_freeze_count()}\n")
        return pc.greater_equal(column, 0)

    keep = tw.filters(tw.predicate(looks, "id", vectorized=True, setup=load), policy="static")
    filtered = spark.range(100, numPartitions=2).transform(keep)

    def counts_of_workers_used_again() -> list[list[int]]:
        written = ([int(line) for line in path.read_text().split()] for path in tmp_path.iterdir())
        return [counts for counts in written if len(counts) > 1]

    for _ in range(20):  # Spark takes the worker that has been idle longest, and earlier tests have left some
        assert filtered.count() == 100
        if used_again := counts_of_workers_used_again():
            break
    assert used_again
    for counts in used_again:
        assert counts[-1] >= counts[0] + worker_heap.ENOUGH_OBJECTS
