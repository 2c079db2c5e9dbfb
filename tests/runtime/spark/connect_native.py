"""Run by `test_native_connect` in a process of its own, where the session is Spark Connect's; prints what it saw."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import thalweg as tw
from tests.runtime.spark.native_lines import predicates
from tests.runtime.spark.waiting import wait_until
from tests.short_lived import SHORT_LIVED


def refusal(*arguments: Any) -> str:
    try:
        tw.filters(*arguments)
    except tw.PlanError as error:
        return str(error)
    return "not refused"


def main(folder: Path) -> None:
    remote = SparkSession.builder.remote("local[2]")
    spark = remote.config("spark.driver.extraJavaOptions", SHORT_LIVED).getOrCreate()
    files = str(folder / "in")
    df = spark.read.parquet(files)
    columns = {name: column for name, (column, _) in predicates().items()}
    chosen = ("digits", "large", "user", "has_payload", "not_500")
    third = tw.predicate(lambda n: n % 3 == 0, "id", name="thirds", after="has_payload")
    events = folder / "events.jsonl"

    def chain() -> tw.Filters:
        natives = (tw.predicate(columns[name], name=name) for name in chosen)
        return tw.filters(*natives, third, p=0.5, events=events)

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
    told = {
        "module": type(columns["large"]).__module__,
        "names": repr(alone),
        "ids": ids,
        "orders": orders,
        "later": list(later.report().sections[0].native.order),  # type: ignore[union-attr]
        "learned_from": learning.learn(df, share=1.0, rows=4_000),
        "alone": df.transform(alone).count(),
        "streamed": sorted(row.id for row in spark.read.parquet(str(folder / "out")).select("id").collect()),
        "udf": refusal(F.udf(lambda n: n > 1, "boolean")("id") & (F.col("size") > 1)),
        "random": refusal(F.rand() < 0.5),
    }
    (folder / "told.json").write_text(json.dumps(told))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
