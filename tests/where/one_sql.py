"""The queries in SQL that must give the same rows wherever they run: a join of finished files, a filter of a stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import thalweg as tw
from tests.where.join_files import ALIASES, LATENESS, ON, SCHEMA, SECONDS
from tests.where.one_join import streams

JOIN = (
    f"SELECT a.id AS a_id, b.id AS b_id, c.id AS c_id FROM "
    f"{', '.join(f'{alias} [RANGE {SECONDS[alias]} SECONDS]' for alias in ALIASES)} WHERE {ON} AND even(a.id)"
)
FILTER = "SELECT id, k FROM a WHERE even(id) AND k <> 'host 1'"


def even(number: int) -> bool:
    """For `even` in SQL."""
    return number % 2 == 0


def run(spark: Any, folder: Path) -> dict[str, Any]:
    """Both, and what is said of another query on the checkpoint."""
    finished, streaming = tw.session(spark), tw.session(spark)
    for alias, stream in streams(spark, folder).items():
        finished.stream(alias, spark.read.schema(SCHEMA).parquet(str(folder / "in" / alias)), "ts", LATENESS)
        streaming.stream(alias, stream, "ts", LATENESS)
    for s in (finished, streaming):
        s.function("even", even, returns="boolean", safe=True)
    joined = finished.query(JOIN).dataframe().collect()
    places = {"path": str(folder / "sql"), "checkpoint": str(folder / "sql checkpoint"), "trigger": "availableNow"}
    streaming.query(FILTER, name="even").start(**places).awaitTermination()
    try:
        streaming.query("SELECT id, k FROM a").start(**places)
        refused = ""
    except tw.CheckpointError as error:
        refused = str(error)
    found = spark.read.parquet(places["path"]).collect()
    return {
        "joined": sorted([row.a_id, row.b_id, row.c_id] for row in joined),
        "filtered": sorted([row.id, row.k] for row in found),
        "refused": refused,
    }
