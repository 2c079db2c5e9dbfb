"""Native predicates over Spark Connect, whose Columns are not those of classic Spark: rows, orders, names, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
from pyspark.sql import functions as F

import thalweg as tw
from tests.runtime.spark.native_lines import predicates, table
from tests.runtime.spark.waiting import wait_until

CHOSEN = ("digits", "large", "user", "has_payload", "not_500")


def write_lines(folder: Path) -> None:
    """The input, as a file."""
    (folder / "in").mkdir(parents=True)
    pq.write_table(table(12_000), folder / "in" / "lines.parquet")


def refusal(*arguments: Any) -> str:
    try:
        tw.filters(*arguments)
    except tw.PlanError as error:
        return str(error)
    return "not refused"


def run(spark: Any, folder: Path) -> dict[str, Any]:
    """What was seen, ready for JSON."""
    files = str(folder / "in")
    df = spark.read.parquet(files)
    columns = {name: column for name, (column, _) in predicates().items()}
    third = tw.predicate(lambda n: n % 3 == 0, "id", name="thirds", after="has_payload")
    events = folder / "events.jsonl"

    def chain() -> tw.Filters:
        natives = (tw.predicate(columns[name], name=name) for name in CHOSEN)
        return tw.filters(*natives, third, policy="a-greedy(p=0.5)", events=events)

    keep = chain()
    ids = [sorted(row.id for row in df.transform(keep).select("id").collect()) for _ in range(2)]
    orders = [list(section.native.order) for section in keep.report().sections if section.native]
    wait_until(lambda: events.read_text().count('"event": "native"') == 2, "both samples in the file")
    later = chain()
    df.transform(later).count()
    learning = tw.filters(columns["digits"], columns["not_500"])
    alone = tw.filters(F.col("size") > 300, F.col("line").rlike(" (4|5)00$"), ~(F.col("code") == "x1, y"))

    streamed = chain()
    source = spark.readStream.schema(df.schema).parquet(files)
    query = (
        source.transform(streamed).writeStream.format("parquet").option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint")).start()
    )  # fmt: skip
    query.processAllAvailable()
    query.stop()
    return {
        "module": type(columns["large"]).__module__,
        "names": repr(alone),
        "oracle": " AND ".join(f"coalesce(({predicates()[name][1]}), false)" for name in CHOSEN),
        "ids": ids,
        "orders": orders,
        "later": list(later.report().sections[0].native.order),  # type: ignore[union-attr]
        "learned_from": learning.learn(df, share=1.0, rows=4_000),
        "alone": df.transform(alone).count(),
        "streamed": sorted(row.id for row in spark.read.parquet(str(folder / "out")).select("id").collect()),
        "udf": refusal(F.udf(lambda n: n > 1, "boolean")("id") & (F.col("size") > 1)),
        "random": refusal(F.rand() < 0.5),
    }


def check(told: dict[str, Any]) -> None:
    """The rows that DuckDB finds, and the orders and names of classic Spark."""
    data = table(12_000)
    assert told["module"] == "pyspark.sql.connect.column"
    assert told["names"] == "tw.filters(size > 300, line rlike ' (4|5)00$', code != 'x1, y')", "as on classic Spark"
    assert data.num_rows > 0
    sql = f"SELECT id FROM data WHERE {told['oracle']} AND id % 3 = 0 ORDER BY id"
    kept = duckdb.sql(sql)
    assert kept is not None
    expected = [row[0] for row in kept.fetchall()]
    assert told["ids"] == [expected, expected]
    assert told["streamed"] == expected
    by_kind = ["large", "has_payload", "digits", "not_500", "user"]
    learned = ["large", "has_payload", "user", "not_500", "digits"]  # 75 % at cost 100, 33 % at 50, 10 % at 50
    assert told["orders"] == [by_kind, learned]
    assert told["later"] == learned, "from the events of the runs before"
    assert told["learned_from"] == 4_000
    counted = duckdb.sql(
        "SELECT count(*) FROM data WHERE size > 300 AND regexp_matches(line, ' (4|5)00$') AND code <> 'x1, y'"
    )
    assert counted is not None
    ((alone,),) = counted.fetchall()
    assert told["alone"] == alone
    assert "is a Python UDF" in told["udf"]
    assert "calls rand()" in told["random"]
