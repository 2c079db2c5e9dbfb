"""Joins one stream with tables, with Spark's own join, which keeps no state of the stream."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from thalweg.plan.expressions.expression import Expression, refs
from thalweg.plan.expressions.functions import can_raise
from thalweg.plan.query.nodes import TableJoin, column_of
from thalweg.plan.query.query_plan import Branch
from thalweg.runtime.spark.joins.stream_watermarks import quoted
from thalweg.runtime.spark.sql.columns import built_in


def join_tables(frames: Mapping[str, DataFrame], join: TableJoin) -> DataFrame:
    """Join a stream with tables, without rows that have no time. Columns are named `<alias>_<column>`, as in a windowed
    join; the stream is first."""
    keys = {key for e in join.equalities for key in (e.one, e.other)}
    renamed = {}
    for scan in sorted(map(Branch.of, join.inputs), key=lambda scan: not scan.source.relation.is_stream):
        own = {column for alias, column in keys if alias == scan.alias}
        df = _with_hidden_keys(frames[scan.alias], own, [c.expression for c in scan.conditions])
        if (time := scan.source.relation.time) is not None:
            df = df.filter(F.col(quoted(time)).isNotNull())
        renamed[scan.alias] = df.select(*(F.col(quoted(name)).alias(f"{scan.alias}_{name}") for name in df.columns))
    conditions = [F.col(quoted("_".join(e.one))) == F.col(quoted("_".join(e.other))) for e in join.equalities]
    conditions += [built_in(c.expression, lambda ref: column_of(ref, True)) for c in join.residuals]
    first, *others = renamed.values()
    # conditions use columns of later tables, so all of them filter a cross join, which Spark turns into joins
    whole = reduce(lambda left, right: left.crossJoin(right), others, first)
    return whole.filter(reduce(lambda a, b: a & b, conditions))


def _with_hidden_keys(df: DataFrame, keys: Collection[str], conditions: Sequence[Expression]) -> DataFrame:
    """Return one side of a join that was filtered by these conditions, with hidden keys. Spark applies what it
    infers about a key to the other side as well, whose rows need not have passed these conditions. So Spark must not
    infer anything about a key that is read by a condition that can raise."""
    read = {ref.column for condition in conditions if can_raise(condition) for ref in refs(condition)}
    hidden = read.intersection(keys)
    if not hidden:
        return df
    here = F.spark_partition_id() >= 0  # Spark infers nothing from the partition of a row
    columns = [(name, F.col(quoted(name))) for name in df.columns]
    return df.select(*(F.when(here, column).alias(name) if name in hidden else column for name, column in columns))
