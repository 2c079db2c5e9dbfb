"""`python -m bench.generated`: filter chains drawn from a seed, as JSON lines. WIP."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bench.generated.columns import FOLDER, data_folder
from bench.generated.compare import POLICIES, Compared, compare
from bench.generated.draw import CHAINS, Sources, draw
from bench.generated.outcome import Outcome, WrongRowsError
from bench.generated.spec import Chain, Order
from bench.generated.summary import summary
from bench.generated.virtual import run_virtual


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for."""
    asked = _parser().parse_args(arguments)
    sources = Sources(data_folder(asked.data), Path(asked.columns) if asked.columns else None)
    tasks = [(seed, number) for seed in asked.seed or [1] for number in asked.chain or range(CHAINS)]
    policies = tuple(asked.policy or POLICIES)
    one = partial(virtual_chain, sources=sources, policies=policies)
    lines: list[dict[str, Any]] = []
    for compared in _all(one, tasks, asked.jobs):
        for line in (compared.chain, *compared.runs):
            lines.append(line)
            print(json.dumps(line), flush=True)
        chain = compared.chain
        told = ", ".join(f"{r['policy']} {r['work_ratio']:.2f}" for r in compared.runs)
        print(f"bench: {chain['seed']}/{chain['chain']}: {told}", file=sys.stderr, flush=True)
    for line in summary(lines):
        print(json.dumps(line), flush=True)
    return 0


def virtual_chain(task: tuple[int, int], sources: Sources, policies: Sequence[str]) -> Compared:
    """One chain on the virtual clock."""
    chain = draw(*task, sources)
    return compare(chain, policies, partial(_virtual, chain), "virtual", again=False)


def _virtual(chain: Chain, policy: str, seed: int, limit_ns: float, orders: Sequence[Order] | None) -> Outcome:
    from bench.generated.virtual import run_orders

    return run_orders(chain, orders) if orders else run_virtual(chain, policy, seed, limit_ns)


def _all(one: Any, tasks: Sequence[tuple[int, int]], jobs: int) -> Iterator[Compared]:
    if jobs == 1:
        yield from map(one, tasks)
    else:
        with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
            yield from pool.map(one, tasks)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.generated")
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--chain", type=int, action="append")
    parser.add_argument("--policy", action="append", choices=POLICIES)
    parser.add_argument("--data", metavar="DIR", help=f"(also {FOLDER})")
    parser.add_argument("--columns", metavar="FILE")
    parser.add_argument("--virtual", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    return parser


_ = WrongRowsError
if __name__ == "__main__":
    sys.exit(main())
