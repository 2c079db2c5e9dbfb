"""`auto` and what filters cost: regret and budget on chains with known costs, trials, costs that change."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tests.adapt.drawn_chain import DrawnChain
from tests.adapt.trial_log import Tried, watch_trials
from tests.adapt.virtual_stream import UNIT_NS, VirtualStream, adapting_ns
from thalweg.adapt import Observation, Verdict
from thalweg.adapt.profiling_budget import LOAN_NS, WARM
from thalweg.adapt.slice_length import FIRST_ROWS
from thalweg.cost.pipeline import best_order, order_cost

Update = Callable[[Observation], Verdict | None]
JUDGE_NS = 100_000


def independent(seed: int, rows: int, *shares: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.stack([rng.random(rows) < share for share in shares], axis=1)


def run(stream: VirtualStream, passed: np.ndarray) -> list[Tried]:
    """Return the trials of a run, and check its answer."""
    trials = watch_trials(stream, passed)
    assert (stream.process(passed) == passed.all(axis=1)).all()
    assert len(trials) == stream.loop.work.trials.trials
    return trials


def allowed_ns(chain: DrawnChain, budget: float, total_ns: int) -> float:
    """The budget, the loan, and the first rows: each is evaluated by every filter, and the first updates are free."""
    first = FIRST_ROWS * float(chain.per_row_ns.sum()) + float(chain.fixed_ns.sum()) + WARM * JUDGE_NS
    return budget * total_ns + LOAN_NS + first


def test_regret_and_budget_on_chains_it_was_not_tuned_for() -> None:
    """The best order costs 64 ms to 1.2 s. What is lost is lost while nothing is known: calls of up to a millisecond on
    slices of a few rows."""
    ratios = []
    for seed in range(30):
        chain = DrawnChain.of(seed)
        stream = chain.stream(seed, noise=0.05)
        assert (stream.process(chain.passed) == chain.passed.all(axis=1)).all()
        best, work = chain.best_ns, stream.loop.work
        assert stream.spent_ns <= 1.10 * best + 25e6, f"chain {seed}"
        ratios.append(stream.spent_ns / best)
        assert adapting_ns(work) <= allowed_ns(chain, 0.02, work.times.total_ns), f"chain {seed}"
        assert work.trials.loss_ns <= work.trials.ns
        assert (work.trials.trials > 0) == (work.trials.rows > 0) == (work.trials.ns > 0)
    assert float(np.exp(np.log(ratios).mean())) <= 1.08
    assert min(ratios) > 0.99


@pytest.mark.parametrize("budget", [0.005, 0.1])
def test_the_budget_holds_for_profiling_deciding_and_trials(budget: float) -> None:
    trials = 0
    for seed in range(100, 112):
        chain = DrawnChain.of(seed)
        stream = chain.stream(seed, noise=0.05, budget=budget)
        stream.process(chain.passed)
        work = stream.loop.work
        trials += work.trials.trials
        assert adapting_ns(work) <= allowed_ns(chain, budget, work.times.total_ns), f"chain {seed}"
    assert trials > 0


def test_a_cheap_filter_that_looks_expensive_moves_to_the_front() -> None:
    """200 µs per call and 60 ns per row: on the handful of rows that get to the rear, 20 µs per row; on a slice, next
    to nothing. The others hide it: they drop nearly everything before it."""
    passed = independent(1, 300_000, 0.1, 0.3, 0.3, 0.05)
    units = (8.0, 8.0, 8.0, 60 / UNIT_NS)
    stream = VirtualStream(units, "auto", 1, fixed_ns=(0, 0, 0, 200_000))
    stream.process(passed[:60_000])
    assert stream.loop.order[0] == 3
    stream.process(passed[60_000:])
    work = stream.loop.work
    assert stream.loop.order[0] == 3
    fixed = np.array([0, 0, 0, 200_000]) / 10_000  # per row of a batch
    best = min(
        order_cost(order, ~passed, (np.array(units) * UNIT_NS).tolist()) for order in ((3, 0, 1, 2), (3, 0, 2, 1))
    )
    assert stream.spent_ns <= 1.15 * (best + fixed.sum()) * len(passed)
    assert adapting_ns(work) <= 0.02 * work.times.total_ns + LOAN_NS


def test_some_chain_needs_a_trial_and_gets_one() -> None:
    """A trial is a slice with the candidate further forward, booked as such; order and rows do not change."""
    tried = 0
    for seed in range(12):
        chain = DrawnChain.of(seed)
        stream = chain.stream(seed)
        candidates: list[int] = []
        update = stream.policy.update

        def watched(
            seen: Observation, update: Update = update, stream: VirtualStream = stream,
            candidates: list[int] = candidates,
        ) -> Verdict | None:  # fmt: skip
            before = stream.policy.wants().trial
            verdict = update(seen)
            trial = stream.policy.wants().trial
            if trial is not None and trial is not before:
                candidates.append(trial.candidate)
                order = stream.policy.order
                assert trial.order.index(trial.candidate) < order.index(trial.candidate)
                others = [k for k in order if k != trial.candidate]
                assert [k for k in trial.order if k != trial.candidate] == others
                assert trial.rows >= 1
                assert trial.expected_ns > 0
            return verdict

        stream.policy.update = watched  # type: ignore[method-assign]
        stream.process(chain.passed)
        tried += stream.loop.work.trials.trials
        assert stream.loop.work.trials.trials <= len(candidates)
    assert tried >= 5


def chains_with_a_trial() -> Iterator[tuple[int, DrawnChain, Tried]]:
    """Seeds, their chains, and the first trial in each."""
    for seed in range(300, 324):
        chain = DrawnChain.of(seed, least=8, most_rows=40_000)
        tried = run(chain.stream(seed), chain.passed)
        if tried:
            yield seed, chain, tried[0]


def test_an_unprofiled_filter_is_never_the_candidate() -> None:
    """The filter that is tried first is hidden in a second run of the same chain: others are tried then, or none."""
    others = 0
    for seed, chain, first in chains_with_a_trial():
        hidden = first.candidate
        stream = chain.stream(seed, unprofiled=(hidden,))
        candidates = {trial.candidate for trial in run(stream, chain.passed)}
        assert hidden not in candidates, f"chain {seed}"
        assert stream.loop.work.chain.profiled[hidden] == 0
        others += len(candidates)
        if others >= 4:
            break
    assert others >= 4


@pytest.mark.parametrize(
    ("before", "after"),
    [(2.0, 20.0), (20.0, 2.0), (6.0, 60.0), (60.0, 6.0)],
)
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_tenfold_change_of_a_cost_is_followed(before: float, after: float, noise: float) -> None:
    """F0 is first before or after the change, depending on its cost, and last otherwise."""
    stream = VirtualStream((before, 10.0, 12.0), "auto", 3, noise=noise, fixed_ns=(20_000,) * 3)
    stream.process(independent(3, 150_000, 0.4, 0.4, 0.4))
    assert stream.loop.order == ((0, 1, 2) if before < after else (1, 2, 0))
    stream.units[0] = after
    stream.process(independent(4, 100_000, 0.4, 0.4, 0.4))
    assert stream.loop.order == ((1, 2, 0) if before < after else (0, 1, 2))
    late = stream.spent_ns
    rows = independent(5, 100_000, 0.4, 0.4, 0.4)
    stream.process(rows)
    calls = 3 * 20_000 / 5_000  # slices of at least so many rows
    best = best_order(~rows, (stream.units * UNIT_NS).tolist())[1] + calls
    assert (stream.spent_ns - late) / len(rows) <= 1.05 * best


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("factor", [20.0, 100.0])
def test_costs_that_depend_on_the_values(factor: float, seed: int) -> None:
    """F0 is cheap but on rows that F1 drops, where it costs many times as much: after F1 it is cheap, and first it is
    not. By one cost per filter it would go back and forth."""
    passed = independent(seed, 400_000, 0.3, 0.5, 0.6)

    def by_value(bits: np.ndarray, k: int) -> np.ndarray:
        return np.where((k == 0) & (bits >> 1 & 1 == 0), factor, 1.0)

    stream = VirtualStream((2.0, 4.0, 40.0), "auto", seed, by_value=by_value)
    best = (4.0 + passed[:, 1].mean() * 2.0 + passed[:, :2].all(axis=1).mean() * 40.0) * UNIT_NS * 200_000
    assert (stream.process(passed[:200_000]) == passed[:200_000].all(axis=1)).all()
    first, switches = stream.spent_ns, len(stream.loop.work.switches)
    assert first <= 1.25 * best
    stream.process(passed[200_000:])
    assert stream.loop.order == (1, 0, 2)
    # it is looked at again, more and more seldom, and on few rows
    assert stream.spent_ns - first <= 1.1 * best
    assert len(stream.loop.work.switches) - switches <= 6


@pytest.mark.parametrize("seed", range(4))
def test_a_very_expensive_filter_is_in_front_on_few_rows(seed: int) -> None:
    """F1 takes 200 ns per row, and a millisecond on the tenth of the rows that F0 drops. By what it costs after F0 it
    belongs in front; each visit there is short."""
    passed = independent(seed, 300_000, 0.9, 0.1)

    def by_value(bits: np.ndarray, k: int) -> np.ndarray:
        return np.where((k == 1) & (bits & 1 == 0), 5_000.0, 1.0)

    stream = VirtualStream((300 / UNIT_NS, 200 / UNIT_NS), "auto", seed, by_value=by_value)
    assert (stream.process(passed) == passed.all(axis=1)).all()
    best = (300 + 0.9 * 200) * len(passed)
    assert stream.loop.order == (0, 1)
    assert stream.spent_ns <= best + 600 * 1e6 / 10 * 5  # a few hundred rows at the front, five times


def test_an_unprofiled_filter_stays_after_one_that_drops_all() -> None:
    """Nothing is known of it, neither what it drops nor what it costs: a look-up that is paid for, say."""
    for lookup in range(1, 4):
        passed = independent(lookup, 50_000, 0.0, 0.5, 0.5, 0.5)
        stream = VirtualStream((40.0, 40.0, 40.0, 40.0), "auto", lookup, unprofiled=[lookup])
        stream.process(passed)
        assert stream.loop.work.chain.evaluated[lookup] == 0


def test_filters_that_are_all_alike_are_as_good_in_any_order() -> None:
    """Chance may prefer one order to another, but hardly does: nothing is lost by it, and switches are few."""
    passed = independent(7, 500_000, *(0.5,) * 6)
    stream = VirtualStream((4.0,) * 6, "auto", 7)
    stream.process(passed)
    work = stream.loop.work
    assert len(work.switches) <= 25
    assert sum(switch.at > 250_000 for switch in work.switches) <= 10
    assert stream.spent_ns <= 1.02 * best_order(~passed, (4.0 * UNIT_NS,) * 6)[1] * len(passed)


@pytest.mark.parametrize("written", [0, 3])
def test_a_filter_that_never_drops_ends_last(written: int) -> None:
    shares = [0.5, 0.5, 0.5]
    shares.insert(written, 1.0)
    stream = VirtualStream((4.0,) * 4, "auto", 8)
    stream.process(independent(8, 200_000, *shares))
    assert stream.loop.order[-1] == written


@pytest.mark.parametrize("cheap", [True, False])
def test_filters_after_one_that_drops_all_are_rarely_evaluated(cheap: bool) -> None:
    passed = independent(9, 200_000, 0.5, 0.5, 0.0)
    stream = VirtualStream((4.0, 4.0, 1.0 if cheap else 6.0), "auto", 9)
    assert not stream.process(passed).any()
    assert stream.loop.order[0] == 2
    work = stream.loop.work
    assert work.chain.evaluated[2] >= 0.98 * len(passed)
    assert work.chain.evaluated[0] + work.chain.evaluated[1] <= 0.04 * len(passed)


def test_slices_of_one_row() -> None:
    """Every slice is a call of each filter that its row gets to. The order is found, the answer is right, and the
    budget holds though every look costs as much as many rows."""
    passed = independent(10, 6_000, 0.9, 0.2, 0.5)
    stream = VirtualStream((40.0, 40.0, 40.0), "auto", 10, slice_rows=1)
    assert (stream.process(passed) == passed.all(axis=1)).all()
    assert stream.loop.order[0] == 1
    work = stream.loop.work
    assert work.trials.rows == work.trials.trials
    assert adapting_ns(work) <= 0.02 * work.times.total_ns + LOAN_NS + WARM * JUDGE_NS


def test_the_reason_for_the_order_is_reported_from_the_start() -> None:
    chain = DrawnChain.of(5)
    stream = chain.stream(5)
    assert stream.policy.standing.startswith("not enough seen yet")
    said = [stream.policy.standing]
    for start in range(0, 100_000, 2_000):
        stream.process(chain.passed[start : start + 2_000])
        said.append(stream.loop.take_work().in_force.standing)
    assert any(sentence.startswith("held back") for sentence in said)
    assert not any(sentence.startswith("not enough") for sentence in said[2:])
    assert all("\n" not in sentence and sentence for sentence in said)


def test_the_best_order_says_that_nothing_better_was_found() -> None:
    stream = VirtualStream((1.0, 4.0, 40.0), "auto", 11)
    passed = independent(11, 100_000, 0.3, 0.5, 0.7)
    assert stream.policy.standing.startswith("not enough seen yet")
    stream.process(passed)
    assert stream.loop.order == (0, 1, 2)
    assert stream.policy.standing.startswith("nothing better found")


def test_without_a_dropped_row_not_enough_is_ever_seen() -> None:
    stream = VirtualStream((1.0, 4.0), "auto", 12)
    stream.process(np.ones((50_000, 2), bool))
    assert stream.policy.standing.startswith("not enough seen yet")
    assert stream.loop.order == (0, 1)


def test_another_worker_continues_from_a_json_snapshot() -> None:
    chain = DrawnChain.of(6)
    first = chain.stream(6, noise=0.05)
    first.process(chain.passed)
    snapshot = json.loads(json.dumps(first.loop.snapshot()))
    second = chain.stream(7, noise=0.05)
    second.loop.restore(snapshot)
    assert second.loop.order == first.loop.order
    assert second.loop.cost_ns() == pytest.approx(first.loop.cost_ns(), rel=0.01)
    assert (second.process(chain.passed) == chain.passed.all(axis=1)).all()
    # it pays for nothing that is known: no loan, no first rows
    work = second.loop.work
    assert adapting_ns(work) <= 0.02 * work.times.total_ns
    assert second.spent_ns <= 1.05 * chain.best_ns


def test_the_order_of_an_earlier_run_is_left_if_it_is_wrong() -> None:
    passed = independent(13, 100_000, 0.2, 0.5, 0.8)
    right, wrong = (VirtualStream((4.0,) * 3, "auto", 13) for _ in range(2))
    for stream, order in ((right, (0, 1, 2)), (wrong, (2, 1, 0))):
        stream.policy.begin(order)
        stream.loop.order = stream.policy.order
        assert stream.policy.order == order
        wants = stream.policy.wants()
        for place, k in enumerate(order):
            assert not wants.evaluate[place:, k].any()  # known where it dropped the row, and after
        assert (stream.process(passed) == passed.all(axis=1)).all()
        assert stream.loop.order == (0, 1, 2)


def test_with_a_noisy_neighbor_the_mean_work_is_that_without() -> None:
    """Half of the calls take twice as long, in bursts; the thread's own time says so."""
    alone, disturbed = list[float](), list[float]()
    for seed in range(200, 216):
        chain = DrawnChain.of(seed)
        for neighbor, works in ((False, alone), (True, disturbed)):
            stream = chain.stream(seed, noise=0.05, neighbor=neighbor)
            assert (stream.process(chain.passed) == chain.passed.all(axis=1)).all()
            works.append(stream.spent_ns / chain.best_ns)
    assert float(np.mean(disturbed)) <= 1.05 * float(np.mean(alone))


