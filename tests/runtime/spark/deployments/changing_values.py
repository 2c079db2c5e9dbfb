"""Predicates that capture a value which changes, over Spark Connect: its `foreachBatch` runs in another process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import functions as F

import thalweg as tw

LEAST = (50, 65)


class Limit:
    """An object whose attribute changes between micro-batches."""

    def __init__(self) -> None:
        self.least = 0


def run(spark: Any, folder: Path) -> dict[str, Any]:
    """Rows kept when the value changes after `transform`, and between micro-batches in the server's process."""
    limit = Limit()
    keep = tw.filters(tw.predicate(lambda n: n >= limit.least, "id", name="above"))
    out = spark.range(100).transform(keep)
    limit.least = 90
    after_transform = out.count()
    ids, kept = folder / "ids", str(folder / "kept")
    for _ in LEAST:
        spark.range(100).coalesce(1).write.mode("append").parquet(str(ids))

    def each(batch: Any, number: int) -> None:
        limit.least = LEAST[number]
        batch.transform(keep).withColumn("batch", F.lit(number)).write.mode("append").parquet(kept)

    source = spark.readStream.schema("id long").option("maxFilesPerTrigger", 1).parquet(str(ids))
    query = source.writeStream.foreachBatch(each).option("checkpointLocation", str(folder / "ids-checkpoint")).start()
    query.processAllAvailable()
    query.stop()
    by_batch = spark.read.parquet(kept).groupBy("batch").count().orderBy("batch").collect()
    return {"after transform": after_transform, "by batch": [row["count"] for row in by_batch]}


def check(told: dict[str, Any]) -> None:
    """As on classic Spark: a value is read when the filters are applied."""
    assert told == {"after transform": 100, "by batch": [100 - least for least in LEAST]}
