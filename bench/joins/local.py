"""`python -m bench.joins.local`: measure windowed joins in this process on one core, and print JSON lines.

Each scenario prints one line per variant, then one per target; progress goes to standard error. The exit code is 1 if
a variant gave other results than DuckDB. A missed target does not change the exit code.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench.joins.agenda import AGENDA, QUICK, Item
from bench.joins.loops import most_bytes
from bench.joins.measured import Measured
from bench.joins.peers import DuckDB
from bench.joins.targets import flatness, targets
from bench.rounds import WrongResultError, demand, interleave, progress


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    asked = _parser().parse_args(arguments)
    pa.set_cpu_count(1)
    agenda = QUICK if asked.quick else AGENDA
    print_line({"bench": "joins", "machine": machine()})
    done: list[Measured] = []
    for item in (item for name in dict.fromkeys(asked.scenario or agenda) for item in agenda[name]):
        try:
            measured = run(item, asked.rows, asked.rounds or (1 if asked.quick else item.rounds))
        except WrongResultError as wrong:
            print_line({"bench": "joins", "error": str(wrong)})
            return 1
        for line in (*measured.lines(), *targets(measured)):
            print_line(line)
        done.append(measured)
    for line in flatness(done):
        print_line(line)
    return 0


def run(item: Item, rows: int | None, rounds: int) -> Measured:
    """Measure one scenario; everything is compiled and warmed up before the rounds."""
    scenario = item.make(rows or item.rows)
    progress(f"{scenario.name}: warming up, comparing results")
    oracle = DuckDB(scenario)
    expected = oracle.result()
    variants = tuple(item.variants(scenario, oracle))
    for variant in variants:
        demand(variant.name, variant.run(0).result, expected)
    trials = interleave(variants, rounds, expected, scenario.name)
    return Measured(scenario, variants, trials, expected, most_bytes(scenario) if item.memory else None)


def print_line(line: dict[str, Any]) -> None:
    """Print one JSON object."""
    print(json.dumps(line), flush=True)


def machine() -> dict[str, Any]:
    """Return the machine and the versions on which the numbers depend."""
    names = ("pyarrow", "numpy", "numba", "duckdb", "polars")
    return {
        "cpus": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "caches": _caches(),
        "python": platform.python_version(),
        **{name: version(name) for name in names},
    }


def _caches() -> list[str]:
    """Return the caches of the first core, if the system reports them."""
    folders = sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"))
    words = [[(folder / name).read_text().strip() for name in ("level", "type", "size")] for folder in folders]
    return [f"L{level} {kind.lower()} {size}" for level, kind, size in words if kind != "Instruction"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.joins.local", description=__doc__)
    parser.add_argument("--scenario", action="append", choices=AGENDA, help="may be repeated; all scenarios by default")
    parser.add_argument("--rounds", type=int, help="rounds of every variant; by default set by the scenario")
    parser.add_argument("--rows", type=int, help="rows per stream of every scenario; by default set by the scenario")
    parser.add_argument(
        "--quick", action="store_true", help="few rows and one round: checks that it runs, measures nothing"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
