from __future__ import annotations

from collections import deque

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.adapt.greedy_invariant import matrix_view
from tests.adapt.seen import profile_tuples
from thalweg.adapt.matrix_view import MatrixView

Run = tuple[list[int], list[list[tuple[bool, ...]]], int]
"""An order, batches of profile tuples, and the capacity of the window."""


@st.composite
def runs(draw: st.DrawFn) -> Run:
    n = draw(st.integers(1, 6))
    return draw(st.permutations(range(n))), draw(st.lists(profile_tuples(n), max_size=6)), draw(st.integers(1, 15))


@given(runs())
def test_incremental_counts_are_those_of_the_definition(run: Run) -> None:
    order, batches, capacity = run
    n = len(order)
    view, window = MatrixView(order), deque[tuple[bool, ...]]()
    for batch in batches:
        view.add(np.array(batch, dtype=bool).reshape(-1, n))
        window.extend(batch)
        gone = [window.popleft() for _ in range(max(0, len(window) - capacity))]
        view.subtract(np.array(gone, dtype=bool).reshape(-1, n))
        assert view.V.tolist() == matrix_view(order, window)
    again = MatrixView(order)
    again.recompute(np.array(window, dtype=bool).reshape(-1, n))
    assert again.V.tolist() == view.V.tolist()
