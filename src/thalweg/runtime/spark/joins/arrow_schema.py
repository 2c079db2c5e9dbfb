"""Arrow types of the columns of a DataFrame. Times are in UTC within a join, whatever the time zone of the session."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, UserDefinedType

from thalweg.errors import PlanError

_ZONE = {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_type).parameters else {}
"""Before Spark 4.3 the time zone is always UTC and cannot be set."""


def arrow_schema(df: DataFrame) -> pa.Schema:
    """Return the schema, in the order of the columns. Types that Arrow lacks are left out; they may never be needed."""
    return pa.schema([(f.name, kind) for f in df.schema if (kind := arrow_type(f.dataType)) is not None])


def refuse_uncarried(alias: str, df: DataFrame, select: Iterable[str] | None, streaming: bool) -> None:
    """Raise a PlanError for a column that would be in the results and cannot be sent to Python."""
    for field in df.schema:
        ways = {f"{alias}.*", f"{alias}.{field.name}", f"{alias}_{field.name}"}
        if select is not None and not ways & {name.replace("`", "") for name in select}:
            continue
        kind = field.dataType.simpleString()
        remedy = "leave it out with select=, or cast it to a string or a struct"
        if arrow_type(field.dataType) is None:
            raise PlanError(f"{alias}.{field.name} is {kind}, which Arrow does not support; {remedy}")
        if streaming and _opaque(field.dataType):
            raise PlanError(f"{alias}.{field.name} is {kind}, which stateful operators of PySpark lose; {remedy}")


def arrow_type(kind: DataType) -> pa.DataType | None:
    """Return the Arrow type of a Spark type; None if there is none."""
    try:
        return to_arrow_type(kind, **_ZONE)  # type: ignore[arg-type]
    except (PySparkException, TypeError):
        return None


def _opaque(kind: DataType) -> bool:
    """Whether a type contains a user-defined type or a variant."""
    if isinstance(kind, UserDefinedType) or kind.typeName() == "variant":
        return True
    if isinstance(kind, StructType):
        return any(_opaque(field.dataType) for field in kind)
    if isinstance(kind, ArrayType):
        return _opaque(kind.elementType)
    return isinstance(kind, MapType) and (_opaque(kind.keyType) or _opaque(kind.valueType))
