"""User-defined functions in expressions: how they are called, on which rows, and what they may return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark import cloudpickle

from thalweg.errors import FunctionError, PredicateError
from thalweg.kernels.expressions import Evaluation, VectorizedCondition, evaluate
from thalweg.plan.expressions.expression import Bound, Expression, Ref, UserCall, Value, call
from thalweg.plan.query.relation import UserFunction

X, S = Ref("s", "x", pa.int64()), Ref("s", "name", pa.string())
DATA: dict[Ref | Bound, pa.Array] = {X: pa.array([1, None, -3, 4]), S: pa.array(["a", "b", None, "d"])}
HALF_KINDS: list[tuple[str, Callable[[Any], Any]]] = [
    ("arrow", lambda x: pc.divide(x.cast(pa.float64()), 2.0)),
    ("chunked", lambda x: pa.chunked_array([pc.divide(x.cast(pa.float64()), 2.0)])),
    ("numpy", lambda x: x.to_numpy(zero_copy_only=False) / 2),
    ("pandas", lambda x: pd.Series(x.to_pandas() / 2)),
]


def asked(function: UserFunction, *arguments: Expression) -> list[Any]:
    """Return the results of a function on the data."""
    expression = UserCall(function.name, arguments, function.returns)
    found: list[Any] = evaluate(expression, DATA.__getitem__, 4, {function.name.lower(): function}).to_pylist()
    return found


def test_row_functions_get_python_values() -> None:
    seen: list[tuple[Any, ...]] = []

    def keep(x: int | None, name: str | None) -> str | None:
        seen.append((x, name))
        return name and name * 2

    assert asked(UserFunction("Keep", keep, pa.string()), X, S) == ["aa", "bb", None, "dd"]
    assert seen == [(1, "a"), (None, "b"), (-3, None), (4, "d")]


def test_function_without_arguments_is_called_once_per_row() -> None:
    numbers = iter(range(10))
    assert asked(UserFunction("next", lambda: next(numbers), pa.int64())) == [0, 1, 2, 3]


@pytest.mark.parametrize(("kind", "half"), HALF_KINDS, ids=[kind for kind, _ in HALF_KINDS])
def test_vectorized_functions_return_arrays_of_any_kind(kind: str, half: Callable[[Any], Any]) -> None:
    made = asked(UserFunction("half", half, pa.float64(), vectorized=True), X)
    assert [made[0], *made[2:]] == [0.5, -1.5, 2.0]
    assert made[1] is None or (kind == "numpy" and np.isnan(made[1]))


@pytest.mark.parametrize(
    ("returns", "func", "vectorized", "words"),
    [
        (pa.int64(), lambda x: 1.5, False, "registered to return BIGINT and returned double"),
        (pa.int64(), lambda x: "one", False, "registered to return BIGINT and returned string"),
        (pa.bool_(), lambda x: 1, False, "registered to return BOOLEAN and returned int64"),
        (pa.int8(), lambda x: 1000, False, "registered to return TINYINT and returned int64 that does not fit"),
        (pa.string(), lambda x: [x], False, "registered to return STRING and returned values of list"),
        (pa.float64(), lambda x: "one", False, "registered to return DOUBLE and returned values of str"),
        (pa.int64(), lambda x: x.slice(1), True, "got 4 rows and returned 3 values"),
        (pa.int64(), lambda x: 7, True, "is vectorized and must return an array"),
        (pa.int64(), lambda x: np.ones((4, 1)), True, "an array of 2 dimensions"),
        (pa.bool_(), lambda x: x, True, "registered to return BOOLEAN and returned int64"),
        (pa.int64(), lambda x: np.full(4, 0.5), True, "returned double that does not fit"),
    ],
)
def test_wrong_results_name_the_function(
    returns: pa.DataType, func: Callable[[Any], Any], vectorized: bool, words: str
) -> None:
    with pytest.raises(PredicateError, match=f"function 'odd' .*{words}"):
        asked(UserFunction("odd", func, returns, vectorized), X)


def test_whole_numbers_are_converted_if_nothing_is_lost() -> None:
    assert asked(UserFunction("f", lambda x: x or 0.5, pa.float32()), X) == [1.0, 0.5, -3.0, 4.0]
    assert asked(UserFunction("g", lambda x: 2.0, pa.int32()), X) == [2] * 4
    assert asked(UserFunction("h", lambda x: None, pa.timestamp("us")), X) == [None] * 4
    assert asked(UserFunction("k", lambda x: np.bool_(x is None), pa.bool_()), X) == [False, True, False, False]


def test_branches_call_functions_only_on_rows_that_reach_them() -> None:
    """A user-defined function may cost a second per row, or fail on rows that an earlier condition excludes."""
    seen: list[int | None] = []

    def root(x: int | None) -> bool:
        seen.append(x)
        assert x is not None
        assert x > 0
        return x > 1

    asks = UserCall("root", (X,), pa.bool_(), safe=True)
    positive = call("gt", (X, Value(0, pa.int64())), pa.bool_())
    both = call("and", (call("not", (call("is_null", (X,), pa.bool_()),), pa.bool_()), positive), pa.bool_())
    functions = {"root": UserFunction("root", root, pa.bool_(), safe=True)}
    for expression, expected in [
        (call("and", (both, asks), pa.bool_()), [False, False, False, True]),
        (call("or", (call("not", (both,), pa.bool_()), asks), pa.bool_()), [False, True, True, True]),
        (call("case", (both, asks, Value(None, pa.bool_())), pa.bool_()), [False, None, None, True]),
    ]:
        seen.clear()
        assert evaluate(expression, DATA.__getitem__, 4, functions).to_pylist() == expected
        assert seen == [1, 4]


def test_what_the_function_raises_is_the_cause() -> None:
    with pytest.raises(FunctionError, match=r"'f' raised KeyError: 'gone' .*given 1; make it return None") as caught:
        asked(UserFunction("f", lambda x: dict[str, int]()["gone"], pa.int64()), X)
    assert isinstance(caught.value.__cause__, KeyError)


def test_conditions_travel_with_their_functions() -> None:
    limit = 2
    functions = {
        "big": UserFunction("big", lambda x: x is not None and x > limit, pa.bool_()),
        "unused": UserFunction("unused", lambda x: x, pa.int64()),
    }
    condition = VectorizedCondition(UserCall("big", (X,), pa.bool_()), functions, (S, X))
    expected = [False, False, False, True]
    assert condition(DATA[S], DATA[X]).to_pylist() == expected
    for _ in range(2):  # before and after it was called
        condition = cloudpickle.loads(cloudpickle.dumps(condition))  # type: ignore[no-untyped-call]
        assert condition(DATA[S], DATA[X]).to_pylist() == expected
    assert list(Evaluation(UserCall("big", (X,), pa.bool_()), functions).functions) == ["big"]


def test_no_function_is_called_without_rows() -> None:
    def never(x: object) -> int:
        raise AssertionError

    for vectorized in (False, True):
        functions = {"never": UserFunction("never", never, pa.int64(), vectorized)}
        made = evaluate(UserCall("never", (X,), pa.int64()), lambda ref: pa.array([], pa.int64()), 0, functions)
        assert made.type == pa.int64()
        assert len(made) == 0
