"""Columns of windows return the values that were stored, whatever was null, forgotten or kept: compared with a dict."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg.kernels.stored_column import ArrowColumn


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), nulls_first=st.integers(0, 12))
def test_texts_with_many_nulls(seed: int, nulls_first: int) -> None:
    r = random.Random(seed)
    column, held = ArrowColumn(pa.string()), dict[int, str | None]()
    low = high = r.choice([0, 7])
    for step in range(25):
        empty = step < nulls_first or r.random() < 0.3
        values = [None if empty or r.random() < 0.5 else f"{high}-{n}" for n in range(r.randint(0, 6))]
        column.append(pa.array(values, pa.string()), high)
        held |= {high + n: value for n, value in enumerate(values)}
        high += len(values)
        if r.random() < 0.4:
            low = r.randint(low, high)
            column.forget(low)
            held = {row: value for row, value in held.items() if row >= low}
        if r.random() < 0.2:
            kept = sorted(r.sample(sorted(held), r.randint(0, len(held))))
            column.keep(np.array(kept, np.int64), high)
            held = {high + n: held[row] for n, row in enumerate(kept)}
            low, high = high, high + len(kept)
        asked = [r.choice(sorted(held)) for _ in range(5)] if held else []
        assert column.take(np.array(asked, np.int64)).to_pylist() == [held[row] for row in asked]


def test_nulls_take_no_memory() -> None:
    column = ArrowColumn(pa.string())
    column.append(pa.nulls(10_000, pa.string()), 0)
    assert column.nbytes == 0
    column.append(pa.array(["raised"]), 10_000)
    assert column.take(np.array([9_999, 10_000])).to_pylist() == [None, "raised"]
