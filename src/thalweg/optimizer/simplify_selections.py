"""What is said about one column by comparisons with literals, in as few comparisons as possible, and as one condition.

`a > 5 AND a < 10` is one condition, a range; `a > 5 AND a > 7` is `a > 7`; `a = 3 AND a > 5` can never be true. Spark
orders NaN behind every number, and so does this.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from thalweg.plan.expression import Call, Expression, Ref, Value, call, text_of
from thalweg.plan.query import Condition
from thalweg.plan.query_plan import QueryPlan
from thalweg.stats import NOTHING_KNOWN, Knowledge

_TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}
NEVER = Value(False, pa.bool_())


@dataclass
class Range:
    """What comparisons leave of a column: bounds, and whether they are within."""

    low: Any = None
    low_in: bool = True
    high: Any = None
    high_in: bool = True

    def narrow(self, function: str, value: Any) -> None:
        """By one comparison."""
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
        """No value is in it."""
        if self.low is None or self.high is None:
            return False
        return bool(self.low > self.high or (self.low == self.high and not (self.low_in and self.high_in)))


def simplify_selections(plan: QueryPlan, _known: Knowledge = NOTHING_KNOWN) -> QueryPlan:
    """One condition a column, where it was first spoken of."""
    by_column: dict[Expression, list[tuple[int, str, Any]]] = {}
    for n, condition in enumerate(plan.conditions):
        if (found := _comparison(condition.expression)) is not None:
            by_column.setdefault(found[0], []).append((n, found[1], found[2]))
    conditions: list[Condition | None] = list(plan.conditions)
    for column, comparisons in by_column.items():
        if len(comparisons) < 2:
            continue
        told = [plan.conditions[n].text for n, _, _ in comparisons]
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
            plan = plan.noting(f"{' AND '.join(told)} can never be true: no row passes")
        elif len(told) > (range_.low is not None) + (range_.high is not None and range_.high != range_.low):
            plan = plan.noting(f"{' AND '.join(told)} is {made.text}")
    return plan.with_conditions(tuple(c for c in conditions if c is not None))


def _comparison(expression: Expression) -> tuple[Expression, str, Any] | None:
    """(column, comparison, literal)."""
    if not isinstance(expression, Call) or expression.function not in _TURNED:
        return None
    one, other = expression.arguments
    function = expression.function
    if isinstance(one, Value):
        one, other, function = other, one, _TURNED[function]
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