def test_guards_hold_in_trials() -> None:
    """The filter that is tried first gets the first filter of the order as its guard, in a second run."""
    guarded = 0
    for seed, chain, first in chains_with_a_trial():
        guard, candidate = first.in_force[0], first.candidate
        for trial in run(chain.stream(seed, after={candidate: f"F{guard}"}), chain.passed):
            assert trial.order.index(guard) < trial.order.index(candidate), f"chain {seed}"
            guarded += trial.candidate == candidate
        if guarded >= 4:
            break
    assert guarded >= 4


@pytest.mark.parametrize("guarded", [False, True])
def test_a_cheap_filter_comes_forward_only_up_to_its_guard(guarded: bool) -> None:
    passed = independent(14, 200_000, 0.1, 0.3, 0.9, 0.05)
    units = (8.0, 8.0, 8.0, 60 / UNIT_NS)
    stream = VirtualStream(units, "auto", 14, fixed_ns=(0, 0, 0, 200_000), after={3: "F0"} if guarded else None)
    assert (stream.process(passed) == passed.all(axis=1)).all()
    for switch in stream.loop.work.switches:
        assert not guarded or switch.after.index(0) < switch.after.index(3)
    # after its guard, one row in ten gets to it
    assert stream.loop.order.index(3) == (1 if guarded else 0)
