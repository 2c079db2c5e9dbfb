"""The costs of an order of filters: against the enumeration of all outcomes, the paper's formulas, and all orders."""

from __future__ import annotations

import random
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.long_run import examples
from thalweg import objective
from thalweg.adapt.slice_length import MOST_ROWS
from thalweg.cost.order_load import SLICE_ROWS, FilterTimes, best_order, order_costs
from thalweg.lab.om.utility import Unary, chain_cost
from thalweg.plan.filters.pipeline import Pipeline
from thalweg.plan.objective import LEAST_CPU, Objective

SEEDS = st.integers(0, 2**32)
OBJECTIVES = [LEAST_CPU, objective.least_memory(), objective.balance(rate=0.4, memory=0.6)]


def drawn(n: int, r: random.Random, *, guarded: bool = False) -> tuple[FilterTimes, list[float]]:
    guards = [()] + [tuple({r.randrange(k)}) if guarded and r.random() < 0.4 else () for k in range(1, n)]
    pipeline = Pipeline(tuple(f"f{k}" for k in range(n)), tuple(guards))
    per_row = tuple(10 ** r.uniform(0, 5) for _ in range(n))
    fixed = tuple(r.choice([0.0, 10 ** r.uniform(2, 6)]) for _ in range(n))
    return FilterTimes(pipeline, per_row, fixed), [r.choice([0.0, 1.0, r.random(), r.random()]) for _ in range(n)]


def cpu_of_all_outcomes(times: FilterTimes, order: tuple[int, ...], passes: list[float], rows: int) -> float:
    """The expected time of a slice, over all outcomes of all its rows."""
    total = 0.0
    for outcome in product(product([False, True], repeat=len(passes)), repeat=rows):
        chance, alive = 1.0, list(outcome)
        for row in outcome:
            for k, passed in enumerate(row):
                chance *= passes[k] if passed else 1.0 - passes[k]
        spent = 0.0
        for k in order:
            spent += len(alive) * times.per_row_ns[k] + (times.fixed_ns[k] if alive else 0.0)
            alive = [row for row in alive if row[k]]
        total += chance * spent
    return total


@examples(30, long=500)
@given(n=st.integers(2, 3), rows=st.integers(1, 3), seed=SEEDS)
def test_cpu_time_is_that_of_all_outcomes(n: int, rows: int, seed: int) -> None:
    r = random.Random(seed)
    times, passes = drawn(n, r)
    order = tuple(r.sample(range(n), n))
    found = order_costs(times, np.array([order]), passes, rate=float(rows))
    assert found.cpu_ns[0] == pytest.approx(cpu_of_all_outcomes(times, order, passes, rows))


@examples(50, long=1_000)
@given(n=st.integers(1, 5), seed=SEEDS)
def test_rows_that_wait_are_those_of_the_paper(n: int, seed: int) -> None:
    r = random.Random(seed)
    times, passes = drawn(n, r)
    order, rate, round_s = tuple(r.sample(range(n), n)), 10 ** r.uniform(0, 6), r.choice([0.1, 1.0, 30.0])
    chain = [Unary(passes[k], 1e9 / times.per_row_ns[k]) for k in order]
    found = order_costs(times, np.array([order]), passes, rate, round_s)
    assert found.queued_rows[0] == pytest.approx(chain_cost(rate, chain, round_s).memory)


@examples(60, long=2_000)
@given(n=st.integers(2, 5), seed=SEEDS, wanted=st.sampled_from(OBJECTIVES))
def test_no_order_is_better_than_the_best_one(n: int, seed: int, wanted: Objective) -> None:
    r = random.Random(seed)
    times, passes = drawn(n, r, guarded=True)
    rate = 10 ** r.uniform(0, 6)

    def costs(order: tuple[int, ...]) -> tuple[float, float]:
        found = order_costs(times, np.array([order]), passes, rate)
        return float(found.cpu_ns[0]), float(found.queued_rows[0])

    guards = times.pipeline.guards
    allowed = [o for o in permutations(range(n)) if all(o.index(g) < o.index(k) for k in o for g in guards[k])]
    least = [min(costs(order)[which] for order in allowed) for which in (0, 1)]

    def score(order: tuple[int, ...]) -> float:
        cpu, rows = costs(order)
        if wanted.name == "balance":
            return 0.4 * cpu / least[0] + (0.6 * rows / least[1] if least[1] else 0.0)
        return rows if wanted.name == "least_memory" else cpu

    best = best_order(times, passes, rate, wanted)
    assert best in allowed
    assert score(best) == pytest.approx(min(map(score, allowed)))


@pytest.mark.parametrize("seed", range(5))
def test_many_filters_are_sorted_by_rank(seed: int) -> None:
    """Without fixed times and guards it is the best order, so no swap of two neighbors helps."""
    r = random.Random(seed)
    n = 9
    times = FilterTimes(Pipeline(tuple(map(str, range(n)))), tuple(r.uniform(1, 1e4) for _ in range(n)), (0.0,) * n)
    passes = [r.uniform(0.05, 0.95) for _ in range(n)]
    best = best_order(times, passes, 1e3)
    swapped = [(*best[:i], best[i + 1], best[i], *best[i + 2 :]) for i in range(n - 1)]
    found = order_costs(times, np.array([best, *swapped]), passes, 1e3).cpu_ns
    assert found[0] == pytest.approx(found.min())


def test_many_filters_come_after_their_guards() -> None:
    guards = ((), *(((k - 1,) if k % 2 else ()) for k in range(1, 10)))
    times = FilterTimes(Pipeline(tuple(map(str, range(10))), guards), tuple(range(10, 0, -1)), (0.0,) * 10)
    assert times.pipeline.respects(best_order(times, [0.5] * 10, 100.0))


def test_the_rate_decides_between_fixed_times_and_times_per_row() -> None:
    """One call of `quick` costs as much as 25 rows of `plain`, and both drop half of the rows."""
    times = FilterTimes(Pipeline(("quick", "plain")), per_row_ns=(1.0, 1_000.0), fixed_ns=(25_000.0, 0.0))
    orders = {rate: times.pipeline.label(best_order(times, (0.5, 0.5), rate)) for rate in (2.0, 10_000.0)}
    assert orders == {2.0: ["plain", "quick"], 10_000.0: ["quick", "plain"]}


def test_no_rows_and_endless_rates_have_an_order() -> None:
    times = FilterTimes(Pipeline(("a", "b")), (1.0, 2.0), (0.0, 5.0))
    for rate in (0.0, 1e-300, 1e15):
        for wanted in OBJECTIVES:
            assert sorted(best_order(times, (0.0, 0.0), rate, wanted)) == [0, 1]


def test_slices_are_as_long_as_those_of_the_loop() -> None:
    assert SLICE_ROWS == MOST_ROWS
