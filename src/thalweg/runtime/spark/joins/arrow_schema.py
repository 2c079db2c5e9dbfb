"""Arrow types of the columns of a DataFrame. Times are in UTC within a join, whatever the time zone of the session."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType, StringType, StructField

from thalweg.errors import PlanError
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.runtime.joins.join_binding import columns_read

_ZONE = {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_type).parameters else {}
"""Before Spark 4.3 the time zone is always UTC and cannot be set."""


def arrow_schema(df: DataFrame) -> pa.Schema:
    """Return the schema, in the order of the columns. Types that Arrow lacks are left out; they may never be needed."""
    return pa.schema([(f.name, kind) for f in df.schema if (kind := arrow_type(f.dataType)) is not None])


def refuse_uncarried(plan: JoinPlan, frames: Mapping[str, DataFrame]) -> None:
    """Raise a PlanError for a column that a join reads, or has in its results, and that cannot be sent to Python."""
    for alias in plan.graph.aliases:
        read = columns_read(plan, alias)
        for field in frames[alias].schema:
            ways = {f"{alias}.*", f"{alias}.{field.name}", f"{alias}_{field.name}"}
            is_result = plan.select is None or bool(ways & {name.replace("`", "") for name in plan.select})
            if (field.name in read or is_result) and arrow_type(field.dataType) is None:
                leave = "" if field.name in read else "leave it out with select=, or "
                raise PlanError(f"{alias}.{unsupported(field)}; {leave}cast it to a string or a struct")
            if field.name in read and has_collation(field.dataType):
                raise PlanError(
                    f"{alias}.{field.name} is {field.dataType.simpleString()}, and joins compare texts by their bytes; "
                    "cast it to a string before the join"
                )


def unsupported(field: StructField) -> str:
    """Return why a column cannot be sent to Python."""
    return f"{field.name} is {field.dataType.simpleString()}, which Arrow does not support"


def has_collation(kind: DataType) -> bool:
    """Whether Spark compares texts of this type in another way than by their bytes."""
    return isinstance(kind, StringType) and kind.collation != StringType().collation


def arrow_type(kind: DataType) -> pa.DataType | None:
    """Return the Arrow type of a Spark type; None if there is none, or if PySpark cannot send its values to Python."""
    try:
        return to_arrow_type(kind, error_on_duplicated_field_names_in_struct=True, **_ZONE)  # type: ignore[arg-type]
    except (PySparkException, TypeError):
        return None
