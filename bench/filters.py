"""`python -m bench.filters`: filter chains on Spark and in this process, as JSON lines.

One line a variant, then one a target; progress goes to standard error. The exit code says whether all variants gave
the same rows: a missed target is a measurement, a wrong row is not.
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
    """Run what was asked for; a session that is given is used and left open."""
    asked = _parser().parse_args(arguments)
    if asked.data is not None:
        os.environ[FOLDER] = asked.data
    names = list(dict.fromkeys(asked.scenario or AGENDA))
    if "kdd" in names and kdd_file() is None:
        if asked.scenario:
            sys.exit(f"kdd needs its data: --data DIR, with {FILE} in it (see bench/kdd_checks.py)")
        progress(f"kdd is left out: no --data DIR with {FILE} in it")
        names.remove("kdd")
    steps = calibrate()
    tell({"bench": "filters", "steps_per_unit": round(steps, 1), "machine": machine()})
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
                        from bench.spark_variants import session

                        progress("starting Spark")
                        spark = stack.enter_context(session())
                    show(run_on_spark(spark, scenario, item, _rounds(asked, item.spark_rounds), folder))
            except WrongResultError as wrong:
                tell({"bench": "filters", "scenario": scenario.name, "error": str(wrong)})
                return 1
    return 0


def run_here(scenario: Scenario, item: Item, rounds: int) -> Measured:
    """In this process."""
    variants = local_variants.variants(scenario, item.local, item.others)
    trials = interleave(variants, rounds, scenario.expected, f"{scenario.name} in this process")
    return Measured(scenario, "local", tuple(variants), trials)


def run_on_spark(spark: SparkSession, scenario: Scenario, item: Item, rounds: int, folder: Path) -> Measured:
    """On a session, over Parquet files made for it in `folder`."""
    from bench import spark_variants

    variants = spark_variants.variants(spark, scenario, folder, item.spark)
    progress(f"{scenario.name} on Spark: warming up, comparing results")
    spark_variants.warm_up(variants, scenario.expected)
    trials = interleave(variants, rounds, scenario.expected, f"{scenario.name} on Spark")
    return Measured(scenario, "spark", tuple(variants), trials)


def show(measured: Measured) -> None:
    """The lines of a scenario, targets last."""
    for line in (*measured.lines(), *targets(measured)):
        tell(line)


def tell(line: dict[str, Any]) -> None:
    """One JSON object."""
    print(json.dumps(line), flush=True)


def machine() -> dict[str, Any]:
    """What the numbers depend on."""
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
    parser.add_argument("--scenario", action="append", choices=AGENDA, help="may be repeated; all when left out")
    parser.add_argument("--where", choices=("spark", "local", "both"), default="both")
    parser.add_argument("--rounds", type=int, help="of every variant; each scenario has its own number")
    parser.add_argument("--rows", type=int, help="of every scenario; each has its own number")
    parser.add_argument("--data", metavar="DIR", help=f"where real data is (also {FOLDER}); without it kdd is left out")
    parser.add_argument(
        "--quick", action="store_true", help="few rows, one round: shows that it runs, measures nothing"
    )
    return parser


if __name__ == "__main__":
    # ended from outside, it still stops Spark and removes its files
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main())
