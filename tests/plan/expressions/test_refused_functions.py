"""Functions that return no answer are refused when the predicate is created, or if that is impossible, on return."""

from __future__ import annotations

import asyncio
import functools
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import thalweg as tw

TABLE = pa.table({"id": range(100)})


async def is_async(*values: Any) -> bool:
    return False


def yields(*values: Any) -> Any:
    yield False


async def yields_async(*values: Any) -> Any:
    yield False


class AsyncCall:
    async def __call__(self, *values: Any) -> bool:
        return False

    async def method(self, *values: Any) -> bool:
        return False


class Checker:
    """A class given in place of its object."""

    def __init__(self, value: Any = None) -> None:
        self.value = value


class Truthful:
    """A class whose objects have a truth value."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __bool__(self) -> bool:
        return self.value < 10


REFUSED = [
    (is_async, "is async"),
    (functools.partial(functools.partial(is_async, 1), 2), "is async"),
    (AsyncCall(), "is async"),
    (AsyncCall().method, "is async"),
    (functools.partial(AsyncCall(), 1), "is async"),
    (yields, "is a generator function"),
    (lambda x: (yield x), "is a generator function"),
    (yields_async, "is a generator function"),
]


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize(("func", "why"), REFUSED)
def test_functions_that_give_no_value_are_refused_at_once(func: Callable[..., Any], why: str, vectorized: bool) -> None:
    with pytest.raises(tw.PlanError, match=f"^predicate 'p' {why}: a call returns"):
        tw.predicate(func, "id", name="p", vectorized=vectorized)


@pytest.mark.parametrize(("func", "why"), REFUSED)
def test_so_are_setups(func: Callable[..., Any], why: str) -> None:
    with pytest.raises(tw.PlanError, match=f"^predicate 'p': its setup {why}: a call returns"):
        tw.predicate(lambda model, x: True, "id", name="p", setup=func)


@pytest.mark.parametrize(("func", "why"), REFUSED)
def test_so_are_functions_of_queries(func: Callable[..., Any], why: str) -> None:
    with pytest.raises(tw.PlanError, match=f"^function 'looks_up' {why}: a call returns"):
        tw.session().function("looks_up", func, "boolean")


def test_a_class_whose_objects_are_always_true_is_refused() -> None:
    with pytest.raises(tw.PlanError, match=r"^predicate 'Checker' is a class: .* always true\. Pass a function"):
        tw.predicate(Checker, "id")


def kept(func: Any, **options: Any) -> list[int]:
    keep = tw.filters(tw.predicate(func, "id", name="p", **options))
    return [value for batch in keep.over(TABLE) for value in batch.column("id").to_pylist()]


def runs_a_coroutine(func: Any) -> Any:
    @functools.wraps(func)
    def wrapper(*values: Any) -> Any:
        return asyncio.run(func(*values))

    return wrapper


@runs_a_coroutine
async def below_ten(x: int) -> bool:
    return x < 10


@pytest.mark.parametrize(
    "func",
    [
        Truthful, below_ten, lambda x: np.bool_(x < 10), lambda x: np.array(x < 10), lambda x: np.int64(x < 10),
        lambda x: re.match(r"\d$", str(x)), lambda x: [x] if x < 10 else [], lambda x: None if x >= 10 else "x",
        lambda x: 1000 if x < 10 else 0, lambda x: -1 if x < 10 else 0, lambda x: 2 if x < 10 else False,
        lambda x: {"a": tw} if x < 10 else None, lambda x: tw.filters if x < 10 else None, lambda x: float(x < 10),
    ],
)  # fmt: skip
def test_what_is_true_in_python_counts_as_true(func: Callable[..., Any]) -> None:
    assert kept(func) == list(range(10))


def test_a_class_is_a_good_setup() -> None:
    assert kept(lambda checker, x: checker.value is None and x < 10, setup=Checker) == list(range(10))


async def coroutine() -> bool:
    return False


class Promise:
    def __await__(self) -> Any:
        return iter([])


RETURNED: dict[str, tuple[Callable[[], Any], str]] = {
    "a coroutine": (coroutine, "coroutine for a row, which is always true"),
    "an awaitable": (Promise, "Promise for a row, which is always true"),
    "an async generator": (yields_async, "async_generator for a row, which is always true"),
    "a generator": (
        lambda: (n for n in list[int]()),
        "generator for a row, which is always true, even if it yields nothing",
    ),
    "a filter": (lambda: filter(None, []), "filter for a row, which is always true"),
    "matches": (lambda: re.finditer("a", "b"), "callable_iterator for a row, which is always true"),
    "NotImplemented": (lambda: NotImplemented, "NotImplementedType for a row, which is not a truth value; return True"),
    "an Arrow scalar": (lambda: pa.scalar(False), "pyarrow's BooleanScalar for a row, which is not a truth value"),
    "an Arrow number": (lambda: pa.scalar(1000), "pyarrow's Int64Scalar for a row, which is not a truth value"),
    "an Arrow array": (lambda: pa.array([False]), "pyarrow's BooleanArray for a row, which is not a truth value"),
    "an array": (lambda: np.array([False]), "numpy's ndarray for a row, which is not a truth value"),
    "a Series": (lambda: pd.Series([False]), "pandas's Series for a row, which is not a truth value"),
}


@pytest.mark.parametrize("on_error", ["raise", "dead-letter"])
@pytest.mark.parametrize("first", [0, 50])
@pytest.mark.parametrize("what", RETURNED)
def test_what_is_no_truth_value_is_refused_also_in_later_rows(what: str, first: int, on_error: str) -> None:
    made, message = RETURNED[what]
    keep = tw.filters(tw.predicate(lambda x: made() if x >= first else None, "id", name="p"), on_error=on_error)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(tw.PredicateError, match=re.escape(message)):
            list(keep.over(TABLE))


def test_a_setup_that_returns_a_coroutine_is_refused() -> None:
    with pytest.raises(tw.PredicateError, match="setup of predicate 'p' returned a coroutine"):
        kept(lambda model, x: True, setup=lambda: coroutine())


def test_a_truth_that_raises_is_unknown_on_its_row_alone() -> None:
    class Doubtful:
        def __init__(self, x: int) -> None:
            self.x = x

        def __bool__(self) -> bool:
            if self.x % 40 == 5:
                raise StopIteration if self.x == 5 else ValueError(self.x)
            return self.x % 2 == 0

    doubtful = tw.predicate(Doubtful, "id")
    rows = [
        row for batch in tw.filters(doubtful, on_error="dead-letter").tagged_over(TABLE) for row in batch.to_pylist()
    ]
    assert [row["id"] for row in rows if row["thalweg_errors"] is None] == [x for x in range(100) if x % 2 == 0]
    assert {row["id"]: row["thalweg_errors"][0]["error"] for row in rows if row["thalweg_errors"]} == {
        5: "StopIteration",
        45: "ValueError: 45",
        85: "ValueError: 85",
    }
