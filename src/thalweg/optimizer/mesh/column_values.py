"""The values of classifier columns in the form that trees compare: keys of texts, truth values, and floats.

- A text of up to `LONGEST_KEY` bytes is its own key. The key of a longer one is made of its first and last bytes and
  its length, so that trees stay small. It is longer than `LONGEST_KEY`, so it is never equal to a short text. Two long
  texts with the same key take the same route, which changes the cost of a row and never the answer.
- Numbers are floats. Times are microseconds since 1970 as floats. NaN counts as null.
- Columns of other types have no kind: all their values count as unseen.

A column is read with Arrow and NumPy, a single value (`key_of`, `number_of`) with plain Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from thalweg.errors import PlanError
from thalweg.kernels.columns import plain_array, plain_type
from thalweg.stats.training_set import END, LONGEST_KEY, Kind, Value, key

_INDEX_IN = pc.get_function("index_in")  # its wrapper in pyarrow.compute takes as long as a thousand rows
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def kind_of(type_: pa.DataType) -> Kind | None:
    """Return how values of an Arrow type are compared, or None if they cannot be.

    >>> kind_of(pa.dictionary(pa.int8(), pa.string())), kind_of(pa.list_(pa.int8()))
    ('text', None)
    """
    is_ = pa.types
    if is_.is_dictionary(type_):
        return kind_of(type_.value_type)
    if is_.is_boolean(type_):
        return "bool"
    if is_.is_integer(type_) or is_.is_floating(type_) or is_.is_decimal(type_):
        return "number"
    if is_.is_timestamp(type_) or is_.is_date(type_):
        return "time"
    texts = (is_.is_string, is_.is_large_string, is_.is_string_view, is_.is_binary, is_.is_large_binary)
    return "text" if any(test(type_) for test in (*texts, is_.is_binary_view)) else None


def decoded(column: pa.Array) -> pa.Array:
    """Return a column with plain values instead of a dictionary.

    >>> decoded(pa.array(["a", "b", None]).dictionary_encode()).to_pylist()
    ['a', 'b', None]
    """
    return plain_array(column, plain_type(column.type)) if pa.types.is_dictionary(column.type) else column


def is_classifier(type_: pa.DataType) -> bool:
    """Whether rows can be classified by columns of an Arrow type. One of nulls alone may have values in later batches.

    >>> is_classifier(pa.string()), is_classifier(pa.null()), is_classifier(pa.list_(pa.string()))
    (True, True, False)
    """
    plain = type_.value_type if pa.types.is_run_end_encoded(type_) or pa.types.is_dictionary(type_) else type_
    return pa.types.is_null(plain) or kind_of(plain) is not None


def check_classified_type(type_: pa.DataType, column: str) -> None:
    """Raise a PlanError if rows cannot be classified by a column of this type.

    >>> check_classified_type(pa.list_(pa.int8()), "a.sizes")
    Traceback (most recent call last):
    thalweg.errors.PlanError: classify_by: a.sizes is list<item: int8>, whose values cannot be classified; name a column of text, numbers, booleans or times
    """  # noqa: E501
    if not is_classifier(type_):
        raise PlanError(
            f"classify_by: {column} is {type_}, whose values cannot be classified; name a column of text, numbers, "
            "booleans or times"
        )


def kind_of_value(value: Any) -> Kind | None:
    """Return how a single value is compared, or None if it cannot be."""
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, (int, float, Decimal, np.number)):
        return "number"
    if isinstance(value, date):  # a datetime is a date
        return "time"
    return "text" if isinstance(value, (str, bytes)) else None


def key_of(value: Any) -> Value:
    """Return the key of a single text, or a truth value as it is."""
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogatepass")
    return key(value) if isinstance(value, bytes) else bool(value)


def number_of(value: Any) -> float:
    """Return a single number or time as a float.

    >>> number_of(date(1970, 1, 2)), number_of(Decimal("1.5"))
    (86400000000.0, 1.5)
    """
    if not isinstance(value, date):
        return float(value)
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    return float((aware - _EPOCH) // _MICROSECOND)


def text_keys(texts: pa.Array, *, long: bool = True) -> pa.Array:
    """Return the keys of texts. If not `long`, long texts are returned as they are, which takes no time."""
    plain = texts.cast(pa.large_binary())
    if not long:
        return plain
    lengths = pc.binary_length(plain)
    if (pc.max(lengths).as_py() or 0) <= LONGEST_KEY:
        return plain
    number = pc.cast(pc.cast(lengths, pa.large_string()), pa.large_binary())
    empty = pa.scalar(b"", pa.large_binary())
    cut = pc.binary_join_element_wise(pc.binary_slice(plain, 0, END), pc.binary_slice(plain, -END), number, empty)
    return pc.if_else(pc.greater(lengths, LONGEST_KEY), cut, plain)


def as_floats(column: pa.Array) -> NDArray[np.float64]:
    """Return numbers or times as floats; null is NaN."""
    if kind_of(column.type) == "time":
        zone = column.type.tz if pa.types.is_timestamp(column.type) else None
        column = column.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64())
    floats: NDArray[np.float64] = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return floats


@lru_cache(maxsize=256)
def _lookup(kind: pa.DataType, texts: tuple[bytes, ...]) -> pc.SetLookupOptions | None:
    """Return how texts of a type are looked up as they are; None if they must be keys, because one of these is long or
    is not UTF-8, or because of their type."""
    if kind not in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
        return None
    if any(len(text) > LONGEST_KEY for text in texts):
        return None
    try:
        return pc.SetLookupOptions(pa.array(texts, pa.large_binary()).cast(kind))
    except pa.ArrowInvalid:
        return None


def value_codes(column: pa.Array, values: Sequence[Value]) -> NDArray[np.int64]:
    """Return the position of each text or truth value among `values`; after these come null and others."""
    null, other = len(values), len(values) + 1
    if pa.types.is_boolean(column.type):
        place = {value: i for i, value in enumerate(values)}
        numbers = column.cast(pa.int8()).fill_null(2).to_numpy(zero_copy_only=False)
        branches = np.array([place.get(False, other), place.get(True, other), null], np.int64)
        return np.asarray(branches[numbers])
    texts = tuple(value for value in values if isinstance(value, bytes))
    as_they_are = _lookup(column.type, texts)
    if as_they_are is None:
        keys = text_keys(column, long=any(len(text) > LONGEST_KEY for text in texts))
        found = pc.index_in(keys, value_set=pa.array(texts, pa.large_binary()))
    else:  # texts need not be copied
        found = _INDEX_IN.call([column], as_they_are)
    if found.null_count:
        found = found.fill_null(other)
    codes: NDArray[np.int64] = found.to_numpy(zero_copy_only=False).astype(np.int64)
    if column.null_count:
        codes[column.is_null().to_numpy(zero_copy_only=False)] = null
    return codes


def range_codes(column: pa.Array, cuts: Sequence[float]) -> NDArray[np.int64]:
    """Return the range of each number: i above `cuts[i - 1]`, up to and including `cuts[i]`; null is after the last
    range."""
    floats = as_floats(column)
    codes = np.searchsorted(np.asarray(cuts, np.float64), floats, side="left")
    codes[np.isnan(floats)] = len(cuts) + 1
    return codes.astype(np.int64)


def column_codes(
    column: pa.Array | pa.ChunkedArray, kind: Kind, values: Sequence[Value], cuts: Sequence[float]
) -> NDArray[np.int64]:
    """Return the category of each value of a column: its position among values or its range, then null, then others."""
    if isinstance(column, pa.ChunkedArray):
        parts = [column_codes(chunk, kind, values, cuts) for chunk in column.chunks]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)
    size = len(cuts) + 1 if kind in ("number", "time") else len(values)
    if pa.types.is_null(column.type):
        return np.full(len(column), size, np.int64)
    if kind_of(column.type) != kind:
        codes = np.full(len(column), size + 1, np.int64)
        codes[column.is_null().to_numpy(zero_copy_only=False)] = size
        return codes
    if pa.types.is_dictionary(column.type):
        of_dictionary = np.append(column_codes(column.dictionary, kind, values, cuts), size)
        places = column.indices.cast(pa.int64()).fill_null(len(of_dictionary) - 1).to_numpy(zero_copy_only=False)
        return np.asarray(of_dictionary[places])
    return range_codes(column, cuts) if kind in ("number", "time") else value_codes(column, values)
