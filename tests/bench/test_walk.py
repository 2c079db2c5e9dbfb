"""A query or a batch passes through no more files than it did: `bench.walk` counts them and has the limits."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest
from pyspark.sql import SparkSession

from bench import walk


@pytest.mark.parametrize("name", [walk.SQL, walk.JOIN, walk.FILTER])
def test_in_this_process(name: str) -> None:
    found = {walk.SQL: walk.sql, walk.JOIN: walk.join, walk.FILTER: walk.filters}[name]()
    assert len(found) <= walk.LIMITS[name], "\n".join(found)


def test_on_the_driver_of_spark(spark: SparkSession) -> None:
    found = walk.driver(spark)
    assert len(found) <= walk.LIMITS[walk.DRIVER], "\n".join(found)


def test_files_are_in_the_order_of_their_first_call() -> None:
    found = walk.sql(rounds=1)
    of_interest = [
        file for file in found if file in {"session/session.py", "plan/sql/clauses.py", "optimizer/rules/rule_list.py"}
    ]
    assert of_interest == ["session/session.py", "plan/sql/clauses.py", "optimizer/rules/rule_list.py"]
    assert len(set(found)) == len(found)
    assert all((walk.SOURCE / file).is_file() for file in found)


def test_calls_in_other_threads_count() -> None:
    from thalweg.plan import find_column

    def call() -> None:
        find_column("a", ["a"])

    with walk.watched() as seen:
        started = threading.Thread(target=call)
        started.start()
        started.join()
    assert list(seen) == ["plan/filters/filter_plan.py"]
    assert sys.getprofile() is None
    call()
    assert list(seen) == ["plan/filters/filter_plan.py"]


def test_a_walk_that_is_too_long_fails_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert walk.main(["filter", "--list"]) == 0
    printed = capsys.readouterr().out
    assert "files, at most" in printed
    assert "    runtime/filters/filter_loop.py\n" in printed
    monkeypatch.setitem(walk.LIMITS, walk.FILTER, 1)
    assert walk.main(["filter"]) == 1


def test_an_unknown_walk_is_refused() -> None:
    done = subprocess.run([sys.executable, "-m", "bench.walk", "sqll"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "no walk is called sqll; choose from sql, driver, join, filter" in done.stderr
