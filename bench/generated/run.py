"""Chains one after the other: drawn, run, and printed as lines; on the virtual clock several at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from bench.generated import local, virtual
from bench.generated.burning import Speed
from bench.generated.compare import Compared, compare
from bench.generated.draw import Sources, draw
from bench.generated.outcome import Outcome
from bench.generated.spec import Order

Task = tuple[int, int]
"""A seed and the number of a chain."""


@dataclass(frozen=True)
class Way:
    """How chains are run; without `speed`, on the virtual clock."""

    sources: Sources
    policies: tuple[str, ...]
    speed: Speed | None = None

    @property
    def mode(self) -> str:
        """The mode, as it appears in the lines."""
        return "virtual" if self.speed is None else "local"


def run_task(task: Task, way: Way) -> Compared:
    """Run one chain and return its lines."""
    chain = draw(*task, way.sources)

    def run(policy: str, seed: int, limit_ns: float, orders: Sequence[Order] | None) -> Outcome:
        if way.speed is None:
            if orders is not None:
                return virtual.run_orders(chain, orders, seed)
            return virtual.run_virtual(chain, policy, seed, limit_ns)
        if orders is not None:
            return local.run_orders(chain, way.speed, orders, seed)
        return local.run_local(chain, way.speed, policy, seed, limit_ns)

    return compare(chain, way.policies, run, way.mode)


def each(tasks: Sequence[Task], way: Way, jobs: int) -> Iterator[Compared]:
    """Run the chains in order, `jobs` at a time."""
    if jobs == 1:
        for task in tasks:
            yield run_task(task, way)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        yield from pool.map(run_task, tasks, [way] * len(tasks))
