"""Conditions that stay where they are written: Spark evaluates filters as early as it can, also those that raise."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from thalweg.plan.expression import Expression
from thalweg.plan.functions import can_raise


def staying(df: DataFrame, conditions: Sequence[Expression]) -> DataFrame:
    """Rows that are to be filtered by these: one that can raise must see them and no others, and Spark would evaluate
    it before the join or the groups it stands behind. Past what depends on the place of a row it moves nothing."""
    return df.filter(F.spark_partition_id() >= 0) if any(map(can_raise, conditions)) else df
