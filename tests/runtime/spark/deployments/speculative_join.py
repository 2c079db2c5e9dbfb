"""A join whose tasks write its results, on a cluster that starts a copy of a slow task.

    spark-submit speculative_join.py FOLDER

prints one JSON object: the attempts that have written files, the results, and what is in the folder. The streams are in
FOLDER/in.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from pyspark import TaskContext

from tests.runtime.spark.deployments import one_query
from tests.runtime.spark.deployments.one_join import SETTINGS, found, join, streams
from thalweg.report.explanation import SINK
from thalweg.runtime.spark.joins import attach
from thalweg.runtime.spark.joins.processor import JoinProcessor

SLOW_BATCH = 1
WAITS_S = 60
"""Longer than a copy takes; Spark kills the slow attempt when the copy has ended."""
COPIES = {
    "spark.speculation": "true", "spark.speculation.interval": "100ms", "spark.speculation.multiplier": "1.01",
    "spark.speculation.quantile": "0.5", "spark.speculation.minTaskRuntime": "500ms",
}  # fmt: skip


class Slow(JoinProcessor):
    """In one micro-batch, the first attempt of one task has written its files and waits."""

    def __init__(self, task: Any, folder: str) -> None:
        super().__init__(task)
        self.folder = folder

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: N802
        context = TaskContext.get()
        assert context is not None
        batch = int(context.getLocalProperty("streaming.sql.batchId") or -1)
        for frame in super().handleInputRows(key, rows, timerValues):
            if batch == SLOW_BATCH and context.partitionId() == 0 and frame["file"].notna().any():
                attempt = context.attemptNumber()
                Path(self.folder, f"{attempt}.wrote").touch()
                if attempt == 0:
                    time.sleep(WAITS_S)
                    Path(self.folder, "waited").touch()
            yield frame


def main(folder: Path) -> None:
    spark = one_query.session("", {**SETTINGS, **COPIES})
    attach.JoinProcessor = lambda task: Slow(task, str(folder))  # type: ignore[attr-defined,assignment]
    j, given = join(), streams(spark, folder)
    query = j.start(path=folder / "out", checkpoint=folder / "checkpoint", trigger="availableNow", **given)
    assert query.awaitTermination(150), "the stream did not end"
    out = folder / "out"
    print(
        json.dumps(
            {
                "sink": j.explain(**given).lines(SINK),
                "wrote": sorted(path.name for path in folder.glob("*.wrote")),
                "waited": (folder / "waited").exists(),
                "results": found(spark, folder),
                "listed": sorted(path.name for path in out.glob("*.parquet")),
                "hidden": sorted(path.name for path in out.glob(".thalweg/*")),
            }
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
