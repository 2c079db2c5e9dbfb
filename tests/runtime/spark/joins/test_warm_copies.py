"""What a worker holds between rounds, without Spark: a processor over states in dicts, in one process."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark import cloudpickle

import thalweg as tw
from tests.runtime.joins.dict_chunks import DictChunks
from tests.runtime.joins.start_plans import start_knowing_nothing
from thalweg.errors import CheckpointError
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.plan.joins.partitioning import Partitioning
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_packing import Packing
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.runtime.spark.joins import bucket_round
from thalweg.runtime.spark.joins.arrow_frame import arrow_frame
from thalweg.runtime.spark.joins.processor import JoinProcessor
from thalweg.runtime.spark.joins.task import WORK, JoinTask

SCHEMA = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("us")), ("id", pa.int64())])


class Timers:
    """What a micro-batch says of time."""

    def getCurrentProcessingTimeInMs(self) -> int:  # noqa: N802
        return 0

    def getCurrentWatermarkInMs(self) -> int:  # noqa: N802
        return 0


@dataclass
class Worker:
    """A bucket whose state is kept when a round is."""

    task: JoinTask
    state: DictChunks = field(default_factory=DictChunks)

    def round(self, **ids: list[int]) -> Generator[tuple[int, int], None, None]:
        """The results of rows of one time, as they come; the state is kept at the end."""
        packed = []
        for alias, numbers in ids.items():
            rows = pa.record_batch(
                [[1] * len(numbers), pa.array([10**15] * len(numbers), SCHEMA.types[1]), numbers], SCHEMA
            )
            packed += [batch.to_pandas() for batch in Packing(self.task.binding, alias, 0, (0,)).pack([rows])]
        attempt = self.state.copy()
        worker = JoinProcessor(self.task)
        worker._store = attempt  # type: ignore[assignment]
        for frame in worker.handleInputRows((0,), iter(packed), Timers()):
            results = frame[frame[WORK].isna()]
            yield from zip(results["a_id"].tolist(), results["b_id"].tolist(), strict=True)
        self.state = attempt


@pytest.fixture
def task() -> Iterator[JoinTask]:
    bucket_round._WARM.clear()
    bucket_round._TASKS.clear()
    plan = JoinPlan.of("a.k = b.k", "10 seconds", "ts", "0 seconds")
    binding = JoinBinding.of(plan, {"a": SCHEMA, "b": SCHEMA})
    settings = JoinSettings(tw.policy("static"))
    yield JoinTask(
        binding, settings, (0,), Partitioning.of(plan.graph), "join", {}, start_knowing_nothing(plan, settings, 1)
    )  # fmt: skip
    bucket_round._WARM.clear()


def test_a_copy_is_warm_in_the_next_round(task: JoinTask) -> None:
    worker = Worker(task)
    assert list(worker.round(a=[1])) == []
    assert list(worker.round(b=[2])) == [(1, 2)]
    assert worker.state.reads == 0


def test_a_round_that_is_left_half_way_leaves_nothing(task: JoinTask) -> None:
    """Its rows are in the copy, and the state knows nothing of them: run again, they must be joined once."""
    worker = Worker(task)
    list(worker.round(a=[1]))
    half = worker.round(b=[2], a=[3])
    assert next(half)
    half.close()
    assert sorted(worker.round(b=[2], a=[3])) == [(1, 2), (3, 2)]
    assert sorted(worker.round(b=[4])) == [(1, 4), (3, 4)]


def test_a_round_whose_state_was_not_kept_leaves_nothing(task: JoinTask) -> None:
    worker = Worker(task)
    list(worker.round(a=[1]))
    before = worker.state.copy()
    assert list(worker.round(b=[2])) == [(1, 2)]
    worker.state = before  # the task was lost after the worker had done its part
    assert list(worker.round(b=[2])) == [(1, 2)]
    assert list(worker.round(a=[3])) == [(3, 2)]


def test_a_worker_that_fails_at_the_state_store_leaves_nothing(task: JoinTask, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker(task)
    list(worker.round(a=[1]))
    with monkeypatch.context() as patch:
        patch.setattr(DictChunks, "add", lambda *_: (_ for _ in ()).throw(OSError("no space left")))
        with pytest.raises(OSError, match="no space left"):
            list(worker.round(b=[2]))
    assert list(worker.round(b=[2])) == [(1, 2)]
    assert list(worker.round(a=[3])) == [(3, 2)]


def test_two_queries_of_one_join_do_not_share_copies(task: JoinTask) -> None:
    """Also not where their rounds alternate in one worker, which sees only their states."""
    one, other = Worker(task), Worker(task)
    list(one.round(a=[1]))
    list(other.round(a=[7]))
    assert list(one.round(b=[2])) == [(1, 2)]
    assert list(other.round(b=[8])) == [(7, 8)]


def test_copies_that_are_too_large_together_go_the_oldest_first(
    task: JoinTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket_round, "memory_share", lambda: 1)
    first, second = Worker(replace(task, identity="first")), Worker(replace(task, identity="second"))
    list(first.round(a=[1]))
    list(second.round(a=[1]))
    assert [place.join for place in bucket_round._WARM] == ["second"]
    assert list(first.round(b=[2])) == [(1, 2)]  # read back
    assert first.state.reads == 1


def test_a_join_is_unpickled_once_per_worker_if_it_is_small(task: JoinTask, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [replace(task, identity=f"join {n}") for n in range(10)]
    unpickled: list[bytes] = []
    loads = cloudpickle.loads

    def counted(data: bytes) -> Any:
        unpickled.append(data)
        return loads(data)

    monkeypatch.setattr(cloudpickle, "loads", counted)
    workers = [Worker(each) for each in tasks]
    for worker in workers[:3] * 2:  # in turn, in one process
        list(worker.round(a=[1]))
    assert len(unpickled) == 3
    assert sorted(workers[1].round(b=[2])) == [(1, 2), (1, 2)]
    for worker in workers:
        list(worker.round(b=[3]))
    assert len(unpickled) == 10
    assert len(bucket_round._TASKS) == bucket_round.MOST_TASKS
    monkeypatch.setattr(bucket_round, "MOST_TASK_BYTES", 10)
    large = Worker(replace(task, identity="large"))
    for _ in range(2):
        list(large.round(a=[1]))
    assert len(unpickled) == 12
    assert len(bucket_round._TASKS) == bucket_round.MOST_TASKS


def test_the_state_of_another_join_is_refused(task: JoinTask) -> None:
    worker = Worker(task)
    list(worker.round(a=[1]))
    plan = JoinPlan.of("a.k = b.k", "20 seconds", "ts", "0 seconds")
    worker.task = replace(task, binding=JoinBinding.of(plan, {"a": SCHEMA, "b": SCHEMA}), identity="changed")
    with pytest.raises(CheckpointError, match=r"it had 'a: window of 10 s, .*now there is"):
        list(worker.round(b=[2]))


def test_what_a_worker_gives_is_backed_by_arrow(task: JoinTask) -> None:
    frame = arrow_frame(task.row())
    assert isinstance(frame, pd.DataFrame)
    assert all(isinstance(kind, pd.ArrowDtype) for kind in frame.dtypes)
    assert frame["a_id"].isna().all()


def test_the_state_of_a_query_of_another_id_is_refused(task: JoinTask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows were spread over buckets by a salt of that id: rows of one key would not meet."""
    worker = Worker(task)
    monkeypatch.setattr(bucket_round, "name_of", lambda context: {"query": "one", "start": "first"})
    list(worker.round(a=[1]))
    assert list(worker.round(b=[2])) == [(1, 2)]
    monkeypatch.setattr(bucket_round, "name_of", lambda context: {"query": "other", "start": "second"})
    with pytest.raises(
        CheckpointError, match=r"it had 'rows spread by the id of query one'; now there is .*query other"
    ):
        list(worker.round(b=[3]))
