"""Log lines with nulls, and native predicates over them with the SQL another engine answers them by."""

from __future__ import annotations

import random

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

ROWS = 20_000


def table(rows: int = ROWS, seed: int = 5) -> pa.Table:
    rng = random.Random(seed)

    def maybe(value: object, share: float = 0.1) -> object:
        return None if rng.random() < share else value

    made = [
        {
            "id": i,
            "size": maybe(rng.randrange(2000)),
            "line": maybe(f"GET /item/{rng.randrange(10**6)} {rng.choice([200, 200, 404, 500])}"),
            "payload": maybe(rng.choice(['{"user": 3}', '{"user": 5}', "{}", "no json"]), 0.3),
            "code": maybe(rng.choice(["7", "12", "x1", ""])),
        }
        for i in range(rows)
    ]
    schema = pa.schema(
        {"id": pa.int64(), "size": pa.int64(), "line": pa.string(), "payload": pa.string(), "code": pa.string()}
    )
    return pa.Table.from_pylist(made, schema)


def predicates() -> dict[str, tuple[Column, str]]:
    """By name: the Column, and the same for DuckDB."""
    return {
        "large": (F.col("size") > 300, "size > 300"),
        "null_or_odd": (F.col("size").isNull() | (F.col("size") % 2 == 1), "size IS NULL OR size % 2 = 1"),
        "has_payload": (F.col("payload").isNotNull(), "payload IS NOT NULL"),
        "digits": (F.col("line").rlike("item/[0-9]*[1-6]+[0-9]* "), "regexp_matches(line, 'item/[0-9]*[1-6]+[0-9]* ')"),
        "not_500": (~F.col("line").rlike(" 500$"), "NOT regexp_matches(line, ' 500$')"),
        "like": (F.col("line").like("%7%"), "line LIKE '%7%'"),
        "user": (
            F.get_json_object("payload", "$.user") == "3",
            "json_extract_string(CASE WHEN json_valid(payload) THEN payload END, '$.user') = '3'",
        ),
        "short": (F.length("line") < 20, "length(line) < 20"),
    }
