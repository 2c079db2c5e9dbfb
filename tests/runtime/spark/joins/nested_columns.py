"""Sends columns of lists, maps and structs through PySpark's conversion of what a stateful operator returns, without a
JVM. As a program it does so with the PySpark of its environment, and prints that version."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyspark
from pyspark.sql.pandas import serializers
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type
from pyspark.sql.types import DataType, StructField, StructType

from tests.exact_values import exact_values
from thalweg.runtime.spark.joins.arrow_frame import arrow_frame

ZONE = "America/New_York"
UTC = pa.timestamp("us", "UTC")
NAN = float("nan")
LATEST = 2**63 - 1
NOT_TEXT = pa.Array.from_buffers(
    pa.string(), 1, [None, pa.py_buffer(np.array([0, 2], np.int32)), pa.py_buffer(b"\xff\xfe")]
)


def structs(fields: list[pa.Field], *columns: Any) -> pa.Array:
    return pa.StructArray.from_arrays(
        [pa.array(c, f.type) for c, f in zip(columns, fields, strict=True)], fields=fields
    )


def maps(keys: pa.Array, items: pa.Array) -> pa.Array:
    """One map with these keys and items, and one that is null."""
    return pa.MapArray.from_arrays(pa.array([None, 0, len(keys)], pa.int32()), keys, items)


def lists(values: pa.Array) -> pa.Array:
    """One list with these values, one that is null, and an empty one."""
    return pa.ListArray.from_arrays(pa.array([0, None, len(values), len(values)], pa.int32()), values)


COLUMNS = {
    "NaN in lists": lists(pa.array([NAN, 1.5, None])),
    "NaN in lists of lists": lists(lists(pa.array([NAN, None]))),
    "NaN in structs": structs([pa.field("x", pa.float64())], [NAN, None, 1.0]),
    "NaN in maps": maps(pa.array(["k", "l"]), pa.array([NAN, None])),
    "the key NaN": maps(pa.array([NAN, 0.0]), pa.array([1, 2])),
    "lists as keys": maps(lists(pa.array([1, 2]))[:1], pa.array([1])),
    "structs as keys": maps(structs([pa.field("x", pa.int32())], [1, 2]), pa.array([1, 2])),
    "text that is not UTF-8": lists(NOT_TEXT),
    "times after 9999": lists(pa.array([0, LATEST, -LATEST], pa.int64()).cast(UTC)),
    "times without zone": lists(pa.array([0, LATEST, -LATEST], pa.int64()).cast(pa.timestamp("us"))),
    "fields without nulls": structs(
        [pa.field("x", pa.int32(), nullable=False), pa.field("s", pa.struct([pa.field("t", UTC, nullable=False)]))],
        [1, 2], [{"t": 3}, None],
    ),
    "null structs beside times": structs(
        [pa.field("t", UTC), pa.field("s", pa.struct([pa.field("x", pa.int32(), nullable=False)]))],
        [1, 2], [{"x": 3}, None],
    ),
    "fields of one name": structs([pa.field("x", pa.int32()), pa.field("X", pa.int32())], [1], [2]),
    "variants": structs(
        [pa.field("value", pa.binary(), nullable=False),
         pa.field("metadata", pa.binary(), nullable=False, metadata={"variant": "true"})],
        [b"\x0c\x01"], [b"\x01\x00\x00"],
    ),
    "no rows": pa.array([], pa.list_(pa.int64())),
    "nothing but nulls": pa.nulls(3, pa.list_(pa.int64())),
}  # fmt: skip


def converted(column: pa.Array, spark_type: DataType | None = None) -> pa.Array:
    """Return what PySpark sends to the JVM for a column of results.

    `spark_type`: its type, if it does not follow from Arrow's."""
    frame = arrow_frame(pa.record_batch({"other": pa.nulls(len(column), pa.int64()), "column": column}))
    kind = from_arrow_schema(pa.schema([("other", pa.int64()), ("column", column.type)]), prefer_timestamp_ntz=True)
    if spark_type is not None:
        kind = StructType([kind[0], StructField("column", spark_type)])
    if hasattr(serializers, "TransformWithStateInPandasSerializer"):  # before Spark 4.3
        serializer = serializers.TransformWithStateInPandasSerializer(ZONE, True, True, 10_000, 2**31 - 1, False)
        batch = serializer._create_batch((frame, to_arrow_type(kind)))
    else:
        from pyspark.sql.conversion import PandasToArrowConversion

        batch = PandasToArrowConversion.convert(
            [frame], StructType([StructField("_0", kind)]), timezone=ZONE, arrow_cast=True, assign_cols_by_name=True
        )
    return batch.column(0).field("column")


if __name__ == "__main__":
    for each in COLUMNS.values():
        assert exact_values(converted(each)) == exact_values(each), each
    print(pyspark.__version__)
