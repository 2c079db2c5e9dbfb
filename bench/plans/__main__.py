"""`python -m bench.plans`: run joins under all of their plans, compare what is chosen, and print JSON lines.

Parts, all of them by default:

- `drawn`: 40 joins drawn from `--seed` (`bench/plans/draw.py`): 3 to 5 streams in a chain, a star, a tree or a cycle;
  rates up to 1:1000; 0.01 to 100 partners per edge; at most 3 million results; as many rows as the multiway join takes
  1 to 5 s of CPU time for. Every plan runs, or, of more than 20, the 20 that are predicted to be best and 10 at random.
  What runs by default is compared with the best of them: with exact statistics declared, with none, and with one number
  that is wrong tenfold. A seed takes under an hour on one core.
- `fan-out`: a join where keeping a sub-join pays (`bench/plans/fan_out.py`).
- `buckets`: the rows that the buckets of a Spark stream hold, by the class that spreads them.

With `--spark`, `fan-out` and `buckets` run as streams on a local Spark.

Lines: `machine`; per join one `join` (what was drawn), one `variant` per plan, one `figures`; at the end one `target`
per target. Times are CPU times of this process. The multiway join is measured twice under two names, which is the A/A
control: a value that only its spread puts above a limit is `undecided`. `python -m bench.plans.table FILE ...` prints
tables. Progress goes to standard error. The exit code is 1 if a plan gave other results than DuckDB; a missed target
does not change it.

Seeds 0 to 9 are for development: anything may be tuned on them. `--calibrate FILE` appends one line per run of a plan,
with everything that a cost model could be fitted to.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bench.joins.local import machine, print_line
from bench.plans.buckets import layout_lines
from bench.plans.declared import DECLARED
from bench.plans.draw import JOINS
from bench.plans.fan_out import ROUNDS, run_fan_out
from bench.plans.lines import join_line, trial_line
from bench.plans.measured import AGAIN, Measured, measure
from bench.plans.shapes import MULTIWAY
from bench.plans.sizing import sized
from bench.plans.summary import summary
from bench.rounds import WrongResultError, progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTS = DRAWN, FAN_OUT, BUCKETS = "drawn", "fan-out", "buckets"
DRAWN_ROUNDS = 3
QUICK_JOINS, QUICK_ROWS = 3, 10_000

Line = dict[str, Any]


def main(arguments: Sequence[str] | None = None, spark: SparkSession | None = None) -> int:
    """Run the benchmark and return its exit code. A session that is passed in is used and left open."""
    asked = _parser().parse_args(arguments)
    pa.set_cpu_count(1)
    print_line({"bench": "plans", "line": "machine", "machine": machine()})
    try:
        for line in _on_spark(asked, spark) if asked.spark else _here(asked):
            print_line(line)
    except WrongResultError as wrong:
        print_line({"bench": "plans", "line": "error", "error": str(wrong)})
        return 1
    return 0


def _here(asked: argparse.Namespace) -> Iterator[Line]:
    if DRAWN in (asked.part or PARTS):
        yield from _drawn(asked)
    if FAN_OUT in (asked.part or PARTS) and asked.calibrate is None:
        progress("fan-out")
        yield from run_fan_out(1 if asked.quick else asked.rounds or ROUNDS, quick=asked.quick)
    if BUCKETS in (asked.part or PARTS) and asked.calibrate is None:
        yield from layout_lines()


def _drawn(asked: argparse.Namespace) -> Iterator[Line]:
    rounds = asked.rounds or (1 if asked.quick or asked.calibrate else DRAWN_ROUNDS)
    declared = () if asked.calibrate else tuple(asked.declared or DECLARED)
    count = asked.joins or (QUICK_JOINS if asked.quick else JOINS)
    figures = []
    for number in range(count):
        joined, expected = sized(asked.seed, number, asked.work, QUICK_ROWS if asked.quick else None)
        progress(f"join {joined.drawn.name}: {joined.drawn.on}, {joined.rows:,} rows, {expected[0]:,} results")
        measured = measure(joined, expected, declared, rounds, asked.wrong, everything=asked.calibrate is not None)
        if asked.calibrate:
            _append(asked.calibrate, measured)
        yield from measured.lines()
        figures.append(measured.figures())
        progress(f"join {joined.drawn.name}, {number + 1} of {count}: {_in_short(measured)}")
    yield from summary(figures)


def _append(path: Path, measured: Measured) -> None:
    """Write one line per run of a plan, each with everything that is known of the join."""
    about = join_line(measured.joined, measured.expected)
    with path.open("a", encoding="utf-8") as file:
        for name in (*measured.plans, AGAIN):
            for trial in measured.trials[name]:
                plan = MULTIWAY if name == AGAIN else name
                file.write(json.dumps({**about, "plan": plan, **trial_line(trial)}) + "\n")


def _in_short(measured: Measured) -> str:
    best = measured.best()
    defaults = ", ".join(f"{name} {measured.ratio(name, best):.2f}" for name in measured.chosen)
    tau = measured.tau()
    return (
        f"{len(measured.plans)} plans, best {best} ({measured.ratio(best, MULTIWAY):.2f} of multiway), "
        f"A/A {measured.aa():.2f}" + (f"; {defaults}" if defaults else "") + ("" if tau is None else f"; tau {tau:.2f}")
    )


def _on_spark(asked: argparse.Namespace, spark: SparkSession | None) -> Iterator[Line]:
    from bench.plans.on_spark import lines

    parts = [part for part in asked.part or PARTS if part != DRAWN]
    yield from lines(parts, spark, quick=asked.quick, rounds=asked.rounds)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.plans", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0, help="0 by default; 0 to 9 are for development")
    parser.add_argument("--part", action="append", choices=PARTS, help="may be repeated; all parts by default")
    parser.add_argument("--joins", type=int, help=f"the number of drawn joins; {JOINS} by default")
    parser.add_argument("--rounds", type=int, help="rounds of the plans that are nearly the best")
    parser.add_argument(
        "--declared", action="append", choices=DECLARED, help="statistics declared; may be repeated; all by default"
    )
    parser.add_argument("--wrong", type=float, default=10.0, metavar="FACTOR", help="how wrong the wrong number is")
    parser.add_argument(
        "--calibrate", type=Path, metavar="FILE", help="append a line per run of a plan, drawn joins only"
    )
    parser.add_argument("--work", type=float, default=1.0, help="multiply the work of every drawn join")
    parser.add_argument("--spark", action="store_true", help="run fan-out and buckets on a local Spark")
    parser.add_argument(
        "--quick", action="store_true", help="few and small joins: checks that it runs, measures nothing"
    )
    return parser


if __name__ == "__main__":
    # ended from outside, it still stops Spark and removes its files
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main())
