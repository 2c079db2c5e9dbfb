"""`python -m bench.native`: measure what the order of native predicates gains on Spark, and what sampling costs.

The data is log lines in Parquet. One predicate can be pushed down to Parquet (it skips half of the row groups) and four
are expensive; they are written in a bad order. The output is JSON lines. Variants:

- `plain-written`, `plain-best`: Spark's own filters as written, and in the order that Thalweg learns;
- `first-run`: Thalweg before it has learned anything (cheap kinds first), sampling;
- `learned-sampling`: Thalweg in the order of earlier runs, sampling, as the first runs after learning do;
- `learned`: one filter set used repeatedly, which samples every fourth run once its order is stable;
- `learned-unsampled`: the same order with policy `static`, so without sampling: shows what sampling costs;
- `observe-all`: the cost that sampling avoids: flags of sampled rows observed on every row, before every filter.

Ratios compare the CPU time of the JVM within a round; the median over rounds is printed. `learned` samples in one round
of four, which `mean_cpu_s` shows and the median does not. The exit code is 1 if the variants gave different rows.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

import thalweg as tw
from bench.filters import machine
from bench.rounds import Trial, Variant, WrongResultError, interleave, progress, ratio
from thalweg.runtime.filters.native_order import CALM

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS, QUICK_ROWS, ROUNDS = 1_500_000, 20_000, 8
ROW_GROUP_BYTES = 4 << 20


def predicates(rows: int) -> dict[str, Column]:
    """Return the predicates in a bad order: expensive ones that drop few rows first."""
    return {
        "user": F.get_json_object("payload", "$.user").isin("1", "2", "3", "4", "5"),
        "agent": F.col("line").rlike("agent=(human|bot) [0-9a-f]{32}$"),
        "has_7": F.col("line").rlike("item/[0-9]*7[0-9]* "),
        "error": F.col("line").rlike(" 5[0-9][0-9] "),
        "recent": F.col("id") >= rows // 2,
    }


def make(spark: SparkSession, rows: int, folder: Path) -> DataFrame:
    """Write and return the lines, sorted by id as logs are by time."""
    path = str(folder / "lines.parquet")
    spark.range(0, rows, 1, 2).selectExpr(
        "id",
        "concat('GET /item/', id, if(id % 50 = 0, ' 500 ', ' 200 '), 'agent=', if(id % 3 = 0, 'bot', 'human'), ' ', "
        "md5(string(id))) AS line",
        "concat('{\"path\": \"/item/', id, '\", \"user\": ', id % 7, '}') AS payload",
    ).write.option("parquet.block.size", ROW_GROUP_BYTES).parquet(path)
    return spark.read.parquet(path)


def chained(df: DataFrame, columns: Sequence[Column]) -> DataFrame:
    """Return the rows after Spark's own filters, in this order."""
    for column in columns:
        df = df.filter(column)
    return df


def observed_before(df: DataFrame, columns: Sequence[Column]) -> DataFrame:
    """Sample flags in the simple way, through which no filter can be pushed."""
    flags = F.when(F.rand() < 0.01, F.array(*(F.coalesce(c, F.lit(False)) for c in columns)))
    marked = df.withColumn("flags", flags)
    counts = [F.count_if(F.col("flags")[k]).alias(f"c{k}") for k in range(len(columns))]
    return chained(marked.observe(Observation(), *counts), columns).drop("flags")


def main(arguments: Sequence[str] | None = None, spark: SparkSession | None = None) -> int:
    """Run the benchmark. A session that is passed in is used and left open."""
    parser = argparse.ArgumentParser(prog="python -m bench.native", description="Native predicates on Spark.")
    parser.add_argument("--quick", action="store_true", help="few rows and one round: checks that it runs")
    parser.add_argument("--rows", type=int, default=None)
    parser.add_argument("--rounds", type=int, default=None)
    asked = parser.parse_args(arguments)
    rows = asked.rows or (QUICK_ROWS if asked.quick else ROWS)
    rounds = asked.rounds or (1 if asked.quick else ROUNDS)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="thalweg-bench-")))
        if spark is None:
            from bench.spark_session import session

            spark = stack.enter_context(session())
        try:
            _measure(spark, rows, rounds, folder)
        except WrongResultError as wrong:
            _print_line({"error": str(wrong)})
            return 1
    return 0


def _measure(spark: SparkSession, rows: int, rounds: int, folder: Path) -> None:
    df, columns = make(spark, rows, folder), predicates(rows)
    named = [tw.predicate(column, name=name) for name, column in columns.items()]
    learned = tw.filters(*named, seed=1)
    learned.learn(df, share=0.1)
    df.transform(learned).count()
    native = learned.report().sections[-1].native
    assert native is not None
    best = [columns[name] for name in native.order]
    in_that_order = tw.filters(
        *(tw.predicate(c, name=n) for n, c in zip(native.order, best, strict=True)), policy="static"
    )

    def another_that_learned() -> DataFrame:
        keep = tw.filters(*named, seed=1)
        keep._native.learn(learned._native._weights)
        return df.transform(keep)

    makers: dict[str, Callable[[], DataFrame]] = {
        "plain-written": lambda: chained(df, list(columns.values())),
        "plain-best": lambda: chained(df, best),
        "first-run": lambda: df.transform(tw.filters(*named)),
        "learned-sampling": another_that_learned,
        "learned": lambda: df.transform(learned),
        "learned-unsampled": lambda: df.transform(in_that_order),
        "observe-all": lambda: observed_before(df, best),
    }
    jvm: Any = spark._jvm
    process = psutil.Process(jvm.java.lang.ProcessHandle.current().pid())

    def run(make_out: Callable[[], DataFrame]) -> Trial:
        cpu, wall = process.cpu_times(), time.perf_counter()
        row = make_out().agg(F.count("*"), F.sum("id")).collect()[0]
        took, done = time.perf_counter() - wall, process.cpu_times()
        return Trial(took, done.user + done.system - cpu.user - cpu.system, (int(row[0]), int(row[1] or 0)))

    def timed(make_out: Callable[[], DataFrame]) -> Callable[[int], Trial]:
        return lambda _: run(make_out)

    variants = [Variant(name, timed(make_out)) for name, make_out in makers.items()]
    expected = variants[0].run(0).result or (0, 0)
    progress("native: warming up")
    for variant in variants * (1 if rounds == 1 else 2):
        variant.run(0)
    for _ in range(0 if rounds == 1 else CALM + 1):
        run(makers["learned"])  # until its order is stable long enough to sample less
    trials = interleave(variants, rounds, expected, "native")
    _print_line({"rows": rows, "rounds": rounds, "order": list(native.order), "machine": machine()})
    for name, runs in trials.items():
        _print_line(
            {
                "variant": name,
                "cpu_s": round(statistics.median(t.cpu_seconds or 0.0 for t in runs), 3),
                "mean_cpu_s": round(statistics.fmean(t.cpu_seconds or 0.0 for t in runs), 3),
                "wall_s": round(statistics.median(t.seconds for t in runs), 3),
                "times_as_fast_as_written": round(ratio(trials, "plain-written", name), 2),
            }
        )


def _print_line(line: dict[str, Any]) -> None:
    print(json.dumps({"bench": "native", **line}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
