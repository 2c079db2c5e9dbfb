"""The columns of a DataFrame as Arrow's types; times are in UTC within a join, whatever the zone of the session."""

from __future__ import annotations

import inspect

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

_ZONE = {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_schema).parameters else {}
"""Before 4.3 it is always UTC, and cannot be said."""


def arrow_schema(df: DataFrame) -> pa.Schema:
    """In the order of its columns."""
    return to_arrow_schema(df.schema, **_ZONE)  # type: ignore[arg-type]
