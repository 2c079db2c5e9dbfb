"""`python -m bench.mesh`: measure what routes by class gain over one order for all rows, and print JSON lines.

Parts, all of them by default:

- `scenarios`: filters whose best order depends on the class of a row, and filters where it does not
  (`bench/mesh/drawn.py`). `policy="mesh"` is compared with `auto`, with one route (`sp`), with two eddies, with the
  best single order and with the clairvoyant, who knows the class of each row (`bench/mesh/measured.py`).
- `sizes`: `classes` with predicates of 50 ns, 1 us and 10 us in batches of 1,000 to 100,000 rows.
- `search`: the meshes of II-QM and SA-QM against the cheapest ones.
- `star`: a join of ten streams in which the class of a row decides which probe finds nothing (`bench/mesh/star.py`).

`--spark` runs `classes` on Spark instead (`bench/mesh/on_spark.py`).

Lines: `machine`; `left-out` for each policy or scenario that cannot run; `figures` per scenario, with all its
variants; at the end one `target` per target. Evaluations include profiling; they are weighted with the cost of
predicates where costs differ. Times are CPU times of this process. `auto` is measured twice under two names, which is
the A/A control: a value that only its spread puts beyond a limit is `undecided`. So is one that cannot be computed, and
`why` has the reason. `python -m bench.mesh.table FILE ...` prints tables. Progress goes to standard error. The exit
code is 1 if a variant gave wrong rows; a missed target does not change it.

Seeds 0 to 9 are for development: anything may be tuned on them.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bench.generated.columns import FOLDER, data_folder
from bench.joins.local import machine, print_line
from bench.mesh import star
from bench.mesh.contenders import ALL
from bench.mesh.drawn import AGENDA
from bench.mesh.measured import measure
from bench.mesh.search import SETS, above_optimum
from bench.mesh.sizes import BATCH_SIZES, ROWS, sizes
from bench.mesh.summary import BENCH, PARTS, SCENARIOS, SEARCH, SIZES, SPARK, STAR, summary
from bench.rounds import WrongResultError, progress
from bench.work import calibrate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUICK_ROWS, QUICK_SETS = 4_000, 3

Line = dict[str, Any]


def main(arguments: Sequence[str] | None = None, spark: SparkSession | None = None) -> int:
    """Run the benchmark and return its exit code. A session that is passed in is used and left open."""
    asked = _parser().parse_args(arguments)
    os.environ[FOLDER] = str(data_folder(asked.data))
    pa.set_cpu_count(1)
    steps = calibrate()
    print_line({"bench": BENCH, "line": "machine", "steps_per_unit": round(steps, 1), "machine": machine()})
    for contender in ALL:
        if contender.missing:
            _print({"line": "left-out", "variant": contender.name, "why": contender.missing})
    found = []
    try:
        for part in [SPARK] if asked.spark else asked.part or ([SCENARIOS] if asked.scenario else PARTS):
            for line in _lines(part, asked, steps, spark):
                line = {"part": part, "seed": asked.seed, **line}
                _print(line)
                if line["line"] == "figures":
                    found.append(line)
    except WrongResultError as wrong:
        _print({"line": "error", "error": str(wrong)})
        return 1
    for line in summary(found):
        print_line(line)
    return 0


def _lines(part: str, asked: argparse.Namespace, steps: float, spark: SparkSession | None) -> Iterator[Line]:
    for line in _on_spark(asked, steps, spark) if part == SPARK else _figures(part, asked, steps):
        yield {"line": "figures"} | line


def _figures(part: str, asked: argparse.Namespace, steps: float) -> Iterator[Line]:
    quick = asked.quick
    rounds, rows = asked.rounds or (1 if quick else None), QUICK_ROWS if quick else None
    if part == SCENARIOS:
        yield from _scenarios(asked, steps, rows, rounds)
    elif part == SIZES:
        yield from sizes(asked.seed, steps, rows or ROWS, rounds, BATCH_SIZES[:1] if quick else BATCH_SIZES)
    elif part == SEARCH:
        yield above_optimum(asked.seed, QUICK_SETS if quick else SETS)
    elif part == STAR:
        windows = star.QUICK_WINDOWS if quick else star.WINDOWS
        yield from star.stars(asked.seed, star.QUICK_ROWS if quick else star.ROWS, rounds or star.ROUNDS, windows)


def _scenarios(asked: argparse.Namespace, steps: float, rows: int | None, rounds: int | None) -> Iterator[Line]:
    for name in dict.fromkeys(asked.scenario or AGENDA):
        item = AGENDA[name]
        if why := item.missing():
            yield {"line": "left-out", "scenario": name, "why": why}
        else:
            classed = item.make(rows or item.rows, steps, asked.seed)
            yield measure(classed, rounds or item.rounds).figures()


def _on_spark(asked: argparse.Namespace, steps: float, spark: SparkSession | None) -> Iterator[Line]:
    from bench.mesh import on_spark
    from bench.spark_session import session

    rows = on_spark.QUICK_ROWS if asked.quick else on_spark.ROWS
    rounds = asked.rounds or (1 if asked.quick else on_spark.ROUNDS)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="thalweg-bench-"))
        if spark is None:
            progress("starting Spark")
            spark = stack.enter_context(session())
        yield on_spark.on_spark(spark, Path(folder), asked.seed, steps, rows, rounds)


def _print(line: Line) -> None:
    print_line({"bench": BENCH, **line})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.mesh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0, help="0 by default; 0 to 9 are for development")
    parser.add_argument("--part", action="append", choices=PARTS, help="may be repeated; all parts by default")
    parser.add_argument(
        "--scenario", action="append", choices=AGENDA, help="may be repeated; only these scenarios, and no other part"
    )
    parser.add_argument("--rounds", type=int, help="rounds of every scenario; by default each has its own number")
    parser.add_argument("--data", metavar="DIR", help=f"folder of real data (also {FOLDER})")
    parser.add_argument("--spark", action="store_true", help="measure on Spark instead")
    parser.add_argument("--quick", action="store_true", help="few rows: checks that it runs, measures nothing")
    return parser


if __name__ == "__main__":
    # if terminated, the benchmark still stops Spark and removes its files
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main())
