"""Row functions: what counts as true, which values they get, and what they share."""

from __future__ import annotations

import datetime
import re
import subprocess
import sys
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.long_run import examples
from thalweg import PredicateError, predicate
from thalweg.kernels import FilterChain
from thalweg.plan import FilterPlan


def kept(batch: pa.RecordBatch, *predicates: Any) -> list[int]:
    chain = FilterChain(FilterPlan(predicates), lambda: 0)
    found: list[int] = chain.run(chain.columns(batch), tuple(range(len(predicates)))).kept.tolist()
    return found


def note(seen: list[Any], value: Any) -> bool:
    """Append a value and return False, so that a lambda continues after `or`."""
    seen.append(value)
    return False


def rows_of(**columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def test_what_is_truthy_is_true() -> None:
    truthy = {
        0: re.match("a", "abc"), 1: None, 2: np.True_, 3: np.False_, 4: 0, 5: 1, 6: "", 7: "no", 8: [], 9: [0],
        10: 0.0, 11: float("nan"), 12: Decimal(0), 13: np.int64(0), 14: np.float64(2), 15: {}, 16: object(),
        17: np.array(True), 18: np.array(0), 19: pd.Timestamp(0),
    }  # fmt: skip
    expected = [0, 2, 5, 7, 9, 11, 14, 16, 17, 19]
    assert kept(rows_of(x=list(truthy)), predicate(truthy.get, "x")) == expected
    for x in truthy:  # also if it is the first answer, whose type is checked
        assert kept(rows_of(x=[x]), predicate(truthy.get, "x")) == [0] * (x in expected)


class Indexed:
    """An object with a number, which is no truth value: it is true."""

    def __index__(self) -> int:
        return 0


class OwnTruth(int):
    """An integer that is true if it is odd."""

    def __bool__(self) -> bool:
        return self % 2 == 1


class OwnTruthAndIndex:
    """An object whose number and truth differ."""

    def __bool__(self) -> bool:
        return False

    def __index__(self) -> int:
        return 1


class NoTruth:
    """An object whose truth raises."""

    def __bool__(self) -> bool:
        raise OSError

    def __index__(self) -> int:
        return 1


class NamesAnotherClass:
    """An object that passes isinstance checks for arrays, as mocks do."""

    __class__: Any = np.ndarray


ANSWERS = [
    True, False, None, 0, 1, 255, 256, -1, 2**70, 0.0, "", "a", np.True_, np.False_, np.int8(0), np.uint8(1), Indexed(),
    OwnTruth(0), OwnTruth(1), OwnTruth(2), OwnTruthAndIndex(), NoTruth(), NamesAnotherClass(), Decimal(0), [], [0],
]  # fmt: skip


@examples(100, long=5_000)
@given(answers=st.lists(st.sampled_from(ANSWERS), min_size=1, max_size=8))
def test_an_answer_counts_as_python_counts_it_whatever_stands_beside_it(answers: list[Any]) -> None:
    rows = rows_of(i=range(len(answers)))
    chain = FilterChain(FilterPlan((predicate(answers.__getitem__, "i", name="p"),)), lambda: 0)
    done = chain.run(chain.columns(rows), (0,))
    raises = [i for i, answer in enumerate(answers) if type(answer) is NoTruth]
    assert done.failed.tolist() == raises
    assert done.kept.tolist() == [i for i, answer in enumerate(answers) if i not in raises and answer]


def test_a_regular_expressions_match_is_an_answer() -> None:
    assert kept(rows_of(s=["ab", "b", "xa"]), predicate(re.compile("a").match, "s", name="a")) == [0]


def raised_on(batch: pa.RecordBatch, *predicates: Any) -> dict[int, list[tuple[int, str]]]:
    chain = FilterChain(FilterPlan(predicates), lambda: 0)
    done = chain.run(chain.columns(batch), tuple(range(len(predicates))))
    assert done.unknown is not None
    return {row: [(k, repr(e)) for k, e in done.unknown.raised_on(row)] for row in done.failed.tolist()}


def test_a_result_without_a_truth_value_is_unknown() -> None:
    class Neither:
        def __bool__(self) -> bool:
            raise TypeError("neither true nor false")

    ((k, error),) = raised_on(rows_of(x=[1]), predicate(lambda x: Neither(), "x", name="neither"))[0]
    assert k == 0
    assert "neither true nor false" in error


@pytest.mark.parametrize(
    "answer",
    [
        pa.scalar(False),
        pa.array([True]),
        pa.chunked_array([[True]]),
        np.array([True]),
        pd.Series([True]),
        pd.array([1]),
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_an_array_or_an_arrow_scalar_is_not_an_answer_for_a_row(answer: Any) -> None:
    """Before pyarrow 21 a false Arrow scalar counted as true, so that every row was kept."""
    for values in ([1, 2], [0, 1]):  # the first row may raise
        with pytest.raises(PredicateError, match=r"'p' returned .* did you forget vectorized=True\?") as caught:
            kept(rows_of(x=values), predicate(lambda x: 1 / x and answer, "x", name="p"))
        assert caught.type is PredicateError


def test_a_function_of_columns_is_refused() -> None:
    from pyspark.sql.connect.functions import col

    with pytest.raises(PredicateError, match="a function of Columns"):
        kept(rows_of(x=[1]), predicate(lambda x: col("x"), "x", name="p"))


def test_an_error_of_ours_that_the_function_raises_is_of_its_row() -> None:
    def refuses(x: int) -> bool:
        raise PredicateError("mine")

    assert raised_on(rows_of(x=[1]), predicate(refuses, "x")) == {0: [(0, "PredicateError('mine')")]}


def test_running_out_of_something_inside_is_an_error_not_the_end() -> None:
    empty: Any = iter(())
    rows = rows_of(x=[1, 2, 3])
    runs_out = predicate(lambda x: x == 2 or next(empty), "x", name="runs_out")
    assert raised_on(rows, runs_out) == {0: [(0, "StopIteration()")], 2: [(0, "StopIteration()")]}


def test_a_function_is_called_once_per_row_even_if_it_raises() -> None:
    seen: list[int] = []

    def picky(x: int) -> bool:
        seen.append(x)
        if x % 3 == 0:
            raise ValueError(x)
        return x % 2 == 0

    rows = rows_of(x=range(7))
    assert raised_on(rows, predicate(picky, "x")) == {r: [(0, f"ValueError({r})")] for r in (0, 3, 6)}
    assert seen == list(range(7))
    assert kept(rows, predicate(picky, "x")) == [2, 4]


@pytest.mark.parametrize(
    "array",
    [
        pa.Array.from_buffers(
            pa.string(), 3, [None, pa.array([0, 1, 2, 3], pa.int32()).buffers()[1], pa.py_buffer(b"a\xffb")]
        ),
        pa.array([0, 10**18, 5], pa.int64()).cast(pa.timestamp("s")),
    ],
    ids=["text that is not UTF-8", "the year 31 billion"],
)
def test_only_rows_without_a_python_value_are_unknown(array: pa.Array) -> None:
    rows = rows_of(x=array, i=[0, 1, 2])
    calls: list[int] = []
    look = predicate(lambda x, i: note(calls, i) or i != 2, "x", "i", name="look")
    assert list(raised_on(rows, look)) == [1]
    assert calls == [0, 2]
    assert kept(rows, look, predicate(lambda x: True, "x", name="shares")) == [0]
    assert kept(rows, predicate(lambda i: i != 1, "i", name="first"), look) == [0]


def test_nulls_arrive_as_none() -> None:
    seen: list[Any] = []
    batch = rows_of(x=pa.array([1, None]), s=pa.array([None, "b"]), f=pa.array([None, 0.5]))
    kept(batch, predicate(lambda *row: note(seen, row) or True, "x", "s", "f", name="look"))
    assert seen == [(1, None, None), (None, "b", 0.5)]


VALUES = {
    "int64": pa.array([1, 2, 3]),
    "int64 with null": pa.array([1, None, 3]),
    "uint64": pa.array([2**64 - 1, 0, 1], pa.uint64()),
    "int8": pa.array([-128, 0, 127], pa.int8()),
    "float": pa.array([0.5, -1.0, 1e300]),
    "float32": pa.array([0.5, 0.25, None], pa.float32()),
    "bool": pa.array([True, None, False]),
    "string": pa.array(["a", None, "ü"]),
    "large string": pa.array(["a", None, ""], pa.large_string()),
    "binary": pa.array([b"a", None, b"\x00"]),
    "dictionary": pa.array(["a", "b", "a"]).dictionary_encode(),
    "timestamp": pa.array([datetime.datetime(2024, 5, 1, 12), None, datetime.datetime(1970, 1, 1)]),
    "date": pa.array([datetime.date(2024, 5, 1), None, datetime.date(1970, 1, 1)]),
    "decimal": pa.array([Decimal("1.10"), None, Decimal("2.00")]),
    "list": pa.array([[1, 2], None, []]),
    "struct": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}]),
    "map": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    "nested": pa.array([[{"a": [1]}], [], None]),
    "null": pa.array([None, None, None]),
}


