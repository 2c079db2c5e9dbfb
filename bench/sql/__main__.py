"""`python -m bench.sql`: measure what going through SQL costs, and print JSON lines.

It prints one line per query for planning, one per comparison on Spark, then one per target; progress goes to standard
error. The exit code is 1 if the variants gave different rows.
"""

from __future__ import annotations

import argparse
import signal
import statistics
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from bench.filters import machine, print_line
from bench.rounds import Trial, WrongResultError, interleave, progress, ratios
from bench.spark_session import session
from bench.sql.overhead import AGAIN, comparisons, looked_at, variants, write
from bench.sql.planning import LIMIT_MS, plans

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BENCH = "sql"
ROWS, QUICK_ROWS = 4_000_000, 2_000
ROUNDS, WARM_ROUNDS = 12, 3


def main(arguments: Sequence[str] | None = None, spark: SparkSession | None = None) -> int:
    """Run the benchmark. A session that is passed in is used and left open."""
    asked = _parser().parse_args(arguments)
    print_line({"bench": BENCH, "machine": machine()})
    rows = asked.rows or (QUICK_ROWS if asked.quick else ROWS)
    rounds = asked.rounds or (1 if asked.quick else ROUNDS)
    targets = []
    planned = list(plans(rounds=3 if asked.quick else 30))
    for line in planned:
        print_line({"bench": BENCH, **line})
    worst = max(line["ms_median"] for line in planned)
    targets.append(_target("planning", "ms from text to plan, the slowest query's median", worst, LIMIT_MS))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="thalweg-bench-")))
        if spark is None:
            progress("starting Spark")
            spark = stack.enter_context(session())
        write(folder, rows)
        for comparison in comparisons(spark, folder):
            if asked.only is not None and comparison.name != asked.only:
                continue
            try:
                expected = looked_at(comparison.builders[comparison.to]())
                if not asked.quick:
                    interleave(variants(spark, comparison), WARM_ROUNDS, expected, f"{comparison.name}, to warm up")
                trials = interleave(variants(spark, comparison), rounds, expected, comparison.name)
            except WrongResultError as wrong:
                print_line({"bench": BENCH, "scenario": comparison.name, "error": str(wrong)})
                return 1
            print_line({
                "bench": BENCH, "scenario": comparison.name, "rows": rows * comparison.repeated, "rounds": rounds,
                "results": expected[0],
                "seconds": {k: round(statistics.median(t.seconds for t in runs), 3) for k, runs in trials.items()},
                "build_ms": {k: _median_ms(runs) for k, runs in trials.items()},
            })  # fmt: skip
            found = ratios(trials, comparison.of, comparison.to)
            control = ratios(trials, AGAIN, comparison.of)
            target = f"time over that of {comparison.to}"
            judged = _target(comparison.name, target, statistics.median(found), comparison.limit)
            targets.append({
                **judged, "spread": _span(found), "aa_spread": _span(control),
                "aa_median": round(statistics.median(control), 3),
            })  # fmt: skip
    for line in targets:
        print_line(line)
    return 0


def _span(values: list[float]) -> list[float]:
    return [round(min(values), 3), round(max(values), 3)]


def _median_ms(runs: list[Trial]) -> float:
    return round(statistics.median(trial.counts["build_us"] for trial in runs) / 1000, 1)


def _target(scenario: str, target: str, value: float, limit: float) -> dict[str, object]:
    return {
        "bench": BENCH, "scenario": scenario, "target": target, "value": round(value, 4), "reached": value <= limit,
        "limit": limit,
    }  # fmt: skip


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.sql", description=__doc__)
    parser.add_argument("--rows", type=int, help=f"rows of each stream; {ROWS:,} by default")
    parser.add_argument("--rounds", type=int, help=f"rounds of every variant; {ROUNDS} by default")
    parser.add_argument("--only", choices=("filters", "join", "native"), help="run only this comparison on Spark")
    parser.add_argument(
        "--quick", action="store_true", help="few rows and one round: checks that it runs, measures nothing"
    )
    return parser


if __name__ == "__main__":
    # ended from outside, it still stops Spark and removes its files
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main())
