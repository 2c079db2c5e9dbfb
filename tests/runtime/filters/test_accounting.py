"""The counters equal what the predicates saw, for work and profiling separately, with every policy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thalweg as tw
from tests.kernels.watched import Watched
from tests.plan.filters.pipelines import pipelines
from tests.runtime.filters.scripted import Scripted
from thalweg.adapt import POLICIES, Observation, Verdict, make_policy, setting_names
from thalweg.events.parts import ChainCounts, TimeCounts
from thalweg.runtime.filters.filter_loop import FilterLoop
from thalweg.runtime.filters.loop_ledger import Work

EVERY = [*POLICIES, "scripted"]


def run(name: str, data: Any) -> tuple[Watched, Work, np.ndarray]:
    """A stream through the loop under a policy, on a clock that only filters move."""
    pipeline = data.draw(pipelines())
    n = len(pipeline)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    rows = data.draw(st.integers(0, 300))
    patterns = rng.integers(0, 2**n, 6)
    drops = ((rng.choice(patterns, rows)[:, None] >> np.arange(n)) & 1).astype(bool)
    watched = Watched(drops, pipeline, [2**k for k in range(n)])
    p = data.draw(st.sampled_from([0.2, 1.0]))
    if name == "scripted":
        policy: Any = Scripted(pipeline, seed=1, p=p, restless=0.5)
    else:
        profile = tw.policy(
            name, **({"p": p, "profile_window": 50, "alpha": 0.9} if "p" in setting_names(name) else {})
        ).settings
        policy = make_policy(name, pipeline, profile, rng)
    loop = FilterLoop(watched.chain, policy, rng, slice_rows=data.draw(st.sampled_from([1, 4, 50, 1024])))
    for part in np.array_split(np.arange(rows), data.draw(st.integers(1, 4))):
        loop.process(watched.batch(part.tolist()))
    return watched, loop.take_work(), drops


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=30)
@given(data=st.data())
def test_counts_and_times_add_up(name: str, data: st.DataObject) -> None:
    watched, work, drops = run(name, data)
    assert work.chain.rows == len(drops)
    assert work.chain.kept == int((~drops.any(axis=1)).sum())
    assert work.chain.evaluated == watched.evaluated(work=True)
    assert work.chain.profiled == watched.evaluated(work=False)
    passed = [0] * drops.shape[1]
    for call in watched.calls:
        if call.work:
            passed[call.filter] += int((~drops[list(call.rows), call.filter]).sum())
    assert work.chain.passed == passed
    assert work.calls.profile_errors == [0] * drops.shape[1]
    # time passes only in filters, so that the three accounts are known to the nanosecond
    cost = watched.costs_ns
    assert work.calls.busy_ns == [cost[k] * count for k, count in enumerate(work.chain.evaluated)]
    assert work.calls.profile_busy_ns == [cost[k] * count for k, count in enumerate(work.chain.profiled)]
    assert work.times.total_ns == watched.now_ns
    assert work.times.profiling_ns == sum(work.calls.profile_busy_ns)
    assert work.times.reoptimizing_ns == 0


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=15)
@given(data=st.data())
def test_no_row_is_evaluated_twice_by_one_filter(name: str, data: st.DataObject) -> None:
    watched, _, _ = run(name, data)
    pairs = [(call.filter, row) for call in watched.calls for row in call.rows]
    assert len(pairs) == len(set(pairs))


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("rows", [1, 999, 30_000])
def test_the_report_shows_what_the_predicates_counted(name: str, rows: int) -> None:
    calls = {"even": 0, "small": 0, "third": 0}

    def counting(label: str, test: Any) -> Any:
        def predicate(x: int) -> bool:
            calls[label] += 1
            return bool(test(x))

        return tw.predicate(predicate, f"x_{label}", name=label)

    keep = tw.filters(
        counting("even", lambda x: x % 2 == 0),
        counting("small", lambda x: x < rows // 10),
        counting("third", lambda x: x % 3 == 0),
        policy=tw.policy(name, **({"p": 0.1} if "p" in setting_names(name) else {})),
        seed=4,
    )
    column = pa.array(range(rows))
    kept = sum(b.num_rows for b in keep.over(pa.table({f"x_{label}": column for label in calls})))
    (section,) = keep.report().sections
    assert {p.name: p.evaluated + p.profiled for p in section.predicates} == calls
    assert section.evaluations == sum(calls.values())
    assert section.kept == kept == len(range(0, rows // 10, 6))
    assert section.rows == rows
    assert section.evaluations_of_all == 3 * rows
    if POLICIES[name].defaults is None:
        assert all(p.profiled == 0 for p in section.predicates)
        assert section.chain.profile_tuples == 0


class Thoughtful(Scripted):
    """A policy that records its observations, and takes time itself."""

    def __init__(self, watched: Watched, p: float) -> None:
        super().__init__(watched.pipeline, seed=1, p=p, restless=0.5)
        self.watched = watched
        self.shown: list[Observation] = []

    def update(self, seen: Observation) -> Verdict | None:
        self.watched.now_ns += 1_000_000
        self.shown.append(seen)
        return super().update(seen)


@pytest.mark.parametrize("p", [0.0, 1.0])
@pytest.mark.parametrize("slice_rows", [1, 8, 31])
def test_a_policy_sees_all_work_once_without_its_own_time(p: float, slice_rows: int) -> None:
    rng = np.random.default_rng(9)
    drops = rng.random((200, 3)) < 0.5
    drops[-1] = True  # the last slice is shown too
    watched = Watched(drops, costs_ns=[2, 4, 8])
    policy = Thoughtful(watched, p)
    loop = FilterLoop(watched.chain, policy, rng, slice_rows=slice_rows)
    loop.process(watched.batch(range(100)))
    loop.process(watched.batch(range(100, 200)))
    work = loop.take_work()
    for name, counted in (
        ("evaluated", work.chain.evaluated), ("passed", work.chain.passed), ("busy_ns", work.calls.busy_ns)
    ):  # fmt: skip
        assert sum(getattr(seen, name) for seen in policy.shown).tolist() == counted
    assert (
        sum(len(seen.profile) for seen in policy.shown) == work.chain.profile_tuples == (p and drops.any(axis=1).sum())
    )
    assert work.times.reoptimizing_ns == 1_000_000 * len(policy.shown)
    assert work.times.profiling_ns == sum(work.calls.profile_busy_ns)
    assert (
        work.times.total_ns
        == watched.now_ns
        == sum(work.calls.busy_ns) + work.times.profiling_ns + work.times.reoptimizing_ns
    )


def test_work_is_taken_once() -> None:
    watched = Watched([[False], [True]])
    rng = np.random.default_rng(1)
    loop = FilterLoop(watched.chain, make_policy("static", watched.pipeline, None, rng), rng)
    loop.process(watched.batch([0, 1]))
    assert loop.take_work().chain.rows == 2
    idle = loop.take_work()
    assert (idle.chain, idle.times, idle.in_force.rows, idle.switches) == (ChainCounts.none(1), TimeCounts(), 0, [])
    loop.process(watched.batch([0]))
    assert loop.take_work().chain.rows == 1
    assert loop.rows_seen == 3
