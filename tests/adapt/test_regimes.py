"""Data that moves too often to be followed is judged as a whole; data that stays for a while is followed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.adapt.seen import seen
from tests.adapt.virtual_stream import VirtualStream, least
from thalweg.adapt.drift_alarm import LEAST_MOVES, Regimes
from thalweg.adapt.profiling_budget import ProfilingBudget


def profiling_budget() -> ProfilingBudget:
    """Return a budget after rows that took a microsecond each."""
    profiling_budget = ProfilingBudget(0.02)
    for _ in range(3):
        profiling_budget.account(replace(seen(1), working_ns=10**8), 100_000)
    return profiling_budget


def regimes(every: int, moves: int) -> Regimes:
    """Return regimes in which the data has moved this many times, after this many rows each."""
    found = Regimes()
    for i in range(1, moves + 1):
        found.move(every * i)
    return found


def test_only_data_that_keeps_moving_is_volatile() -> None:
    assert regimes(100, 10).volatile(1_001, profiling_budget())
    assert not regimes(10_000_000, 10).volatile(100_000_001, profiling_budget())


def test_a_few_moves_do_not_make_data_volatile() -> None:
    assert not regimes(100, LEAST_MOVES - 1).volatile(1_000, profiling_budget())


def test_data_that_stops_moving_is_followed_again() -> None:
    found = regimes(100, 10)
    assert found.volatile(2_000, profiling_budget())
    assert not found.volatile(100_000_000, profiling_budget())


def test_recent_moves_count_more_than_old_ones() -> None:
    found = regimes(100, 20)
    rows = 2_000
    for _ in range(8):
        rows += 10_000_000
        found.move(rows)
    assert not found.volatile(rows, profiling_budget())


def test_two_moves_at_the_same_row_are_no_error() -> None:
    found = Regimes()
    for _ in range(6):
        found.move(0)
    assert found.volatile(1, profiling_budget())
    assert found.moved_at == 0


def test_unknown_costs_do_not_make_data_volatile() -> None:
    """Nothing has been accounted for: nan is not a reason to give up."""
    assert math.isnan(ProfilingBudget(0.02).row_ns)
    assert not regimes(10_000_000, 10).volatile(100_000_001, ProfilingBudget(0.02))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("every", [150, 1_000])
def test_alternating_data_costs_about_the_best_fixed_order(every: int, seed: int) -> None:
    """The data alternates between two kinds of rows: F0 drops one of them, F1 the other, and F2 some of both."""
    rng = np.random.default_rng(seed)
    rows = 240_000
    kind = np.arange(rows) // every % 2
    shares = np.array([[0.1, 0.9, 0.3], [0.9, 0.1, 0.3]])[kind]
    passed = rng.random((rows, 3)) < shares
    units = (8.0, 8.0, 8.0)
    stream = VirtualStream(units, "auto", seed)
    stream.process(passed)
    assert stream.spent <= 1.08 * least([passed], units)
    assert len([switch for switch in stream.loop.work.switches if switch.at > rows // 2]) <= 12


def test_data_that_stays_for_a_while_is_followed() -> None:
    rng = np.random.default_rng(3)
    phases = [rng.random((60_000, 3)) < ((0.05, 0.95, 0.9) if i % 2 else (0.95, 0.05, 0.9)) for i in range(8)]
    units = (8.0, 8.0, 8.0)
    stream = VirtualStream(units, "auto", 3)
    for i, passed in enumerate(phases):
        stream.process(passed)
        assert stream.loop.order[0] == (0 if i % 2 else 1)
    fixed = least([np.concatenate(phases)], units)
    assert stream.spent <= 1.15 * least(phases, units) < fixed
