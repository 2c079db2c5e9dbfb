"""`python -m bench.joins.spark`: compare windowed joins as streaming queries with Spark's own, and print JSON lines.

Each scenario prints one line per variant, then one per target; progress goes to standard error. All variants run in one
JVM, in interleaved rounds: a round is a whole query of every variant over the same files. The exit code is 1 if a batch
of a variant gave other results than DuckDB. A missed target does not change the exit code.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bench.filters import machine, print_line
from bench.joins.spark.agenda import (
    AGENDA,
    ENDURED,
    QUICK_BATCHES,
    QUICK_ENDURED,
    QUICK_ROWS,
    RESTART_ROUNDS,
    RESTART_ROWS,
    WARM_BATCHES,
    Item,
)
from bench.joins.spark.endurance import endure
from bench.joins.spark.expected import demand, expected
from bench.joins.spark.measured import BENCH, Measured
from bench.joins.spark.restart import restarts
from bench.joins.spark.scenario import SEED
from bench.joins.spark.stream_files import StreamFiles
from bench.joins.spark.targets import targets
from bench.joins.spark.variants import VARIANTS, Ran
from bench.rounds import WrongResultError, progress
from bench.spark_session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MEMORY = {"spark.driver.memory": "12g"}
"""The heap, because Spark's own join of large batches holds several gigabytes there."""


def main(arguments: Sequence[str] | None = None, spark: SparkSession | None = None) -> int:
    """Run the benchmark. A session that is passed in is used and left open."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    if asked.part is not None and asked.seed != SEED:
        parser.error(f"--seed is for scenarios; --part {asked.part} draws its rows from its own")
    print_line({"bench": BENCH, "machine": machine(), "seed": asked.seed})
    done: dict[str, Measured] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="thalweg-bench-")))
        if spark is None:
            progress("starting Spark")
            spark = stack.enter_context(session(MEMORY))
        if asked.part is not None:
            rows, rounds = (QUICK_ROWS, 1) if asked.quick else (RESTART_ROWS, RESTART_ROUNDS)
            lines = (
                restarts(spark, asked.rows or rows, asked.rounds or rounds, warm=not asked.quick)
                if asked.part == "restart"
                else endure(spark, asked.batches or (QUICK_ENDURED if asked.quick else ENDURED))
            )
            try:
                for line in lines:
                    print_line(line)
            except WrongResultError as wrong:
                print_line({"bench": BENCH, "part": asked.part, "error": str(wrong)})
                return 1
            return 0
        warm_batches = WARM_BATCHES
        for name in dict.fromkeys(asked.scenario or AGENDA):
            item = AGENDA[name]
            rows = asked.rows or (QUICK_ROWS if asked.quick else item.rows)
            batches = asked.batches or (QUICK_BATCHES if asked.quick else item.batches)
            rounds = asked.rounds or (1 if asked.quick else item.rounds)
            try:
                if not asked.quick:
                    measure(spark, item, QUICK_ROWS, warm_batches, 1, folder / f"{name}-warm")
                    warm_batches = QUICK_BATCHES
                done[name] = measure(spark, item, rows, batches, rounds, folder / name, asked.seed)
            except WrongResultError as wrong:
                print_line({"bench": BENCH, "scenario": name, "error": str(wrong)})
                return 1
            for line in done[name].lines():
                print_line(line)
    for line in targets(done):
        print_line(line)
    return 0


def measure(
    spark: SparkSession, item: Item, rows: int, batches: int, rounds: int, folder: Path, seed: int = SEED
) -> Measured:
    """Run every variant once per round, in a newly drawn order."""
    scenario = item.make(rows, seed=seed)
    files = StreamFiles(scenario, batches, folder)
    known = expected(files)
    rng = np.random.default_rng(rounds)
    runs: dict[str, list[Ran]] = {name: [] for name in item.variants}
    for number in range(rounds):
        for k in rng.permutation(len(item.variants)):
            name = item.variants[k]
            ran = VARIANTS[name].run(spark, files)
            demand(name, ran.batches, known)
            runs[name].append(ran)
            took = " ".join(f"{batch.ms}" for batch in ran.batches)
            progress(f"{scenario.name}, {rows:,} rows: round {number + 1} of {rounds}, {name}: {took} ms")
    return Measured(scenario, runs, known)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.joins.spark", description=__doc__)
    parser.add_argument("--scenario", action="append", choices=AGENDA, help="may be repeated; all scenarios by default")
    parser.add_argument(
        "--part", choices=("restart", "endurance"), help="instead of scenarios: restarts, or 10,000 batches (an hour)"
    )
    parser.add_argument("--rounds", type=int, help="rounds of every variant; by default set by the scenario")
    parser.add_argument("--batches", type=int, help="batches of every run; by default set by the scenario")
    parser.add_argument("--rows", type=int, help="rows per stream and batch; by default set by the scenario")
    parser.add_argument("--seed", type=int, default=SEED, help="the rows are drawn from it (default: %(default)s)")
    parser.add_argument(
        "--quick", action="store_true", help="few rows and one round: checks that it runs, measures nothing"
    )
    return parser


if __name__ == "__main__":
    # ended from outside, it still stops Spark and removes its files
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main())
