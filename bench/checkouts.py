"""`python -m bench.checkouts OLD`: compare the CPU time of this checkout with that of another one, in this process.

OLD is the folder of a checkout of an earlier commit (`git worktree add OLD COMMIT`). Compared are filters, joins, the
planning of queries, `explain`, and `import thalweg`. Three processes wait for work: one with the package of this
checkout and two with that of the other one, which are the A/A control. All use the benchmark's code of this checkout.

Lines: one `figures` for each thing that is measured with the median ratio of CPU times within a round and its A/A
spread, and one `target` per part: no ratio of filters and joins is above 1.02 beyond its spread, the median ratio of
each other part is not above 1 beyond the largest spread, and no more modules are loaded. The exit code is 1 if a
process gave wrong rows.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from bench.checkout_process import LIMIT, NEW, OLD, Answer, Answers, compared, in_turn, parsed
from bench.checkout_work import EXPLAINED, FILTERED, JOINED, JOINED_ROWS, PLANNED
from bench.joins.local import print_line
from bench.joins.peers import DuckDB
from bench.rounds import WrongResultError
from bench.verdict import never, target_line
from bench.work import calibrate

BENCH = "checkouts"
FILTERS, JOINS, PLANNING, EXPLAIN, IMPORT = PARTS = "filters", "joins", "planning", "explain", "import"
FILTER_POLICIES, JOIN_POLICIES = ("static", "a-greedy", "auto"), ("static", "auto")
ROUNDS, TIMES, IMPORTS = 9, 20, 3
"""The rounds, how often a round plans and explains each query, and how often it imports the package."""
QUICK_ROWS, QUICK_TIMES = 4_000, 1
Key = tuple[str, str]
"""A part, and what is measured of it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.checkouts", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", action="append", choices=PARTS, help="may be repeated; all by default")
    asked = parsed(parser, arguments, ROUNDS)
    try:
        found = in_turn("bench.checkout_work", asked.old, asked.rounds, requests(asked.part or PARTS, asked.quick))
    except WrongResultError as wrong:
        print_line({"bench": BENCH, "line": "error", "error": str(wrong)})
        return 1
    for line in lines(found):
        print_line(line)
    return 0


def requests(parts: Sequence[str], quick: bool) -> Callable[[int], Mapping[Key, Answer]]:
    """Return the requests of a round, by its number."""
    rows, times = (QUICK_ROWS, QUICK_TIMES) if quick else (None, TIMES)
    of: dict[str, dict[str, dict[str, Any]]] = {part: {} for part in parts}
    if FILTERS in of:
        steps = calibrate()
        for name, policy in product(FILTERED, FILTER_POLICIES):
            of[FILTERS][f"{name}, {policy}"] = {"name": name, "policy": policy, "rows": rows, "steps": steps}
    for name in JOINED if JOINS in of else ():
        expected = DuckDB(JOINED[name](rows or JOINED_ROWS)).result()
        for policy in JOIN_POLICIES:
            given = {"name": name, "policy": policy, "rows": rows or JOINED_ROWS, "expected": expected}
            of[JOINS][f"{name}, {policy}"] = given
    for part, names in ((PLANNING, PLANNED), (EXPLAIN, EXPLAINED)):
        if part in of:
            of[part] = {name: {"name": name, "times": times} for name in names}
    if IMPORT in of:
        of[IMPORT]["thalweg"] = {"times": min(times, IMPORTS)}

    def of_round(number: int) -> Mapping[Key, Answer]:
        return {
            (part, name): {"part": part, "of": {**given, "seed": number} if "policy" in given else given}
            for part, each in of.items()
            for name, given in each.items()
        }

    return of_round


def lines(found: Mapping[Key, Answers]) -> list[dict[str, Any]]:
    """Return a line for each thing that was measured, and the targets of each part."""
    figures, targets = [], []
    ratios: dict[str, list[tuple[float, float]]] = {}
    for (part, name), answers in found.items():
        ratio, aa = compared(answers, "cpu_seconds")
        ratios.setdefault(part, []).append((ratio, aa))
        line = {
            "bench": BENCH, "line": "figures", "part": part, "of": name, "rounds": len(answers[NEW]),
            "new_over_old": round(ratio, 4), "aa": round(aa, 4),
            "cpu_seconds": round(statistics.median(each["cpu_seconds"] for each in answers[NEW]), 4),
        }  # fmt: skip
        if part == IMPORT:
            new, old = (answers[name][0]["modules"] for name in (NEW, OLD))
            targets.append(target_line(BENCH, "modules that `import thalweg` loads", new, old))
        figures.append(line)
    for part, each in ratios.items():
        target = f"CPU time of {part} over that of the other checkout"
        if part in (FILTERS, JOINS):
            targets.append(never(BENCH, target, each, LIMIT))
        else:  # each takes milliseconds, so single ratios are noise
            median, aa = statistics.median(ratio for ratio, _ in each), max(aa for _, aa in each)
            targets.append(never(BENCH, target, [(median, aa)], 1.0))
    return [*figures, *targets]


if __name__ == "__main__":
    sys.exit(main())
