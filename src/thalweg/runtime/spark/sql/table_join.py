"""One stream joined with tables: Spark's own join, which keeps nothing of the stream and needs no help."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from thalweg.plan.nodes import TableJoin, column_of
from thalweg.plan.query_plan import Branch
from thalweg.runtime.spark.joins.marked import quoted
from thalweg.runtime.spark.sql.columns import built_in
from thalweg.runtime.spark.sql.staying import with_keys_of_its_own


def join_tables(frames: Mapping[str, DataFrame], join: TableJoin) -> DataFrame:
    """Columns are `<alias>_<column>`, as a windowed join names them; the stream is first."""
    keys = {key for e in join.equalities for key in (e.one, e.other)}
    renamed = {}
    for scan in sorted(map(Branch.of, join.inputs), key=lambda scan: not scan.source.relation.is_stream):
        own = {column for alias, column in keys if alias == scan.alias}
        df = with_keys_of_its_own(frames[scan.alias], own, [c.expression for c in scan.conditions])
        renamed[scan.alias] = df.select(*(F.col(quoted(name)).alias(f"{scan.alias}_{name}") for name in df.columns))
    conditions = [F.col(quoted("_".join(e.one))) == F.col(quoted("_".join(e.other))) for e in join.equalities]
    conditions += [built_in(c.expression, lambda ref: column_of(ref, True)) for c in join.residuals]
    first, *others = renamed.values()
    # conditions name columns of tables that come later: all of them stand behind a product, which Spark takes apart
    whole = reduce(lambda left, right: left.crossJoin(right), others, first)
    return whole.filter(reduce(lambda a, b: a & b, conditions))
