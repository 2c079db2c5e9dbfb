"""Columns as types that can be stored, joined end to end and gathered, whatever the batches hold them as.

Dictionaries differ from batch to batch: kept as they are, a window's would hold every value of the stream's history,
and more than a narrow index can tell. Arrow gathers nothing from views. Both become the values they stand for.

>>> plain_type(pa.dictionary(pa.int8(), pa.string_view())), plain_type(pa.int8())
(DataType(string), DataType(int8))
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from thalweg.kernels.ungathered import runs_of


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Of the same values, also within lists and structs."""
    is_ = pa.types
    if is_.is_dictionary(kind) or is_.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if kind == pa.string_view():
        return pa.string()
    if kind == pa.binary_view():
        return pa.binary()
    if is_.is_struct(kind):
        return pa.struct([kind.field(n).with_type(plain_type(kind.field(n).type)) for n in range(kind.num_fields)])
    if is_.is_list(kind) or is_.is_large_list(kind):
        inner = kind.value_field.with_type(plain_type(kind.value_type))
        return pa.list_(inner) if is_.is_list(kind) else pa.large_list(inner)
    return kind


def can_be_gathered(kind: pa.DataType) -> bool:
    """Whether Arrow takes rows of such a column and joins columns end to end; of maps of views, say, it does not."""
    try:
        nothing = pa.nulls(1, kind)
        pa.concat_arrays([nothing, nothing]).take(pa.array([0]))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError):
        return False
    return True


def gathered_type(kind: pa.DataType) -> pa.DataType:
    """The type itself where Arrow gathers it, and else the plain one."""
    return kind if can_be_gathered(kind) else plain_type(kind)


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The same names."""
    return pa.schema([field.with_type(plain_type(field.type)) for field in schema])


def plain(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch as the plain schema says."""
    columns = [
        column if column.type == kind else plain_array(column, kind)
        for column, kind in zip(batch.columns, schema.types, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def plain_array(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """One column of another encoding as a plain type."""
    if isinstance(array.type, pa.DictionaryType):
        # the dictionary first: values are gathered by index, which views refuse
        words = array.dictionary if array.dictionary.type == kind else plain_array(array.dictionary, kind)
        return words.take(array.indices)
    if pa.types.is_run_end_encoded(array.type):  # Arrow decodes no runs of views
        values = array.values if array.values.type == kind else plain_array(array.values, kind)
        return values.take(pa.array(runs_of(array, np.arange(len(array)))))
    if pa.types.is_struct(kind):  # nor does it cast fields and values that are run-end-encoded
        columns = [array.field(n) for n in range(kind.num_fields)]
        made = [c if c.type == f.type else plain_array(c, f.type) for c, f in zip(columns, kind, strict=True)]
        return pa.StructArray.from_arrays(made, fields=list(kind), mask=array.is_null())
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        children = [plain_array(array.values, kind.value_type)]
        return pa.Array.from_buffers(kind, len(array), array.buffers()[:2], offset=array.offset, children=children)
    return array.cast(kind)
