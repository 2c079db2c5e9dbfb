"""Results over time of one worker, against a queue that is worked off step by step."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.long_run import examples
from thalweg.cost.work_queue import accumulated, done_at, returned, returned_by, time_of

GRID = 41
RATES = st.lists(st.floats(0.0, 3.0), min_size=4, max_size=4)
"""Rates at four times; between them they change evenly."""
MADE = st.lists(st.floats(1.0, 100.0), min_size=4, max_size=4)


def over_time(values: list[float], times: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.interp(times, np.linspace(0.0, 10.0, len(values)), values)
    return found


def simulated(work_rates: list[float], made_rates: list[float], steps: int = 8000) -> tuple[np.ndarray, np.ndarray]:
    """Return times in small steps, and the results returned by each: arrivals wait, the oldest are done first."""
    step = 10.0 / steps
    middle = (np.arange(steps) + 0.5) * step
    work, made = over_time(work_rates, middle) * step, over_time(made_rates, middle) * step
    ends, done, first, left, total = [], 0.0, 0, float(work[0]), 0.0
    for n in range(steps):
        room = step
        while first <= n and room > 0:
            part = min(room, left)
            share = 1.0 if left <= 0 else part / left
            total += float(made[first]) * share * (1.0 - done)
            room -= part
            if part >= left:
                first += 1
                done, left = 0.0, float(work[first]) if first < steps else math.inf
            else:
                done += share * (1.0 - done)
                left -= part
        ends.append(total)
    return np.arange(1, steps + 1) * step, np.array(ends)


@examples(25, long=500)
@given(work=RATES, made=MADE)
def test_results_are_those_of_a_queue_step_by_step(work: list[float], made: list[float]) -> None:
    times = np.linspace(0.0, 10.0, 401)
    load, results = (accumulated(times, over_time(values, times)) for values in (work, made))
    steps, found = simulated(work, made)
    near = 0.01 * max(made) + 0.02 * float(found[-1])
    for by in (1.0, 4.0, 7.5, 10.0):
        # rows without work that wait for others are all returned at one moment, which the steps meet only nearly
        early, late = np.interp([by - 0.05, by + 0.05], steps, found)
        assert early - near <= returned_by(times, load, results, by) <= late + near
    assert returned(times, load, results)[-1] == pytest.approx(found[-1], abs=near)
    wanted = 0.5 * float(found[-1])
    assert time_of(times, load, results, wanted) == pytest.approx(float(np.interp(wanted, found, steps)), abs=0.25)


@examples(25, long=500)
@given(work=RATES)
def test_work_is_done_after_all_that_came_before(work: list[float]) -> None:
    """What arrived by a time ends at the latest of the ends that any last pause of the worker would lead to."""
    times = np.linspace(0.0, 10.0, GRID)
    load = accumulated(times, over_time(work, times))
    done = done_at(times, load)
    for n in range(GRID):
        assert done[n] == pytest.approx(max(times[u] + load[n] - load[u] for u in range(n + 1)))
    assert np.all(done >= times - 1e-9)


def test_what_is_never_made_is_never_returned() -> None:
    times = np.linspace(0.0, 10.0, 11)
    assert time_of(times, times, 5.0 * times, 51.0) == math.inf
    assert time_of(times, 0.0 * times, 5.0 * times, 50.0) == 10.0


@examples(20, long=200)
@given(one=RATES, other=RATES)
def test_arrays_of_rates_are_accumulated_one_by_one(one: list[float], other: list[float]) -> None:
    times = np.linspace(0.0, 10.0, GRID)
    both = np.array([over_time(one, times), over_time(other, times)])
    loads = accumulated(times, both)
    for row, rates in zip(loads, both, strict=True):
        slices = [(rates[n] + rates[n + 1]) / 2 * (times[n + 1] - times[n]) for n in range(GRID - 1)]
        assert row == pytest.approx([sum(slices[:n]) for n in range(GRID)])
    assert np.array_equal(done_at(times, loads)[1], done_at(times, loads[1]))
    assert accumulated(times, np.array([2.0])) == pytest.approx(2.0 * times)  # a rate that does not change
