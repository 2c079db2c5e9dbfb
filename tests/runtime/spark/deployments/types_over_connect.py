"""Columns of all types over Spark Connect: the values that plain Spark writes, on a path of each kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.exact_values import exact_values
from tests.runtime.spark.spark_types import COLUMNS, NO_PARQUET, TYPES
from tests.runtime.spark.type_paths import CHANGED, PATHS, Rows, come_out, rows_of

TRIED = (
    "filters that read, stream", "joins, Spark's sink", "joins, tables of streams", "SQL, start, Spark's sink",
)  # fmt: skip


def run(spark: Any, folder: Path) -> dict[str, Any]:
    """The columns whose values differ, by path."""
    folder.mkdir(parents=True)
    for name, text in CHANGED.items():
        spark.conf.set(name, text)
    rows = Rows(spark, folder)
    rows.finished([name for name in TYPES if name not in NO_PARQUET]).write.parquet(str(folder / "plain"))
    plain = pq.read_table(folder / "plain").sort_by("id")
    told: dict[str, Any] = {}
    for n, name in enumerate(TRIED):
        group, path = PATHS[name]
        names, out = come_out(group), folder / f"out-{n}"
        found = rows_of(path(rows, names, out), out)
        told[name] = [
            each for each in ["id", *map(COLUMNS.__getitem__, names)]
            if exact_values(found[each]) != exact_values(plain[each])
        ]  # fmt: skip
    return told


def check(told: dict[str, Any]) -> None:
    """No path changes a value."""
    assert told == {name: [] for name in TRIED}
