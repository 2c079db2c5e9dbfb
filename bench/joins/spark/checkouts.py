"""`python -m bench.joins.spark.checkouts OLD`: joins into Parquet files in this checkout and in an earlier one.

OLD is the folder of a checkout (`git worktree add OLD COMMIT`). Three processes wait for work, each with its own Spark:
one with the package of this checkout, and two with that of the other one, which are the A/A control. All start the join
with `j.start`, and its tasks write the results. In each round every process runs each scenario once, in a new order.
Every batch of every run must have the results that DuckDB finds.

Lines: one per scenario with the median ratios of CPU time and wall time, and one target: no ratio of CPU time above
1.02 beyond its A/A spread. The exit code is 1 if a process gave wrong rows.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from bench.checkout_process import LIMIT, Answer, Answers, compared, in_turn, parsed
from bench.filters import machine, print_line
from bench.joins.spark.agenda import AGENDA, QUICK_BATCHES, QUICK_ROWS, UNSTEADY, WARM_BATCHES
from bench.joins.spark.checkout_work import MAKE
from bench.joins.spark.measured import BENCH
from bench.joins.spark.scenario import SEED
from bench.rounds import WrongResultError
from bench.verdict import never

ROUNDS = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.joins.spark.checkouts", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--scenario", action="append", choices=MAKE, help="may be repeated; all by default")
    parser.add_argument("--seed", type=int, default=SEED, help="the rows are drawn from it (default: %(default)s)")
    asked = parsed(parser, arguments, ROUNDS)
    print_line({"bench": BENCH, "machine": machine(), "seed": asked.seed})

    def requests(number: int) -> Mapping[str, Answer]:
        few, batches = asked.quick or not number, QUICK_BATCHES if asked.quick else None if number else WARM_BATCHES
        return {
            name: {
                "scenario": name, "seed": asked.seed, "rows": QUICK_ROWS if few else AGENDA[name].rows,
                "batches": batches or AGENDA[name].batches,
            }
            for name in asked.scenario or MAKE
        }  # fmt: skip

    try:
        found = in_turn("bench.joins.spark.checkout_work", asked.old, asked.rounds, requests, warm=not asked.quick)
    except WrongResultError as wrong:
        print_line({"bench": BENCH, "part": "checkouts", "error": str(wrong)})
        return 1
    for line in lines(found):
        print_line(line)
    return 0


def lines(found: Mapping[str, Answers]) -> list[dict[str, Any]]:
    """Return a line per scenario, and the target. What counts of a run is the median of its steady batches."""
    made, ratios = [], []
    for scenario, runs in found.items():
        answers: Answers = {
            name: [{what: statistics.median(run[what][UNSTEADY:]) for what in ("ms", "cpu_ms")} for run in each]
            for name, each in runs.items()
        }
        (ratio, aa), (wall, wall_aa) = compared(answers, "cpu_ms"), compared(answers, "ms")
        ratios.append((ratio, aa))
        made.append({
            "bench": BENCH, "part": "checkouts", "scenario": scenario, "new_over_old": round(ratio, 4),
            "aa": round(aa, 4), "wall_new_over_old": round(wall, 4), "wall_aa": round(wall_aa, 4),
            "cpu_ms": {name: [round(run["cpu_ms"]) for run in each] for name, each in answers.items()},
            "ms": {name: [run["ms"] for run in each] for name, each in answers.items()},
            "record_bytes": {name: each[0]["record_bytes"] for name, each in runs.items()},
        })  # fmt: skip
    return [*made, never(BENCH, "CPU time over that of the other checkout", ratios, LIMIT)]


if __name__ == "__main__":
    sys.exit(main())
