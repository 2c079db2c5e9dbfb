"""A join of streams that loses Python workers while they hold windows, and an executor with its state store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark import TaskContext
from pyspark.sql import SparkSession

from tests.runtime.spark.deployments.join_files import ALIASES
from tests.runtime.spark.deployments.lost_workers import kill_my_executor, kill_myself, once
from tests.runtime.spark.deployments.one_join import counts, found, join, start, streams
from thalweg.report.explanation import SINK
from thalweg.runtime.spark.joins import attach
from thalweg.runtime.spark.joins.processor import JoinProcessor

Kills = dict[int, tuple[str, Callable[[], None]]]
"""By micro-batch."""
KILLS: dict[str, Kills] = {
    "few": {1: ("after the first results", kill_myself), 2: ("after the state was written", kill_my_executor)},
    "all": {
        1: ("after the state was written", kill_myself),
        2: ("after the first results", kill_myself),
        3: ("after the state was written", kill_my_executor),
    },
}
FOLDER: list[str] = []
CHOSEN: list[Kills] = []


class Mortal(JoinProcessor):
    """Dies once in each of these micro-batches."""

    def __init__(self, task: Any) -> None:
        super().__init__(task)
        self.folder, self.kills = FOLDER[0], CHOSEN[0]

    def init(self, handle: Any) -> None:
        super().init(handle)
        store = self._store
        assert store is not None
        set_head = store.set_head

        def and_die(data: bytes) -> None:
            set_head(data)
            if store.rounds > 0:  # type: ignore[attr-defined]  # not when the head of empty windows is written
                self.die("after the state was written")

        store.rounds = 0  # type: ignore[attr-defined]
        store.set_head = and_die  # type: ignore[method-assign]

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: N802
        assert self._store is not None
        self._store.rounds += 1  # type: ignore[attr-defined]
        for number, frame in enumerate(super().handleInputRows(key, rows, timerValues)):
            if number == 1:
                self.die("after the first results")
            yield frame

    def die(self, where: str) -> None:
        context = TaskContext.get()
        assert context is not None
        batch = int(context.getLocalProperty("streaming.sql.batchId") or -1)
        if batch in self.kills and self.kills[batch][0] == where:
            once(Path(self.folder) / f"{batch}.killed", self.kills[batch][1])


def run(spark: SparkSession, folder: Path, which: str, *, by_tasks: bool = False) -> dict[str, Any]:
    """How many were killed and where, the results, what was counted, and who writes. `by_tasks`: tasks write."""
    FOLDER.append(str(folder))
    CHOSEN.append(KILLS[which])
    rows = sum(spark.read.parquet(str(folder / "in" / alias)).count() for alias in ALIASES)
    j, given = join(buckets=3), streams(spark, folder)
    attach.JoinProcessor = Mortal  # type: ignore[attr-defined]
    try:
        if by_tasks:
            query = j.start(path=folder / "out", checkpoint=folder / "checkpoint", trigger="availableNow", **given)
        else:
            query = start(spark, folder, j)
        assert query.awaitTermination(150), "the stream did not end"
    finally:
        attach.JoinProcessor = JoinProcessor  # type: ignore[attr-defined]
        FOLDER.pop(), CHOSEN.pop()
    killed = sorted(path.name for path in folder.glob("*.killed"))
    written = {
        "sink": j.explain(**given).lines(SINK),
        "listed": sorted(path.name for path in (folder / "out").glob("*.parquet")),
        "hidden": sorted(path.name for path in (folder / "out").glob(".thalweg/*")),
    }
    return {"killed": killed, "results": found(spark, folder), "counts": counts(j, rows), "written": written}
