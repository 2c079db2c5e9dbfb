"""Policy mesh over Spark Connect: the rows of brute force, and nested columns refused as on classic Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import functions as F

import thalweg as tw
from tests.runtime.spark.classified_rows import ROWS, SCHEMA, adopted, mesh, passing, rows_of


def run(spark: Any, folder: Path) -> dict[str, Any]:
    """Rows kept, whether they took several routes, and what is said of a nested column."""
    folder.mkdir(parents=True)
    pq.write_table(rows_of(0), folder / "rows.parquet")
    df = spark.read.schema(SCHEMA).parquet(str(folder / "rows.parquet"))
    keep = mesh(folder / "seen", "first", "source")
    ids = sorted(row.id for row in df.transform(keep).select("id").collect())
    refused = ""
    try:
        df.withColumn("source", F.array("source")).transform(keep)
    except tw.PlanError as error:
        refused = str(error)
    return {"ids": ids, "routed": adopted(keep, "source"), "rows": keep.report().sections[0].rows, "refused": refused}


def check(told: dict[str, Any]) -> None:
    """As on classic Spark."""
    assert told["ids"] == passing(rows_of(0), "first")
    assert told["rows"] == ROWS
    assert told["routed"]
    assert told["refused"].startswith("classify_by: column 'source' has the type array<string>")
