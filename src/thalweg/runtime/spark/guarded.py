"""AND and OR of Columns in which a part is evaluated only on rows that the parts before it leave undecided.

Spark's own `&` and `|` do not promise that. Spark computes a subexpression that occurs twice in an operator once, ahead
of the whole expression, and for that it treats both sides of AND and OR as always evaluated. So
`x <> 0 AND 10 DIV x > 2 AND 10 DIV x < 5` divides by zero: in projections, aggregates and join conditions, and in
filters too unless whole-stage code generation compiles them conjunct by conjunct. The optimizer may also split and
move the conjuncts (below a join, for instance).

Spark treats only the first argument of `nanvl` as always evaluated, and no optimizer rule looks into `nanvl`. So each
later part is the second argument of a `nanvl` whose first argument is NaN, and the whole expression is inside another
`nanvl`, which keeps the optimizer from splitting it. CASE and IF are evaluated in the same way, but in filters the
optimizer turns a CASE with one branch back into AND or OR. Every part is written, and evaluated, once.

The cost: a condition inside a `nanvl` cannot be pushed down to a data source, and its conjuncts do not take part in the
planning of joins. Use plain `&` and `|` if no part can raise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F


def all_true(parts: Sequence[Column]) -> Column:
    """Return a filter condition that is true if all parts are; a part is evaluated only if all before it are true.

    If a part is NULL, the result is false or NULL, so this is not AND under NOT or in a projection.
    """
    *guards, last = parts
    decided = [F.when(part, F.lit(None)).otherwise(F.lit(False)) for part in guards]
    return F.coalesce(*decided, last) if decided else last


def all_of(parts: Sequence[Column]) -> Column:
    """Return AND in three-valued logic; a part is evaluated only if none before it is false."""
    return _one_after_the_other(parts, Column.__and__)


def any_of(parts: Sequence[Column]) -> Column:
    """Return OR in three-valued logic; a part is evaluated only if none before it is true."""
    return _one_after_the_other(parts, Column.__or__)


def _one_after_the_other(parts: Sequence[Column], junction: Callable[[Column, Column], Column]) -> Column:
    *earlier, last = parts
    return reduce(lambda rest, part: kept_whole(junction(part, rest)), reversed(earlier), last)


def kept_whole(condition: Column) -> Column:
    """Return the same condition in an expression that Spark neither evaluates early nor splits."""
    return F.nanvl(F.lit(math.nan), condition.cast("double")).cast("boolean")
