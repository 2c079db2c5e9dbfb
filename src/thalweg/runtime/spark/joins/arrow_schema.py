"""The columns of a DataFrame as Arrow's types; times are in UTC within a join, whatever the zone of the session."""

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
"""Before 4.3 it is always UTC, and cannot be said."""


def arrow_schema(df: DataFrame) -> pa.Schema:
    """In the order of its columns; those that Arrow does not know are left out, since nobody may ask for them."""
    return pa.schema([(f.name, kind) for f in df.schema if (kind := _type(f.dataType)) is not None])


def refuse_uncarried(alias: str, df: DataFrame, select: Iterable[str] | None, streaming: bool) -> None:
    """Columns that results would have and that cannot be carried there; of others nothing is asked."""
    for field in df.schema:
        ways = {f"{alias}.*", f"{alias}.{field.name}", f"{alias}_{field.name}"}
        if select is not None and not ways & {name.replace("`", "") for name in select}:
            continue
        kind = field.dataType.simpleString()
        remedy = "leave it out by select=, or cast it to a string or a struct"
        if _type(field.dataType) is None:
            raise PlanError(f"{alias}.{field.name} is {kind}, which Arrow does not carry: {remedy}")
        if streaming and _opaque(field.dataType):
            raise PlanError(f"{alias}.{field.name} is {kind}, which stateful operators of PySpark lose: {remedy}")


def _type(kind: DataType) -> pa.DataType | None:
    try:
        return to_arrow_type(kind, **_ZONE)  # type: ignore[arg-type]
    except (PySparkException, TypeError):
        return None


def _opaque(kind: DataType) -> bool:
    """With a user's type or a variant somewhere in it."""
    if isinstance(kind, UserDefinedType) or kind.typeName() == "variant":
        return True
    if isinstance(kind, StructType):
        return any(_opaque(field.dataType) for field in kind)
    if isinstance(kind, ArrayType):
        return _opaque(kind.elementType)
    return isinstance(kind, MapType) and (_opaque(kind.keyType) or _opaque(kind.valueType))
