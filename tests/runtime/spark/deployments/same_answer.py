"""What the one query and the one join must answer, wherever they ran."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq

import thalweg as tw
from tests.plan.sql.nasty_texts import TEXTS
from tests.runtime.spark.deployments import one_sql
from tests.runtime.spark.deployments.input_files import ROWS, expected_ids
from tests.runtime.spark.deployments.join_files import ALIASES, expected_results


def check_answer(told: dict[str, Any], folder: Path) -> None:
    """The rows DuckDB finds in the same files, each counted once, by a chain that did change its order."""
    expected = expected_ids(folder / "in")
    assert 0 < len(expected) < ROWS
    assert told["rows"] == ROWS
    for kind in ("batch", "stream"):
        assert told[kind]["ids"] == expected
        (section,) = told[kind]["sections"]
        assert (section["kind"], section["rows"], section["kept"]) == (kind, ROWS, len(expected))
        assert section["switches"] > 0


def check_sql(told: dict[str, Any], folder: Path) -> None:
    """What DuckDB finds in the same files."""
    expected = [row for row in expected_results(folder / "in") if row[0] % 2 == 0]
    assert expected
    assert told["joined"] == expected
    files = str(folder / "in" / "a" / "*.parquet")
    found = duckdb.sql(f"SELECT id, k FROM '{files}' WHERE id % 2 = 0 AND k <> 'host 1' ORDER BY id")
    assert found is not None
    kept = found.fetchall()
    assert kept
    assert told["filtered"] == [list(row) for row in kept]
    assert "belongs to another query" in told["refused"]
    pairs = [text for text in TEXTS for _ in range(2)]
    assert told["texts"] == [[n, *pairs] for n in range(4)]
    assert told["text names"][1::2] == [f"p{n} {text}" for n, text in enumerate(TEXTS)]
    here = tw.session()
    here.stream("a", pq.read_table(folder / "in" / "a"), "ts")
    evaluated = here.query(one_sql.function_query()).dataframe().to_pylist()
    assert told["functions"] == one_sql.plain(tuple(row.values()) for row in evaluated)


def check_join(told: dict[str, Any], folder: Path) -> None:
    """The results DuckDB finds in the same files, every row counted once and none late."""
    expected = expected_results(folder / "in")
    assert expected
    assert "b has a watermark on a column that was dropped" in told["refused"]
    rows = dict.fromkeys(ALIASES, told["rows"] // len(ALIASES))
    for kind in ("batch", "stream"):
        assert told[kind]["results"] == expected
        assert told[kind]["counts"] == {"rows": rows, "late": 0, "results": len(expected)}
