"""One streaming query that writes Parquet files, and what its files hold: every batch is checked against DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from bench.joins.spark.expected import Results, checksum
from bench.joins.spark.query_run import BatchProgress, followed
from bench.joins.spark.scenario import BATCH_US, BEGIN_US


def run_to_files(
    spark: SparkSession,
    start: Callable[[Path], StreamingQuery],
    settings: Mapping[str, str],
    checkpoint: Path,
    out: Path,
    aliases: Sequence[str],
) -> list[BatchProgress]:
    """Run a query to its end. What it wrote is read when it has ended."""
    batches = followed(spark, lambda: start(out), settings, checkpoint)
    found = results_by_batch(out, aliases)
    size = sum(path.stat().st_size for path in out.glob("*.parquet")) / max(len(batches), 1)
    return [
        replace(batch, results=found.get(number, (0, 0)), written_bytes=round(size))
        for number, batch in enumerate(batches)
    ]


def results_by_batch(out: Path, aliases: Sequence[str]) -> dict[int, Results]:
    """Return the results in the files of a folder, as a reader that lists files sees them. A result is found in the
    batch of its last row, so its time says which batch that is."""
    import duckdb

    rows = duckdb.connect(":memory:").execute(
        f"SELECT (epoch_us(event_time) - {BEGIN_US}) // {BATCH_US} AS batch, count(*), {checksum(aliases)} "
        f"FROM read_parquet('{out}/*.parquet') GROUP BY batch"
    )
    return {int(batch): (int(count), int(value or 0)) for batch, count, value in rows.fetchall()}
