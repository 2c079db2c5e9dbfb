"""Files to filter, and what DuckDB says should come out."""

from __future__ import annotations

import os
import random
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from tests.runtime.spark.deployments.one_query import ORACLE

FILES, ROWS_A_FILE = 6, 3_000
ROWS = FILES * ROWS_A_FILE


def write_files(folder: Path, files: int = FILES) -> Path:
    """Parquet files in which the predicates change their selectivity from file to file; with nulls."""
    rng = random.Random(11)
    folder.mkdir(parents=True)
    for number in range(files):
        first = number * ROWS_A_FILE
        digits = 0.9 if number % 2 else 0.3
        table = pa.table(
            {
                "id": pa.array(range(first, first + ROWS_A_FILE), pa.int64()),
                "n": pa.array(
                    [None if rng.random() < 0.1 else rng.randrange(1_000) for _ in range(ROWS_A_FILE)], pa.int64()
                ),
                "text": pa.array(
                    [
                        str(rng.randrange(10**6)) if rng.random() < digits else rng.choice([None, "", "x7", "7 7"])
                        for _ in range(ROWS_A_FILE)
                    ]
                ),
            }
        )
        path = folder / f"part-{number:03}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_000_000 + number, 1_000_000 + number))  # the order in which a stream takes them
    return folder


def expected_ids(folder: Path) -> list[int]:
    """By DuckDB, from the files."""
    with duckdb.connect() as connection:
        found = connection.execute(ORACLE.format(files=folder / "*.parquet")).fetchall()
    return [row[0] for row in found]
