"""Columns as types that can be stored, joined end to end and gathered, whatever the batches hold them as.

Dictionaries differ from batch to batch: kept as they are, a window's would hold every value of the stream's history,
and more than a narrow index can tell. Arrow gathers nothing from views. Both become the values they stand for.

>>> plain_type(pa.dictionary(pa.int8(), pa.string_view())), plain_type(pa.int8())
(DataType(string), DataType(int8))
"""

from __future__ import annotations

import pyarrow as pa


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Of the same values."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if kind == pa.string_view():
        return pa.string()
    return pa.binary() if kind == pa.binary_view() else kind


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The same names."""
    return pa.schema([field.with_type(plain_type(field.type)) for field in schema])


def plain(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch as the plain schema says."""
    columns = [
        column if column.type == kind else _cast(column, kind)
        for column, kind in zip(batch.columns, schema.types, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cast(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if isinstance(array.type, pa.DictionaryType):
        # the dictionary first: values are gathered by index, which views refuse
        words = array.dictionary if array.dictionary.type == kind else _cast(array.dictionary, kind)
        return words.take(array.indices)
    return array.cast(kind)
