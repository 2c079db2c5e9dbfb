"""The query that must give the same rows wherever it runs: a filter chain on finished files and on a stream of them.

    python one_query.py FOLDER [MASTER, or remote:ADDRESS for Spark Connect [KEY=VALUE of Spark's configuration ...]]

prints one JSON object: what came out of both, what the reports counted, and where the predicates were called.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

import thalweg as tw

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "id long, n long, text string"
ORACLE = """
    SELECT id FROM read_parquet('{files}')
    WHERE n < 800 AND text SIMILAR TO '[0-9]+' AND TRY_CAST(text AS BIGINT) % 3 <> 0 AND text LIKE '%7%' ORDER BY id
"""
"""The same question to DuckDB."""


def digits(text: str | None) -> re.Match[str] | bool | None:
    return text is not None and re.fullmatch("[0-9]+", text)


def not_thirds(text: str) -> bool:
    return int(text) % 3 != 0  # raises on anything but digits


def low(n: pa.Array) -> pa.Array:
    return pc.less(n, 800)


def has_seven_and_says_where(folder: str) -> Callable[[str | None], bool]:
    """A predicate that leaves a file named after the process that ran it, with its working folder inside."""

    def has_seven(text: str | None) -> bool:
        told = Path(folder) / str(os.getpid())
        if not told.exists():
            told.write_text(os.getcwd())
        return text is not None and "7" in text

    return has_seven


def chain(places: str, **settings: Any) -> tw.Filters:
    """Slices of 50 rows and a short memory: many looks at the order, and many switches."""
    return tw.filters(
        tw.predicate(not_thirds, "text", after="digits"),
        tw.predicate(low, "n", vectorized=True),
        tw.predicate(digits, "text"),
        tw.predicate(has_seven_and_says_where(places), "text", name="has_seven"),
        **{"policy": "a-greedy(p=0.3, profile_window=30)", "slice_rows": 50, **settings},
    )


def ids(df: DataFrame) -> list[int]:
    return sorted(row.id for row in df.select("id").collect())


def counts(keep: tw.Filters, rows: int, seconds: float = 30.0) -> list[dict[str, Any]]:
    """The report's sections, once `rows` rows are in it: what a stream observed arrives a moment later."""
    until = time.monotonic() + seconds
    while sum(section.rows for section in keep.report().sections) < rows and time.monotonic() < until:
        time.sleep(0.05)
    sections: list[dict[str, Any]] = keep.report().to_dict()["sections"]
    return sections


def in_batch(spark: SparkSession, folder: Path, places: str) -> dict[str, Any]:
    keep = chain(places)
    df = spark.read.schema(SCHEMA).parquet(str(folder / "in"))
    out = df.transform(keep)
    return {"ids": ids(out), "sections": counts(keep, 1)}


def in_stream(spark: SparkSession, folder: Path, places: str, rows: int) -> dict[str, Any]:
    """Two files a micro-batch, to the end of what is there."""
    keep = chain(places)
    df = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 2).parquet(str(folder / "in")).transform(keep)
    sink = df.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    query = sink.option("path", str(folder / "out")).trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(90), "the stream did not end"
    finally:
        query.stop()
    return {"ids": ids(spark.read.schema(SCHEMA).parquet(str(folder / "out"))), "sections": counts(keep, rows)}


def run(spark: SparkSession, folder: Path) -> dict[str, Any]:
    """Both, and the working folders of the processes that evaluated."""
    places = folder / "places"
    places.mkdir()
    rows = spark.read.schema(SCHEMA).parquet(str(folder / "in")).count()
    told = {
        "spark": spark.version,
        "session": type(spark).__module__,
        "rows": rows,
        "batch": in_batch(spark, folder, str(places)),
        "stream": in_stream(spark, folder, str(places), rows),
    }
    told["places"] = {path.name: path.read_text() for path in places.iterdir()}
    return told


def session(where: str, settings: dict[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("one-query")
    if where.startswith("remote:"):
        builder = builder.remote(where.removeprefix("remote:"))
    elif where:
        builder = builder.master(where)
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def main(folder: str, where: str = "", *settings: str) -> None:
    """Ends without `spark.stop()`, as many programs do."""
    spark = session(where, dict(setting.split("=", 1) for setting in settings))
    print(json.dumps(run(spark, Path(folder))))


if __name__ == "__main__":
    main(*sys.argv[1:])
