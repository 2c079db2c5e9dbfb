"""Merge the comparisons of a column with literals into one condition with as few comparisons as possible.

`a > 5 AND a < 10` is one condition, a range; `a > 5 AND a > 7` is `a > 7`; `a = 3 AND a > 5` can never be true. As in
Spark, NaN is greater than any number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from thalweg.plan.expressions.expression import Call, Expression, Ref, Value, call, text_of
from thalweg.plan.query.query import Condition
from thalweg.plan.query.query_plan import QueryPlan
from thalweg.stats import NOTHING_KNOWN, Knowledge

_FLIPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}
NEVER = Value(False, pa.bool_())


@dataclass
class Range:
    """The range of values that comparisons leave of a column: its bounds, and whether they are included."""

    low: Any = None
    low_in: bool = True
    high: Any = None
    high_in: bool = True

    def narrow(self, function: str, value: Any) -> None:
        """Narrow the range by one comparison."""
        if function in ("gt", "ge", "eq"):
            within = function != "gt"
            if self.low is None or value > self.low or (value == self.low and not within):
                self.low, self.low_in = value, within
        if function in ("lt", "le", "eq"):
            within = function != "lt"
            if self.high is None or value < self.high or (value == self.high and not within):
                self.high, self.high_in = value, within

    @property
    def empty(self) -> bool:
        """Whether the range contains no value."""
        if self.low is None or self.high is None:
            return False
        return bool(self.low > self.high or (self.low == self.high and not (self.low_in and self.high_in)))


def simplify_selections(plan: QueryPlan, _known: Knowledge = NOTHING_KNOWN) -> QueryPlan:
    """Merge the comparisons of each column into one condition, at the place of the first."""
    by_column: dict[Expression, list[tuple[int, str, Any]]] = {}
    for n, condition in enumerate(plan.conditions):
        if (found := _comparison(condition.expression)) is not None:
            by_column.setdefault(found[0], []).append((n, found[1], found[2]))
    conditions: list[Condition | None] = list(plan.conditions)
    for column, comparisons in by_column.items():
        if len(comparisons) < 2:
            continue
        texts = [plan.conditions[n].text for n, _, _ in comparisons]
        range_ = Range()
        for _, function, value in comparisons:
            range_.narrow(function, value)
        first = comparisons[0][0]
        for n, _, _ in comparisons:
            conditions[n] = None
        expression = NEVER if range_.empty else _range_of(column, range_)
        made = replace(plan.conditions[first], expression=expression, text=text_of(expression))
        conditions[first] = made
        if range_.empty:
            plan = plan.noting(f"{' AND '.join(texts)} can never be true: no row passes")
        elif len(texts) > (range_.low is not None) + (range_.high is not None and range_.high != range_.low):
            plan = plan.noting(f"{' AND '.join(texts)} is simplified to {made.text}")
    return plan.with_conditions(tuple(c for c in conditions if c is not None))


def _comparison(expression: Expression) -> tuple[Expression, str, Any] | None:
    """Return the column, the comparison and the literal, or None if the expression is not such a comparison."""
    if not isinstance(expression, Call) or expression.function not in _FLIPPED:
        return None
    one, other = expression.arguments
    function = expression.function
    if isinstance(one, Value):
        one, other, function = other, one, _FLIPPED[function]
    inner = one
    while isinstance(inner, Call) and inner.function == "widen":
        inner = inner.arguments[0]
    if not isinstance(inner, Ref) or not isinstance(other, Value) or not _ordered(other):
        return None
    return one, function, other.value


def _ordered(literal: Value) -> bool:
    value = literal.value
    if isinstance(value, bool) or value is None or value != value:
        return False
    return isinstance(value, int | float | Decimal | str | date | datetime) and not (
        isinstance(value, str) and not value.isascii()  # Spark orders by bytes, Python by code points
    )


def _range_of(column: Expression, range_: Range) -> Expression:
    if range_.low is not None and range_.low == range_.high:
        return call("eq", (column, Value(range_.low, column.type)), pa.bool_())
    parts: list[Expression] = []
    if range_.low is not None:
        parts.append(call("ge" if range_.low_in else "gt", (column, Value(range_.low, column.type)), pa.bool_()))
    if range_.high is not None:
        parts.append(call("le" if range_.high_in else "lt", (column, Value(range_.high, column.type)), pa.bool_()))
    return parts[0] if len(parts) == 1 else call("and", (parts[0], parts[1]), pa.bool_())
