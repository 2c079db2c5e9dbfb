"""Workers share the costs of calls: others use what one has found by a trial, unless they know it better."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tests.adapt.drawn_chain import DrawnChain
from tests.adapt.memory_pool import Gift, MemoryPool
from tests.adapt.virtual_stream import UNIT_NS, VirtualStream
from thalweg.adapt import Observation, Verdict

Update = Callable[[Observation], Verdict | None]
WORKERS, PART = 4, 2_000
NOTHING = np.zeros((0, 4), dtype=bool)


def rows_of(seed: int, rows: int, *shares: float) -> np.ndarray:
    return np.random.default_rng(seed).random((rows, len(shares))) < shares


def run_workers(chain: DrawnChain, seed: int, *, shared: bool) -> list[VirtualStream]:
    """Each worker has a quarter of the rows."""
    gifts: list[Gift] = []
    streams = [
        chain.stream(100 * seed + i, noise=0.05, pool=MemoryPool(gifts, i) if shared else None) for i in range(WORKERS)
    ]
    for i, start in enumerate(range(0, len(chain.passed), PART)):
        part = chain.passed[start : start + PART]
        assert (streams[i % WORKERS].process(part) == part.all(axis=1)).all()
    return streams


def test_workers_that_share_work_less_than_workers_that_do_not() -> None:
    spent, trials = {}, 0
    for shared in (False, True):
        streams = []
        for seed in range(300, 308):
            chain = DrawnChain.of(seed, least=8, most_rows=40_000)
            streams += run_workers(chain, seed, shared=shared)
        spent[shared] = sum(stream.spent_ns for stream in streams)
        trials += sum(stream.loop.work.trials.trials for stream in streams)
    assert trials > 0
    assert spent[True] < 0.97 * spent[False]


def test_a_new_worker_knows_the_costs_that_siblings_found() -> None:
    costs = {"cost_ns": [2_000.0, 60.0], "fixed_ns": [0, 200_000], "error_ns": [20.0, 1.0]}
    pool = MemoryPool([Gift(1, NOTHING, False, costs)], 0)
    stream = VirtualStream((8.0, 60 / UNIT_NS), "auto", 1, pool=pool, fixed_ns=(0, 200_000))
    # every row is dropped by the first, so the second is never called by ordinary work
    stream.process(rows_of(1, 16, 0.0, 0.5))
    assert stream.loop.cost_ns()[1] == pytest.approx(60.0, rel=0.5)


def siblings_say(stream: VirtualStream, pool: MemoryPool, ns: float, error: float | None) -> float:
    """The cost of filter 1 according to this worker, right after a sibling shared a cost."""
    costs = {"cost_ns": [None, ns], "fixed_ns": [None, 0], "error_ns": [None, error]}
    pool.gifts.append(Gift(1, NOTHING, False, costs))
    stream.process(rows_of(3, 64, 0.5, 0.5))
    return stream.loop.cost_ns()[1]


def warm_stream() -> tuple[VirtualStream, MemoryPool]:
    """A worker that knows from many calls that filter 1 costs 2 µs per row."""
    pool = MemoryPool([], 0)
    stream = VirtualStream((8.0, 8.0), "auto", 2, pool=pool)
    stream.process(rows_of(2, 100_000, 0.5, 0.5))
    assert stream.loop.cost_ns()[1] == pytest.approx(2_000.0, rel=0.1)
    return stream, pool


@pytest.mark.parametrize("error", [None, 1_000.0, 1e6])
def test_a_well_known_cost_is_not_replaced_by_a_less_certain_one(error: float | None) -> None:
    stream, pool = warm_stream()
    assert siblings_say(stream, pool, 50_000.0, error) == pytest.approx(2_000.0, rel=0.1)


def test_own_calls_correct_the_cost_from_a_sibling() -> None:
    """A sibling's machine may be slower: its cost is taken over, and after a few calls this worker's own counts."""
    stream, pool = warm_stream()
    siblings_say(stream, pool, 20_000.0, 0.0)
    passed = rows_of(4, 60_000, 0.5, 0.5)
    assert (stream.process(passed) == passed.all(axis=1)).all()
    assert stream.loop.cost_ns()[1] == pytest.approx(2_000.0, rel=0.2)


def test_costs_that_siblings_do_not_know_are_passed_over() -> None:
    costs = {"cost_ns": [None, None], "fixed_ns": [None, None], "error_ns": [None, None]}
    pool = MemoryPool([Gift(1, NOTHING, False, costs), Gift(2, NOTHING, False, {})], 0)
    stream = VirtualStream((8.0, 8.0), "auto", 5, pool=pool)
    passed = rows_of(5, 10_000, 0.5, 0.5)
    assert (stream.process(passed) == passed.all(axis=1)).all()
    assert not any(math.isnan(ns) for ns in stream.loop.cost_ns())


def test_what_a_trial_found_is_given_at_once() -> None:
    """Before anything else is shared: the gift that follows a trial knows its candidate."""
    given = 0
    for seed in range(300, 312):
        chain = DrawnChain.of(seed, least=8, most_rows=20_000)
        gifts: list[Gift] = []
        stream = chain.stream(seed, pool=MemoryPool(gifts, 0))
        update, candidates = stream.policy.update, list[tuple[int, float, float]]()

        def watched(
            seen: Observation, stream: VirtualStream = stream, update: Update = update,
            candidates: list[tuple[int, float, float]] = candidates, gifts: list[Gift] = gifts,
        ) -> Verdict | None:  # fmt: skip
            if seen.trial_ns:
                trial = stream.policy.wants().trial
                assert trial is not None
                k = trial.candidate
                candidates.append((k, gifts[-1].costs["cost_ns"][k], stream.loop.costs[k].per_row_ns))
            return update(seen)

        stream.policy.update = watched  # type: ignore[method-assign]
        stream.process(chain.passed)
        for _, given_ns, known in candidates:
            assert given_ns == pytest.approx(known, rel=0.01, abs=0.1)
        given += len(candidates)
    assert given > 0


def test_what_one_worker_has_tried_the_others_need_not_try() -> None:
    """Over some chains: fewer trials than if each tried for itself, less lost by them, and no more work."""
    trials, losses, spent = {}, {}, {}
    for shared in (False, True):
        streams = []
        for seed in range(300, 312):
            chain = DrawnChain.of(seed, least=8, most_rows=40_000)
            streams += run_workers(chain, seed, shared=shared)
        trials[shared] = sum(stream.loop.work.trials.trials for stream in streams)
        losses[shared] = sum(stream.loop.work.trials.loss_ns for stream in streams)
        spent[shared] = sum(stream.spent_ns for stream in streams)
    assert 0 < trials[True] < trials[False]
    assert losses[True] < losses[False]
    assert spent[True] < spent[False]


def test_a_trial_with_a_shared_cost_has_more_than_one_row() -> None:
    lost: dict[int, int] = {}
    for seed in range(300, 312):
        chain = DrawnChain.of(seed, least=8, most_rows=40_000)
        for stream in run_workers(chain, seed, shared=True):
            work = stream.loop.work
            if work.trials.trials:
                lost[seed] = min(lost.get(seed, 10**9), work.trials.rows // work.trials.trials)
    assert min(lost.values()) > 1, lost
