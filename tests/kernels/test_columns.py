"""Shared values are created once, and never for the wrong rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from thalweg.kernels import Columns


@pytest.mark.parametrize("shared", [frozenset(), frozenset("x")])
def test_any_rows_may_be_read_in_any_order(shared: frozenset[str]) -> None:
    values = [{"a": k} for k in range(6)]
    columns = Columns({"x": pa.array(values)}, 6, shared)
    for rows in ([4, 1], [1], [0, 1, 2, 3, 4, 5], [5], []):
        assert columns.python("x", np.array(rows, dtype=np.int64)) == [values[r] for r in rows]
    assert columns.python("x", None) == values
    assert columns.python("x", np.array([3])) == [values[3]]


def test_a_slice_knows_its_own_rows() -> None:
    columns = Columns({"x": pa.array([10, 11, 12, 13])}, 4, frozenset("x"))
    assert columns.python("x", None) == [10, 11, 12, 13]
    part = columns.slice(2, 2)
    assert part.length == 2
    assert part.python("x", None) == [12, 13]
    assert part.python("x", np.array([1])) == [13]
    assert part.arrow("x", np.array([0])).to_pylist() == [12]


def test_shared_values_are_made_once() -> None:
    columns = Columns({"x": pa.array(["one " * 9, "two " * 9])}, 2, frozenset("x"))
    first, again = columns.python("x", None), columns.python("x", np.array([1]))
    assert again[0] is first[1]


@pytest.mark.parametrize(
    "array",
    [
        pa.array([[1], [2]]),
        pa.array([{"a": 1}, {"a": 2}]),
        pa.array([[("k", 1)], [("k", 2)]], pa.map_(pa.string(), pa.int64())),
        pa.array([[1], [2]], pa.list_(pa.int64(), 1)),
    ],
    ids=lambda array: str(array.type),
)
def test_mutable_values_are_not_shared(array: pa.Array) -> None:
    columns = Columns({"x": array}, 2, frozenset("x"))
    before = array.to_pylist()
    for value in columns.python("x", None):
        value.clear()
    assert columns.python("x", None) == before
