"""Finished data beside streams is a table, whose rows join with rows of any time. If it has the time column that was
written for all, somebody may have meant it to be a stream: that is told, once."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from pyspark.sql import DataFrame

from thalweg.plan.join_plan import JoinPlan


def warn_of_tables_with_times(plan: JoinPlan, frames: Mapping[str, DataFrame]) -> None:
    """Once a process and join. Where a dict of times leaves a table out, it is meant as one."""
    for alias in plan.tables:
        if plan.one_time in frames[alias].columns and (plan.on, alias) not in _TOLD:
            _TOLD.add((plan.on, alias))
            warnings.warn(
                f"{alias} is finished data beside streams and taken as a table: its rows join with rows of any time, "
                f"though it has the column {plan.one_time}. If it is a stream, read it by spark.readStream and give it "
                f"a window; if it is a table, say so by time= as a dict without {alias}",
                stacklevel=5,
            )


_TOLD: set[tuple[str, str]] = set()
