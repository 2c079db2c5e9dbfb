"""A driver killed with SIGKILL in mid-run and started again from its checkpoint: every row once, none missing."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.runtime.spark.deployments import stream_to_the_end
from tests.runtime.spark.deployments.input_files import ROWS_A_FILE, expected_ids, write_files
from tests.runtime.spark.deployments.processes import (
    FEWER_PROGRAMS,
    QUIET,
    answer,
    complaints,
    environment,
    kill_group,
    program,
)
from tests.runtime.spark.waiting import wait_until
from thalweg.events import Observed, VerdictGiven, read

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]  # up to four sessions, on a machine that may be busy

LONG = [pytest.param(kills, turn, marks=pytest.mark.long) for turn, kills in enumerate([2, 2, 3, 1], 1)]


@pytest.mark.slow
@pytest.mark.parametrize(("kills", "turn"), [(1, 0), *LONG])
def test_a_killed_stream_goes_on_where_it_was(tmp_path: Path, kills: int, turn: int) -> None:
    seed = 7 + turn if os.environ.get("CI") else random.randrange(10**6)
    print(f"moments of the kills: seed {seed}")
    rng = random.Random(seed)
    file_count = 4 + 5 * kills
    write_files(tmp_path / "in", file_count)
    (tmp_path / "places").mkdir()
    checkpoints = {} if turn else FEWER_PROGRAMS
    settings = [f"{key}={value}" for key, value in (QUIET | checkpoints).items()]
    command = [sys.executable, stream_to_the_end.__file__, str(tmp_path), *settings]
    env = environment(tmp_path)

    for number in range(kills):
        log = tmp_path / f"killed-{number}.out"
        begun = batches(tmp_path, "offsets") + rng.randrange(2, 5)
        with program(command, log, env) as process:

            def on_its_way(begun: int = begun, process: subprocess.Popen[bytes] = process, log: Path = log) -> bool:
                assert process.poll() is None, complaints(log).read_text(errors="replace")[-3_000:]
                return batches(tmp_path, "offsets") >= begun

            wait_until(on_its_way, f"micro-batch {begun} has begun", seconds=90)
            time.sleep(rng.random() * 0.5)
            kill_group(process)
        assert process.returncode == -9
        assert 0 < batches(tmp_path, "commits") < file_count, "it was killed in mid-run"

    found = answer(command, tmp_path / "last.out", env)
    expected = expected_ids(tmp_path / "in")
    assert 0 < len(expected) < file_count * ROWS_A_FILE
    assert found == expected
    read_by = rows_of_batches(tmp_path)
    assert sum(read_by.values()) == file_count * ROWS_A_FILE
    assert batches(tmp_path, "commits") == batches(tmp_path, "offsets") == len(read_by)
    check_events(tmp_path / "events.jsonl", read_by, kills)


def rows_of_batches(folder: Path) -> dict[int, int]:
    """What Spark's checkpoint says each micro-batch read. A file each; but a driver killed after its source had noted a
    file, and before the batch was, leaves two for the next."""
    ends = {}
    for log in (folder / "checkpoint" / "offsets").glob("[0-9]*"):
        ends[int(log.name)] = int(json.loads(log.read_text().splitlines()[-1])["logOffset"])
    return {batch: (end - ends.get(batch - 1, -1)) * ROWS_A_FILE for batch, end in ends.items()}


def check_events(events: Path, read_by: dict[int, int], kills: int) -> None:
    """A micro-batch counts once. One whose driver died before it could write may be missing, or there in part."""
    records = list(read(events))
    rows = dict.fromkeys(read_by, 0)
    for record in records:
        if isinstance(record, Observed):
            assert record.origin.batch is not None
            rows[record.origin.batch] += record.chain.rows
    assert all(count <= read_by[batch] for batch, count in rows.items()), rows
    assert sum(count < read_by[batch] for batch, count in rows.items()) <= kills, rows
    starts = {record.origin.start for record in records if isinstance(record, Observed)}
    assert len(starts) == kills + 1
    verdicts = [record for record in records if isinstance(record, VerdictGiven)]
    assert len(verdicts) > sum(read_by.values()) // ROWS_A_FILE, "the order was restless"


def batches(folder: Path, log: str) -> int:
    """How many micro-batches the checkpoint holds as begun (`offsets`) or done (`commits`)."""
    return len(list((folder / "checkpoint" / log).glob("[0-9]*")))
