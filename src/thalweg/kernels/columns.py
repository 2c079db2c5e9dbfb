"""Arrow columns: selecting rows, types that can be stored and gathered, and the columns of one slice.

A slice has its columns as Arrow arrays for vectorized predicates and as Python values for row functions.

Python values are created only for rows that some row function reads, and only once per row if several functions read
them. Lists, dicts and pairs of nested columns are created again for each function: one function could change what the
next one gets, and the result would depend on the order. Arrow arrays are immutable.

>>> columns = Columns({"x": pa.array([1, 2, None]), "s": pa.array(["a", None, "c"])}, 3)
>>> columns.arrow("x", np.array([2, 0])).to_pylist()
[None, 1]
>>> columns.python("s", None)
['a', None, 'c']

Windows and results store columns as plain types, whatever the types in the batches. Dictionaries differ from batch to
batch: a window's dictionary would contain every value in the stream's history, more than a narrow index can address.
Arrow cannot gather from views. Both are converted to plain values.

>>> plain_type(pa.dictionary(pa.int8(), pa.string_view())), plain_type(pa.int8())
(DataType(string), DataType(int8))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from thalweg.kernels.take_unsupported import runs_of, take_unsupported

RowNumbers = NDArray[np.int64]


# `array.take(rows)` spends more time on looking up its function and checking bounds than on a thousand rows
_TAKE = pc.get_function("take")
_TRUSTED = pc.TakeOptions(boundscheck=False)


def as_index(rows: RowNumbers) -> pa.Array:
    """Return row numbers as an Arrow array, without copying."""
    assert rows.dtype == np.int64
    return pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(rows)])


def take_rows(array: pa.Array, rows: RowNumbers) -> pa.Array:
    """Return the values at these positions, which must be in bounds."""
    try:
        return _TAKE.call([array, as_index(rows)], _TRUSTED)
    except pa.ArrowNotImplementedError:
        return take_unsupported(array, rows)


def concatenated(arrays: Sequence[pa.Array]) -> pa.Array:
    """Return arrays of equal types, one after another. If their dictionaries have more values together than the type of
    their indices can address, as with categories of pandas, the indices become larger.

    >>> few = pa.DictionaryArray.from_arrays(pa.array([0, 99], pa.int8()), [f"a{n}" for n in range(100)])
    >>> more = pa.DictionaryArray.from_arrays(pa.array([0, 99], pa.int8()), [f"b{n}" for n in range(100)])
    >>> concatenated([few, more]).to_pylist()
    ['a0', 'a99', 'b0', 'b99']
    """
    try:
        return pa.concat_arrays(arrays)
    except pa.ArrowInvalid:
        if not pa.types.is_dictionary(arrays[0].type):
            raise
        wide = [pa.DictionaryArray.from_arrays(each.indices.cast(pa.int64()), each.dictionary) for each in arrays]
        return pa.concat_arrays(wide)


def filter_rows(batch: pa.RecordBatch, keep: NDArray[np.bool_]) -> pa.RecordBatch:
    """Return the rows for which `keep` is true, with columns of any type."""
    try:
        return batch.filter(pa.array(keep))
    except pa.ArrowNotImplementedError:
        rows = keep.nonzero()[0]
        return pa.RecordBatch.from_arrays([take_rows(column, rows) for column in batch.columns], schema=batch.schema)


class Columns:
    """The columns of a slice, by name and by the rows that are still alive (None: all rows)."""

    __slots__ = ("_arrays", "_values", "length", "shared")

    def __init__(self, arrays: Mapping[str, pa.Array], length: int, shared: Set[str] = frozenset()) -> None:
        self._arrays = arrays
        self.length = length
        self.shared = shared
        """Columns that several row functions read. Their Python values are kept, unless they are nested."""
        self._values: dict[str, tuple[NDArray[np.object_], NDArray[np.bool_]]] = {}  # and which rows have values

    @property
    def types(self) -> tuple[pa.DataType, ...]:
        """The type of each column."""
        return tuple(array.type for array in self._arrays.values())

    def values(self, names: Sequence[str]) -> dict[str, pa.Array]:
        """Return columns by name, as Arrow arrays."""
        return {name: self._arrays[name] for name in names}

    def slice(self, start: int, length: int) -> Columns:
        """Return a part of the rows, without copying."""
        return Columns({name: a.slice(start, length) for name, a in self._arrays.items()}, length, self.shared)

    def take(self, rows: RowNumbers) -> Columns:
        """Return a copy of some rows, which outlives the batch."""
        return Columns({name: self.arrow(name, rows) for name in self._arrays}, len(rows), self.shared)

    @staticmethod
    def joined(parts: Sequence[Columns]) -> Columns:
        """Return the rows of several parts of equal types, one after another."""
        if len(parts) == 1:
            return parts[0]
        first = parts[0]
        arrays = {name: concatenated([part._arrays[name] for part in parts]) for name in first._arrays}
        return Columns(arrays, sum(part.length for part in parts), first.shared)

    def arrow(self, name: str, rows: RowNumbers | None) -> pa.Array:
        """Return a column as an Arrow array."""
        array = self._arrays[name]
        return array if rows is None else take_rows(array, rows)

    def python(self, name: str, rows: RowNumbers | None) -> list[Any]:
        """Return a column as Python values."""
        if name not in self.shared or can_be_changed(self._arrays[name].type):
            return python_values(self.arrow(name, rows))
        values, made = self._values.get(name) or self._begin(name)
        asked = slice(None) if rows is None else rows
        missing = np.arange(self.length)[asked][~made[asked]]
        if len(missing):
            fresh = python_values(self.arrow(name, missing))
            values[missing] = np.fromiter(fresh, dtype=object, count=len(fresh))
            made[missing] = True
        listed: list[Any] = values[asked].tolist()
        return listed

    def _begin(self, name: str) -> tuple[NDArray[np.object_], NDArray[np.bool_]]:
        self._values[name] = np.empty(self.length, dtype=object), np.zeros(self.length, dtype=bool)
        return self._values[name]


MOST_CHARACTERS = 200
"""The most characters of a value that an error shows."""
_UNITS = {"s": "s", "ms": "ms", "us": "µs", "ns": "ns", "day": "days"}


def shown(value: pa.Scalar, most: int = MOST_CHARACTERS) -> str:
    """Return a value as text of about `most` characters. Python has no value for times beyond the year 9999, nor for
    text that is not UTF-8, which Arrow does not check.

    >>> shown(pa.scalar("a key")), shown(pa.scalar(2**62, pa.timestamp("us")))
    ("'a key'", '4,611,686,018,427,387,904 µs after 1970')
    """
    try:
        return cut(repr(value.as_py()), most)
    except Exception:
        return cut(_beyond_python(value), most)


def cut(text: str, most: int) -> str:
    """Shorten a text to about `most` characters.

    >>> cut("abcdefgh", 5)
    'abcde... (8 characters)'
    """
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"


def _beyond_python(value: pa.Scalar) -> str:
    kind = value.type
    if pa.types.is_temporal(kind):
        unit = _UNITS["ms" if pa.types.is_date64(kind) else getattr(kind, "unit", "day")]
        return f"{value.value:,} {unit}{'' if pa.types.is_duration(kind) else ' after 1970'}"
    if isinstance(value, pa.StringScalar):
        return repr(value.as_buffer().to_pybytes())
    try:
        return " ".join(str(pa.array([value], kind)).split())  # as Arrow prints it, in one line
    except Exception:
        return f"a {kind} that cannot be shown"


def can_be_changed(kind: pa.DataType) -> bool:
    """Whether Python values of this type can be changed in place."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType))


