"""Checks what joins of streams need from Spark, before anything runs. Settings are never changed silently."""

from __future__ import annotations

import importlib.util

from pyspark.sql import SparkSession

from thalweg.errors import PlanError

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
POLICY = "spark.sql.streaming.multipleWatermarkPolicy"


def demand(spark: SparkSession) -> None:
    """Raise a PlanError for a session in which the join would fail or lose rows."""
    provider = spark.conf.get(PROVIDER, None) or "the default"
    if not provider.endswith("RocksDBStateStoreProvider"):
        raise PlanError(
            f"a join of streams needs Spark's RocksDB state store for its windows, but this session uses {provider}; "
            f'spark.conf.set("{PROVIDER}", "{ROCKSDB}") before starting the query'
        )
    if (spark.conf.get(POLICY, None) or "min").lower() != "min":
        raise PlanError(
            f"{POLICY} is {spark.conf.get(POLICY)!r}, so the fastest stream would make the rows of others late; "
            f'spark.conf.set("{POLICY}", "min")'
        )
    missing = [name for name, module in (("protobuf", "google.protobuf"), ("pandas", "pandas")) if not _there(module)]
    if missing:
        raise PlanError(
            f"PySpark's transformWithState needs {' and '.join(missing)}, which this Python does not have: "
            "pip install 'thalweg[spark]'"
        )
    if not _has_transform():
        raise PlanError(
            "this PySpark has no transformWithStateInPandas; Thalweg needs PySpark 4.1 or newer: "
            "pip install 'thalweg[spark]'"
        )


def _there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the parent package is missing
        return False


def _has_transform() -> bool:
    from pyspark.sql import GroupedData

    return hasattr(GroupedData, "transformWithStateInPandas")
