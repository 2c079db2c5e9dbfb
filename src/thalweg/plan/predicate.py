"""One predicate of a filter chain: a function, the columns it reads, and what may be done with it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Protocol, overload

from thalweg.errors import PlanError
from thalweg.plan.native_predicate import NativePredicate, native_predicate
from thalweg.plan.relation import cannot_take, is_always_true, never_answers


@dataclass(frozen=True, slots=True)
class Predicate:
    """Made by :func:`predicate`; plain data that travels to the workers."""

    name: str
    func: Callable[..., Any]
    columns: tuple[str, ...]
    after: tuple[str, ...] = ()
    vectorized: bool = False
    setup: Callable[[], Any] | None = None
    profile: bool = True
    strict: bool = False
    """Of a row function: it answers True, False or None, and nothing else will do."""

    def structure(self) -> tuple[object, ...]:
        """What a fingerprint is made of: nothing that differs between two processes."""
        origin = f"{getattr(self.func, '__module__', '')}.{getattr(self.func, '__qualname__', '')}"
        return (self.name, origin, self.columns, self.after, self.vectorized, self.setup is not None, self.profile)

    def __call__(self, *_: object) -> NoReturn:
        """`df.transform(predicate)` is a near miss."""
        raise PlanError(f"predicate {self.name!r} is not applied by itself: df.transform(tw.filters({self.name}, ...))")


Guard = str | Predicate | NativePredicate | Callable[..., Any]
"""Who comes before, by name, or as it was given to `predicate` or made by it."""


class ColumnLike(Protocol):
    """A Column of PySpark, which is not imported here."""

    def isNotNull(self) -> Any:  # noqa: N802  (Spark's name)
        """What no function has."""


def is_column(thing: object) -> bool:
    """Whether it is a Column of classic PySpark or of Connect, told without importing either."""
    return any(
        kind.__name__ == "Column" and kind.__module__.split(".")[:2] == ["pyspark", "sql"]
        for kind in type(thing).__mro__
    )


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
        With ``vectorized=False`` a function of one row's values (in the order of `columns`) whose result counts as
        true when it is truthy. With ``vectorized=True`` a function of Arrow arrays that returns one boolean a row (an
        Arrow, NumPy or pandas array); null counts as false. It must be deterministic, and neither async nor a
        generator function.
        Or a Column of PySpark, ``F.col("payload").isNotNull()``: a native predicate, evaluated in the JVM before rows
        travel. It takes `name` and `after` (other native ones) and nothing else.
    columns
        The columns it reads. Only these travel to Python.
    name
        Defaults to the function's name.
    after
        Predicates that must have passed before this one may see a row (a null check before a parse): their names, or
        what :func:`predicate` made. It is then never evaluated, not even for profiling, on a row where one of them is
        false, or raised.
    setup
        Called once per worker process, and again only if what it captures has changed; its value becomes the first
        argument of `func` (a model, a connection).
    profile
        False: never evaluate it only to learn something. It then moves forward only on what ordinary work has shown.

    >>> predicate(str.isdigit, "code").name
    'isdigit'
    >>> predicate(len, "code", name="not_empty", after="isdigit").after
    ('isdigit',)
    """
    if is_column(func):
        return _native(func, name, after, columns, vectorized or setup is not None or not profile)
    if isinstance(func, Predicate | NativePredicate):
        raise PlanError(f"{func.name!r} is a predicate already: give it to tw.filters as it is")
    if not callable(func):
        raise PlanError(f"a predicate needs a function, not {func!r}: tw.predicate(is_suspicious, 'line')")
    label = name if name is not None else _name_of(func)
    if not isinstance(label, str) or not label:
        raise PlanError(f"a predicate's name must be a non-empty string, not {label!r}")
    if not columns:
        raise PlanError(f"predicate {label!r} reads no column: name the columns it gets, tw.predicate(f, 'line')")
    for column in columns:
        if not isinstance(column, str) or not column:
            raise PlanError(f"predicate {label!r}: columns are given by name, not as {column!r}")
    if setup is not None and not callable(setup):
        raise PlanError(f"predicate {label!r}: setup must be a function without arguments, not {setup!r}")
    guards = _guards(label, after)
    _refuse_spark_udf(label, func)
    _refuse_what_never_answers(label, func, setup)
    _check_arguments(label, func, columns, setup)
    return Predicate(label, func, tuple(columns), guards, bool(vectorized), setup, bool(profile))


def _native(
    column: Any, name: str | None, after: Guard | Iterable[Guard], columns: tuple[str, ...], settings: bool
) -> NativePredicate:
    made = native_predicate(column, name)
    if not isinstance(made.name, str) or not made.name:
        raise PlanError(f"a predicate's name must be a non-empty string, not {name!r}")
    if columns or settings:
        raise PlanError(
            f"predicate {made.name!r} is an expression of Spark's own: it takes name= and after=, no columns, "
            "vectorized, setup or profile"
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
            f"predicate {label!r} is a UDF of Spark's, which runs only inside Spark: give the Python function it was "
            "made of (its .func), and vectorized=True if that takes whole columns, as Arrow arrays"
        )


def _refuse_what_never_answers(label: str, func: Callable[..., Any], setup: Callable[[], Any] | None) -> None:
    if (why := never_answers(func)) is not None:
        raise PlanError(f"predicate {label!r} {why}")
    if is_always_true(func):
        raise PlanError(
            f"predicate {label!r} is a class: a call returns an object of it, which is always true. Give a function, "
            "or an object that can be called"
        )
    if setup is not None and (why := never_answers(setup)) is not None:
        raise PlanError(f"predicate {label!r}: its setup {why}")


def _check_arguments(
    label: str, func: Callable[..., Any], columns: tuple[str, ...], setup: Callable[[], Any] | None
) -> None:
    """Refuse what certainly cannot be called so. What a decorator hides behind *args is not looked into."""
    gets = [*(["the value of setup"] if setup is not None else []), *columns]
    if (taken := cannot_take(func, len(gets))) is not None:
        hint = ""
        if setup is not None and cannot_take(func, len(columns)) is None:
            hint = ". What setup returns is its first argument"
        elif setup is None and cannot_take(func, len(columns) + 1) is None:
            hint = ". Its first argument may come from setup="
        raise PlanError(
            f"predicate {label!r} gets {len(gets)} argument{'s' if len(gets) > 1 else ''} ({', '.join(gets)}) and its "
            f"function takes {taken}: name one column an argument{hint}"
        )
    if setup is not None and (taken := cannot_take(setup, 0)) is not None:
        raise PlanError(f"predicate {label!r}: setup is called without arguments and takes {taken}; use a partial")


def _name_of(func: Callable[..., Any]) -> str:
    while isinstance(func, functools.partial):
        func = func.func
    return getattr(func, "__name__", None) or type(func).__name__
