"""`python -m bench.plans`: run joins drawn from a seed under all of their plans, and print JSON lines."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.plans.calibrate import join_line, trial_line
from bench.plans.draw import JOINS
from bench.plans.shapes import MULTIWAY, all_shapes, plan_of
from bench.plans.sizing import sized
from bench.plans.trial import join_of, run
from bench.rounds import demand, progress
from thalweg.plan.join_plan import JoinPlan

MOST = 30
STOPPED_AT = 5.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    asked = _parser().parse_args(arguments)
    pa.set_cpu_count(1)
    with asked.calibrate.open("a", encoding="utf-8") as file:
        for number in range(asked.joins):
            joined, expected = sized(asked.seed, number, asked.work)
            about = join_line(joined, expected)
            graph = JoinPlan.of(joined.drawn.on, joined.windows, "ts", "0 seconds").graph
            plans = [plan_of(shape) for shape in all_shapes(graph)]
            rng = np.random.default_rng([asked.seed, number])
            if len(plans) > MOST:
                plans = [MULTIWAY, *(plans[int(k)] for k in sorted(rng.choice(range(1, len(plans)), MOST - 1, False)))]
            plans.append(MULTIWAY)
            progress(f"join {joined.drawn.name}: {joined.drawn.on}, {joined.rows:,} rows, {expected[0]:,} results")
            limit = float("inf")
            for plan in plans:
                run(joined, join_of(joined, plan=plan), 0.02 * asked.work)
                trial = run(joined, join_of(joined, plan=plan), limit)
                demand(plan, trial.result, expected)
                if plan == MULTIWAY:
                    limit = STOPPED_AT * trial.cpu_seconds
                file.write(json.dumps({**about, **trial_line(plan, trial)}) + "\n")
                file.flush()
                progress(f"  {plan}: {trial.cpu_seconds:.2f} s {trial.stopped}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.plans", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--joins", type=int, default=JOINS, help="how many joins of the seed")
    parser.add_argument("--work", type=float, default=1.0, help="multiply the work of every join")
    parser.add_argument("--calibrate", type=Path, metavar="FILE")
    return parser


if __name__ == "__main__":
    sys.exit(main())
