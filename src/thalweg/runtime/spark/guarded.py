"""AND and OR of Columns in which a part is evaluated only on rows that the parts before it leave undecided.

Spark's own `&` and `|` do not promise that. Spark computes a subexpression that occurs twice in an operator once, ahead
of the whole expression, and for that it treats both sides of AND and OR as always evaluated. So
`x <> 0 AND 10 DIV x > 2 AND 10 DIV x < 5` divides by zero: in projections, aggregates and join conditions, and in
filters too unless whole-stage code generation compiles them conjunct by conjunct. The optimizer may also split and
move the conjuncts (below a join, for instance).

Of a COALESCE only the first argument counts as always evaluated, and an expression is computed ahead only if it occurs
in all arguments, so also in the first. The functions here give each earlier part an argument of its own, which is NULL
where the part decides nothing. CASE would be treated alike, but in filters the optimizer turns a CASE with one branch
and a boolean literal into AND or OR again; it has no rule that does so to COALESCE, and none that splits one.

What it costs: a data source cannot take over a condition that is inside of a COALESCE, and its conjuncts do not take
part in the planning of joins. Use plain `&` and `|` where no part can raise.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F


def all_true(parts: Sequence[Column]) -> Column:
    """For filters: true where all parts are; a part is evaluated only where all before it are true, and once.

    Where a part other than the last is NULL the result is false, so this is not AND under NOT or in a projection.
    """
    *guards, last = parts
    return _first_decided([F.when(part, F.lit(None)).otherwise(F.lit(False)) for part in guards], last)


def all_of(parts: Sequence[Column]) -> Column:
    """AND in three-valued logic: a part is evaluated only where none before it is false.

    All parts but the last are evaluated twice where none is false.
    """
    return _first_decided([F.when(~part, F.lit(False)) for part in parts[:-1]], reduce(lambda a, b: a & b, parts))


def any_of(parts: Sequence[Column]) -> Column:
    """OR in three-valued logic: a part is evaluated only where none before it is true.

    All parts but the last are evaluated twice where none is true.
    """
    return _first_decided([F.when(part, F.lit(True)) for part in parts[:-1]], reduce(lambda a, b: a | b, parts))


def _first_decided(decisions: Sequence[Column], otherwise: Column) -> Column:
    return F.coalesce(*decisions, otherwise) if decisions else otherwise
