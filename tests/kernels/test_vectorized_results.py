"""What a vectorized predicate may return, and what is refused."""

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
    found: list[int] = chain.run(chain.columns(batch), (0,)).kept.tolist()
    return found


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
def test_an_array_of_booleans_is_an_answer_and_null_is_false(answer: Any) -> None:
    assert kept(answer) == [0, 2]


def test_a_comparison_with_null_is_null_and_so_false() -> None:
    for func, rows in ((lambda x: pc.greater(x, 1), [2]), (lambda x: pc.invert(pc.greater(x, 1)), [0])):
        chain = FilterChain(FilterPlan((predicate(func, "x", name="p", vectorized=True),)), lambda: 0)
        assert chain.run(chain.columns(ROWS), (0,)).kept.tolist() == rows


def test_all_nulls_keep_nothing() -> None:
    assert kept(pa.nulls(3, pa.bool_())) == []


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (True, ["'p'", "bool", "one per row"]),
        (None, ["'p'", "NoneType"]),
        ([True, False, True], ["'p'", "list"]),
        (pa.array([1, 0, 1]), ["'p'", "int64", "booleans"]),
        (np.array([1, 0, 1]), ["'p'", "int64"]),
        (np.array([[True], [False], [True]]), ["'p'", "one per row"]),
        (np.array(True), ["'p'", "one per row"]),
        (pd.Series([1.0, 0.0, 1.0]), ["'p'", "double"]),
        (pa.scalar(True), ["'p'", "BooleanScalar"]),
        (pd.Series([True, "no", True], dtype=object), ["'p'", "booleans"]),
        (pd.DataFrame({"a": [True, False, True]}), ["'p'", "booleans"]),
        (pa.array([True, False]), ["'p'", "3 rows", "2 values"]),
        (np.ones(4, dtype=bool), ["'p'", "3 rows", "4 values"]),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, list) else None,
)
def test_anything_else_is_refused_with_its_type_or_length(answer: Any, words: list[str]) -> None:
    with pytest.raises(PredicateError) as caught:
        kept(answer)
    assert [word for word in words if word not in str(caught.value)] == []


def test_it_gets_arrow_arrays_of_the_rows_still_alive() -> None:
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


@pytest.mark.parametrize("bad", [[], [0], [99], [31, 32, 64], list(range(100))], ids=str)
def test_a_raising_predicate_is_called_until_its_rows_are_known(bad: list[int]) -> None:
    calls: list[int] = []

    def picky(x: pa.Array) -> pa.Array:
        calls.append(len(x))
        if set(x.to_pylist()) & set(bad):
            raise ValueError(f"{len(x)} rows")
        return pc.not_equal(x, 50)

    chain = FilterChain(FilterPlan((predicate(picky, "x", vectorized=True),)), lambda: 0)
    done = chain.run(chain.columns(pa.RecordBatch.from_pydict({"x": range(100)})), (0,))
    assert done.failed.tolist() == bad
    assert done.kept.tolist() == [x for x in range(100) if x not in bad and x != 50]
    assert (done.evaluated, done.raised) == ([100], [len(bad)])
    assert done.passed == [len(done.kept) + len(bad)]
    assert len(calls) <= min(1 + 2 * len(bad) * 7, 2 * 100 - 1), "halves of halves"
    if bad:
        assert done.unknown is not None
        assert [str(error) for row in bad for _, error in done.unknown.raised_on(row)] == ["1 rows"] * len(bad)


def test_a_slice_that_is_too_large_is_answered_in_parts() -> None:
    def small_only(x: pa.Array) -> pa.Array:
        if len(x) > 10:
            raise MemoryError
        return pc.equal(x, 7)

    chain = FilterChain(FilterPlan((predicate(small_only, "x", vectorized=True),)), lambda: 0)
    done = chain.run(chain.columns(pa.RecordBatch.from_pydict({"x": range(100)})), (0,))
    assert (done.kept.tolist(), done.failed.tolist(), done.unknown) == ([7], [], None)


def test_a_wrong_answer_to_a_part_is_refused_too() -> None:
    def odd(x: pa.Array) -> Any:
        if len(x) > 1:
            raise ValueError
        return x

    chain = FilterChain(FilterPlan((predicate(odd, "x", vectorized=True),)), lambda: 0)
    with pytest.raises(PredicateError, match="'odd' is vectorized and must return"):
        chain.run(chain.columns(ROWS), (0,))
