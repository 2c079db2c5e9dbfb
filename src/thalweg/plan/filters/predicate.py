"""The predicates of a filter chain: Python functions with the columns that they read, and Spark expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from thalweg.errors import PlanError
from thalweg.plan.filters.native_uses import Use


@dataclass(frozen=True, slots=True)
class Predicate:
    """A Python predicate, made by :func:`predicate`. It is plain data that is sent to the workers."""

    name: str
    func: Callable[..., Any]
    columns: tuple[str, ...]
    after: tuple[str, ...] = ()
    vectorized: bool = False
    setup: Callable[[], Any] | None = None
    profile: bool = True
    strict: bool = False
    """Whether a row function must return True, False or None, and nothing else."""

    def structure(self) -> tuple[object, ...]:
        """Return the content of a fingerprint: nothing in it differs between two processes."""
        origin = f"{getattr(self.func, '__module__', '')}.{getattr(self.func, '__qualname__', '')}"
        return (self.name, origin, self.columns, self.after, self.vectorized, self.setup is not None, self.profile)

    def __call__(self, *_: object) -> NoReturn:
        """Refuse `df.transform(predicate)`, a common mistake."""
        raise PlanError(
            f"predicate {self.name!r} cannot be applied by itself: write df.transform(tw.filters({self.name}, ...))"
        )


@dataclass(frozen=True, slots=True)
class NativePredicate:
    """A Spark expression that the JVM evaluates before any row is sent to Python. Made by `tw.predicate(column)`, or
    from a bare Column among the arguments of `tw.filters`."""

    name: str
    text: str
    """The expression as Spark prints it."""
    uses: tuple[Use, ...] = field(repr=False)
    """The functions and operators in it."""
    raises: bool = field(repr=False)
    """Whether it can fail on a row."""
    column: Any = field(compare=False, repr=False)
    after: tuple[str, ...] = ()
    named: bool = field(default=True, compare=False)
    """Whether the user gave the name. If not, it was made from the expression and may be changed to be unique."""

    def structure(self) -> tuple[object, ...]:
        """Return the content of a fingerprint: nothing in it differs between two processes."""
        return (self.name, self.text, self.after)

    def __call__(self, *_: object) -> NoReturn:
        """Refuse `df.transform(predicate)`, a common mistake."""
        raise PlanError(f"predicate {self.name!r} cannot be applied by itself: write df.transform(tw.filters(...))")


def is_column(thing: object) -> bool:
    """Whether it is a Column of classic PySpark or of Connect. Neither is imported."""
    return any(
        kind.__name__ == "Column" and kind.__module__.split(".")[:2] == ["pyspark", "sql"]
        for kind in type(thing).__mro__
    )
