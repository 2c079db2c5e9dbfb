"""`python -m bench.filters`: measure filter chains on Spark and in this process, and print JSON lines.

Each scenario prints one line per variant, then one per target; progress goes to standard error. The exit code is 1 if
the variants gave different rows. A missed target does not change the exit code.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import local_variants
from bench.agenda import AGENDA, QUICK_ROWS, Item
from bench.kdd_checks import FILE, FOLDER, kdd_file
from bench.measured import Measured
from bench.rounds import WrongResultError, interleave, progress
from bench.scenario import Scenario
from bench.targets import targets
from bench.work import calibrate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def main(arguments: Sequence[str] | None = None, spark: SparkSession | None = None) -> int:
    """Run the benchmark. A session that is passed in is used and left open."""
    asked = _parser().parse_args(arguments)
    if asked.data is not None:
        os.environ[FOLDER] = asked.data
    names = list(dict.fromkeys(asked.scenario or AGENDA))
    if "kdd" in names and kdd_file() is None:
        if asked.scenario:
            sys.exit(f"kdd needs its data: give --data DIR, a folder that contains {FILE} (see bench/kdd_checks.py)")
        progress(f"kdd is left out: it needs --data DIR, a folder that contains {FILE}")
        names.remove("kdd")
    steps = calibrate()
    print_line({"bench": "filters", "steps_per_unit": round(steps, 1), "machine": machine()})
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="thalweg-bench-")))
        for item in (item for name in names for item in AGENDA[name]):
            rows = asked.rows or (QUICK_ROWS if asked.quick else item.rows)
            here = asked.where in ("local", "both") and item.local_rounds > 0
            there = asked.where in ("spark", "both") and item.spark_rounds > 0
            if not (here or there):
                continue
            scenario = item.make(rows, steps)
            try:
                if here:
                    show(run_here(scenario, item, _rounds(asked, item.local_rounds)))
                if there:
                    if spark is None:
                        from bench.spark_session import session

                        progress("starting Spark")
                        spark = stack.enter_context(session())
                    show(run_on_spark(spark, scenario, item, _rounds(asked, item.spark_rounds), folder))
            except WrongResultError as wrong:
                print_line({"bench": "filters", "scenario": scenario.name, "error": str(wrong)})
                return 1
    return 0


def run_here(scenario: Scenario, item: Item, rounds: int) -> Measured:
    """Measure a scenario in this process."""
    variants = local_variants.variants(scenario, item.local, item.others)
    trials = interleave(variants, rounds, scenario.expected, f"{scenario.name} in this process")
    return Measured(scenario, "local", tuple(variants), trials)


def run_on_spark(spark: SparkSession, scenario: Scenario, item: Item, rounds: int, folder: Path) -> Measured:
    """Measure a scenario on a Spark session, over Parquet files written to `folder`."""
    from bench import spark_variants

    variants = spark_variants.variants(spark, scenario, folder, item.spark)
    progress(f"{scenario.name} on Spark: warming up, comparing results")
    spark_variants.warm_up(variants, scenario.expected)
    trials = interleave(variants, rounds, scenario.expected, f"{scenario.name} on Spark")
    return Measured(scenario, "spark", tuple(variants), trials)


def show(measured: Measured) -> None:
    """Print the lines of a scenario, targets last."""
    for line in (*measured.lines(), *targets(measured)):
        print_line(line)


def print_line(line: dict[str, Any]) -> None:
    """Print one JSON object."""
    print(json.dumps(line), flush=True)


def machine() -> dict[str, Any]:
    """Return the machine and the versions on which the numbers depend."""
    return {
        "cpus": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: version(name) for name in ("pyarrow", "numpy", "numba", "duckdb", "pyspark", "pandas")},
    }


def _rounds(asked: argparse.Namespace, usual: int) -> int:
    return int(asked.rounds or (1 if asked.quick else usual))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.filters", description=__doc__)
    parser.add_argument("--scenario", action="append", choices=AGENDA, help="may be repeated; all scenarios by default")
    parser.add_argument("--where", choices=("spark", "local", "both"), default="both")
    parser.add_argument(
        "--rounds", type=int, help="rounds of every variant; by default each scenario has its own number"
    )
    parser.add_argument("--rows", type=int, help="rows of every scenario; by default each has its own number")
    parser.add_argument(
        "--data", metavar="DIR", help=f"folder of real data (also {FOLDER}); without it kdd is left out"
    )
    parser.add_argument(
        "--quick", action="store_true", help="few rows and one round: checks that it runs, measures nothing"
    )
    return parser


if __name__ == "__main__":
    # if terminated, the benchmark still stops Spark and removes its files
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main())
