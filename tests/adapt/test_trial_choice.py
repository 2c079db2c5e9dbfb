"""Which filter is tried, and with how many rows: a trial never costs more than it may save, or than may be spent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.adapt.seen import seen
from thalweg.adapt.policy import Costs, Trial
from thalweg.adapt.profiling_budget import ProfilingBudget
from thalweg.adapt.trial_choice import TRIALS_SHARE, choose_trial
from thalweg.cost.filter_order import CostModel, OrderCosts
from thalweg.plan import Pipeline


def budget_after(working_ns: int, lost_ns: int = 0) -> ProfilingBudget:
    """Return a budget after this much work, and after trials that lost this much."""
    profiling_budget = ProfilingBudget(0.02)
    for _ in range(3):  # the first updates count for nothing
        profiling_budget.account(replace(seen(1), working_ns=working_ns // 4), 1)
    profiling_budget.account(replace(seen(1), working_ns=working_ns // 4, trial_ns=lost_ns, trial_loss_ns=lost_ns), 1)
    return profiling_budget


def plain(n: int) -> Pipeline:
    return Pipeline(tuple(f"F{k}" for k in range(n)))


def cost_model_of(dropped: np.ndarray, costs: np.ndarray, pipeline: Pipeline) -> CostModel:
    n = dropped.shape[1]
    return CostModel(~dropped * 1.0, np.ones(len(dropped)), 0.0, costs, np.zeros(n), 1024.0, pipeline)


def known(least: np.ndarray, most: np.ndarray, most_rows: np.ndarray) -> Costs:
    return Costs(least, most, np.zeros(len(least)), most_rows)


class Rear:
    """F0 drops nine rows in ten. F1 at the rear drops all; it has been timed on a few rows, by which it costs as much
    as F0, and may cost a hundredth."""

    def __init__(
        self, *, least: float = 10.0, most: float = 1_000.0, most_rows: int = 8, profiled: bool = True,
        guarded: bool = False, drops: float = 1.0,
    ) -> None:  # fmt: skip
        rng = np.random.default_rng(1)
        dropped = np.stack([rng.random(2_000) < 0.9, rng.random(2_000) < drops], axis=1)
        self.pipeline = Pipeline(("F0", "F1"), ((), (0,) if guarded else ()), (True, profiled))
        self.model = cost_model_of(dropped, np.array([1_000.0, 1_000.0]), self.pipeline)
        self.walk = self.model.walk((0, 1))
        self.costs = known(np.array([1_000.0, least]), np.array([1_000.0, most]), np.array([4_000, most_rows]))

    def choose(
        self,
        profiling_budget: ProfilingBudget | None = None,
        rows_seen: int = 100_000,
        batch_rows: float = 10_000.0,
        tried: int = 0,
    ) -> tuple[Trial | None, str]:
        return choose_trial(
            self.model, self.walk, self.costs, profiling_budget or budget_after(10**9),
            rows_seen=rows_seen, batch_rows=batch_rows, tried={1: tried},
        )  # fmt: skip


def test_a_filter_that_may_cost_much_less_than_it_seems_is_tried() -> None:
    trial, why_not = Rear().choose()
    assert trial is not None
    assert (trial.order, trial.candidate, why_not) == ((1, 0), 1, "")
    # what the order in force is expected to take on the trial's rows
    assert trial.expected_ns == pytest.approx(1_100.0 * trial.rows, rel=0.02)


@pytest.mark.parametrize(
    "nothing_to_try",
    [
        Rear(least=950.0),  # its cost is known
        Rear(profiled=False),
        Rear(guarded=True),  # it cannot come earlier
        Rear(drops=0.0),  # it would gain nothing there
    ],
)
def test_without_uncertainty_or_gain_there_is_no_trial(nothing_to_try: Rear) -> None:
    assert nothing_to_try.choose() == (None, "")


def test_a_filter_is_tried_again_after_twice_as_many_rows() -> None:
    assert Rear().choose(rows_seen=199_999, tried=100_000)[0] is None
    assert Rear().choose(rows_seen=200_000, tried=100_000)[0] is not None


@pytest.mark.parametrize(
    "profiling_budget", [budget_after(10**9, lost_ns=16 * 10**6), budget_after(10**9, lost_ns=10**9)]
)
def test_when_trials_used_up_their_share_the_reason_says_so(
    profiling_budget: ProfilingBudget,
) -> None:
    trial, why_not = Rear().choose(profiling_budget)
    assert trial is None
    assert why_not.startswith("held back by the budget: a trial of F1 may save up to")


def test_a_trial_that_would_show_too_little_is_held_back() -> None:
    """To show more than its largest call, it would need more rows than the batch has or the budget allows."""
    for rear, batch_rows, rows_seen in (
        (Rear(most_rows=4_000), 3_000.0, 100_000),
        (Rear(most_rows=64, most=1_000_000.0), 10_000.0, 1_000),
    ):
        trial, why_not = rear.choose(batch_rows=batch_rows, rows_seen=rows_seen)
        assert trial is None
        assert why_not.startswith("held back: measuring F1")


def test_it_begins_with_few_rows_and_takes_more_as_more_is_known() -> None:
    """Each trial makes the largest call larger: the next has more rows than that, until a batch is reached."""
    most_rows, sizes = 8, []
    for step in range(6):
        trial, _ = Rear(most_rows=most_rows).choose(rows_seen=100_000 << step)
        if trial is None:
            break
        assert trial.rows > most_rows
        sizes.append(trial.rows)
        most_rows = trial.rows
    assert len(sizes) >= 3
    assert sizes[0] <= 100
    assert sizes == sorted(sizes)


def test_the_more_a_row_may_cost_the_fewer_rows_are_tried() -> None:
    sizes = [Rear(most=most, most_rows=1).choose(rows_seen=20_000)[0] for most in (1e3, 1e5, 1e6, 1e7)]
    rows = [0 if trial is None else trial.rows for trial in sizes]
    assert rows == sorted(rows, reverse=True)
    assert rows[0] > 0
    assert rows[2] < 20  # of a millisecond each


def drawn(seed: int) -> tuple[CostModel, OrderCosts, Costs, ProfilingBudget, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    dropped = rng.random((1_000, n)) < rng.uniform(0.05, 0.95, n)
    dropped = dropped[dropped.any(axis=1)]
    costs = np.exp(rng.uniform(np.log(60), np.log(60_000), n))
    guards = tuple((int(rng.integers(k)),) if k and rng.random() < 0.2 else () for k in range(n))
    profiled = tuple(bool(rng.random() < 0.8) for _ in range(n))
    model = cost_model_of(dropped, costs, Pipeline(plain(n).names, guards, profiled))
    bounds = known(costs * rng.choice([0.01, 0.3, 1.0], n), costs * rng.choice([1.0, 3.0], n), rng.integers(1, 500, n))
    profiling_budget = budget_after(int(10 ** rng.uniform(6, 11)), int(10 ** rng.uniform(3, 7)))
    return model, model.walk(tuple(range(n))), bounds, profiling_budget, dropped, rng


def test_no_more_is_tried_than_it_may_save_and_than_may_be_spent() -> None:
    """Compared with brute force on the table: the rows that reach the candidate only because of the trial, at the upper
    bound of their cost; and what the order with the candidate in front would save, at the lower bound."""
    trials = 0
    for seed in range(400):
        model, walk, costs, profiling_budget, dropped, rng = drawn(seed)
        rows_seen, batch_rows = int(10 ** rng.uniform(2, 6)), float(rng.choice([100.0, 10_000.0]))
        trial, why_not = choose_trial(
            model, walk, costs, profiling_budget, rows_seen=rows_seen, batch_rows=batch_rows, tried={}
        )  # fmt: skip
        if trial is None:
            continue
        trials += 1
        assert why_not == ""
        k = trial.candidate
        assert model.pipeline.profiled[k]
        assert model.pipeline.respects(trial.order)
        assert 1 <= trial.rows <= batch_rows

        def alive(order: tuple[int, ...], k: int = k, dropped: np.ndarray = dropped) -> float:
            return float((~dropped[:, list(order[: order.index(k)])].any(axis=1)).mean())

        loss = trial.rows * float(costs.most_ns[k]) * (alive(trial.order) - alive(walk.order))
        cheap = np.where(np.arange(len(walk.order)) == k, costs.least_ns, model.costs)
        other = cost_model_of(dropped, cheap, model.pipeline)
        saved = other.walk(walk.order).total_ns - other.walk(trial.order).total_ns
        slack = 0.02 * walk.total_ns  # the costs by the table and the expected costs differ by this much
        assert loss <= 1.05 * (saved + slack) * rows_seen
        spendable = min(
            profiling_budget.available_ns, TRIALS_SHARE * profiling_budget.credit.earned_ns - profiling_budget.trials_ns
        )
        assert loss <= 1.05 * spendable + trial.rows * slack
        assert trial.rows * alive(trial.order) >= 1.4 * float(costs.most_rows[k])
    assert trials >= 40
