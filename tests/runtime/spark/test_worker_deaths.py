"""Workers that hang or die in a predicate: it is named, where that can be known."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from thalweg.errors import WorkerDiedError
from thalweg.runtime.spark import host_file
from thalweg.runtime.spark.call_mark import CallMark, Death, deaths, give_up_if_it_always_dies, sentence


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(host_file, "_base", lambda: tmp_path / "thalweg")
    return tmp_path


DIES = """
import os, sys
from pathlib import Path
from thalweg.runtime.spark import host_file
host_file._base = lambda: Path(sys.argv[1]) / "thalweg"
from thalweg.runtime.spark.call_mark import CallMark
mark = CallMark("app", "filters", *map(int, sys.argv[3:]))
mark.enter(0)
mark.leave()
if sys.argv[2] != "-":
    mark.enter(int(sys.argv[2]))
os.kill(os.getpid(), 9)
"""


def dies(folder: Path, predicate: int | str, stage: int = 4, partition: int = 1, attempt: int = 0) -> int:
    arguments = [sys.executable, "-c", DIES, folder, predicate, stage, partition, attempt]
    with subprocess.Popen(list(map(str, arguments))) as process:
        assert process.wait() == -signal.SIGKILL
        return process.pid


def test_only_a_process_killed_in_a_call_leaves_a_mark(here: Path) -> None:
    pid = dies(here, 2)
    dies(here, "-", attempt=1)
    alive = CallMark("app", "filters", 4, 2, 0)
    alive.enter(1)
    other = CallMark("app", "another filter set", 4, 1, 0)
    other.enter(1)
    assert deaths("app", "filters") == [Death(2, pid, 4, 1, 0)]
    assert deaths("another app", "filters") == []
    assert f"Python worker {pid} ended inside predicate 'c' (stage 4, partition 1)" in sentence(
        Death(2, pid, 4, 1, 0), ["a", "b", "c"]
    )
    files = len(list(here.rglob("*.call")))
    alive.remove()
    assert len(list(here.rglob("*.call"))) == files - 1


def test_the_last_attempt_of_a_dying_task_names_the_predicate(here: Path) -> None:
    which: dict[str, Any] = {
        "application": "app",
        "filters": "filters",
        "names": ["a", "b"],
        "stage": 4,
        "partition": 1,
    }
    dies(here, 1, attempt=0)
    dies(here, 1, attempt=1)
    give_up_if_it_always_dies(**which, attempt=2, attempts=4)  # another one may still be tried
    dies(here, 1, attempt=2)
    with pytest.raises(WorkerDiedError, match=r"3 Python workers ended inside predicate 'b'.*partition 1"):
        give_up_if_it_always_dies(**which, attempt=3, attempts=4)
    give_up_if_it_always_dies(**{**which, "partition": 2}, attempt=3, attempts=4)
    dies(here, 0, attempt=1)
    give_up_if_it_always_dies(**which, attempt=3, attempts=4)  # not always in the same one
    dies(here, 0, stage=9, attempt=0)
    give_up_if_it_always_dies(**{**which, "stage": 9}, attempt=1, attempts=2)  # once may have been bad luck


def test_without_a_file_nothing_is_reported_and_nothing_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(host_file, "_base", lambda: tmp_path / "file")
    mark = CallMark("app", "filters", 0, 0, 0)
    mark.enter(300)
    mark.leave()
    mark.remove()
    assert deaths("app", "filters") == []


def even(i: int) -> bool:
    return i % 2 == 0


def test_a_killed_worker_is_reported_with_its_predicate(spark: SparkSession) -> None:
    def killed(i: int) -> bool:
        if i == 500:
            os.kill(os.getpid(), signal.SIGKILL)
        return True

    keep = tw.filters(tw.predicate(even, "id"), tw.predicate(killed, "id"), policy="static")
    with pytest.raises(Exception, match="Python worker exited unexpectedly"):
        spark.range(0, 1000, 1, 1).transform(keep).collect()
    report = keep.report()
    (death,) = report.deaths
    assert "ended inside predicate 'killed'" in death
    assert death in str(report)
    assert report.to_dict()["deaths"] == [death]
    assert "ended inside predicate" in report._repr_html_()


def test_workers_that_live_leave_nothing(spark: SparkSession) -> None:
    keep = tw.filters(tw.predicate(even, "id"))
    assert spark.range(0, 1000, 1, 2).transform(keep).count() == 500
    assert keep.report().deaths == ()


def hangs(i: int) -> bool | None:
    return i != 500 or time.sleep(100)  # type: ignore[func-returns-value]  # None counts as false


def swallows(i: int) -> bool | None:
    try:
        return hangs(i)
    except:  # noqa: E722  (as people write it)
        return False


@pytest.mark.parametrize("func", [hangs, swallows])
def test_a_predicate_that_hangs_fails_the_query_by_name(
    spark: SparkSession, func: Callable[[int], bool | None]
) -> None:
    keep = tw.filters(
        tw.predicate(even, "id"),
        tw.predicate(func, "id", name="hangs"),
        time_limit=1.0,
    )
    begun = time.monotonic()
    with pytest.raises(Exception, match=r"predicate 'hangs' did not return within the time limit of 1 s.*partition 0"):
        spark.range(0, 1000, 1, 1).transform(keep).collect()
    assert time.monotonic() - begun < 50
    assert spark.range(0, 400, 1, 1).transform(keep).count() == 200
