"""The queries in SQL that must give the same rows wherever they run: a join of finished files, a filter of a stream,
every function, and texts that mean something to a parser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import thalweg as tw
from tests.plan.sql.nasty_texts import TEXTS, quoted_name, quoted_text
from tests.runtime.spark.deployments.join_files import ALIASES, LATENESS, ON, SCHEMA, SECONDS
from tests.runtime.spark.deployments.one_join import streams

JOIN = (
    f"SELECT a.id AS a_id, b.id AS b_id, c.id AS c_id FROM "
    f"{', '.join(f'{alias} [RANGE {SECONDS[alias]} SECONDS]' for alias in ALIASES)} WHERE {ON} AND even(a.id)"
)
FILTER = "SELECT id, k FROM a WHERE even(id) AND k <> 'host 1'"

TEXTS_BACK = ", ".join(
    f":p{n} AS {quoted_name(f'p{n} {text}')}, {quoted_text(text)} AS l{n}" for n, text in enumerate(TEXTS)
)
SAME_TEXTS = " AND ".join(
    f"concat(CAST(m AS STRING), :p{n}) = concat(CAST(m AS STRING), {quoted_text(text)})" for n, text in enumerate(TEXTS)
)
"""Every text as a parameter, a literal and part of a name: none of them is Spark's to replace."""
FUNCTIONS = (
    "id % 3 <> 0 AND 10 DIV (id % 3) > 5 AND 10 DIV (id % 3) < 11", "id % 3 = 0 OR 10 DIV (id % 3) = 5",
    "id + 1", "id - 1", "id * 2", "id / 4", "id DIV 7", "id % 7", "-id", "abs(id - 100)", "id <=> NULL", "k IS NULL",
    "id BETWEEN 3 AND 80", "k IN ('host 1', 'host 2')", "id IN (5, 10 DIV (id % 3 + 1))", "NOT k = 'host 1'",
    "CASE WHEN id > 9 THEN k ELSE 'few' END", "if(id > 9, 1, 2)", "coalesce(k, 'none')", "nullif(id, 5)",
    "greatest(id, 100)", "least(id, 100)", "sqrt(id)", "power(id, 2)", "floor(id / 3)", "ceil(id / 3)",
    "round(id / 3, 1)", "k || '$' || k", "upper(k)", "lower(k)", "trim(k)", "ltrim(k)", "rtrim(k)", "length(k)",
    "substring(k, 2, 3)", "replace(k, 'host', '$1')", "startswith(k, 'host')", "endswith(k, '1')", "contains(k, ' ')",
    "instr(k, ' ')", "k LIKE 'host _%'", "k LIKE 'host!_%' ESCAPE '!'", "k RLIKE '^host [1-5]$'", "CAST(id AS STRING)",
    "CAST(id AS SMALLINT)", "CAST(substring(k, 6, 9) AS INT)", "CAST(id AS DECIMAL(10, 2))", "year(ts)", "month(ts)",
    "day(ts)", "hour(ts)", "minute(ts)", "second(ts)", "extract(YEAR FROM ts)", "date_trunc('MINUTE', ts)",
    "ts + INTERVAL '5' MINUTES", "CAST(ts AS DATE)", "ts > '2023-11-14 22:13:30'", "CAST(1.5 AS DECIMAL(3, 1))",
)  # fmt: skip
"""One of each, on both sides of what decides."""


def function_query() -> str:
    """All of them on some rows; as text, since the answer travels as JSON."""
    return f"SELECT id, {', '.join(f'{text} AS c{n}' for n, text in enumerate(FUNCTIONS))} FROM a WHERE id < 60"


def plain(rows: Any) -> list[list[str]]:
    """For JSON, and as Python shows them: -0.0 is not 0.0, and 1 is not 1.0."""
    return [[repr(value) for value in row] for row in sorted(rows)]


def texts_query() -> tuple[str, dict[str, str]]:
    """On a few rows, with its parameters."""
    return f"SELECT id, {TEXTS_BACK} FROM a WHERE id < 4 AND {SAME_TEXTS}", {f"p{n}": t for n, t in enumerate(TEXTS)}


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
    text, parameters = texts_query()
    texts = finished.query(text, args=parameters).dataframe().collect()
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")  # date_trunc asks for it
    functions = finished.query(function_query()).dataframe().collect()
    spark.conf.set("spark.sql.session.timeZone", zone)
    places: dict[str, Any] = {
        "path": str(folder / "sql"),
        "checkpoint": str(folder / "sql checkpoint"),
        "trigger": "availableNow",
    }
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
        "texts": [list(row) for row in sorted(texts)],
        "text names": texts[0].__fields__,
        "functions": plain(tuple(row) for row in functions),
    }
