"""The length of slices with `auto`: short while nothing is known and after the data moves, long if calls are
expensive."""

from __future__ import annotations

import numpy as np
import pytest

from tests.adapt.drawn_chain import DrawnChain
from tests.adapt.slice_log import watch_slices
from tests.adapt.virtual_stream import UNIT_NS, VirtualStream
from thalweg.adapt.slice_length import FIRST_ROWS, SLIP_NS, URGENT_NS, SliceLength


def rows_of(seed: int, rows: int, *shares: float) -> np.ndarray:
    return np.random.default_rng(seed).random((rows, len(shares))) < shares


def test_the_first_slice_has_a_handful_of_rows() -> None:
    for seed in range(10):
        chain = DrawnChain.of(seed, most_rows=5_000)
        stream = chain.stream(seed)
        slices = watch_slices(stream)
        stream.process(chain.passed)
        assert slices[0].rows <= FIRST_ROWS
        assert len(slices) > 1


@pytest.mark.parametrize("row_ns", [1e4, 1e5, 1e6])
def test_no_first_slice_is_much_longer_than_all_before(row_ns: float) -> None:
    """A slice of a thousand rows of a millisecond each would take a second in an order that was never checked."""
    stream = VirtualStream((row_ns / UNIT_NS, 8.0, 8.0), "auto", 1)
    slices = watch_slices(stream)
    stream.process(rows_of(1, 3_000, 0.5, 0.3, 0.3))
    assert slices[0].ns <= FIRST_ROWS * row_ns + 1e6
    for one in slices[1:20]:
        assert one.ns <= 2.5 * one.begun_ns + URGENT_NS


def test_slices_are_long_if_calls_have_a_fixed_cost() -> None:
    """With a millisecond per call and rows that cost almost nothing, nearly the whole batch is one slice. Calls that
    cost nothing do not need that."""
    passed = rows_of(2, 200_000, 0.5, 0.5)
    calls = []
    for fixed_ns in (1e6, 0.0):
        stream = VirtualStream((8.0, 8.0), "auto", 2, fixed_ns=(fixed_ns, fixed_ns))
        slices = watch_slices(stream)
        stream.process(passed)
        calls.append(sum(one.begun_ns > stream.now_ns / 2 for one in slices))
        if fixed_ns:
            late = [one.rows for one in slices[len(slices) // 2 :]]
            assert float(np.median(late)) >= 5_000
    assert calls[0] < calls[1]


@pytest.mark.parametrize("seed", range(3))
def test_a_slice_stays_short_when_an_expensive_filter_gets_more(seed: int) -> None:
    """F0 drops 99 rows in 100, and later 90: the first slice of the new data was chosen before the change could be
    known."""
    stream = VirtualStream((1.0, 240.0), "auto", seed)
    stream.process(rows_of(seed, 200_000, 0.01, 0.5))
    slices = watch_slices(stream)
    stream.process(rows_of(seed + 9, 50_000, 0.1, 0.5))
    assert max(one.ns for one in slices) <= 1.5 * SLIP_NS


def test_after_a_drift_slices_are_short_and_grow_back() -> None:
    stream = VirtualStream((8.0, 8.0, 8.0), "auto", 3)
    slices = watch_slices(stream)
    stream.process(rows_of(3, 200_000, 0.1, 0.5, 0.9))
    settled = float(np.median([one.rows for one in slices[-10:]]))
    slices.clear()
    stream.process(rows_of(4, 20_000, 0.9, 0.5, 0.1))
    assert stream.loop.order[0] == 2
    assert min(one.rows for one in slices) <= settled / 2
    slices.clear()
    stream.process(rows_of(5, 200_000, 0.9, 0.5, 0.1))
    assert float(np.median([one.rows for one in slices[-10:]])) >= 0.5 * settled


def test_an_alarm_never_makes_slices_longer() -> None:
    length = SliceLength()
    length.urge(0.0, 1.0)
    assert length.rows <= FIRST_ROWS
    length.rows = 10_000
    length.urge(1e9, 1e9)  # rows of a second each: as short as slices get
    assert 1 <= length.rows <= 64


def test_one_filter_gets_the_longest_slices_at_once() -> None:
    """There is nothing to order, so there is no reason to begin carefully."""
    stream = VirtualStream((1.0,), "auto", 1)
    slices = watch_slices(stream)
    stream.process(rows_of(1, 60_000, 0.5))
    assert [one.rows for one in slices] == [10_000] * 6, "whole batches"
