"""Drivers killed with SIGKILL in mid-run, and started again from their checkpoint: every row and every result once,
none missing. Three programs: filters and a join whose results Spark writes, and a join whose tasks write them, which is
also killed at random steps of its commits."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import pytest

from tests.runtime.sink.folder_readers import files_for_spark
from tests.runtime.spark.deployments import input_files, join_files, join_to_files, join_to_the_end, stream_to_the_end
from tests.runtime.spark.deployments.join_files import ALIASES, expected_results, write_streams
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
from thalweg.events import JoinObserved, Observed, VerdictGiven, read

pytestmark = pytest.mark.spark

CHANGES = 30
"""About as many changes of the disk as two commits make."""


class KilledProgram(ABC):
    """A program that is killed again and again in one folder."""

    script: ModuleType
    begins: range
    """After how many more micro-batches it is killed."""
    pause_s = 0.8
    """At most so long after one has begun."""
    default_checkpoints = True
    """Whether a turn after the first has the checkpoint files that Spark has by default."""

    def __init__(self, folder: Path, kills: int, turn: int) -> None:
        checkpoints = {} if turn and self.default_checkpoints else FEWER_PROGRAMS
        self.folder, self.kills = folder, kills
        self._settings = [f"{key}={value}" for key, value in (QUIET | checkpoints).items()]

    @abstractmethod
    def write(self) -> None:
        """The files that it reads."""

    def kills_itself(self, number: int) -> bool:
        """Whether the kill of this number comes from within, before a change of the disk."""
        return False

    @abstractmethod
    def after_a_kill(self) -> None:
        """Check what it has left."""

    @abstractmethod
    def at_the_end(self, found: Any) -> None:
        """Check what it has answered, and what is in its folder."""

    def command(self, change: int) -> list[str]:
        return [sys.executable, str(self.script.__file__), str(self.folder), *self._settings]

    def batches(self, log: str) -> int:
        """How many micro-batches the checkpoint holds as begun (`offsets`) or done (`commits`)."""
        return len(list((self.folder / "checkpoint" / log).glob("[0-9]*")))


class Filters(KilledProgram):
    script, begins, pause_s = stream_to_the_end, range(2, 5), 0.5

    def write(self) -> None:
        self._files = 4 + 5 * self.kills
        input_files.write_files(self.folder / "in", self._files)
        (self.folder / "places").mkdir()

    def after_a_kill(self) -> None:
        assert 0 < self.batches("commits") < self._files, "it was killed in mid-run"

    def at_the_end(self, found: Any) -> None:
        expected = input_files.expected_ids(self.folder / "in")
        assert 0 < len(expected) < self._files * input_files.ROWS_A_FILE
        assert found == expected
        read_by = self._rows_of_batches()
        assert sum(read_by.values()) == self._files * input_files.ROWS_A_FILE
        assert self.batches("commits") == self.batches("offsets") == len(read_by)
        self._check_events(read_by)

    def _rows_of_batches(self) -> dict[int, int]:
        """What Spark's checkpoint says each micro-batch read. A file each; but a driver killed after its source had
        noted a file, and before the batch was, leaves two for the next."""
        ends = {}
        for log in (self.folder / "checkpoint" / "offsets").glob("[0-9]*"):
            ends[int(log.name)] = int(json.loads(log.read_text().splitlines()[-1])["logOffset"])
        return {batch: (end - ends.get(batch - 1, -1)) * input_files.ROWS_A_FILE for batch, end in ends.items()}

    def _check_events(self, read_by: dict[int, int]) -> None:
        """A micro-batch counts once. One whose driver died before it could write may be missing, or there in part."""
        records = list(read(self.folder / "events.jsonl"))
        rows = dict.fromkeys(read_by, 0)
        for record in records:
            if isinstance(record, Observed):
                assert record.origin.batch is not None
                rows[record.origin.batch] += record.chain.rows
        assert all(count <= read_by[batch] for batch, count in rows.items()), rows
        assert sum(count < read_by[batch] for batch, count in rows.items()) <= self.kills, rows
        starts = {record.origin.start for record in records if isinstance(record, Observed)}
        assert len(starts) == self.kills + 1
        verdicts = [record for record in records if isinstance(record, VerdictGiven)]
        assert len(verdicts) > sum(read_by.values()) // input_files.ROWS_A_FILE, "the order was restless"


class JoinBySpark(KilledProgram):
    script, begins = join_to_the_end, range(2, 4)
    files = 5

    def write(self) -> None:
        write_streams(self.folder / "in", self.files)

    def after_a_kill(self) -> None:
        self._done = self.batches("commits")
        assert 0 < self._done < self.files, "it was killed in mid-run"

    def at_the_end(self, found: Any) -> None:
        """With the windows of before: without those, results that reach over the kill would be missing."""
        assert found == expected_results(self.folder / "in")
        rows_a_file = join_files.ROWS_A_FILE
        first, edge = self._done * rows_a_file, (self._done - 1) * rows_a_file
        assert any(min(row) < first <= max(row) and min(row) >= edge for row in found)
        self._check_events()

    def _check_events(self) -> None:
        """A micro-batch counts once. The one in which the driver died may be missing, or there in part."""
        rows: dict[tuple[str, int | None], int] = {}
        for record in read(self.folder / "events.jsonl"):
            if isinstance(record, JoinObserved):
                key = record.alias, record.origin.batch
                rows[key] = rows.get(key, 0) + record.stream.rows
        most = self.files * join_files.ROWS_A_FILE
        for alias in ALIASES:
            told = [count for (stream, _), count in rows.items() if stream == alias]
            assert most - 2 * join_files.ROWS_A_FILE <= sum(told) <= most


class JoinByTasks(KilledProgram):
    """Every result is in the folder once, for both kinds of readers, and nothing else is."""

    script, begins = join_to_files, range(1, 3)
    default_checkpoints = False

    def write(self) -> None:
        write_streams(self.folder / "in", 3 * self.kills + 1)
        self._expected = expected_results(self.folder / "in")

    def kills_itself(self, number: int) -> bool:
        return number % 2 == 0

    def command(self, change: int) -> list[str]:
        python, script, folder, *settings = super().command(change)
        return [python, script, folder, str(change), *settings]

    def after_a_kill(self) -> None:
        self._refuse_parts()
        seen = self._listed()
        assert len(set(map(tuple, seen))) == len(seen)
        assert set(map(tuple, seen)) <= set(map(tuple, self._expected))

    def at_the_end(self, found: Any) -> None:
        assert found == self._expected
        assert self._listed() == self._expected
        hidden = sorted(path.name for path in (self.folder / "out" / ".thalweg").iterdir())
        assert [name.partition(".")[2] for name in hidden] == ["json", ""], "the last list, and the query"

    def _listed(self) -> list[list[int]]:
        return results(self.folder.glob("out/*.parquet"))

    def _refuse_parts(self) -> None:
        """Spark's readers see whole micro-batches. Each reads one file per stream, and finds the results whose last row
        is in it."""
        logged = results(files_for_spark(self.folder / "out"))
        last = max((max(row) // join_files.ROWS_A_FILE for row in logged), default=-1)
        assert logged == [row for row in self._expected if max(row) // join_files.ROWS_A_FILE <= last]


def results(paths: Iterable[object]) -> list[list[int]]:
    if not (found := [str(path) for path in paths]):
        return []
    query = "SELECT a_id, b_id, c_id FROM read_parquet(?) ORDER BY ALL"
    return [list(row) for row in duckdb.connect().execute(query, [found]).fetchall()]


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    return process.poll() is not None


def is_on_its_way(process: subprocess.Popen[bytes], killed: KilledProgram, begun: int) -> bool:
    return has_ended(process) or killed.batches("offsets") >= begun


Which = Callable[[Path, int, int], KilledProgram]
KILLS: dict[Which, list[int]] = {Filters: [1, 2, 2, 3, 1], JoinBySpark: [1] * 5, JoinByTasks: [1] + [10] * 5}
"""By turn; turns after the first are long."""


def turn_of(which: Which, kills: int, turn: int) -> Any:
    """A session for each kill, and a last one, on a machine that may be busy."""
    marks = [pytest.mark.timeout(250 + 150 * kills), *([pytest.mark.long] if turn else [])]
    return pytest.param(which, kills, turn, marks=marks)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("which", "kills", "turn"),
    [turn_of(which, kills, turn) for which, every in KILLS.items() for turn, kills in enumerate(every)],
)
def test_a_killed_driver_goes_on_where_it_was(tmp_path: Path, which: Which, kills: int, turn: int) -> None:
    seed = 7 + turn if os.environ.get("CI") else random.randrange(10**6)
    print(f"moments of the kills: seed {seed}")
    rng = random.Random(seed)
    killed, env = which(tmp_path, kills, turn), environment(tmp_path)
    killed.write()

    for number in range(kills):
        log = tmp_path / f"killed-{number}.out"
        begun = killed.batches("offsets") + rng.choice(killed.begins)
        from_within = killed.kills_itself(number)
        with program(killed.command(rng.randrange(CHANGES) if from_within else -1), log, env) as process:
            if from_within:
                wait_until(partial(has_ended, process), "it has killed itself", seconds=150)
            else:
                wait_until(partial(is_on_its_way, process, killed, begun), f"micro-batch {begun} begins", seconds=150)
                time.sleep(rng.random() * killed.pause_s)
                kill_group(process)
        assert process.returncode == -9, complaints(log).read_text(errors="replace")[-3_000:]
        killed.after_a_kill()

    killed.at_the_end(answer(killed.command(-1), tmp_path / "last.out", env, seconds=200))
