"""`python -m bench.charts`: measure what charts of plans cost and gain, and print JSON lines.

Parts, all of them by default:

- `lookup`: looking a plan up in a chart against choosing it anew, the time to make a chart of three streams and ten
  parts each, and the size of its stored form.
- `swings`: joins of six shapes whose rates swing by 1:20, once in each minute of event time (`bench/charts/drawn.py`),
  with exact statistics declared. `policy="chart"` and `policy="auto"` are compared with the best plans, each pinned,
  and with the best of them in every part of the run, known in hindsight (`bench/charts/hindsight.py`).
- `calm`: such joins with constant rates; following a chart is compared with the best single plan.

With `--spark`, another part runs instead: `trigger`, queries with `trigger="auto"` on streams of known rate, whose load
and rows held are compared with what was asked for and foretold (`bench/charts/trigger.py`).

Lines: `machine`; per join one `join` (what was drawn), one `variant` per plan and policy, one `figures`; at the end one
`target` per target. Times are CPU times of this process. The multiway join is measured twice under two names, which is
the A/A control: a value that only its spread puts above a limit is `undecided`. `python -m bench.charts.table FILE ...`
prints tables. Progress goes to standard error. The exit code is 1 if a variant gave other results than DuckDB; a missed
target does not change it.

Seeds 0 to 9 are for development: anything may be tuned on them.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bench.charts.compared import AUTO, CHART, compare, figures
from bench.charts.drawn import ROWS, SHAPES, TRIES, calm, swinging
from bench.charts.hindsight import Hindsight
from bench.charts.lookup import THREE, lookup
from bench.charts.summary import BENCH, CALM, LOOKUP, PARTS, TRIGGER, summary
from bench.joins.local import machine, print_line
from bench.plans.draw import DrawnJoin
from bench.plans.lines import join_line, trial_line
from bench.plans.sizing import first_sized
from bench.rounds import WrongResultError, progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SWING_ROUNDS, CALM_ROUNDS = 3, 5
SWING_PLANS, CALM_PLANS = 6, 2
"""The most pinned plans besides the multiway join."""
CALM_ROWS = 1_500_000
QUICK_ROWS, QUICK_POINTS, QUICK_TRIES = 20_000, 50, 3

Line = dict[str, Any]


def main(arguments: Sequence[str] | None = None, spark: SparkSession | None = None) -> int:
    """Run the benchmark and return its exit code. A session that is passed in is used and left open."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    if asked.spark and (asked.part or asked.shape or asked.rounds):
        parser.error("--spark goes with none of --part, --shape and --rounds")
    pa.set_cpu_count(1)
    print_line({"bench": BENCH, "line": "machine", "machine": machine()})
    found = []
    try:
        for part in (TRIGGER,) if asked.spark else asked.part or PARTS:
            for line in _lines(asked, part, spark):
                line = {"bench": BENCH, "part": part, **line}
                print_line(line)
                if line["line"] == "figures":
                    found.append(line)
    except WrongResultError as wrong:
        print_line({"bench": BENCH, "line": "error", "error": str(wrong)})
        return 1
    for line in summary(found):
        print_line(line)
    return 0


def _lines(asked: argparse.Namespace, part: str, spark: SparkSession | None) -> Iterator[Line]:
    if part == TRIGGER:
        from bench.charts.trigger import lines

        return lines(spark, quick=asked.quick)
    return _looked_up(asked) if part == LOOKUP else _compared(asked, part)


def _looked_up(asked: argparse.Namespace) -> Iterator[Line]:
    for shape in asked.shape or THREE:
        if shape in THREE:
            few = {"rounds": 1, "points": QUICK_POINTS, "chosen": QUICK_POINTS} if asked.quick else {}
            yield {"line": "figures", **lookup(_joins(asked, shape)[0], **few)}
            progress(f"{LOOKUP} {shape}")


def _compared(asked: argparse.Namespace, part: str) -> Iterator[Line]:
    is_calm = part == CALM
    rounds = asked.rounds or (1 if asked.quick else CALM_ROUNDS if is_calm else SWING_ROUNDS)
    rows = QUICK_ROWS if asked.quick else CALM_ROWS if is_calm else ROWS
    for shape in asked.shape or SHAPES:
        joins = _joins(asked, shape)
        joined, expected = first_sized(map(calm, joins) if is_calm else joins, rows=rows)
        progress(f"{part} {shape}: {joined.drawn.on}, {joined.rows:,} rows, {expected[0]:,} results")
        measured, said = compare(joined, expected, rounds, CALM_PLANS if is_calm else SWING_PLANS)
        about = {"seed": asked.seed, "join": shape}
        yield {"line": "join", **join_line(joined, expected), **about}
        for name, trials in measured.trials.items():
            yield {
                "line": "variant", **about, "variant": name, "rounds": len(trials),
                "cpu_seconds_median": round(measured.cpu(name), 4), "trials": [trial_line(trial) for trial in trials],
            }  # fmt: skip
        made = figures(measured, said, Hindsight(measured))
        yield {"line": "figures", **about, **made}
        over = "single" if is_calm else "hindsight"
        policies = ", ".join(f"{name} {made[name][f'cpu_over_{over}']:.2f}" for name in (CHART, AUTO))
        progress(f"{part} {shape}: CPU time over that of {over}: {policies}; A/A {made['aa']:.2f}")


def _joins(asked: argparse.Namespace, shape: str) -> tuple[DrawnJoin, ...]:
    return swinging(asked.seed, shape, QUICK_TRIES if asked.quick else TRIES)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.charts", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0, help="0 by default; 0 to 9 are for development")
    parser.add_argument("--part", action="append", choices=PARTS, help="may be repeated; all parts by default")
    parser.add_argument("--shape", action="append", choices=SHAPES, help="may be repeated; all shapes by default")
    parser.add_argument("--rounds", type=int, help=f"{SWING_ROUNDS} by default, {CALM_ROUNDS} of {CALM}")
    parser.add_argument("--spark", action="store_true", help=f"run {TRIGGER} on a local Spark, and nothing else")
    parser.add_argument("--quick", action="store_true", help="few rows: checks that it runs, measures nothing")
    return parser


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main())
