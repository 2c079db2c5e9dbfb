"""A join of streams of files, a file of each a micro-batch, whose tasks write the results: started again from its
checkpoint until it is through.

    python join_to_files.py FOLDER CHANGE [KEY=VALUE of Spark's configuration ...]

kills itself and all of Spark before a change of the disk in its commits, counted from 0; -1 for never. It prints the
results, as Spark reads them, when it gets that far.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.runtime.sink.interrupted import Killed, killed_at
from tests.runtime.spark.deployments.one_join import SETTINGS, found, join, streams
from tests.runtime.spark.deployments.one_query import session
from thalweg.runtime.sink.batch_commit import BatchCommit
from thalweg.runtime.sink.staged_files import StagedFile


def kill_in_commits(change: int) -> None:
    """End this process group with SIGKILL before a change of the disk."""
    commit, left = BatchCommit._commit, change

    def counted(self: BatchCommit, query: str, batch: int, files: list[StagedFile]) -> bool:
        nonlocal left
        with contextlib.suppress(Killed), pytest.MonkeyPatch.context() as patch, killed_at(left, patch) as changes:
            done = commit(self, query, batch, files)
            left -= changes()
            return done
        os.killpg(0, signal.SIGKILL)
        return False

    BatchCommit._commit = counted  # type: ignore[assignment]


def main(folder: Path, change: int, *settings: str) -> None:
    spark = session("local[2]", SETTINGS | dict(setting.split("=", 1) for setting in settings))
    if change >= 0:
        kill_in_commits(change)
    query = join(events=folder / "events.jsonl").start(
        path=folder / "out", checkpoint=folder / "checkpoint", trigger="availableNow", sink="tasks",
        **streams(spark, folder),
    )  # fmt: skip
    assert query.awaitTermination(150), "the stream did not end"
    print(json.dumps(found(spark, folder)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
