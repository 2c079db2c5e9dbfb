"""The same work on Spark, asked for in SQL and by calls: filters, a join, and a query that needs no help."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import thalweg as tw
from bench.rounds import Trial, Variant

SQL, AGAIN, CALLS, SPARK_SQL = "sql", "sql again", "calls", "spark sql"
_FILTERED, _NATIVELY = 4, 10
"""How often these streams repeat the rows of `a`, because runs of a second vary too much."""
_NATIVE = """SELECT id, x * 2 + y AS z, upper(word) AS word FROM many
WHERE x > 100 AND y BETWEEN 10 AND 900 AND word LIKE '%a%' AND x + y < 1500"""


@dataclass(frozen=True)
class Comparison:
    """A comparison of functions that build a DataFrame, and the limit of the time of the first over the second."""

    name: str
    of: str
    to: str
    limit: float
    builders: dict[str, Callable[[], DataFrame]]
    repeated: int = 1
    """How often its stream repeats every row."""


def write(folder: Path, rows: int) -> None:
    """Three streams of one key, three results per row; and `many`, the files of `a` under several names each."""
    rng = np.random.default_rng(7)
    words = np.array(["alpha", "beta", "gamma", "delta", "epsilon", "zero", "none"])
    for name in "abc":
        (folder / name).mkdir(parents=True, exist_ok=True)
        table = pa.table(
            {
                "ts": pa.array(np.sort(rng.integers(0, 10**8, rows)), pa.timestamp("us", "UTC")),
                "id": np.arange(rows),
                "k": rng.integers(0, max(rows // 2, 1), rows),
                "x": rng.integers(0, 1000, rows).astype(np.int32),
                "y": rng.integers(0, 1000, rows).astype(np.int32),
                "word": words[rng.integers(0, len(words), rows)],
            }
        )
        for part in range(4):  # as many tasks as keep two cores busy
            quarter = table.slice(part * rows // 4, rows // 4)
            pq.write_table(quarter, folder / name / f"{part}.parquet")
    (folder / "many").mkdir(exist_ok=True)
    for part, time_ in itertools.product(range(4), range(_NATIVELY)):
        (folder / "many" / f"{part}-{time_}.parquet").hardlink_to(folder / "a" / f"{part}.parquet")


def comparisons(spark: SparkSession, folder: Path) -> list[Comparison]:
    """Return all comparisons; nothing runs yet."""
    frames = {name: spark.read.parquet(str(folder / name)) for name in ("a", "b", "c", "many")}
    some = [str(folder / "many" / f"*-{time_}.parquet") for time_ in range(_FILTERED)]
    frames["some"] = spark.read.parquet(*some)
    session = tw.session(spark)
    for name, df in frames.items():
        session.stream(name, df, time="ts")
        df.createOrReplaceTempView(name)
    session.function("odd", _odd, "boolean", safe=True)
    session.function("long_word", _long, "boolean", safe=True)

    def by_sql(text: str) -> DataFrame:
        made: DataFrame = session.query(text).dataframe()
        return made

    def filtered() -> DataFrame:
        keep = tw.filters(tw.predicate(_odd, "x", name="odd"), tw.predicate(_long, "word", name="long_word"))
        made: DataFrame = keep(frames["some"].select("id", "x", "word")).select("id", "x")
        return made

    def joined() -> DataFrame:
        j = tw.join(on="a.k = b.k AND a.k = c.k", window="10 seconds", time="ts", select=["a.id", "b.id", "c.id"])
        out = j(**{name: df.select("ts", "id", "k") for name, df in frames.items() if name in "abc"})
        made: DataFrame = out.select(F.col("a_id").alias("a"), F.col("b_id").alias("b"), F.col("c_id").alias("c"))
        return made

    filters_text = "SELECT id, x FROM some WHERE odd(x) AND long_word(word)"
    join_text = """SELECT a.id AS a, b.id AS b, c.id AS c FROM a, b, c WHERE a.k = b.k AND a.k = c.k
    WINDOW 10 SECONDS"""
    return [
        Comparison("filters", SQL, CALLS, 1.02, _twice(by_sql, filters_text) | {CALLS: filtered}, _FILTERED),
        Comparison("join", SQL, CALLS, 1.02, _twice(by_sql, join_text) | {CALLS: joined}),
        Comparison(
            "native",
            SQL,
            SPARK_SQL,
            1.03,
            _twice(by_sql, _NATIVE) | {SPARK_SQL: partial(spark.sql, _NATIVE)},
            _NATIVELY,
        ),
    ]


def variants(spark: SparkSession, comparison: Comparison) -> list[Variant]:
    """Return variants that create their DataFrame in each run, which is timed separately, since a query is created once
    and runs for days. The timed part reads every row. Garbage of the previous run is collected first."""
    return [Variant(name, partial(_run, spark, build)) for name, build in comparison.builders.items()]


def looked_at(df: DataFrame) -> tuple[int, int]:
    """Return the number of rows and a sum over hashes of all their columns."""
    hashed = F.xxhash64(*(F.col(name) for name in df.columns)) % 1_000_003
    (row,) = df.agg(F.count(F.lit(1)), F.sum(hashed)).collect()
    return int(row[0]), int(row[1] or 0)


def _run(spark: SparkSession, build: Callable[[], DataFrame], round_: int) -> Trial:
    jvm: Any = spark.sparkContext._jvm
    jvm.System.gc()
    begun = time.perf_counter()
    df = build()
    built = time.perf_counter()
    result = looked_at(df)
    return Trial(time.perf_counter() - built, result=result, counts={"build_us": round(1e6 * (built - begun))})


def _twice(by_sql: Callable[[str], DataFrame], text: str) -> dict[str, Callable[[], Any]]:
    return {SQL: partial(by_sql, text), AGAIN: partial(by_sql, text)}


def _odd(x: int) -> bool:
    return x % 2 == 1


def _long(word: str) -> bool:
    return len(word) > 4
