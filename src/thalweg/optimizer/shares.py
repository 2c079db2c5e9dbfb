"""Which share of a source's rows a condition is expected to keep, before any was seen.

An equality with a literal keeps one of the different values that are known. Where nothing is known, the shares are
those that Selinger et al. assume; what they say nothing about, such as the user's functions, keeps a third.

>>> import pyarrow as pa
>>> from thalweg.plan.expression import Ref, Value, call
>>> host, five = Ref("t", "host", pa.int64()), Value(5, pa.int64())
>>> known = Knowledge.declared("tcp", distinct={"host": 50})
>>> share_of(call("eq", (host, five), pa.bool_()), known, "tcp")
Estimate(value=0.02, origin='declared', variance=None, low=0.0, high=1.0, as_of=None)
>>> share_of(call("gt", (host, five), pa.bool_()), known, "tcp").value == RANGE
True

Reference: Selinger, Astrahan, Chamberlin, Lorie, Price: Access Path Selection in a Relational Database Management
System. SIGMOD 1979, table 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import mul

from thalweg.plan.estimate import Estimate, Origin
from thalweg.plan.expression import Call, Expression, Ref, Value
from thalweg.plan.query import Condition
from thalweg.stats import DistinctValues, Knowledge, ShareKept

EQUAL, RANGE, BETWEEN, MOST_OF_A_LIST = 1 / 10, 1 / 3, 1 / 4, 1 / 2
UNKNOWN = 1 / 3
ALL = Estimate(1, "counted", 0, 1, 1)
_ONE_SIDED = {"gt": "low", "ge": "low", "lt": "high", "le": "high"}


def share_kept(condition: Condition, known: Knowledge, relation: str | None) -> Estimate:
    """The share of rows for which a condition is true. `relation`: the one it is about; None: joined rows."""
    return known.about(ShareKept(condition.text)) or share_of(condition.expression, known, relation)


def share_kept_by_all(conditions: Iterable[Condition], known: Knowledge, relation: str | None) -> Estimate:
    """The share of rows that pass several, as if one said nothing about the others."""
    return reduce(mul, (share_kept(condition, known, relation) for condition in conditions), ALL)


def share_of(expression: Expression, known: Knowledge, relation: str | None) -> Estimate:
    """The share of rows for which an expression is true."""
    if isinstance(expression, Value):
        share = 1 if expression.value is True else 0
        return Estimate(share, "declared", 0, share, share)
    if not isinstance(expression, Call):
        return _share(UNKNOWN)
    name, arguments = expression.function, expression.arguments
    if name == "and" and _is_range(arguments):
        return _share(BETWEEN)
    if name in ("and", "or", "not"):
        parts = [share_of(argument, known, relation) for argument in arguments]
        if name == "and":
            return reduce(mul, parts)
        if name == "or":
            return reduce(mul, (part.complement for part in parts)).complement
        return parts[0].complement
    if name in ("eq", "same", "ne"):
        equal = _equal(arguments, known, relation)
        return equal.complement if name == "ne" else equal
    if name == "in":
        equal = _equal(arguments[:2], known, relation)
        most = MOST_OF_A_LIST if equal.origin == "assumed" else 1.0
        return _share(min(equal.value * (len(arguments) - 1), most), equal.origin)
    if name == "is_null":
        return _share(EQUAL)
    return _share(RANGE if name in _ONE_SIDED else UNKNOWN)


def column_in(expression: Expression) -> Ref | None:
    """The column itself, whatever it is widened to."""
    while isinstance(expression, Call) and expression.function == "widen":
        expression = expression.arguments[0]
    return expression if isinstance(expression, Ref) else None


def _share(value: float, origin: Origin = "assumed") -> Estimate:
    return Estimate(value, origin, None, 0, 1)


def _equal(arguments: tuple[Expression, ...], known: Knowledge, relation: str | None) -> Estimate:
    columns = [column.column for column in map(column_in, arguments) if column is not None]
    values = [known.about(DistinctValues(relation, column)) for column in columns] if relation is not None else []
    distinct = [each for each in values if each is not None]
    return 1 / max(distinct, key=lambda each: each.value) if distinct else _share(EQUAL)


def _is_range(arguments: tuple[Expression, ...]) -> bool:
    """From below and from above, of one column."""
    sides = [(a.function, a.arguments[0]) for a in arguments if isinstance(a, Call) and a.function in _ONE_SIDED]
    return len(sides) == 2 and sides[0][1] == sides[1][1] and {_ONE_SIDED[f] for f, _ in sides} == {"low", "high"}
