"""A join whose tasks write its results, killed with SIGKILL again and again, at random times and at random steps of its
commits: every result is in the folder once, for both kinds of readers, and nothing else is."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import duckdb
import pytest

from tests.runtime.sink.folder_readers import files_for_spark
from tests.runtime.spark.deployments import join_to_files
from tests.runtime.spark.deployments.join_files import ROWS_A_FILE, expected_results, write_streams
from tests.runtime.spark.deployments.processes import (
    FEWER_PROGRAMS,
    QUIET,
    answer,
    complaints,
    environment,
    kill_group,
    program,
)
from tests.runtime.spark.deployments.test_killed_driver import batches
from tests.runtime.spark.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1_800)]  # up to eleven sessions, on a machine that may be busy

CHANGES = 30
"""About as many changes of the disk as two commits make."""
LONG = [pytest.param(10, turn, marks=pytest.mark.long) for turn in range(1, 6)]


def results(paths: Iterable[object]) -> list[list[int]]:
    if not (found := [str(path) for path in paths]):
        return []
    query = "SELECT a_id, b_id, c_id FROM read_parquet(?) ORDER BY ALL"
    return [list(row) for row in duckdb.connect().execute(query, [found]).fetchall()]


def listed(folder: Path) -> list[list[int]]:
    return results(folder.glob("out/*.parquet"))


def refuse_parts(folder: Path, expected: list[list[int]]) -> None:
    """Spark's readers see whole micro-batches. Each reads one file per stream, and finds the results whose last row is
    in it."""
    logged = results(files_for_spark(folder / "out"))
    last = max((max(row) // ROWS_A_FILE for row in logged), default=-1)
    assert logged == [row for row in expected if max(row) // ROWS_A_FILE <= last]


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    return process.poll() is not None


def is_on_its_way(process: subprocess.Popen[bytes], folder: Path, begun: int) -> bool:
    return process.poll() is not None or batches(folder, "offsets") >= begun


@pytest.mark.slow
@pytest.mark.parametrize(("kills", "turn"), [(1, 0), *LONG])
def test_a_killed_join_leaves_every_result_once(tmp_path: Path, kills: int, turn: int) -> None:
    seed = 7 + turn if os.environ.get("CI") else random.randrange(10**6)
    print(f"moments of the kills: seed {seed}")
    rng = random.Random(seed)
    write_streams(tmp_path / "in", 3 * kills + 1)
    expected = expected_results(tmp_path / "in")
    settings = [f"{key}={value}" for key, value in (QUIET | FEWER_PROGRAMS).items()]
    env = environment(tmp_path)

    def command(change: int) -> list[str]:
        return [sys.executable, join_to_files.__file__, str(tmp_path), str(change), *settings]

    for number in range(kills):
        log = tmp_path / f"killed-{number}.out"
        in_commit = number % 2 == 0
        begun = batches(tmp_path, "offsets") + rng.randrange(1, 3)
        with program(command(rng.randrange(CHANGES) if in_commit else -1), log, env) as process:
            if in_commit:
                wait_until(partial(has_ended, process), "it has killed itself", seconds=150)
            else:
                wait_until(partial(is_on_its_way, process, tmp_path, begun), f"micro-batch {begun} begins", seconds=150)
                time.sleep(rng.random() * 0.8)
                kill_group(process)
        assert process.returncode == -9, complaints(log).read_text(errors="replace")[-3_000:]
        refuse_parts(tmp_path, expected)
        seen = listed(tmp_path)
        assert len(set(map(tuple, seen))) == len(seen)
        assert set(map(tuple, seen)) <= set(map(tuple, expected))

    assert answer(command(-1), tmp_path / "last.out", env, seconds=200) == expected
    assert listed(tmp_path) == expected
    hidden = sorted(path.name for path in (tmp_path / "out" / ".thalweg").iterdir())
    assert [name.partition(".")[2] for name in hidden] == ["json", ""], "the last list, and the query"
