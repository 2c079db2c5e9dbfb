"""The one query on a local Spark, in this process: what the other places are compared with."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tests.runtime.spark.deployments import one_query
from tests.runtime.spark.deployments.input_files import write_files
from tests.runtime.spark.deployments.same_answer import check_answer


def test_the_query_on_a_local_spark(spark: SparkSession, tmp_path: Path) -> None:
    write_files(tmp_path / "in")
    check_answer(one_query.run(spark, tmp_path), tmp_path)
