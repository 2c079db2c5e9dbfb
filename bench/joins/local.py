"""`python -m bench.joins.local`: windowed joins in this process on one core, as JSON lines.

One line a variant, then one a target; progress goes to standard error. The exit code says whether all variants gave
the same results as DuckDB: a missed target is a measurement, a wrong row is not.
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
from bench.joins.measured import Measured
from bench.joins.ours import most_bytes
from bench.joins.peers import DuckDB
from bench.joins.targets import flatness, targets
from bench.rounds import WrongResultError, demand, interleave, progress


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for."""
    asked = _parser().parse_args(arguments)
    pa.set_cpu_count(1)
    agenda = QUICK if asked.quick else AGENDA
    tell({"bench": "joins", "machine": machine()})
    done: list[Measured] = []
    for item in (item for name in dict.fromkeys(asked.scenario or agenda) for item in agenda[name]):
        try:
            measured = run(item, asked.rows, asked.rounds or (1 if asked.quick else item.rounds))
        except WrongResultError as wrong:
            tell({"bench": "joins", "error": str(wrong)})
            return 1
        for line in (*measured.lines(), *targets(measured)):
            tell(line)
        done.append(measured)
    for line in flatness(done):
        tell(line)
    return 0


def run(item: Item, rows: int | None, rounds: int) -> Measured:
    """One scenario; everything is compiled and warm before the rounds."""
    scenario = item.make(rows or item.rows)
    progress(f"{scenario.name}: warming up, comparing results")
    oracle = DuckDB(scenario)
    expected = oracle.result()
    variants = tuple(item.variants(scenario, oracle))
    for variant in variants:
        demand(variant.name, variant.run(0).result, expected)
    trials = interleave(variants, rounds, expected, scenario.name)
    return Measured(scenario, variants, trials, expected, most_bytes(scenario) if item.memory else None)


def tell(line: dict[str, Any]) -> None:
    """One JSON object."""
    print(json.dumps(line), flush=True)


def machine() -> dict[str, Any]:
    """What the numbers depend on."""
    names = ("pyarrow", "numpy", "numba", "duckdb", "polars")
    return {
        "cpus": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "caches": _caches(),
        "python": platform.python_version(),
        **{name: version(name) for name in names},
    }


def _caches() -> list[str]:
    """Of the first core, where the system tells."""
    folders = sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"))
    words = [[(folder / name).read_text().strip() for name in ("level", "type", "size")] for folder in folders]
    return [f"L{level} {kind.lower()} {size}" for level, kind, size in words if kind != "Instruction"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.joins.local", description=__doc__)
    parser.add_argument("--scenario", action="append", choices=AGENDA, help="may be repeated; all when left out")
    parser.add_argument("--rounds", type=int, help="of every variant; each scenario has its own number")
    parser.add_argument("--rows", type=int, help="a stream, of every scenario; each has its own number")
    parser.add_argument(
        "--quick", action="store_true", help="few rows, one round: shows that it runs, measures nothing"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
