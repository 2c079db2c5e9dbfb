"""Warns about tables that have a time column.

Finished data in a join with streams is a table, whose rows join with rows of any time. If it has the column that `time`
names for all streams, it may have been intended as a stream. The user is warned once.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from pyspark.sql import DataFrame

from thalweg.plan.join_plan import JoinPlan


def warn_of_tables_with_times(plan: JoinPlan, frames: Mapping[str, DataFrame]) -> None:
    """Warn once per process and join. A table that a dict of times leaves out is intended as one."""
    for alias in plan.tables:
        if plan.one_time in frames[alias].columns and (plan.on, alias) not in _WARNED:
            _WARNED.add((plan.on, alias))
            warnings.warn(
                f"{alias} is finished data in a join with streams, so it is used as a table: its rows join with rows "
                f"of any time, although it has the column {plan.one_time}. If it is a stream, read it with "
                f"spark.readStream and give it a window; if it is a table, make time= a dict without {alias}",
                stacklevel=5,
            )


_WARNED: set[tuple[str, str]] = set()
