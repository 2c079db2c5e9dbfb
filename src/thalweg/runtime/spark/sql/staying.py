"""Conditions that stay where they are written: Spark evaluates filters as early as it can, also those that raise.

It moves nothing past what depends on the place of a row, and concludes nothing from it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from thalweg.plan.expression import Expression, refs
from thalweg.plan.functions import can_raise
from thalweg.runtime.spark.joins.marked import quoted


def staying(df: DataFrame, conditions: Sequence[Expression]) -> DataFrame:
    """Rows that are to be filtered by these: one that can raise must see them and no others, and Spark would evaluate
    it before the join or the groups it stands behind."""
    return df.filter(F.spark_partition_id() >= 0) if any(map(can_raise, conditions)) else df


def with_keys_of_its_own(df: DataFrame, keys: Collection[str], conditions: Sequence[Expression]) -> DataFrame:
    """One side of a join that was filtered by these. What Spark knows of a key it asks of the other side's too, whose
    rows need not have passed: of a key that one of them reads which can raise, it knows nothing."""
    read = {ref.column for condition in conditions if can_raise(condition) for ref in refs(condition)}
    hidden = read.intersection(keys)
    if not hidden:
        return df
    here = F.spark_partition_id() >= 0
    columns = [(name, F.col(quoted(name))) for name in df.columns]
    return df.select(*(F.when(here, column).alias(name) if name in hidden else column for name, column in columns))
