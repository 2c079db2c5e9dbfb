"""Real time: sources wait for their instants, the clock sleeps for declared costs, and work takes its real time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from tests.runtime.joins.oracle import expected, rows
from thalweg.simulation import (
    Costs,
    MultiwayJoin,
    Selection,
    Source,
    WallClock,
    regular,
    simulate,
    tree_join,
)


class Wall:
    """A clock whose time passes by sleeping, and a little with every call."""

    def __init__(self, look_ns: int = 0) -> None:
        self.ns, self.look_ns = 10**15, look_ns
        self.slept: list[float] = []

    def now_ns(self) -> int:
        self.ns += self.look_ns
        return self.ns

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.ns += round(seconds * 1e9)

    def clock(self) -> WallClock:
        return WallClock(self.now_ns, self.sleep)


def test_without_costs_only_sources_are_waited_for() -> None:
    wall, table = Wall(), pa.table({"n": [1, 2, 3]})
    any_of = Selection("any", "s", tw.predicate(bool, "n", name="any"))
    trace = simulate({"s": Source(table, regular(4))}, any_of, clock=wall.clock())
    assert wall.slept == pytest.approx([0.25, 0.25, 0.25])
    assert trace.results.column("time").to_pylist() == pytest.approx([0.25, 0.5, 0.75])


def test_recorded_times_are_waited_for_from_the_first_on() -> None:
    wall = Wall()
    table = pa.table({"n": [1, 2, 3], "ts": pa.array([1_700_000_000, 1_700_000_002, 1_700_000_005], pa.timestamp("s"))})
    simulate({"s": Source(table, "ts")}, Selection("any", "s", tw.predicate(bool, "n", name="any")), clock=wall.clock())
    assert wall.slept == pytest.approx([2, 3])


def test_declared_costs_give_the_trace_of_one_virtual_cpu() -> None:
    rng = np.random.default_rng(2)
    keys = [pa.table({"k": rng.integers(0, 5, 40)}) for _ in range(2)]
    sources = {"a": Source(keys[0], regular(30), stamp="t"), "b": Source(keys[1], regular(20), stamp="t")}
    join = tree_join("join", ("a", "b"), "a.k = b.k", "1 second", "t", costs=Costs(move="30 ms", result="1 ms"))
    real = simulate(sources, join, clock=Wall().clock(), every=0.5)
    virtual = simulate(sources, join, cpus=1, every=0.5)
    assert real.to_json_lines() == virtual.to_json_lines()
    assert virtual.final["join"].most_queued > 5


def test_rows_wait_for_slow_work_and_none_is_lost() -> None:
    tables = {alias: pa.table({"k": [n % 3 for n in range(30)], "t": list(range(30))}) for alias in "ab"}
    sources = {alias: Source(table, regular(1000)) for alias, table in tables.items()}
    wall = Wall(look_ns=200_000)  # every look at the clock takes a fifth of the gap between arrivals
    trace = simulate(sources, MultiwayJoin("join", "a.k = b.k", 4, "t", 0), clock=wall.clock())
    assert rows(trace.rows()) == rows(expected(tables, "a.k = b.k", {"a": 4, "b": 4}))
    assert trace.final["join"].mean_wait > 0.001
    assert trace.end > 0.03


def test_the_clock_of_this_machine() -> None:
    source = Source(pa.table({"n": [1, 2]}), regular(100))
    trace = simulate({"s": source}, Selection("any", "s", tw.predicate(bool, "n", name="any")), clock=WallClock())
    first, second = trace.results.column("time").to_pylist()
    assert first >= 0.01
    assert second >= 0.02
