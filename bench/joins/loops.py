"""Joins that a user cannot ask for, by their loops: trees of binary joins, fixed orders known in hindsight, memory."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from bench.joins.ours import Stopwatch, no_lateness, sources, timed
from bench.joins.streams import JoinScenario
from bench.rounds import Trial
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.plan.joins.shape import Shape
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_loop import JoinLoop, make_join_loop
from thalweg.runtime.joins.join_options import JoinOptions
from thalweg.runtime.joins.join_protocol import WindowedJoin
from thalweg.runtime.joins.tree_loop import TreeLoop

Orders = Mapping[str, tuple[int, ...]]


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
    plan = JoinPlan.of(scenario.on, scenario.length, "ts", no_lateness(scenario))
    return JoinBinding.of(plan, {alias: table.schema for alias, table in scenario.tables.items()})


def loop_of(scenario: JoinScenario) -> JoinLoop:
    """Return a loop that never adapts."""
    return make_join_loop(
        binding_of(scenario), JoinOptions("static"), rng=np.random.default_rng(0), clock=time.perf_counter_ns
    )  # fmt: skip


def driven(loop: WindowedJoin, scenario: JoinScenario, watch: Stopwatch) -> Iterator[pa.RecordBatch]:
    """As `over` does: the stream that is furthest behind is read next, and every batch is a round."""
    batches = sources(scenario, watch)
    waiting = {alias: next(each) for alias, each in batches.items()}
    latest: dict[str, int | None] = dict.fromkeys(batches)
    while waiting:
        alias = min(waiting, key=lambda a: (latest[a] is not None, latest[a] or 0))
        yield from loop.process(alias, waiting.pop(alias))
        latest[alias] = loop.watermarks.latest(alias)
        following = next(batches[alias], None)
        if following is None:
            loop.watermarks.ended(alias)
        else:
            waiting[alias] = following
        loop.end_round()
