"""Makes predicates of what users give: a function, the columns it reads and its options, or a Spark Column."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Protocol, overload

from thalweg.errors import PlanError
from thalweg.plan.filters.expression_kind import may_raise
from thalweg.plan.filters.predicate import NativePredicate, Predicate, is_column
from thalweg.plan.query.relation import cannot_take, is_always_true, never_answers
from thalweg.runtime.spark.read_column import python_udf_in, short_name, text_of, uses_of

_RANDOM = frozenset({"rand", "randn", "random", "uuid", "shuffle", "monotonically_increasing_id", "randstr", "uniform"})

Guard = str | Predicate | NativePredicate | Callable[..., Any]
"""A predicate that must come before another: its name, the function, or what :func:`predicate` returned."""


class ColumnLike(Protocol):
    """A Column of PySpark, which is not imported here."""

    def isNotNull(self) -> Any:  # noqa: N802  (Spark's name)
        """A method that a Column has and a function does not."""


@overload
def predicate(
    func: Callable[..., Any],
    *columns: str,
    name: str | None = ...,
    after: Guard | Iterable[Guard] = ...,
    vectorized: bool = ...,
    setup: Callable[[], Any] | None = ...,
    profile: bool = ...,
) -> Predicate: ...


@overload
def predicate(func: ColumnLike, *, name: str | None = ..., after: Guard | Iterable[Guard] = ...) -> NativePredicate: ...


def predicate(
    func: Any,
    *columns: str,
    name: str | None = None,
    after: Guard | Iterable[Guard] = (),
    vectorized: bool = False,
    setup: Callable[[], Any] | None = None,
    profile: bool = True,
) -> Predicate | NativePredicate:
    """Describe one predicate of a filter chain.

    Parameters
    ----------
    func
        With ``vectorized=False``, a function of the values of one row (in the order of `columns`) whose result counts
        as true if it is truthy. With ``vectorized=True``, a function of Arrow arrays that returns one boolean per row
        (an Arrow, NumPy, pandas or Polars array); null and masked values count as false. It must be deterministic, and
        neither async nor a generator function.
        Or a PySpark Column, ``F.col("payload").isNotNull()``: a native predicate, which is evaluated in the JVM before
        rows are sent to Python. It takes only `name` and `after` (other native predicates).
    columns
        The columns it reads. Only these are sent to Python.
    name
        The name in reports and errors. Defaults to the function's name.
    after
        Predicates that a row must pass before this one sees it (for example a null check before a parse): their names,
        or what :func:`predicate` returned. The predicate is then never evaluated, not even for profiling, on a row on
        which one of them is false or raises.
    vectorized
        Whether `func` takes Arrow arrays.
    setup
        A function that is called once per worker process, and again only if what it captures has changed. Its value
        becomes the first argument of `func` (for example a model or a connection).
    profile
        If False, the predicate is never evaluated only for profiling. It then moves forward only because of what
        ordinary evaluations show.

    Returns
    -------
    Predicate or NativePredicate

    Raises
    ------
    PlanError
        If an argument is invalid.

    Examples
    --------
    >>> predicate(str.isdigit, "code").name
    'isdigit'
    >>> predicate(len, "code", name="not_empty", after="isdigit").after
    ('isdigit',)
    """
    if is_column(func):
        return _native(func, name, after, columns, vectorized or setup is not None or not profile)
    if isinstance(func, Predicate | NativePredicate):
        raise PlanError(f"{func.name!r} is already a predicate: pass it to tw.filters as it is")
    if not callable(func):
        raise PlanError(f"a predicate needs a function, not {func!r}: write tw.predicate(is_suspicious, 'line')")
    label = name if name is not None else _name_of(func)
    if not isinstance(label, str) or not label:
        raise PlanError(f"a predicate's name must be a non-empty string, not {label!r}")
    if not columns:
        raise PlanError(f"predicate {label!r} reads no column: name its columns, tw.predicate(f, 'line')")
    for column in columns:
        if not isinstance(column, str) or not column:
            raise PlanError(f"predicate {label!r}: columns are passed by name, not as {column!r}: write 'line'")
    if setup is not None and not callable(setup):
        raise PlanError(f"predicate {label!r}: setup must be a function without arguments, not {setup!r}")
    guards = _guards(label, after)
    _refuse_spark_udf(label, func)
    _refuse_functions_without_value(label, func, setup)
    _check_arguments(label, func, columns, setup)
    return Predicate(label, func, tuple(columns), guards, bool(vectorized), setup, bool(profile))


def native_predicate(column: Any, name: str | None = None) -> NativePredicate:
    """Describe a native predicate. A Column that calls Python, or is not deterministic, is refused."""
    text = text_of(column)
    label = name if name is not None else short_name(text)
    if (udf := python_udf_in(column, text)) is not None:
        called = udf if udf and name is None else label
        raise PlanError(
            f"predicate {called!r} is a Python UDF, which Spark runs in Python on every row: "
            "pass its function instead, tw.predicate(f, 'column')"
        )
    uses = uses_of(column)
    if random := _RANDOM.intersection(use.word for use in uses):
        raise PlanError(
            f"predicate {label!r} calls {min(random)}(), so its result would depend on the order: "
            "apply it before or after tw.filters"
        )
    return NativePredicate(label, text, uses, may_raise(uses), column, named=name is not None)


def _native(
    column: Any, name: str | None, after: Guard | Iterable[Guard], columns: tuple[str, ...], settings: bool
) -> NativePredicate:
    made = native_predicate(column, name)
    if not isinstance(made.name, str) or not made.name:
        raise PlanError(f"a predicate's name must be a non-empty string, not {name!r}")
    if columns or settings:
        raise PlanError(
            f"predicate {made.name!r} is a Spark expression, which takes only name= and after=: remove columns, "
            "vectorized, setup and profile"
        )
    return replace(made, after=_guards(made.name, after))


def _guards(label: str, after: Guard | Iterable[Guard]) -> tuple[str, ...]:
    several = isinstance(after, Iterable) and not isinstance(after, str) and not is_column(after)
    guards: tuple[Any, ...] = tuple(after) if several else (after,)  # type: ignore[arg-type]
    names = []
    for guard in guards:
        if isinstance(guard, Predicate | NativePredicate):
            names.append(guard.name)
        elif callable(guard):
            names.append(_name_of(guard))
        elif isinstance(guard, str):
            names.append(guard)
        else:
            raise PlanError(f"predicate {label!r}: after takes names of predicates, not {guard!r}")
    return tuple(names)


def _refuse_spark_udf(label: str, func: Any) -> None:
    if hasattr(func, "returnType") and hasattr(func, "evalType"):
        raise PlanError(
            f"predicate {label!r} is a Spark UDF, which runs only inside Spark: pass the Python function it was made "
            "from (its .func), and vectorized=True if that function takes whole columns as Arrow arrays"
        )


def _refuse_functions_without_value(label: str, func: Callable[..., Any], setup: Callable[[], Any] | None) -> None:
    if (why := never_answers(func)) is not None:
        raise PlanError(f"predicate {label!r} {why}")
    if is_always_true(func):
        raise PlanError(
            f"predicate {label!r} is a class: a call returns an object, which is always true. Pass a function, or an "
            "object that can be called"
        )
    if setup is not None and (why := never_answers(setup)) is not None:
        raise PlanError(f"predicate {label!r}: its setup {why}")


def _check_arguments(
    label: str, func: Callable[..., Any], columns: tuple[str, ...], setup: Callable[[], Any] | None
) -> None:
    """Refuse a function that certainly cannot be called with these arguments. What a decorator passes on as *args is
    not examined."""
    gets = [*(["the value of setup"] if setup is not None else []), *columns]
    if (taken := cannot_take(func, len(gets))) is not None:
        hint = ""
        if setup is not None and cannot_take(func, len(columns)) is None:
            hint = ". Its first argument is what setup returns"
        elif setup is None and cannot_take(func, len(columns) + 1) is None:
            hint = ". Its first argument may come from setup="
        raise PlanError(
            f"predicate {label!r} gets {len(gets)} argument{'s' if len(gets) > 1 else ''} ({', '.join(gets)}), but its "
            f"function takes {taken}: name one column per argument{hint}"
        )
    if setup is not None and (taken := cannot_take(setup, 0)) is not None:
        raise PlanError(
            f"predicate {label!r}: setup is called without arguments, but takes {taken}; use functools.partial"
        )


def _name_of(func: Callable[..., Any]) -> str:
    while isinstance(func, functools.partial):
        func = func.func
    return getattr(func, "__name__", None) or type(func).__name__
