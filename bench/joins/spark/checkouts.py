"""`python -m bench.joins.spark.checkouts OLD`: joins into Parquet files in this checkout and in an earlier one.

OLD is the folder of a checkout (`git worktree add OLD COMMIT`), also of a version in which Spark writes all results.
Three processes wait for work, each with its own Spark: one with the package of this checkout, which starts the join
with `j.start`, and two with that of the other one, which start it with Spark's Parquet sink. The second one is the A/A
control. In each round every process runs each scenario once, in a new order. Every batch of every run must have the
results that DuckDB finds.

Lines: one per scenario and process, and one target per scenario. The exit code is 1 if a process gave wrong rows.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from bench.checkout_process import AGAIN, HERE, NEW, OLD, Answer, ask, is_checkout, process, serve
from bench.filters import machine, print_line
from bench.joins.spark.agenda import (
    AGENDA,
    CHAIN_FILES,
    QUICK_BATCHES,
    QUICK_ROWS,
    SMALL_FILES,
    STAR_FILES,
    UNSTEADY,
    WARM_BATCHES,
)
from bench.joins.spark.expected import demand, expected
from bench.joins.spark.measured import BENCH
from bench.joins.spark.scenario import SEED
from bench.joins.spark.stream_files import StreamFiles
from bench.joins.spark.targets import TIMES_TODAY, beyond_noise
from bench.joins.spark.variants import FILES, IN_ROCKSDB, VARIANTS, SparkVariant, ours
from bench.rounds import WrongResultError, progress
from bench.spark_session import session

SCENARIOS = (STAR_FILES, CHAIN_FILES, SMALL_FILES)
TARGETS = {STAR_FILES: TIMES_TODAY, CHAIN_FILES: TIMES_TODAY}
ROUNDS = 5
MODULE = "bench.joins.spark.checkouts"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    asked = _parser().parse_args(arguments)
    if asked.serve is not None:
        return _serve(by_tasks=asked.serve == NEW)
    old = Path(asked.old or "")
    if not asked.old or not is_checkout(old):
        print(f"no checkout in {asked.old or 'OLD'!r}: name a folder that contains src/thalweg", file=sys.stderr)
        return 2
    scenarios = asked.scenario or SCENARIOS
    print_line({"bench": BENCH, "machine": machine(), "seed": asked.seed})
    taken: dict[str, dict[str, list[Answer]]] = defaultdict(lambda: defaultdict(list))
    try:
        with ExitStack() as stack:
            folders = {NEW: (HERE, NEW), OLD: (old.resolve(), OLD), AGAIN: (old.resolve(), OLD)}
            workers = {
                name: stack.enter_context(process(MODULE, folder, how)) for name, (folder, how) in folders.items()
            }
            for number in range(0 if not asked.quick else 1, asked.rounds + 1):  # the first round warms up
                for scenario in scenarios:
                    few = asked.quick or not number
                    request = {
                        "scenario": scenario, "seed": asked.seed, "rows": QUICK_ROWS if few else None,
                        "batches": QUICK_BATCHES if asked.quick else WARM_BATCHES if few else None,
                    }  # fmt: skip
                    for name in np.random.default_rng(number).permutation(list(workers)).tolist():
                        answer = ask(workers[name], request)
                        progress(f"round {number} of {asked.rounds}: {scenario}, {name}: {answer['ms']:.0f} ms")
                        if number:
                            taken[scenario][name].append(answer)
    except WrongResultError as wrong:
        print_line({"bench": BENCH, "part": "checkouts", "error": str(wrong)})
        return 1
    for scenario, answers in taken.items():
        for line in lines(scenario, answers):
            print_line(line)
    return 0


def lines(scenario: str, answers: dict[str, list[Answer]]) -> list[dict[str, Any]]:
    """Return a line per process, and the target."""
    made: list[dict[str, Any]] = [
        {
            "bench": BENCH, "part": "checkouts", "scenario": scenario, "checkout": name, "rounds": len(found),
            "batch_ms_median": statistics.median(each["ms"] for each in found),
            "cpu_ms": round(statistics.median(each["cpu_ms"] for each in found)), "ms": [each["ms"] for each in found],
        }
        for name, found in answers.items()
    ]  # fmt: skip

    def ratios(name: str, to: str, what: str = "ms") -> list[float]:
        return sorted(a[what] / b[what] for a, b in zip(answers[name], answers[to], strict=True))

    found, aa, limit = ratios(OLD, NEW), ratios(AGAIN, OLD), TARGETS.get(scenario)
    value = statistics.median(found)
    target = {
        "bench": BENCH, "part": "checkouts", "scenario": scenario, "target": "times as fast as the old checkout",
        "value": round(value, 3), "spread": [round(found[0], 3), round(found[-1], 3)],
        "aa_spread": [round(aa[0], 3), round(aa[-1], 3)],
        "of_cpu_time": round(statistics.median(ratios(OLD, NEW, "cpu_ms")), 3),
    }  # fmt: skip
    if limit is not None:
        target |= {"limit": limit, "reached": beyond_noise(value, limit, (aa[0], aa[-1]))}
    return [*made, target]


def written_by_spark(
    spark: SparkSession, files: StreamFiles, events: Path, place: Path, out: Path
) -> StreamingQuery:  # fmt: skip
    """Start our join with Spark's Parquet sink, as every version can."""
    writer = ours(spark, files, events).writeStream.format("parquet").trigger(availableNow=True)
    return writer.option("checkpointLocation", str(place)).start(str(out))


def _serve(*, by_tasks: bool) -> int:
    variant = VARIANTS[FILES] if by_tasks else SparkVariant(OLD, ours, IN_ROCKSDB, True, written_by_spark)
    with session({"spark.driver.memory": "4g"}) as spark:

        def answered(asked: Answer) -> Answer:
            item = AGENDA[asked["scenario"]]
            with tempfile.TemporaryDirectory(prefix="thalweg-bench-") as folder:
                scenario = item.make(asked["rows"] or item.rows, seed=asked["seed"])
                files = StreamFiles(scenario, asked["batches"] or item.batches, Path(folder) / "in")
                ran = variant.run(spark, files)
                demand(variant.name, ran.batches, expected(files))
            steady = ran.batches[UNSTEADY:]
            return {what: statistics.median(getattr(batch, what) for batch in steady) for what in ("ms", "cpu_ms")}

        return serve(answered)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {MODULE}", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", nargs="?", metavar="OLD", help="the folder of the other checkout")
    parser.add_argument("--scenario", action="append", choices=SCENARIOS, help="may be repeated; all by default")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seed", type=int, default=SEED, help="the rows are drawn from it (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="few rows: checks that it runs, measures nothing")
    parser.add_argument("--serve", choices=(NEW, OLD), help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
