"""The window, compared with a deque of tuples."""

from __future__ import annotations

from collections import deque

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from thalweg.stats import ProfileWindow


def bits(rows: list[tuple[bool, ...]], width: int) -> np.ndarray:
    return np.array(rows, dtype=bool).reshape(len(rows), width)


def listed(array: np.ndarray) -> list[tuple[bool, ...]]:
    return [tuple(row) for row in array.tolist()]


Case = tuple[int, int, list[list[tuple[bool, ...]]]]
"""The width and capacity of a window, and the batches to insert."""


@st.composite
def insertions(draw: st.DrawFn) -> Case:
    width = draw(st.integers(1, 9))
    capacity = draw(st.integers(1, 12))
    # a profile tuple is of a dropped row, so at least one filter drops it
    profile_tuple = st.tuples(*[st.booleans()] * width).filter(any)
    return width, capacity, draw(st.lists(st.lists(profile_tuple, max_size=30), max_size=12))


@given(insertions())
def test_it_holds_the_latest_tuples_and_returns_those_that_left(case: Case) -> None:
    width, capacity, batches = case
    window, expected = ProfileWindow(capacity, width), deque[tuple[bool, ...]](maxlen=capacity)
    for batch in batches:
        gone = []
        for row in batch:
            if len(expected) == capacity:
                gone.append(expected[0])
            expected.append(row)
        assert listed(window.insert(bits(batch, width))) == gone
        assert len(window) == len(expected)
        assert listed(window.tuples) == list(expected)
        assert sorted(listed(window.unordered)) == sorted(expected)


@given(insertions(), st.integers(1, 12))
def test_a_snapshot_carries_it_also_to_a_smaller_window(case: Case, smaller: int) -> None:
    width, capacity, batches = case
    window = ProfileWindow(capacity, width)
    for batch in batches:
        window.insert(bits(batch, width))
    other = ProfileWindow(smaller, width)
    other.insert(np.ones((3, width), dtype=bool))
    other.restore(window.snapshot())
    assert listed(other.tuples) == listed(window.tuples)[-smaller:]


@given(insertions())
def test_what_left_is_a_copy_that_later_insertions_do_not_touch(case: Case) -> None:
    width, capacity, batches = case
    window = ProfileWindow(capacity, width)
    kept = []
    for batch in batches:
        gone = window.insert(bits(batch, width))
        kept.append((gone, listed(gone)))
    assert all(listed(gone) == then for gone, then in kept)


def test_clear_removes_everything() -> None:
    window = ProfileWindow(4, 2)
    window.insert(np.ones((3, 2), dtype=bool))
    window.clear()
    assert len(window) == 0
    assert listed(window.tuples) == listed(window.unordered) == []
    assert listed(window.insert(np.ones((4, 2), dtype=bool))) == []


def test_memory_stays_that_of_its_capacity() -> None:
    window = ProfileWindow(100, 5)
    for _ in range(50):
        window.insert(np.ones((70, 5), dtype=bool))
    assert window._bits.nbytes == 500
    assert len(window.snapshot()) == 2 * -(-500 // 8)
