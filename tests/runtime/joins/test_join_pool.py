"""What the streams of one join share under `auto`: a budget, and the order of probes of a hub, also through
a snapshot. Results are compared elsewhere, with DuckDB, for every policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import thalweg as tw
from thalweg.adapt import Observation, Verdict
from thalweg.adapt.auto import BURST, CHEAP_ROWS, Auto, BudgetSettings
from thalweg.adapt.policy import Costs
from thalweg.kernels.probe_chain import ProbeChain, ProbeRows
from thalweg.kernels.window_store import WindowStore
from thalweg.plan.filters.pipeline import Pipeline
from thalweg.plan.joins.graph import JoinTree
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_loop import JoinLoop
from thalweg.runtime.joins.join_options import JoinOptions
from thalweg.runtime.joins.join_pool import LOAN_NS, JoinPool

STAR = "a.kb = b.kb AND a.kc = c.kc AND a.kd = d.kd AND a.ke = e.ke"
SHARES = {"b": 0.9, "c": 0.9, "d": 0.8, "e": 0.2}
"""Of the rows of a that have a partner: e drops most, and is written last."""
OTHER = {"b": 0.2, "c": 0.9, "d": 0.8, "e": 0.9}
WINDOW, BATCH = 1_000, 500
PROBE_NS, UPDATE_NS, DECIDE_NS = 100, 50_000, 500_000


class Clock:
    """A clock that only probes and policies move."""

    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns


class Priced(ProbeChain):
    """Every probe takes the same time."""

    def probe(self, k: int, rows: ProbeRows, alive: np.ndarray) -> np.ndarray:
        assert isinstance(self.clock, Clock)
        self.clock.now_ns += PROBE_NS * len(alive)
        return super().probe(k, rows, alive)


def priced_probes(tree: JoinTree, stores: Mapping[str, WindowStore], clock: Callable[[], int]) -> Priced:
    return Priced(tree, stores, clock, timed=True)


def star(policy: str = "auto", seed: int = 0, **settings: float) -> JoinLoop:
    """A loop with its own clock, which updates of policies also move."""
    schemas = {x: pa.schema([("t", pa.int64()), (f"k{x}", pa.int64())]) for x in SHARES}
    schemas["a"] = pa.schema([("t", pa.int64()), *((f"k{x}", pa.int64()) for x in SHARES)])
    binding = JoinBinding.of(JoinPlan.of(STAR, WINDOW - 1, "t", 0), schemas)
    clock = Clock()
    loop = JoinLoop(
        binding, JoinOptions(policy, tw.policy(policy, **settings).settings, chain=priced_probes), clock,
        np.random.default_rng(seed),
    )  # fmt: skip
    assert list(loop.loops) == ["a", *SHARES]
    for one in loop.loops.values():
        if isinstance(one.policy, Auto):
            priced(one.policy, clock)
    return loop


def priced(policy: Auto, clock: Clock) -> None:
    update, decide = policy.update, policy._decide

    def slow_update(seen: Observation) -> Verdict | None:
        clock.now_ns += UPDATE_NS
        return update(seen)

    def slow_decide(costs: NDArray[np.float64], more: Costs | None) -> Verdict | None:
        clock.now_ns += DECIDE_NS
        return decide(costs, more)

    policy.update, policy._decide = slow_update, slow_decide  # type: ignore[method-assign]  # on this object only


def auto_of(loop: JoinLoop, alias: str) -> Auto:
    policy = loop.loops[alias].policy
    assert isinstance(policy, Auto)
    return policy


def drive(
    loop: JoinLoop, rows: int, start: int = 0, streams: Sequence[str] = "abcde",
    shares: Mapping[str, float] = SHARES, seed: int = 1,
) -> None:  # fmt: skip
    """Rows of every stream, a tick apart; every window has each key once."""
    rng = np.random.default_rng([seed, start])
    for first in range(start, start + rows, BATCH):
        t = np.arange(first, first + BATCH)
        for x in shares:
            if x in streams:
                list(loop.process(x, pa.record_batch({"t": t, f"k{x}": t % WINDOW})))
        if "a" in streams:
            keys = {
                f"k{x}": np.where(rng.random(BATCH) < share, rng.integers(0, WINDOW, BATCH), -1)
                for x, share in shares.items()
            }
            list(loop.process("a", pa.record_batch({"t": t, **keys})))
        loop.end_round()


def adapting_ns(loop: JoinLoop) -> int:
    works = [one.work for one in loop.loops.values()]
    return sum(work.times.profiling_ns + work.times.reoptimizing_ns + work.trials.loss_ns for work in works)


def named(loop: JoinLoop, alias: str) -> list[str]:
    one = loop.loops[alias]
    return [one.chain.pipeline.names[k] for k in one.order]


@pytest.mark.parametrize("budget", [0.01, 0.02, 0.1])
@pytest.mark.parametrize("seed", range(2))
def test_the_budget_is_one_of_the_whole_join(budget: float, seed: int) -> None:
    loop = star(seed=seed, budget=budget)
    drive(loop, 60_000, seed=seed)
    most = budget * loop.clock() + LOAN_NS * len(loop.loops)
    begun = 3 * (UPDATE_NS + DECIDE_NS)  # what is under way when it is used up, and the first updates of the hub
    assert 0 < adapting_ns(loop) <= most + begun + 2 * len(loop.loops) * UPDATE_NS
    assert named(loop, "a")[0] == "e"


def test_policies_share_one_credit() -> None:
    loop = star()
    drive(loop, 60_000)
    assert {id(auto_of(loop, alias).profiling_budget.credit) for alias in loop.loops} == {id(loop.pool.credit)}
    assert loop.pool.credit.time_ns == loop.clock()
    assert 0 < loop.pool.credit.spent_ns <= adapting_ns(loop)


def test_one_stream_with_tables_has_its_time_and_its_loan_once() -> None:
    schemas = {"a": pa.schema([("t", pa.int64()), ("k", pa.int64()), ("m", pa.int64())])}
    tables = {"d": pa.table({"k": [0, 1]}), "e": pa.table({"m": [0, 1]})}
    schemas |= {alias: table.schema for alias, table in tables.items()}
    plan = JoinPlan.of("a.k = d.k AND a.m = e.m", {"a": 5}, {"a": "t"}, {"a": 0})
    clock = Clock()
    loop = JoinLoop(
        JoinBinding.of(plan, schemas), JoinOptions("auto", tw.policy("auto").settings, chain=priced_probes), clock,
        np.random.default_rng(1), tables,
    )  # fmt: skip
    priced(auto_of(loop, "a"), clock)
    for first in range(0, 50_000, BATCH):
        t = np.arange(first, first + BATCH)
        list(loop.process("a", pa.record_batch({"t": t, "k": t % 7, "m": t % 3})))
        loop.end_round()
    assert loop.pool.credit.time_ns == loop.clock()
    assert loop.pool.credit.loan_ns == LOAN_NS


def test_slices_of_a_join_begin_longer_and_nothing_is_tried() -> None:
    alone = Auto(Pipeline(("a", "b"))).wants().slice_rows
    assert alone is not None
    assert alone < CHEAP_ROWS
    loop = star()
    assert all(one.policy.wants().slice_rows == CHEAP_ROWS for one in loop.loops.values())
    drive(loop, 60_000)
    assert all(one.work.trials.trials == 0 for one in loop.loops.values())


def test_streams_follow_the_one_they_all_find() -> None:
    loop = star()
    drive(loop, 60_000)
    for alias in "bcd":
        assert named(loop, alias)[:2] == ["a", "e"], "a comes first: it guards the others"
        work = loop.loops[alias].work
        assert any(f"rows of {alias} match rows of a" in switch.reason for switch in work.switches)
        assert sum(work.chain.profiled) == 0


def test_when_the_data_moves_the_others_follow_too() -> None:
    loop = star()
    drive(loop, 60_000)
    assert named(loop, "a")[0] == "e"
    drive(loop, 200_000, start=60_000, shares=OTHER)
    assert named(loop, "a")[0] == "b"
    assert [named(loop, alias)[:2] for alias in "cde"] == [["a", "b"]] * 3


def test_a_stream_that_knows_enough_follows_nobody() -> None:
    loop = star()
    drive(loop, 5_000)
    policy = auto_of(loop, "b")
    names = loop.loops["a"].chain.pipeline.names
    policy.evidence.recent = BURST
    loop.loops["a"].policy.begin(tuple(names.index(x) for x in "bcde"))
    assert loop.pool.found("b") is None
    policy.evidence.recent = 0
    loop.loops["a"].policy.begin(tuple(names.index(x) for x in "debc"))
    found = loop.pool.found("b")
    assert found is not None
    order, reason = found
    loop.loops["b"].follow(order, reason)
    assert named(loop, "b") == ["a", "d", "e", "c"]
    assert loop.pool.found("b") is None, "once"


def test_a_snapshot_restores_what_streams_share() -> None:
    loop = star()
    drive(loop, 60_000)
    again = star(seed=9)
    for alias, one in loop.loops.items():
        again.loops[alias].restore(one.snapshot())
    assert {alias: named(again, alias) for alias in again.loops} == {alias: named(loop, alias) for alias in loop.loops}
    assert again.pool.credit.loan_ns == 0.0, "nothing is lent a second time"
    drive(again, 80_000, start=60_000)
    assert named(again, "b")[:2] == ["a", "e"]
    assert adapting_ns(again) <= 0.02 * again.clock() + 3 * (UPDATE_NS + DECIDE_NS)


def test_a_stream_whose_hub_has_no_rows_learns_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.PROBE_NS", 1_000)  # which takes time, as it waits for its hub
    loop = star()
    drive(loop, WINDOW)  # every window has rows
    b = loop.loops["b"]
    t = np.full(BATCH, WINDOW - 1)
    for n in range(400):
        list(loop.process("b", pa.record_batch({"t": t, "kb": (n * BATCH + np.arange(BATCH)) % WINDOW})))
    assert b.work.chain.profile_tuples > 0
    assert named(loop, "b")[:2] == ["a", "e"]


@pytest.mark.parametrize("policy", ["static", "a-greedy"])
def test_other_policies_share_nothing(policy: str) -> None:
    loop = star(policy)
    drive(loop, 5_000)
    assert all(loop.pool.found(alias) is None for alias in loop.loops)


def test_a_follower_ignores_orders_its_trees_do_not_allow() -> None:
    """From a, d is reached directly; from c by way of b, which therefore must be found first."""
    graph = JoinPlan.of("a.k = d.k AND a.n = b.n AND b.j = d.j AND c.j = a.j", 9, "t", 0).graph
    chosen = (("a", (("d", "a"), ("b", "a"), ("c", "a"))), ("c", (("a", "c"), ("b", "a"), ("d", "b"))))
    trees = {root: graph.with_trees(chosen).tree(root) for root in ("a", "c")}
    profile = tw.policy("auto").settings
    assert isinstance(profile, BudgetSettings)
    policies = {r: Auto(tree.pipeline(), profile, np.random.default_rng(0)) for r, tree in trees.items()}
    pool = JoinPool(trees, policies)
    others = trees["a"].others
    policies["a"].begin(tuple(others.index(name) for name in ("d", "b", "c")))
    assert pool.found("c") is None
