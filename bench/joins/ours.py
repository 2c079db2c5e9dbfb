"""Our own ways to join: `tw.join` under a policy, trees of binary joins, and fixed orders known in hindsight."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import thalweg as tw
from bench.joins.checksum import Checksum
from bench.joins.streams import JoinScenario
from bench.rounds import Trial
from thalweg.plan.join_plan import JoinPlan
from thalweg.plan.join_shape import Shape
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_loop import JoinLoop, make_join_loop
from thalweg.runtime.joins.join_options import JoinOptions
from thalweg.runtime.joins.join_protocol import WindowedJoin
from thalweg.runtime.joins.tree_loop import TreeLoop

Orders = Mapping[str, tuple[int, ...]]


class Stopwatch:
    """CPU and wall time from when it is started, without what is done while it is held."""

    def __init__(self) -> None:
        self.starts = 0
        self.start()

    def start(self) -> None:
        """Measure from this moment on."""
        self.starts += 1
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def held(self, began: tuple[float, float]) -> None:
        """What has passed since then does not count."""
        wall, cpu = self.now()
        self.wall += wall - began[0]
        self.cpu += cpu - began[1]

    @staticmethod
    def now() -> tuple[float, float]:
        """Return wall-clock time and CPU time."""
        return time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        """Both, since the start."""
        wall, cpu = self.now()
        return wall - self.wall, cpu - self.cpu


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds are those since the watch was last started; so many of the results came before."""

    checksum: Checksum
    before: int
    wall: float
    cpu: float


def timed(scenario: JoinScenario, results: Iterable[pa.RecordBatch], watch: Stopwatch) -> Timed:
    """Take the results; looking at them is not timed."""
    checksum = Checksum(list(scenario.tables))
    before, starts = 0, watch.starts
    for batch in results:
        began = watch.now()
        if watch.starts > starts:
            before, starts = checksum.rows, watch.starts
        checksum.add(batch)
        watch.held(began)
    return Timed(checksum, before, *watch.read())


def policy_trial(scenario: JoinScenario, policy: str, seed: int, **settings: Any) -> Trial:
    """`tw.join` as a user calls it. Probes are those of the report, by stream whose rows probe."""
    join = tw.join(scenario.on, scenario.length, "ts", lateness=_none(scenario), policy=policy, seed=seed, **settings)
    watch = Stopwatch()
    sources = {a: _read(batches, scenario, watch) for a, batches in scenario.batches.items()}
    took = timed(scenario, join.over(**sources), watch)
    streams = join.report().to_dict()["sections"][0]["streams"]
    return Trial(
        took.wall, took.cpu, took.checksum.result,
        {alias: sum(counts["evaluated"]) for alias, counts in streams.items()},
        {alias: sum(counts["profiled"]) for alias, counts in streams.items()},
        {
            "looked": sum(counts["looked"] for counts in streams.values()),
            "timed_results": took.checksum.rows - took.before,
        },
    )  # fmt: skip


def tree_trial(scenario: JoinScenario, shape: Shape, seed: int) -> Trial:
    """Every node stores what its inputs have put together."""
    loop = TreeLoop(binding_of(scenario), shape)
    watch = Stopwatch()
    took = timed(scenario, driven(loop, scenario, watch), watch)
    made = sum(node.made for node in loop.nodes)
    counts = {"intermediate": made - took.checksum.rows}
    return Trial(took.wall, took.cpu, took.checksum.result, counts=counts)


def order_trial(scenario: JoinScenario, orders: Orders) -> Trial:
    """Each stream's rows probe in a fixed order."""
    loop = loop_of(scenario)
    for alias, order in orders.items():
        loop.loops[alias].restore({"policy": "static", "order": list(order)})
    watch = Stopwatch()
    took = timed(scenario, driven(loop, scenario, watch), watch)
    evaluated = {a: sum(one.work.chain.evaluated) for a, one in loop.loops.items()}
    return Trial(took.wall, took.cpu, took.checksum.result, evaluated)


def most_bytes(scenario: JoinScenario) -> int:
    """Of all windows together, when they are largest."""
    loop, most = loop_of(scenario), 0
    for _ in driven(loop, scenario, Stopwatch()):
        most = max(most, sum(store.nbytes for store in loop.stores.values()))
    return most


def binding_of(scenario: JoinScenario) -> JoinBinding:
    """The plan and the columns."""
    plan = JoinPlan.of(scenario.on, scenario.length, "ts", _none(scenario))
    return JoinBinding.of(plan, {alias: table.schema for alias, table in scenario.tables.items()})


def loop_of(scenario: JoinScenario) -> JoinLoop:
    """Return a loop that never adapts."""
    return make_join_loop(
        binding_of(scenario), JoinOptions("static"), rng=np.random.default_rng(0), clock=time.perf_counter_ns
    )  # fmt: skip


def driven(loop: WindowedJoin, scenario: JoinScenario, watch: Stopwatch) -> Iterator[pa.RecordBatch]:
    """As `over` does: the stream that is furthest behind is read next, and every batch is a round."""
    sources = {a: _read(batches, scenario, watch) for a, batches in scenario.batches.items()}
    waiting = {alias: next(source) for alias, source in sources.items()}
    latest: dict[str, int | None] = dict.fromkeys(sources)
    while waiting:
        alias = min(waiting, key=lambda a: (latest[a] is not None, latest[a] or 0))
        yield from loop.process(alias, waiting.pop(alias))
        latest[alias] = loop.watermarks.latest(alias)
        following = next(sources[alias], None)
        if following is None:
            loop.watermarks.ended(alias)
        else:
            waiting[alias] = following
        loop.end_round()


def _read(batches: list[pa.RecordBatch], scenario: JoinScenario, watch: Stopwatch) -> Iterator[pa.RecordBatch]:
    """The clock starts anew when windows are full: with the last stream that gets there."""
    rows = 0
    for batch in batches:
        if rows < scenario.filling <= rows + batch.num_rows:
            yield batch
            watch.start()
        else:
            yield batch
        rows += batch.num_rows


def _none(scenario: JoinScenario) -> int | str:
    return 0 if isinstance(scenario.length, int) else "0 seconds"
