"""What a vectorised predicate may return, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from thalweg import PredicateError, predicate
from thalweg.kernels import FilterChain
from thalweg.plan import FilterPlan

ROWS = pa.RecordBatch.from_pydict({"x": pa.array([1, None, 3])})


def kept(answer: Any, batch: pa.RecordBatch = ROWS) -> list[int]:
    chain = FilterChain(FilterPlan((predicate(lambda x: answer, "x", name="p", vectorized=True),)), lambda: 0)
    return chain.run(chain.columns(batch), (0,)).kept.tolist()


@pytest.mark.parametrize(
    "answer",
    [
        pa.array([True, None, True]),
        pa.chunked_array([[True], [None, True]]),
        np.array([True, False, True]),
        pd.Series([True, False, True]),
        pd.Series([True, False, True], index=[7, 7, 7]),
        pd.Series([True, None, True], dtype="boolean"),
        pd.Series([True, None, True], dtype=object),
        pd.array([True, pd.NA, True]),
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_an_array_of_booleans_is_an_answer_and_null_is_false(answer: Any):
    assert kept(answer) == [0, 2]


def test_a_comparison_with_null_is_null_and_so_false():
    for func, rows in ((lambda x: pc.greater(x, 1), [2]), (lambda x: pc.invert(pc.greater(x, 1)), [0])):
        chain = FilterChain(FilterPlan((predicate(func, "x", name="p", vectorized=True),)), lambda: 0)
        assert chain.run(chain.columns(ROWS), (0,)).kept.tolist() == rows


def test_all_nulls_keep_nothing():
    assert kept(pa.nulls(3, pa.bool_())) == []


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (True, ["'p'", "bool", "one a row"]),
        (None, ["'p'", "NoneType"]),
        ([True, False, True], ["'p'", "list"]),
        (pa.array([1, 0, 1]), ["'p'", "int64", "booleans"]),
        (np.array([1, 0, 1]), ["'p'", "int64"]),
        (np.array([[True], [False], [True]]), ["'p'", "one a row"]),
        (np.array(True), ["'p'", "one a row"]),
        (pd.Series([1.0, 0.0, 1.0]), ["'p'", "double"]),
        (pa.scalar(True), ["'p'", "BooleanScalar"]),
        (pd.Series([True, "no", True], dtype=object), ["'p'", "booleans"]),
        (pd.DataFrame({"a": [True, False, True]}), ["'p'", "booleans"]),
        (pa.array([True, False]), ["'p'", "3 rows", "2 values"]),
        (np.ones(4, dtype=bool), ["'p'", "3 rows", "4 values"]),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, list) else None,
)
def test_anything_else_is_refused_with_its_type_or_length(answer: Any, words: list[str]):
    with pytest.raises(PredicateError) as caught:
        kept(answer)
    assert [word for word in words if word not in str(caught.value)] == []


def test_it_gets_arrow_arrays_of_the_rows_still_alive():
    got: list[Any] = []

    def look(x: pa.Array, y: pa.Array) -> pa.Array:
        got.append((x, y))
        return pc.is_valid(x)

    first = predicate(lambda x: pc.is_valid(x), "x", name="valid", vectorized=True)
    chain = FilterChain(FilterPlan((first, predicate(look, "x", "y", vectorized=True))), lambda: 0)
    batch = pa.RecordBatch.from_pydict({"x": pa.array([1, None, 3]), "y": ["a", "b", "c"]})
    chain.run(chain.columns(batch), (0, 1))
    ((x, y),) = got
    assert isinstance(x, pa.Array)
    assert (x.to_pylist(), y.to_pylist()) == ([1, 3], ["a", "c"])


def test_a_predicate_that_raises_is_named_with_its_columns():
    def fails(x: pa.Array) -> pa.Array:
        return pc.match_substring(x, "a")

    chain = FilterChain(FilterPlan((predicate(fails, "x", vectorized=True),)), lambda: 0)
    with pytest.raises(PredicateError, match=r"'fails'.*rows of x"):
        chain.run(chain.columns(ROWS), (0,))
