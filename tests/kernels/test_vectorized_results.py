"""What a vectorized predicate may return, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.long_run import examples
from thalweg import PredicateError, predicate
from thalweg.kernels import FilterChain
from thalweg.kernels.answer import answer_by_array
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


Values = list[bool | None]
KINDS: dict[str, Callable[[Values], Any]] = {
    "NumPy": lambda v: np.array([bool(x) for x in v], dtype=bool),
    "masked": lambda v: np.ma.array([x is not False for x in v], mask=[x is None for x in v], dtype=bool),
    "masked, filled with true": lambda v: np.ma.array(
        [x is not False for x in v], mask=[x is None for x in v], dtype=bool, hard_mask=True, fill_value=True
    ),
    "Arrow": lambda v: pa.array(v, pa.bool_()),
    "Arrow of an inferred type": pa.array,
    "chunked": lambda v: pa.chunked_array([v[:1], [], v[1:]], pa.bool_()),
    "pandas nullable": lambda v: pd.array(v, dtype="boolean"),
    "Series of nullable": lambda v: pd.Series(v, dtype="boolean", index=[7] * len(v)),
    "Series of objects": lambda v: pd.Series(v, dtype=object),
    "Series of objects with NaN": lambda v: pd.Series([np.nan if x is None else x for x in v], dtype=object),
    "Arrow-backed": lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.bool_())),
    "Arrow-backed, in chunks": lambda v: pd.Series(
        pd.arrays.ArrowExtensionArray(pa.chunked_array([v[:1], [], v[1:]], pa.bool_()))
    ),
    "Polars": lambda v: pl.Series(v, dtype=pl.Boolean),
    "Polars of an inferred type": pl.Series,
    "Polars, in chunks": lambda v: pl.concat([pl.Series(x, dtype=pl.Boolean) for x in (v[:1], v[1:])], rechunk=False),
}
REFUSED: dict[str, Callable[[Values], Any]] = {
    "dictionary": lambda v: dict(enumerate(v)),
    "memoryview": lambda v: memoryview(bytes([bool(x) for x in v])),
    "list": list,
    "array of objects": lambda v: np.array(v, dtype=object),
    "masked array of objects": lambda v: np.ma.array(v, dtype=object, mask=[x is None for x in v]),
    "categorical": lambda v: pd.Categorical(v),
    "Series of categories": lambda v: pd.Series(pd.Categorical(v)),
    "dictionary-encoded": lambda v: pa.array(v, pa.bool_()).dictionary_encode(),
    "numbers": lambda v: pa.array([x and 1 for x in v], pa.int8()),
    "frame": lambda v: pd.DataFrame({"a": v}),
    "names another class": lambda v: NamesAnotherClass(),
    "fails as an array": lambda v: FailsAsAnArray(),
}


class NamesAnotherClass:
    """An object that passes isinstance checks, as mocks do."""

    __class__: Any = np.ndarray


class FailsAsAnArray:
    """An object with the attributes of an array, which raise."""

    def __array__(self) -> Any:
        raise OSError("no array")

    @property
    def dtype(self) -> Any:
        raise OSError("no type")


def chain_of(values: Values, made: Callable[[Values], Any], raises: set[int], unknown: set[int]) -> FilterChain:
    """Return a chain of a guard that raises on the rows in `unknown`, a predicate that answers with `values`, and
    raises on every slice with a row in `raises`, and one that is false."""

    def guard(row: int) -> bool:
        if row in unknown:
            raise KeyError(row)
        return True

    def answer(rows: pa.Array) -> Any:
        if raises & set(rows.to_pylist()):
            raise ValueError
        return made([values[row] for row in rows.to_pylist()])

    parts = (
        predicate(guard, "row"),
        predicate(answer, "row", vectorized=True, after="guard"),
        predicate(lambda row: False, "row", name="never"),
    )
    return FilterChain(FilterPlan(parts), lambda: 0)


def rows_and_chain(
    values: Values, made: Callable[[Values], Any], raises: set[int], unknown: set[int]
) -> tuple[FilterChain, Any]:
    chain = chain_of(values, made, raises, unknown)
    return chain, chain.columns(pa.RecordBatch.from_pydict({"row": pa.array(range(len(values)), pa.int64())}))


@pytest.mark.parametrize("kind", KINDS)
@examples(25, long=1_000)
@given(data=st.data())
def test_every_kind_of_array_is_the_same_mask_on_every_way(kind: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.sampled_from([True, False, None]), max_size=12))
    some = st.sets(st.sampled_from(range(len(values)))) if values else st.just(set())
    raises, unknown = data.draw(st.just(set()) | some), data.draw(st.just(set()) | some)
    chain, columns = rows_and_chain(values, KINDS[kind], raises, unknown)
    done = chain.run(columns, (0, 1))
    true = [row for row in range(len(values)) if values[row] is True and row not in raises | unknown]
    assert done.kept.tolist() == true
    assert done.failed.tolist() == sorted(raises | unknown)
    # rows that `never` dropped first: guard and answer are evaluated on them only for profiling
    seen = chain.profile(columns, np.zeros(len(values), np.int16), (2, 0, 1), np.ones((3, 3), bool))
    known = [row for row in range(len(values)) if row not in unknown]
    assert seen.known[:, 1].nonzero()[0].tolist() == known
    assert seen.dropped[:, 1].nonzero()[0].tolist() == [r for r in known if values[r] is not True and r not in raises]


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_without_rows_has_an_empty_mask(kind: str) -> None:
    mask, raised = answer_by_array(lambda rows: KINDS[kind]([]), [pa.array([], pa.int64())], 0, "p")
    assert mask.dtype == bool
    assert (len(mask), raised) == (0, {})


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize(
    ("raises", "unknown"),
    [(set(), set()), ({1}, set()), (set(), {0}), ({1}, {0})],
    ids=["whole", "raises", "guards", "both"],
)
def test_what_is_no_array_of_booleans_is_refused_on_every_way(kind: str, raises: set[int], unknown: set[int]) -> None:
    chain, columns = rows_and_chain([True, None, False, True], REFUSED[kind], raises, unknown)
    with pytest.raises(PredicateError, match="'answer' is vectorized and must return an array of booleans"):
        chain.run(columns, (0, 1))
    seen = chain.profile(columns, np.zeros(4, np.int16), (2, 0, 1), np.ones((3, 3), bool))
    assert seen.errors[1] == 4 - len(unknown)
    assert not seen.known[:, 1].any()
    with pytest.raises(PredicateError, match="must return an array of booleans"):
        answer_by_array(lambda rows: REFUSED[kind]([]), [pa.array([], pa.int64())], 0, "p")
