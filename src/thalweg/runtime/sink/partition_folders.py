"""The folders of `partitionBy`, named as Spark and Hive name them.

>>> folder_name("day", "2024-03-10"), folder_name("a=b", "50%: x"), folder_name("k", None)
('day=2024-03-10', 'a%3Db=50%25%3A x', 'k=__HIVE_DEFAULT_PARTITION__')
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.kernels.expressions.times import date_texts

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""Stands for null and for an empty text, as in Spark."""
_ESCAPED = {*map(chr, range(1, 0x20)), *"\"#%'*/:=?\\\x7f{[]^"}


def can_partition(kind: pa.DataType) -> bool:
    """Whether a column of this type can be in the names of folders. Spark writes other types in its own notations."""
    return any(
        check(kind)
        for check in (pa.types.is_string, pa.types.is_signed_integer, pa.types.is_boolean, pa.types.is_date32)
    )


def folder_name(column: str, value: str | None) -> str:
    """Return the name of the folder of one value, given as text."""
    return f"{_escaped(column)}={_escaped(value) if value else NO_VALUE}"


def partitions(table: pa.Table, by: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
    """Yield the rows of each folder, without the columns in its name.

    >>> table = pa.table({"day": [1, 2, 1], "n": [5, 6, 7]})
    >>> [(folder, rows.to_pydict()) for folder, rows in partitions(table, ["day"])]
    [('day=1', {'n': [5, 7]}), ('day=2', {'n': [6]})]
    """
    if table.num_rows == 0:
        return
    codes = np.zeros(table.num_rows, np.int64)
    texts: list[tuple[pa.Array, np.ndarray]] = []
    for column in by:
        # pyarrow has no codes of equal values over chunks but those of a dictionary
        values = table[column].combine_chunks()
        if pa.types.is_string(values.type):  # both are in one folder
            values = pc.if_else(pc.equal(values, ""), pa.scalar(None, values.type), values)
        encoded = pc.dictionary_encode(values, null_encoding="encode")
        indices = encoded.indices.to_numpy(zero_copy_only=False)
        texts.append((_texts(encoded.dictionary), indices))
        codes = codes * max(len(encoded.dictionary), 1) + indices
        codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)  # small again, so that no product overflows
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    rest = table.drop_columns(list(by)).combine_chunks().take(pa.array(order))
    for begin, end in zip(starts, [*starts[1:], table.num_rows], strict=True):
        row = order[begin]
        names = [
            folder_name(column, _read(names_of[int(indices[row])]))
            for column, (names_of, indices) in zip(by, texts, strict=True)
        ]
        yield "/".join(names), rest.slice(begin, end - begin)


def _texts(values: pa.Array) -> pa.Array:
    """Return values as Spark writes them."""
    return date_texts(values) if pa.types.is_date32(values.type) else values.cast(pa.string())


def _read(text: pa.StringScalar) -> str | None:
    """Return a text as Java reads it, which need not be UTF-8."""
    return text.as_buffer().to_pybytes().decode("utf-8", "replace") if text.is_valid else None


def _escaped(text: str) -> str:
    return "".join(f"%{ord(character):02X}" if character in _ESCAPED else character for character in text)