@pytest.mark.parametrize("kind", VALUES)
def test_values_are_pythons_own(kind: str) -> None:
    seen: list[Any] = []
    kept(rows_of(x=VALUES[kind]), predicate(lambda x: note(seen, x) or True, "x", name="look"))
    assert seen == VALUES[kind].to_pylist()
    assert [type(value) for value in seen] == [type(value) for value in VALUES[kind].to_pylist()]


@pytest.mark.parametrize("kind", VALUES)
def test_two_functions_of_one_column_see_the_same_values(kind: str) -> None:
    first: list[Any] = []
    second: list[Any] = []
    third: list[Any] = []
    batch = rows_of(x=VALUES[kind], i=[0, 1, 2])
    assert kept(
        batch,
        predicate(lambda i: i != 0, "i", name="not_first"),
        predicate(lambda x, i: note(first, x) or i != 1, "x", "i", name="one"),
        predicate(lambda x: note(second, x) or True, "x", name="two"),
        predicate(lambda x: note(third, x) or True, "x", name="three"),
    ) == [2]
    values = VALUES[kind].to_pylist()
    assert first == values[1:]
    assert second == third == values[2:]


def test_in_profiling_functions_see_the_values_of_their_rows() -> None:
    """Rows are sampled at different positions: a later function is called on rows that earlier ones never saw."""
    seen: list[tuple[int, str]] = []
    chain = FilterChain(
        FilterPlan(
            (
                predicate(lambda i: True, "i", name="front"),
                predicate(lambda s, i: True, "s", "i", name="middle"),
                predicate(lambda s, i: note(seen, (i, s)) or s == "b", "s", "i", name="back"),
            )
        ),
        lambda: 0,
    )
    columns = chain.columns(rows_of(s=["a", "b", "c"], i=[0, 1, 2]))
    # row 0 was dropped by `front`: `middle` and `back` are called; rows 1 and 2 by `middle`: only `back` is
    dropped_at = np.array([0, 1, 1], dtype=np.int16)
    profile = chain.profile(columns, dropped_at, (0, 1, 2), np.ones((3, 3), dtype=bool))
    assert seen == [(0, "a"), (1, "b"), (2, "c")]
    assert profile.dropped[:, 2].tolist() == [True, False, True]


