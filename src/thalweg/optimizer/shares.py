"""Which share of a source's rows a condition is expected to keep, before any was seen.

An equality with a literal keeps one of the different values the user declares. Where nothing is declared, the shares
are those that Selinger et al. assume; what they say nothing of, the user's functions among it, keeps a third.

>>> import pyarrow as pa
>>> from thalweg.plan.expression import Ref, Value, call
>>> host, five = Ref("t", "host", pa.int64()), Value(5, pa.int64())
>>> share_of(call("eq", (host, five), pa.bool_()), Statistics(distinct={"host": 50}))
Share(value=0.02, declared=True)
>>> share_of(call("gt", (host, five), pa.bool_()), None).value == RANGE
True

Reference: Selinger, Astrahan, Chamberlin, Lorie, Price: Access Path Selection in a Relational Database Management
System. SIGMOD 1979, table 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from thalweg.plan.expression import Call, Expression, Ref, Value
from thalweg.plan.number_words import percent
from thalweg.plan.relation import Statistics

EQUAL, RANGE, BETWEEN, MOST_OF_A_LIST = 1 / 10, 1 / 3, 1 / 4, 1 / 2
UNKNOWN = 1 / 3
_ONE_SIDED = {"gt": "low", "ge": "low", "lt": "high", "le": "high"}


@dataclass(frozen=True)
class Share:
    """Of the rows; `declared`: it follows from what the user declares, and nothing in it is assumed."""

    value: float
    declared: bool

    def __str__(self) -> str:
        return f"{percent(self.value)}, {'declared' if self.declared else 'assumed'}"


def share_of(expression: Expression, statistics: Statistics | None) -> Share:
    """Of rows for which a condition on one source is true."""
    if isinstance(expression, Value):
        return Share(1.0 if expression.value is True else 0.0, True)
    if not isinstance(expression, Call):
        return Share(UNKNOWN, False)
    name, arguments = expression.function, expression.arguments
    if name == "and" and _is_range(arguments):
        return Share(BETWEEN, False)
    if name in ("and", "or", "not"):
        parts = [share_of(argument, statistics) for argument in arguments]
        if name == "and":
            return share_of_all(arguments, statistics)
        declared = all(part.declared for part in parts)
        if name == "or":
            return Share(1 - prod(1 - part.value for part in parts), declared)
        return Share(1 - parts[0].value, declared)
    if name in ("eq", "same", "ne"):
        equal = _equal(arguments, statistics)
        return Share(1 - equal.value, equal.declared) if name == "ne" else equal
    if name == "in":
        equal = _equal(arguments[:2], statistics)
        share = equal.value * (len(arguments) - 1)
        return Share(min(share, 1.0 if equal.declared else MOST_OF_A_LIST), equal.declared)
    if name == "is_null":
        return Share(EQUAL, False)
    return Share(RANGE if name in _ONE_SIDED else UNKNOWN, False)


def share_of_all(expressions: Iterable[Expression], statistics: Statistics | None) -> Share:
    """Of rows that pass several, as if one said nothing about the others."""
    parts = [share_of(expression, statistics) for expression in expressions]
    return Share(prod(part.value for part in parts), _certain(parts))


def _certain(parts: list[Share]) -> bool:
    """Whether nothing in a conjunction is assumed; what keeps no row, keeps none beside anything."""
    return all(part.declared for part in parts) or any(part.declared and not part.value for part in parts)


def column_in(expression: Expression) -> Ref | None:
    """The column itself, whatever it is widened to."""
    while isinstance(expression, Call) and expression.function == "widen":
        expression = expression.arguments[0]
    return expression if isinstance(expression, Ref) else None


def _equal(arguments: tuple[Expression, ...], statistics: Statistics | None) -> Share:
    columns = [column for column in map(column_in, arguments) if column is not None]
    known = statistics.distinct if statistics is not None else {}
    distinct = [known[column.column] for column in columns if column.column in known]
    return Share(1 / max(distinct), True) if distinct else Share(EQUAL, False)


def _is_range(arguments: tuple[Expression, ...]) -> bool:
    """From below and from above, of one column."""
    sides = [(a.function, a.arguments[0]) for a in arguments if isinstance(a, Call) and a.function in _ONE_SIDED]
    return len(sides) == 2 and sides[0][1] == sides[1][1] and {_ONE_SIDED[f] for f, _ in sides} == {"low", "high"}
