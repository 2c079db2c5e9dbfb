"""What the examples need of Spark: one on this machine, and streams of files."""

from __future__ import annotations

import os
import sys
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def local_spark() -> Any:
    """A Spark on this machine, with the state store that joins of streams need."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    streaming = "org.apache.spark.sql.execution.streaming"
    return (
        SparkSession.builder.master("local[2]")
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", False)
        .config("spark.ui.showConsoleProgress", False)
        .config("spark.log.level", "ERROR")
        .config("spark.sql.streaming.stateStore.providerClass", f"{streaming}.state.RocksDBStateStoreProvider")
        .config(
            "spark.sql.streaming.checkpointFileManagerClass",
            f"{streaming}.checkpointing.FileSystemBasedCheckpointFileManager",
        )
        .getOrCreate()
    )


def file_stream(spark: Any, table: pa.Table, folder: str, files: int = 4) -> Any:
    """A streaming DataFrame over the table's rows, which lie in several files and are read one file a micro-batch."""
    os.makedirs(folder)
    for n in range(files):
        begin, end = n * table.num_rows // files, (n + 1) * table.num_rows // files
        pq.write_table(table.slice(begin, end - begin), f"{folder}/{n}.parquet")
        os.utime(f"{folder}/{n}.parquet", (n, n))  # Spark reads the oldest first
    schema = spark.read.parquet(folder).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(folder)
