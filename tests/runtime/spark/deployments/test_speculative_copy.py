"""A copy of a slow task, which Spark starts on another machine of a cluster: both attempts write files of the same
results, and those of one of them are the results."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.runtime.spark.deployments import speculative_join
from tests.runtime.spark.deployments.join_files import expected_results, write_streams
from tests.runtime.spark.deployments.processes import REPOSITORY, SOURCE
from tests.runtime.spark.deployments.standalone_cluster import LOOPBACK, standalone_cluster
from tests.runtime.spark.deployments.test_standalone_cluster import submit

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]


@pytest.mark.slow
@pytest.mark.long(
    sample="tests/runtime/spark/deployments/test_standalone_cluster.py::test_files_of_lost_workers_are_no_results"
)
def test_a_copy_of_a_slow_task(tmp_path: Path) -> None:
    write_streams(tmp_path / "in", 3)
    words = ["--conf", f"spark.executorEnv.PYTHONPATH={SOURCE}:{REPOSITORY}"]
    with standalone_cluster(tmp_path / "cluster", (LOOPBACK, "127.0.0.2")) as cluster:
        told = submit(cluster, speculative_join, tmp_path, {}, *words, seconds=240)
    assert "the tasks that find results write them" in told["sink"][0]
    assert told["wrote"] == ["0.wrote", "1.wrote"], "both attempts have written files"
    assert not told["waited"], "the slow attempt has ended, so that Spark did not take the copy"
    expected = expected_results(tmp_path / "in")
    assert told["results"] == expected
    table = pq.read_table([tmp_path / "out" / name for name in told["listed"]], columns=["a_id", "b_id", "c_id"])
    assert sorted([row["a_id"], row["b_id"], row["c_id"]] for row in table.to_pylist()) == expected
    assert [name.partition(".")[2] for name in told["hidden"]] == ["json", ""], "the last list, and the query"
