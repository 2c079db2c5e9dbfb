"""Real logs of a network, joined by host and name: text keys, of which a few have nearly all rows."""

from __future__ import annotations

import itertools
import os
import random
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.conftest import REPOSITORY
from tests.runtime.joins.oracle import expected_ids
from tests.runtime.spark.joins.streams import files, results, run, streaming
from tests.runtime.spark.waiting import wait_until

EXTRACT = Path(__file__).parent / "zeek_wrccdc"
ON = "dns.id_orig_h = ssl.id_orig_h AND dns.query = ssl.server_name AND weird.id_orig_h = ssl.id_orig_h"
SECONDS = {"dns": 10, "ssl": 5, "weird": 30}
COLUMNS = {"dns": "query", "ssl": "server_name", "weird": "name"}
FEW, MANY = 2, 4
"""Micro-batches."""


def logs(folder: Path) -> dict[str, pa.Table]:
    """In order of time, numbered."""
    found = {}
    for alias, column in COLUMNS.items():
        table = pq.read_table(folder / f"{alias}.parquet", columns=["ts", "id_orig_h", column]).sort_by("ts")
        found[alias] = table.append_column("id", pa.array(range(table.num_rows), pa.int64()))
    return found


def cut(table: pa.Table, r: random.Random, micro_batches: int) -> list[pa.Table]:
    """At places of its own."""
    inner = sorted(r.randrange(table.num_rows) for _ in range(micro_batches - 1))
    edges = [0, *inner, table.num_rows]
    return [table.slice(start, end - start) for start, end in itertools.pairwise(edges)]


def expected(tables: dict[str, pa.Table]) -> list[tuple[int, ...]]:
    ticks = {alias: table["ts"].cast(pa.int64()).to_pylist() for alias, table in tables.items()}
    return expected_ids(tables, ticks, ON, {alias: 10**6 * seconds for alias, seconds in SECONDS.items()})


def whole() -> Path:
    """All 21 minutes, which are not in this repository."""
    named = os.environ.get("THALWEG_DATA")
    folder = (Path(named) if named else REPOSITORY.parent / "shared" / "data") / "zeek_wrccdc"
    if not folder.is_dir():
        pytest.skip(f"there is no {folder.name} in the folder that THALWEG_DATA names: the extract is tested alone")
    return folder


def join(**settings: Any) -> tw.Join:
    select = [*(f"{alias}.id" for alias in COLUMNS), "event_time"]
    return tw.join(on=ON, window={a: f"{s} seconds" for a, s in SECONDS.items()}, time="ts", select=select, **settings)


def told(out: pa.Table) -> list[tuple[int, ...]]:
    times = out["event_time"].cast(pa.int64()).to_pylist()
    return sorted(zip(*(out[f"{alias}_id"].to_pylist() for alias in COLUMNS), times, strict=True))


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("which", "micro_batches"),
    [
        ("two minutes", FEW),
        pytest.param("two minutes", MANY, marks=pytest.mark.long),
        pytest.param("all of them", MANY, marks=[pytest.mark.slow, pytest.mark.long]),
    ],
)
def test_hosts_that_ask_for_a_name_connect_to_it_and_are_weird(
    spark: SparkSession, tmp_path: Path, which: str, micro_batches: int
) -> None:
    tables = logs(EXTRACT if which == "two minutes" else whole())
    busiest = tables["weird"]["id_orig_h"].value_counts().field("counts").to_pylist()
    assert max(busiest) > 0.9 * sum(busiest), "skewed"
    right = expected(tables)
    assert len(right) > 500

    r = random.Random(5)
    streams = files(tmp_path / "in", {alias: cut(table, r, micro_batches) for alias, table in tables.items()})
    j = join()
    run(j(**streaming(spark, streams)), tmp_path, seconds=250)
    assert told(results(spark, tmp_path)) == right
    rows = sum(table.num_rows for table in tables.values())
    wait_until(lambda: sum(s.stream.rows for s in j.report().sections[0].streams.values()) == rows, "all rows counted")
    assert all(stream.stream.late == 0 for stream in j.report().sections[0].streams.values())

    if which == "two minutes":
        finished = {alias: stream.finished(spark) for alias, stream in streams.items()}
        assert told(join(buckets=3)(**finished).toArrow()) == right


def test_the_extract_is_what_its_readme_says() -> None:
    for alias, table in logs(EXTRACT).items():
        assert table.num_rows > 100
        times = table["ts"].to_pylist()
        assert datetime(2018, 3, 24, 17, 18, 30) <= min(times) <= max(times) < datetime(2018, 3, 24, 17, 20, 30), alias