def test_setup_is_called_once_and_its_value_comes_first() -> None:
    made: list[str] = []

    def setup() -> set[int]:
        made.append("model")
        return {1, 2}

    chain = FilterChain(
        FilterPlan((predicate(lambda model, x, y: x in model and y, "x", "y", name="known", setup=setup),)), lambda: 0
    )
    for _ in range(3):
        columns = chain.columns(rows_of(x=[1, 2, 3], y=[True, False, True]))
        assert chain.run(columns, (0,)).kept.tolist() == [0]
    assert made == ["model"]


def test_a_setup_may_have_none_as_its_value() -> None:
    assert kept(rows_of(x=[1]), predicate(lambda none, x: none is None, "x", name="p", setup=lambda: None)) == [0]


def test_a_setup_that_raises_is_named() -> None:
    def setup() -> None:
        raise OSError("no such model")

    with pytest.raises(PredicateError, match=r"'p'.*OSError: no such model"):
        kept(rows_of(x=[1]), predicate(lambda model, x: True, "x", name="p", setup=setup))


@pytest.mark.parametrize("name", ["a.b", "a b", "`a`", "größe", "x"])
def test_odd_column_names(name: str) -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([1, 2]), pa.array([3, 4])], names=["other", name])
    assert kept(batch, predicate(lambda v: v == 4, name, name="p")) == [1]


def test_one_column_may_be_read_twice_by_one_function() -> None:
    assert kept(rows_of(x=[1, 2]), predicate(lambda a, b: a is b or a == b, "x", "x", name="p")) == [0, 1]


def test_no_predicate_is_charged_for_imports_of_pyarrow() -> None:
    # not built from Python values, which would already import pandas: workers get their batches from Spark
    lines = (
        "import sys, pyarrow as pa; from thalweg.kernels import FilterChain; from thalweg.plan import FilterPlan",
        "from thalweg import predicate; zeros = pa.Array.from_buffers(pa.int64(), 2, [None, pa.py_buffer(bytes(16))])",
        "batch = pa.RecordBatch.from_arrays([zeros], names=['x']); assert 'pandas' not in sys.modules",
        "chain = FilterChain(FilterPlan((predicate(bool, 'x'),)), lambda: 0); before = set(sys.modules)",
        "chain.run(chain.columns(batch), (0,)); print(*set(sys.modules) - before)",
    )
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
