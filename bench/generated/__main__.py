"""`python -m bench.generated`: run filter chains drawn from a seed, on which nothing was tuned, and print JSON lines.

A seed draws 20 chains, from the seed alone: 2 to 16 predicates; 60 ns to 60 µs per row, one chain in ten with a
predicate of 1 ms; a call costs nothing, up to 100 µs or up to 1 ms besides; vectorized and row functions; selectivities
of 0.02 to 0.98; guards and `profile=False`; written in the best, a random or the worst order; batches of 100 to 100,000
rows; 10,000 to 10 million rows, as many as give the best order 1.1 to 2 s of work (three chains of a seed: 0.1 s).
Conditions are on real columns (three data sets) or on made ones (independent, correlated, duplicated); the data stays
as it is, jumps, slides or comes back.

Seeds below 1000 are for development; anything may be chosen on them. Seeds from 1000 on are for evaluation: they use
three other data sets, and kinds of drift that development does not have, such as jumps of costs.

Every policy runs on every chain, in a random order, beside the best fixed order in hindsight (twice, which is the
control) and the best order of each phase. Work is the number of evaluations times the true cost per row plus the number
of calls times the true fixed cost, profiling and trials included, counted inside the predicates. The best orders are
exact, and what is counted when they run must equal what was computed for them. A ratio is work, or time, over that of
the best fixed order; below 1 counts as 1. A run is stopped at 10 times the best order's work and counts as 10. Chains
of 10 million rows run under `auto` and the policy that does best on the virtual clock.

Lines: `machine`; per chain one `chain` (what was drawn, its best orders) and one `run` per policy; at the end `summary`
(per group of chains and policy: geometric mean, 95th percentile, worst; the group `common` has the chains that every
policy ran, so that policies can be compared), `kind` (`auto` against the best other policy, `behind` where that is more
than 3 % in a group of at least ten chains), `neither` (chains in no group: not drawn as short, but with less than a
second of work), `control`, `above` (chains where `auto` is above 1.5). `python -m bench.generated.table FILE ...`
prints them as Markdown. Progress goes to standard error. The exit code says whether all rows were right: a bad ratio is
a measurement, a wrong row is not.

- `--virtual` runs on a virtual clock instead: predicates burn nothing but move the clock by what they cost, with noise,
  and updates of policies move it by what they were measured to cost. A seed takes under a minute, results do not depend
  on the machine, and other processes do not disturb. `--jobs N` runs N chains at a time. `time` is then that of the
  virtual clock.
- `--columns FILE.parquet` takes the columns of that file instead of the data sets.
- `--quick` runs six chains with a tenth of the work: checks that it runs, measures little.
- `--spark` runs 40 evaluation chains on a local Spark: see `bench/generated/on_spark.py`.

Data sets are looked for in `../shared/data` beside the project; `--data DIR` or THALWEG_DATA names another folder.
If they are missing, all columns are made.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.generated.burning import Speed, measure
from bench.generated.columns import FOLDER, data_folder
from bench.generated.compare import POLICIES, Compared
from bench.generated.draw import CHAINS, Sources
from bench.generated.outcome import WrongRowsError
from bench.generated.run import Task, Way, each
from bench.generated.summary import summary
from bench.rounds import progress

EVALUATION = range(1000, 1005)
QUICK_CHAINS, QUICK_WORK = 6, 0.1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    if asked.spark and asked.virtual:
        parser.error("--spark does not go with --virtual")
    if asked.columns is not None and not Path(asked.columns).is_file():
        sys.exit(f"--columns: there is no file {asked.columns}; name a Parquet file")
    work = asked.work or (QUICK_WORK if asked.quick else 1.0)
    sources = Sources(data_folder(asked.data), Path(asked.columns) if asked.columns else None, work)
    seeds = list(EVALUATION) if asked.evaluation else asked.seed or [1]
    numbers = asked.chain or range(QUICK_CHAINS if asked.quick else CHAINS)
    tasks = [(seed, number) for seed in seeds for number in numbers]
    for seed in seeds:
        if not sources.files(seed):
            progress(
                f"seed {seed}: none of its data sets is in {sources.data}, so all columns are made; name the folder "
                f"with --data or {FOLDER}"
            )
    speed = None if asked.virtual else measure()
    way = Way(sources, tuple(asked.policy or POLICIES), speed)
    mode = "spark" if asked.spark else way.mode
    _print_line({"bench": "generated", "line": "machine", "mode": mode, **_machine(), "speed": _speed(way)})
    if asked.spark:
        assert speed is not None
        return _run_on_spark(asked, sources, speed)
    return _run(tasks, way, asked.jobs if asked.virtual else 1)


def _run_on_spark(asked: argparse.Namespace, sources: Sources, speed: Speed) -> int:
    from bench.generated import on_spark
    from bench.spark_session import session

    progress("starting Spark")
    try:
        with session() as spark:
            on_spark.run(spark, on_spark.tasks(asked.chain, asked.seed), sources, speed, _print_line)
    except WrongRowsError as wrong:
        _print_line({"bench": "generated", "line": "error", "error": str(wrong)})
        return 1
    return 0


def _run(tasks: list[Task], way: Way, jobs: int) -> int:
    lines: list[dict[str, Any]] = []
    try:
        for done, compared in enumerate(each(tasks, way, jobs), 1):
            for line in (compared.chain, *compared.runs):
                lines.append(line)
                _print_line(line)
            progress(f"{done} of {len(tasks)}: {_in_short(compared)}")
    except WrongRowsError as wrong:
        _print_line({"bench": "generated", "line": "error", "error": str(wrong)})
        return 1
    for line in summary(lines):
        _print_line(line)
    return 0


def _in_short(compared: Compared) -> str:
    ratios = ", ".join(f"{run['policy']} {run['work_ratio']:.2f}" for run in compared.runs if run["line"] == "run")
    return f"chain {compared.chain['seed']}/{compared.chain['chain']}: {ratios}"


def _print_line(line: dict[str, Any]) -> None:
    print(json.dumps(line, ensure_ascii=False), flush=True)


def _machine() -> dict[str, Any]:
    from bench.filters import machine

    return {"machine": machine()}


def _speed(way: Way) -> dict[str, float] | None:
    if way.speed is None:
        return None
    return {"step_ns": round(way.speed.step_ns, 4), "row_call_ns": round(way.speed.row_call_ns, 1)}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.generated", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, action="append", help="may be repeated; 1 by default")
    parser.add_argument("--evaluation", action="store_true", help="seeds 1000 to 1004: 100 chains, about an hour")
    parser.add_argument(
        "--chain", type=int, action="append", choices=range(CHAINS), help="run only this chain of a seed"
    )
    parser.add_argument("--policy", action="append", choices=POLICIES, help="may be repeated; all policies by default")
    parser.add_argument("--data", metavar="DIR", help=f"folder of the data sets (also {FOLDER})")
    parser.add_argument("--columns", metavar="FILE", help="a Parquet file whose columns are used instead")
    parser.add_argument("--virtual", action="store_true", help="run on a virtual clock")
    parser.add_argument("--jobs", type=int, default=1, help="with --virtual: number of chains at a time")
    parser.add_argument(
        "--spark", action="store_true", help="run on a local Spark; 40 chains unless --seed or --chain is given"
    )
    parser.add_argument("--quick", action="store_true", help="run few chains with little work")
    parser.add_argument("--work", type=float, help="multiply the work of every chain")
    return parser


if __name__ == "__main__":
    # ended from outside, it still ends what it started
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main())
