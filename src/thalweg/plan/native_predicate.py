"""One native predicate: an expression of Spark's own, evaluated in the JVM before any row travels to Python."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

from thalweg.errors import PlanError
from thalweg.plan.expression_kind import may_raise
from thalweg.plan.native_text import nodes_of, short_name, text_of
from thalweg.plan.native_uses import Use, uses_in, uses_of

_RANDOM = frozenset({"rand", "randn", "random", "uuid", "shuffle", "monotonically_increasing_id", "randstr", "uniform"})


@dataclass(frozen=True, slots=True)
class NativePredicate:
    """Made by `tw.predicate(column)`, or from a bare Column among the arguments of `tw.filters`."""

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
    """False: the name was made from the expression, and may be made unique."""

    def structure(self) -> tuple[object, ...]:
        """What a fingerprint is made of: nothing that differs between two processes."""
        return (self.name, self.text, self.after)

    def __call__(self, *_: object) -> NoReturn:
        """`df.transform(predicate)` is a near miss."""
        raise PlanError(f"predicate {self.name!r} is not applied by itself: df.transform(tw.filters(...))")


def native_predicate(
    column: Any, name: str | None = None, after: tuple[str, ...] = (), known: tuple[tuple[Use, ...], bool] | None = None
) -> NativePredicate:
    """Describe a native predicate; what is no native expression, or not the same each time, is refused.

    `known`: what it uses and whether it can fail, where the Column was made from an expression with known types."""
    text = text_of(column)
    label = name if name is not None else short_name(text)
    if _calls_python(column, text):
        # classic Spark prints the UDF's arguments as the inside of its parser
        called = re.search(r"([\w<>]+)\(columnnodeexpression", text) if name is None else None
        raise PlanError(
            f"predicate {called[1] if called else label!r} is a Python UDF, which Spark runs in Python on every row: "
            "give its function instead, tw.predicate(f, 'column')"
        )
    if known is None:
        found = uses_of(column)
        uses = tuple(uses_in(text)) if found is None else found
        known = uses, may_raise(uses)
    uses, raises = known
    if random := _RANDOM.intersection(use.word for use in uses):
        raise PlanError(
            f"predicate {label!r} calls {min(random)}(), and what it answers would depend on the order: "
            "filter by it before or behind tw.filters"
        )
    return NativePredicate(label, text, uses, raises, column, after, named=name is not None)


def _calls_python(column: Any, text: str) -> bool:
    if any(type(node).__name__.endswith("InlineUserDefinedFunction") for node in nodes_of(column)):
        return True
    bare = re.sub(r"'[^']*'", "", text)
    return "columnnodeexpression(" in bare or "<lambda>(" in bare
