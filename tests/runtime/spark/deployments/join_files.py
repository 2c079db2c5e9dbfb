"""Streams to join, as files, and what DuckDB says should come out."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.runtime.joins.oracle import expected_ids

ALIASES = ("a", "b", "c")
ON = "a.k = b.k AND b.m = c.m"
"""c has no column of the class that is spread over the buckets: it goes to all of them."""
SECONDS = {"a": 12, "b": 8, "c": 15}
WINDOWS = {alias: f"{seconds} seconds" for alias, seconds in SECONDS.items()}
LATENESS = "2 seconds"
SCHEMA = "k string, m long, ts timestamp_ntz, id long"
ROWS_A_FILE, SECONDS_A_FILE = 250, 30
BEGIN = 1_700_000_000
"""In seconds."""


def write_streams(folder: Path, files: int, first: int = 0) -> Path:
    """A folder a stream, `files` files in each, in order but for two seconds; keys are skewed."""
    for alias in ALIASES:
        rng = random.Random(f"{alias} {first}")
        (folder / alias).mkdir(parents=True, exist_ok=True)
        for number in range(first, first + files):
            # each stream is cut at its own places
            start = BEGIN + number * SECONDS_A_FILE + 4 * ALIASES.index(alias)
            times = sorted(start + rng.random() * SECONDS_A_FILE for _ in range(ROWS_A_FILE))
            ticks = [int(1e6 * (time - 2 * rng.random())) for time in times]
            skewed = [min(int(rng.paretovariate(0.6)), 60) for _ in range(ROWS_A_FILE)]
            table = pa.table(
                {
                    "k": [None if key == 7 else f"host {key}" for key in skewed],
                    "m": pa.array([rng.randrange(300) for _ in range(ROWS_A_FILE)], pa.int64()),
                    "ts": pa.array(ticks, pa.timestamp("us")),
                    "id": pa.array(range(number * ROWS_A_FILE, (number + 1) * ROWS_A_FILE), pa.int64()),
                }
            )
            path = folder / alias / f"part-{number:03}.parquet"
            pq.write_table(table, path)
            os.utime(path, (1_000_000 + number, 1_000_000 + number))  # the order in which a stream takes them
    return folder


def expected_results(folder: Path) -> list[list[int]]:
    """The ids of each result, by DuckDB, from the files."""
    tables = {alias: pq.read_table(folder / alias).sort_by("id") for alias in ALIASES}
    ticks = {alias: table["ts"].cast(pa.int64()).to_pylist() for alias, table in tables.items()}
    windows = {alias: 1_000_000 * seconds for alias, seconds in SECONDS.items()}
    return [list(row[:-1]) for row in expected_ids(tables, ticks, ON, windows)]
