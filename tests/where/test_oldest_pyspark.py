"""The oldest PySpark that is supported, 4.1: the same query gives the same rows and counts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.where import lost_workers, one_join, one_query
from tests.where.input_files import ROWS, expected_ids, write_files
from tests.where.join_files import write_streams
from tests.where.processes import QUIET, REPOSITORY, SOURCE, answer, environment
from tests.where.same_answer import check_answer, check_join

pytestmark = pytest.mark.spark

OLDEST = REPOSITORY / ".cache" / "pyspark-4.1"


@pytest.fixture
def oldest() -> Path:
    """A folder with nothing but PySpark 4.1, which `make test` fetches; the rest is what all tests run with."""
    if not (OLDEST / "pyspark").is_dir():
        why = f"there is no {OLDEST.relative_to(REPOSITORY)}: 'make oldest-spark' fetches it from the package index"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    return OLDEST


def test_the_same_query_on_pyspark_4_1(oldest: Path, tmp_path: Path):
    write_files(tmp_path / "in")
    env = environment(tmp_path, PYTHONPATH=os.pathsep.join([str(oldest), str(SOURCE)]))
    settings = [f"{key}={value}" for key, value in QUIET.items()]
    told = answer(
        [sys.executable, one_query.__file__, str(tmp_path), "local[2]", *settings], tmp_path / "program.out", env
    )
    assert told["spark"].startswith("4.1.")
    check_answer(told, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_same_join_on_pyspark_4_1(oldest: Path, tmp_path: Path):
    write_streams(tmp_path / "in", 2)
    env = environment(tmp_path, PYTHONPATH=os.pathsep.join([str(oldest), str(SOURCE), str(REPOSITORY)]))
    settings = [f"{key}={value}" for key, value in QUIET.items()]
    command = [sys.executable, one_join.__file__, str(tmp_path), "local[2]", *settings]
    told = answer(command, tmp_path / "program.out", env, seconds=170)
    assert told["spark"].startswith("4.1.")
    check_join(told, tmp_path)


def test_a_lost_executor_counts_nothing_twice_on_pyspark_4_1(oldest: Path, tmp_path: Path):
    """Spark below 4.3 observes a partition again when it is computed again; we must know better."""
    write_files(tmp_path / "in")
    path = os.pathsep.join([str(oldest), str(SOURCE)])
    settings = {**QUIET, "spark.executor.memory": "512m", "spark.executorEnv.PYTHONPATH": path}
    words = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    # two executors, each a process of its own
    submit = [str(oldest / "pyspark" / "bin" / "spark-submit"), "--master", "local-cluster[2,1,512]", *words]
    told = answer(
        [*submit, lost_workers.__file__, str(tmp_path), "executor"], tmp_path / "driver.out",
        environment(tmp_path, PYTHONPATH=path, SPARK_HOME=str(oldest / "pyspark")),
    )["executor"]  # fmt: skip
    expected = expected_ids(tmp_path / "in")
    assert told["killed"] == 1
    assert told["ids"] == expected
    assert told["report"] == told["events"] == {"rows": ROWS, "kept": len(expected)}
