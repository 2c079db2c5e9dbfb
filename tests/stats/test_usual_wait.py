"""The time charged for a call that waits for a service, and for one that is interrupted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.stats import UsualWait

SIZES = [[1000], [16, 1000, 300], [4, 16_000]]
times = st.tuples(st.integers(1, 16_384), st.integers(0, 10**10), st.integers(0, 10**10))


@pytest.mark.parametrize("sizes", SIZES)
def test_interrupted_calls_are_charged_their_cpu_time(sizes: list[int]) -> None:
    """This holds even if four of any nine calls are interrupted."""
    rng = np.random.default_rng(1)
    wait = UsualWait()
    for number in range(200):
        rows = sizes[number % len(sizes)]
        cpu = 10_000 + 200 * rows
        wall = cpu + (int(rng.uniform(1e6, 5e6)) if number % 9 in (2, 4, 7, 8) else 0)
        counted = wait.counted(rows, wall, cpu)
        assert number < 9 or counted == cpu


@pytest.mark.parametrize("seed", range(5))
def test_frequent_interruptions_are_rarely_charged(seed: int) -> None:
    rng = np.random.default_rng(seed)
    wait = UsualWait()
    as_the_wall = interrupted = 0
    for _ in range(1_000):
        away = int(rng.uniform(1e6, 5e6)) if rng.random() < 0.2 else 0
        counted = wait.counted(1000, 210_000 + away, 210_000)
        interrupted += away > 0
        as_the_wall += counted > 220_000
    assert as_the_wall <= 0.1 * interrupted


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(("per_row", "per_call"), [(50_000, 0), (0, 2_000_000), (1_000, 2_000_000), (50_000, 100_000)])
def test_a_predicate_that_waits_is_charged_for_the_whole_wait(sizes: list[int], per_row: int, per_call: int) -> None:
    """A look-up per row, or one for all rows, in calls of any size."""
    wait = UsualWait()
    counted = wall = 0
    for number in range(120):
        rows = sizes[number % len(sizes)]
        took = 10_000 + 100 * rows + per_row * rows + per_call
        wall += took
        counted += wait.counted(rows, took, 10_000 + 100 * rows)
    assert counted >= 0.98 * wall


def test_waiting_counts_fully_when_calls_grow_or_shrink() -> None:
    """The filter moved to the front or to the end: the usual wait per row or per call holds at the new size too."""
    for per_row, per_call in ((50_000, 0), (0, 2_000_000)):
        for before, now in ((16, 16_000), (16_000, 16)):
            wait = UsualWait()
            for _ in range(50):
                wait.counted(before, 1_000 + per_row * before + per_call, 1_000)
            took = 1_000 + per_row * now + per_call
            assert wait.counted(now, took, 1_000) == took


def test_the_first_calls_are_charged_their_wall_clock_time() -> None:
    wait = UsualWait()
    assert [wait.counted(10, 5_000_000, 1_000) for _ in range(3)] == [5_000_000] * 3


@given(st.lists(times, max_size=40))
def test_a_call_is_charged_between_cpu_and_wall_clock_time(calls: list[tuple[int, int, int]]) -> None:
    wait = UsualWait()
    for rows, wall, cpu in calls:
        assert min(cpu, wall) <= wait.counted(rows, wall, cpu) <= wall
