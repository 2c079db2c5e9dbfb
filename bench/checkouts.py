"""`python -m bench.checkouts OLD`: compare the CPU time of filters in this checkout with that in another one.

OLD is the folder of a checkout of an earlier commit (`git worktree add OLD COMMIT`). Three processes wait for work: one
with the package of this checkout and two with that of the other one, which are the A/A control. In each round every
process runs each scenario with each policy once, so that a slow minute affects all of them. All use the benchmark's
code and scenarios of this checkout.

Lines: one `figures` per scenario and policy with the median ratio of CPU times within a round and its A/A spread, and
one `target`: no ratio above 1.02 beyond that spread. The exit code is 1 if a process gave wrong rows.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.agenda import AGENDA
from bench.checkout_process import AGAIN, HERE, NEW, OLD, Answer, ask, is_checkout, process, serve
from bench.joins.local import print_line
from bench.local_variants import timed
from bench.policies import Setting
from bench.rounds import WrongResultError, progress
from bench.scenario import BATCH_ROWS, Scenario
from bench.verdict import never
from bench.work import calibrate

BENCH, LIMIT = "checkouts", 1.02
SCENARIOS, POLICIES = ("calm", "paper"), ("static", "a-greedy", "auto")
ROUNDS, QUICK_ROWS = 9, 4_000
Key = tuple[str, int, str]
"""A name of the agenda, the number of its scenario, and a policy."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    asked = _parser().parse_args(arguments)
    if asked.serve:
        return _serve()
    old = Path(asked.old or "")
    if not asked.old or not is_checkout(old):
        print(f"no checkout in {asked.old or 'OLD'!r}: name a folder that contains src/thalweg", file=sys.stderr)
        return 2
    steps, rows = calibrate(), QUICK_ROWS if asked.quick else None
    keys = [(name, n, policy) for name in SCENARIOS for n in range(len(AGENDA[name])) for policy in POLICIES]
    seconds: dict[Key, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    try:
        with ExitStack() as stack:
            folders = {NEW: HERE, OLD: old.resolve(), AGAIN: old.resolve()}
            workers = {
                name: stack.enter_context(process("bench.checkouts", folder)) for name, folder in folders.items()
            }
            for number in range(-1, asked.rounds):  # the first round warms up
                for key in keys:
                    progress(f"round {number + 1} of {asked.rounds}: {key[0]} {key[1]}, {key[2]}")
                    for name in np.random.default_rng(number + 1).permutation(list(workers)).tolist():
                        request = {"key": key, "steps": steps, "seed": number + 1, "rows": rows}
                        taken = ask(workers[name], request)["cpu_seconds"]
                        if number >= 0:
                            seconds[key][name].append(taken)
    except WrongResultError as wrong:
        print_line({"bench": BENCH, "line": "error", "error": str(wrong)})
        return 1
    ratios = []
    for key, found in seconds.items():
        ratio, aa = compared(found)
        ratios.append((ratio, aa))
        print_line({
            "bench": BENCH, "line": "figures", "scenario": f"{key[0]} {key[1]}", "policy": key[2],
            "rounds": asked.rounds, "new_over_old": round(ratio, 4), "aa": round(aa, 4),
            "cpu_seconds": round(statistics.median(found[NEW]), 4),
        })  # fmt: skip
    print_line(never(BENCH, "CPU time over that of the other checkout", ratios, LIMIT))
    return 0


def compared(seconds: dict[str, list[float]]) -> tuple[float, float]:
    """Return the median ratio of the new checkout to the old one, and how far the old one's own ratio is from 1.

    >>> compared({"new": [1.1, 2.2], "old": [1.0, 2.0], "old again": [1.0, 2.0]})
    (1.1, 1.0)
    """
    ratio = statistics.median(a / b for a, b in zip(seconds[NEW], seconds[OLD], strict=True))
    own = statistics.median(a / b for a, b in zip(seconds[AGAIN], seconds[OLD], strict=True))
    return ratio, max(own, 1 / own)


def _serve() -> int:
    pa.set_cpu_count(1)
    known: dict[tuple[str, int], tuple[Scenario, list[pa.RecordBatch]]] = {}

    def answered(asked: Answer) -> Answer:
        name, number, policy = asked["key"]
        if (name, number) not in known:
            item = AGENDA[name][number]
            made = item.make(asked["rows"] or item.rows, asked["steps"])
            known[name, number] = made, made.table.to_batches(max_chunksize=BATCH_ROWS)
        scenario, batches = known[name, number]
        trial = timed([(Setting(policy).filters(scenario.checks, asked["seed"]), batches)])
        if trial.result != scenario.expected:
            raise WrongResultError("wrong rows")
        return {"cpu_seconds": trial.cpu_seconds}

    return serve(answered)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.checkouts", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", nargs="?", metavar="OLD", help="the folder of the other checkout")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--quick", action="store_true", help="few rows: checks that it runs, measures nothing")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
