"""A join whose driver is killed with SIGKILL in mid-run and started again from its checkpoint: every result once, none
missing, with the windows of before."""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path

import pytest

from tests.runtime.spark.deployments import join_to_the_end
from tests.runtime.spark.deployments.join_files import ALIASES, ROWS_A_FILE, expected_results, write_streams
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
from thalweg.events import JoinObserved, read

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]  # two sessions, on a machine that may be busy

FILES = 5


@pytest.mark.slow
@pytest.mark.parametrize("turn", [0, *(pytest.param(turn, marks=pytest.mark.long) for turn in range(1, 5))])
def test_a_killed_join_goes_on_where_it_was(tmp_path: Path, turn: int) -> None:
    seed = 7 + turn if os.environ.get("CI") else random.randrange(10**6)
    print(f"moment of the kill: seed {seed}")
    rng = random.Random(seed)
    write_streams(tmp_path / "in", FILES)
    checkpoints = {} if turn else FEWER_PROGRAMS
    settings = [f"{key}={value}" for key, value in (QUIET | checkpoints).items()]
    command = [sys.executable, join_to_the_end.__file__, str(tmp_path), *settings]
    env = environment(tmp_path)

    log = tmp_path / "killed.out"
    begun = rng.randrange(2, 4)
    with program(command, log, env) as process:

        def on_its_way() -> bool:
            assert process.poll() is None, complaints(log).read_text(errors="replace")[-3_000:]
            return batches(tmp_path, "offsets") >= begun

        wait_until(on_its_way, f"micro-batch {begun} has begun", seconds=150)
        time.sleep(rng.random() * 0.8)
        kill_group(process)
    assert process.returncode == -9
    done = batches(tmp_path, "commits")
    assert 0 < done < FILES, "it was killed in mid-run"

    found = answer(command, tmp_path / "last.out", env, seconds=200)
    assert found == expected_results(tmp_path / "in")
    # windows reach over the place where it was killed: without those of before, results would be missing
    first, edge = done * ROWS_A_FILE, (done - 1) * ROWS_A_FILE
    assert any(min(row) < first <= max(row) and min(row) >= edge for row in found)
    check_events(tmp_path / "events.jsonl")


def check_events(events: Path) -> None:
    """A micro-batch counts once. The one in which the driver died may be missing, or there in part."""
    rows: dict[tuple[str, int | None], int] = {}
    for record in read(events):
        if isinstance(record, JoinObserved):
            key = record.alias, record.origin.batch
            rows[key] = rows.get(key, 0) + record.stream.rows
    for alias in ALIASES:
        told = [count for (stream, _), count in rows.items() if stream == alias]
        assert FILES * ROWS_A_FILE - 2 * ROWS_A_FILE <= sum(told) <= FILES * ROWS_A_FILE
