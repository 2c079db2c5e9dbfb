"""The oldest PySpark that is supported, 4.1: the same query gives the same rows and counts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.spark.deployments import lost_workers
from tests.runtime.spark.deployments.input_files import ROWS, expected_ids, write_files
from tests.runtime.spark.deployments.processes import QUIET, REPOSITORY, SOURCE, answer, environment
from tests.runtime.spark.deployments.query_and_join import told_by
from tests.runtime.spark.deployments.same_answer import check_answer, check_join, check_sql
from tests.runtime.spark.joins import nested_columns

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

OLDEST = REPOSITORY / ".cache" / "pyspark-4.1"


@pytest.fixture(scope="module")
def oldest() -> Path:
    """A folder with nothing but PySpark 4.1, which `make test-all` fetches; the rest is what all tests run with.
    Without it the test is skipped; if CI is set, it fails."""
    if not (OLDEST / "pyspark").is_dir():
        why = f"there is no {OLDEST.relative_to(REPOSITORY)}: 'make oldest-spark' fetches it from the package index"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    return OLDEST


def path_with(oldest: Path, *others: Path) -> str:
    """The `PYTHONPATH` with which this PySpark is imported."""
    return os.pathsep.join(map(str, (oldest, SOURCE, *others)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("oldest")


@pytest.fixture(scope="module")
def on_the_oldest(oldest: Path, folder: Path) -> dict[str, Any]:
    env = environment(folder, PYTHONPATH=path_with(oldest, REPOSITORY))
    told = told_by(folder, "local[2]", QUIET, env)
    assert all(told[name]["spark"].startswith("4.1.") for name in ("query", "join"))
    return told


@pytest.mark.slow
def test_the_same_query_on_pyspark_4_1(on_the_oldest: dict[str, Any], folder: Path) -> None:
    check_answer(on_the_oldest["query"], folder / "query")


@pytest.mark.slow
def test_the_same_join_on_pyspark_4_1(on_the_oldest: dict[str, Any], folder: Path) -> None:
    check_join(on_the_oldest["join"], folder / "join")


@pytest.mark.slow
def test_sql_on_pyspark_4_1(on_the_oldest: dict[str, Any], folder: Path) -> None:
    check_sql(on_the_oldest["sql"], folder / "join")


def test_nested_columns_reach_the_jvm_with_their_values(oldest: Path) -> None:
    """As with the newest PySpark: see `tests/runtime/spark/joins/test_arrow_frame.py`."""
    done = subprocess.run(
        [sys.executable, "-m", nested_columns.__name__], capture_output=True, text=True, timeout=60, cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": path_with(oldest, REPOSITORY)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("4.1.")


@pytest.mark.slow
@pytest.mark.long(
    sample="tests/runtime/spark/deployments/test_standalone_cluster.py::test_lost_workers_and_executors_change_nothing"
)
def test_a_lost_executor_counts_nothing_twice(oldest: Path, tmp_path: Path) -> None:
    """Spark below 4.3 observes a partition again when it is computed again; we must know better."""
    write_files(tmp_path / "in")
    path = path_with(oldest)
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
