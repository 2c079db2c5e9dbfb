"""DataFrames of pandas for PySpark, whose columns are Arrow arrays.

A stateful operator returns DataFrames, which PySpark converts to Arrow. It takes an `ArrowExtensionArray` as the array
that it is, except for lists, maps, structs, variants and user-defined types: their values it converts one by one with
`Series.apply`, as Python objects, and then makes an array of these, for which NaN is null. Some values cannot be
converted at all, such as a map with keys that are lists, or a time after the year 9999. The arrays here are not changed
by `apply`.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa


class UnchangedArray(pd.arrays.ArrowExtensionArray):  # type: ignore[misc]  # pandas ships no types
    """An Arrow array of which PySpark converts no value."""

    def map(self, mapper: Any, na_action: Any = None) -> UnchangedArray:
        """Return the array itself: `Series.apply` calls this with PySpark's conversion of one value."""
        return self

    def __arrow_array__(self, type: pa.DataType | None = None) -> pa.ChunkedArray:
        """Return the array. If PySpark asks for another time zone, only the type changes: Arrow's cast fails on structs
        that are null within the column and have fields that are not nullable."""
        array = super().__arrow_array__()
        if type is None or _without_zones(type) != _without_zones(array.type):
            return array
        schema = pa.field("", type)
        chunks = [
            pa.Array._import_from_c_capsule(schema.__arrow_c_schema__(), chunk.__arrow_c_array__()[1])
            for chunk in array.chunks
        ]
        return pa.chunked_array(chunks, type)

    def __getitem__(self, item: Any) -> Any:
        """Return the Arrow scalar for a number, since pandas looks at the first value of what `map` returns, and not
        every value can be a Python object."""
        return self.__arrow_array__()[int(item)] if isinstance(item, int | np.integer) else super().__getitem__(item)


def _without_zones(kind: pa.DataType) -> str:
    return re.sub(r", tz=[^]]*", "", str(kind))


def arrow_frame(batch: pa.RecordBatch) -> pd.DataFrame:
    """Return a DataFrame with the Arrow arrays of a batch, which PySpark sends to the JVM as they are."""
    columns = zip(batch.schema.names, batch.columns, strict=True)
    return pd.DataFrame({name: pd.Series(UnchangedArray(column)) for name, column in columns})
