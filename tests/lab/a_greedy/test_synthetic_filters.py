"""The synthetic filters, their clocks and their accounts, compared with plain counting."""

from __future__ import annotations

import numpy as np
import pytest

from thalweg.cost import order_cost
from thalweg.lab.a_greedy.clocks import UNIT_NS, ProcessorClock, VirtualFilterClock
from thalweg.lab.a_greedy.filter_groups import FilterGroups, batches
from thalweg.lab.a_greedy.synthetic_filters import SyntheticFilters
from thalweg.lab.a_greedy.uneven_costs import chain


def test_virtual_time_is_what_the_evaluations_cost() -> None:
    groups = FilterGroups.of(4, 2)
    codes = groups.draw(np.random.default_rng(0), 5_000)
    costs = (1.0, 10.0, 1.0, 5.0)
    order = (2, 0, 3, 1)
    filters = SyntheticFilters(costs, "static", 0, written=order)
    work = filters.process(batches(codes, 1_000))
    spent, evaluated = 0.0, 0
    for code in codes.tolist():
        for k in order:
            evaluated += 1
            spent += costs[k]
            if not code >> k & 1:
                break
    assert filters.order == order
    assert work.chain.rows == 5_000
    assert sum(work.chain.evaluated) == evaluated
    assert work.times.total_ns == spent * UNIT_NS
    dropped = (codes[:, None] >> np.arange(4) & 1) == 0
    assert order_cost(order, dropped, costs) == pytest.approx(spent / 5_000)


def test_profiling_is_accounted_for_separately() -> None:
    codes = FilterGroups.of(4, 2).draw(np.random.default_rng(0), 20_000)
    work = SyntheticFilters([1.0] * 4, "a-greedy", 0, p=0.1).process(batches(codes))
    assert work.times.profiling_ns == sum(work.chain.profiled) * UNIT_NS > 0
    assert work.times.total_ns == (sum(work.chain.evaluated) + sum(work.chain.profiled)) * UNIT_NS


def test_the_virtual_clock_moves_only_when_spent() -> None:
    clock = VirtualFilterClock()
    assert clock() == clock() == 0
    clock.spend(70, since=clock())
    assert clock() == 70


def test_the_processor_clock_is_virtual_until_started() -> None:
    clock = ProcessorClock()
    clock.spend(10**9, since=clock())
    assert clock() == 10**9
    clock.start()
    begun = clock()
    assert begun >= 10**9
    clock.spend(200_000, since=begun)
    assert clock() - begun >= 200_000


def test_the_same_four_filters_are_expensive_whatever_they_cost() -> None:
    for seed in range(5):
        cheap, expensive = chain(10, seed), chain(100, seed)
        assert sorted(cheap.costs) == [1.0] * 4 + [10.0] * 4
        assert [c > 1 for c in cheap.costs] == [c > 1 for c in expensive.costs]
        assert cheap.written == expensive.written
        assert sorted(cheap.written) == list(range(8))
