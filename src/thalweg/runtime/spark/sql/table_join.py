"""One stream joined with tables: Spark's own join, which keeps nothing of the stream and needs no help."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from thalweg.plan.expression_text import spark_text
from thalweg.plan.query_plan import JoinStep, column_of
from thalweg.runtime.spark.joins.marked import quoted


def join_tables(frames: Mapping[str, DataFrame], step: JoinStep) -> DataFrame:
    """Columns are `<alias>_<column>`, as a windowed join names them; the stream is first."""
    renamed = {
        alias: df.select(*(F.col(quoted(name)).alias(f"{alias}_{name}") for name in df.columns))
        for alias, df in frames.items()
    }
    conditions = [F.col(quoted("_".join(e.one))) == F.col(quoted("_".join(e.other))) for e in step.equalities]
    conditions += [F.expr(spark_text(c.expression, lambda ref: quoted(column_of(ref, True)))) for c in step.residuals]
    first, *others = renamed.values()
    # conditions name columns of tables that come later: all of them stand behind a product, which Spark takes apart
    whole = reduce(lambda left, right: left.crossJoin(right), others, first)
    return whole.filter(reduce(lambda a, b: a & b, conditions))
