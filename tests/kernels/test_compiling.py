"""Time that numba spends compiling is neither work nor profiling."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from thalweg.kernels.compiling import WorkingClock, compiled_by, watch_compiling
from thalweg.kernels.probe_chain import ProbeChain, ProbeRows
from thalweg.kernels.salt import NO_SALT
from thalweg.kernels.warm_up import warm_up
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_loop import JoinLoop
from thalweg.runtime.joins.join_options import JoinOptions
from thalweg.runtime.joins.join_record import observed, take_counters


def new_function() -> Callable[[np.ndarray], Any]:
    """Return a new function, which is compiled at its first call and never before."""

    def smallest(values: np.ndarray) -> Any:
        least = values[0]
        for value in values:
            least = min(least, value)
        return least

    compiled: Callable[[np.ndarray], Any] = numba.njit(smallest)
    return compiled


def test_the_clock_stops_while_numba_compiles() -> None:
    watch_compiling()
    clock, function = WorkingClock(), new_function()
    begun, worked, compiled = time.perf_counter_ns(), clock(), compiled_by(clock)
    function(np.arange(3))
    work, compiling = clock() - worked, compiled_by(clock) - compiled
    wall = time.perf_counter_ns() - begun
    assert compiling > 0.5 * wall
    assert 0 <= work <= wall - compiling
    assert wall <= work + compiling + 50_000_000, "nothing is lost"


def test_the_clock_never_goes_back_in_any_thread() -> None:
    watch_compiling()
    clock, went_back, done = WorkingClock(), [], threading.Event()

    def look() -> None:
        last = clock()
        while not done.is_set():
            now = clock()
            if now < last:
                went_back.append(last - now)
            last = now

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(3):
            new_function()(np.arange(3))
    finally:
        done.set()
        for thread in threads:
            thread.join(10)
    assert went_back == []


@pytest.mark.parametrize("policy", ["a-greedy", "static"])
def test_a_predicate_that_numba_compiles_is_not_charged_with_it(policy: str) -> None:
    """Under a-greedy it is first called by profiling, because the predicate before it drops every row. A busy machine
    can interrupt one call, but not each of three; compiling would be charged in all of them."""
    shares = [share_charged(policy) for _ in range(3 if policy == "a-greedy" else 1)]
    assert min(shares) < 1 / 3000


def share_charged(policy: str) -> float:
    """Return the cost per row of a predicate that is compiled at its first call, as a share of the compiling time."""
    function = new_function()

    def positive(x: pa.Array) -> np.ndarray:
        return np.full(len(x), function(x.to_numpy()) > 0)

    front = tw.predicate(lambda x: x < 0, "x", name="nothing")
    second = tw.predicate(positive, "x", vectorized=True)
    keep = tw.filters(*([front, second] if policy == "a-greedy" else [second, front]), policy=policy, seed=1)
    list(keep.over(pa.table({"x": np.arange(1, 3000)})))
    (section,) = keep.report().sections
    assert section.times.compiling_ns > 20_000_000
    assert section.times.total_ns < section.times.compiling_ns
    if policy != "a-greedy":
        return 0.0
    assert section.predicates[1].profiled > 0
    cost_ns = section.predicates[1].cost_ns
    assert cost_ns is not None
    return cost_ns / section.times.compiling_ns


def star(chain: type[ProbeChain]) -> JoinLoop:
    schema = pa.schema([("k", pa.int64()), ("t", pa.int64())])
    plan = JoinPlan.of("a.k = b.k AND a.k = c.k", 1000, "t", 0)
    return JoinLoop(
        JoinBinding.of(plan, dict.fromkeys("abc", schema), NO_SALT),
        JoinOptions(
            "a-greedy", tw.policy("a-greedy", p=1.0, profile_window=50, alpha=1.0).settings, chain=chain
        ),
        WorkingClock(), np.random.default_rng(3),
    )  # fmt: skip


def run(loop: JoinLoop) -> None:
    rng = np.random.default_rng(1)
    for alias in "bca":
        batch = pa.record_batch({"k": rng.integers(0, 5000, 2000), "t": np.arange(2000)})
        for _ in loop.process(alias, batch):
            pass


def test_sampled_rows_are_probed_by_the_loops_that_are_warm() -> None:
    """A copy of rows with another memory layout would be another type, and would be compiled while profiling."""
    from thalweg.kernels.probing import find_partners, move

    warm_up()
    warm = set(find_partners.signatures), set(move.signatures)
    loop = star(ProbeChain)
    run(loop)
    assert loop.loops["a"].work.chain.profile_tuples > 100
    assert (set(find_partners.signatures), set(move.signatures)) == warm
    rows = ProbeRows({}, np.zeros(9, np.int64), np.zeros(9, np.int64), np.zeros((2, 9), np.int64))
    taken = rows.take(np.array([1, 5]))
    assert ProbeRows.joined([taken, taken]).starts.flags.c_contiguous
    assert taken.starts.flags.c_contiguous


def test_a_join_counts_compiling_separately() -> None:
    function = new_function()

    class Compiles(ProbeChain):
        """Needs a function that has not been warmed up."""

        def probe(self, *args: Any) -> Any:
            function(np.arange(3))
            return super().probe(*args)

    loop = star(Compiles)
    run(loop)
    records = {record.alias: record for record in observed(take_counters(loop))}
    assert records["a"].times.compiling_ns > 20_000_000
    assert records["a"].times.total_ns < records["a"].times.compiling_ns
    assert records["a"].times.profiling_ns <= records["a"].times.total_ns