def python_values(array: pa.Array) -> list[Any]:
    """Return the same values as `to_pylist()`, several times faster for common types."""
    kind = array.type
    if (
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or (array.null_count == 0 and (pa.types.is_integer(kind) or pa.types.is_floating(kind)))
    ):
        values: list[Any] = array.to_numpy(zero_copy_only=False).tolist()
    else:
        values = array.to_pylist()
    return values


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the plain type of the same values, also within lists and structs."""
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


def nullable_type(kind: pa.DataType) -> pa.DataType:
    """Return the same type with fields and values that are nullable. A struct that is null has a null in each field,
    also if the field is not nullable, and such an array cannot be written to a Parquet file.

    >>> nullable_type(pa.list_(pa.struct([pa.field("x", pa.int32(), nullable=False)])))
    ListType(list<item: struct<x: int32>>)
    """

    def nullable(field: pa.Field) -> pa.Field:
        return field.with_type(nullable_type(field.type)).with_nullable(True)

    if pa.types.is_struct(kind):
        return pa.struct([nullable(field) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(kind.key_field.with_type(nullable_type(kind.key_type)), nullable(kind.item_field))
    if pa.types.is_list(kind):
        return pa.list_(nullable(kind.value_field))
    return kind


def can_be_gathered(kind: pa.DataType) -> bool:
    """Whether Arrow can take rows of such columns and concatenate them; for maps of views, for example, it cannot."""
    try:
        nothing = pa.nulls(1, kind)
        pa.concat_arrays([nothing, nothing]).take(pa.array([0]))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError):
        return False
    return True


def gathered_type(kind: pa.DataType) -> pa.DataType:
    """Return the type itself if Arrow can gather it, or else the plain type."""
    return kind if can_be_gathered(kind) else plain_type(kind)


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema with the same names and plain types."""
    return pa.schema([field.with_type(plain_type(field.type)) for field in schema])


def plain(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch with the types of the plain schema."""
    columns = [
        column if column.type == kind else plain_array(column, kind)
        for column, kind in zip(batch.columns, schema.types, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def plain_array(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return a column with another encoding as a plain type."""
    if isinstance(array.type, pa.DictionaryType):
        # convert the dictionary first: values are gathered by index, which Arrow cannot do for views
        words = array.dictionary if array.dictionary.type == kind else plain_array(array.dictionary, kind)
        return words.take(array.indices)
    if pa.types.is_run_end_encoded(array.type):  # Arrow cannot decode runs of views
        values = array.values if array.values.type == kind else plain_array(array.values, kind)
        return values.take(pa.array(runs_of(array, np.arange(len(array)))))
    if pa.types.is_struct(kind):  # nor cast fields and values that are run-end-encoded
        columns = [array.field(n) for n in range(kind.num_fields)]
        made = [c if c.type == f.type else plain_array(c, f.type) for c, f in zip(columns, kind, strict=True)]
        return pa.StructArray.from_arrays(made, fields=list(kind), mask=array.is_null())
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        children = [plain_array(array.values, kind.value_type)]
        return pa.Array.from_buffers(kind, len(array), array.buffers()[:2], offset=array.offset, children=children)
    return array.cast(kind)
