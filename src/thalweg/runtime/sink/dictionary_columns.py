"""Which columns of a Parquet file are encoded with a dictionary.

A writer builds the dictionary of a column value by value, and gives it up when it exceeds 1 MB, in Arrow as in Spark.
For columns with many different values, such as ids and times, that is work for nothing: half of the time of writing a
large file. So the number of different values is estimated from a sample. If at least half of n sampled rows repeat an
earlier one, it has seen most of the values. Otherwise: among n rows that are drawn from D equally frequent values,
about n^2 / 2D repeat an earlier one; among values of different frequencies, more do. So both are lower estimates of D,
and twice as many values are assumed. A dictionary of values that hardly repeat is not worth it either.

>>> many, few = pa.array(range(400_000)), pa.array([f"{n % 50:0200}" for n in range(400_000)])
>>> dictionary_columns(pa.table({"id": many, "agent": few, "tags": [["x"]] * 400_000}))
['agent', 'tags.list.element']
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MOST_BYTES = 1 << 20
"""The size at which writers give up a dictionary."""
SAMPLED_ROWS = 8_192


def dictionary_columns(rows: pa.Table) -> list[str]:
    """Return the columns that are worth a dictionary, given the first rows of a file, by their paths in Parquet."""
    flat = rows.select([field.name for field in rows.schema if not pa.types.is_nested(field.type)])
    sampled = flat if rows.num_rows <= SAMPLED_ROWS else flat.take(_drawn(rows.num_rows))
    return [
        path
        for field in rows.schema
        for path in _paths(field)
        if pa.types.is_nested(field.type) or _pays(rows.column(field.name), sampled.column(field.name))
    ]


def _drawn(rows: int) -> pa.Array:
    """Return the rows of the sample. They are drawn, because equal values are often next to each other, and always the
    same, so that files are the same."""
    return pa.array(np.unique(np.random.default_rng(rows).integers(0, rows, SAMPLED_ROWS)))


def _pays(column: pa.ChunkedArray, sampled: pa.ChunkedArray) -> bool:
    rows, count = len(column), len(sampled)
    values = pc.count_distinct(sampled, mode="all").as_py()
    if 2 * values > count:
        values = count**2 / (2 * (count - values)) if values < count else float("inf")
    most = min(MOST_BYTES * rows / max(column.nbytes, 1), rows)
    return bool(2 * values <= most)


def _paths(field: pa.Field) -> Iterator[str]:
    """Yield the paths of the leaves of a column."""
    kind = field.type
    if pa.types.is_struct(kind):
        within = [("", child) for child in kind.fields]
    elif pa.types.is_map(kind):
        within = [("key_value.", kind.key_field.with_name("key")), ("key_value.", kind.item_field.with_name("value"))]
    elif pa.types.is_nested(kind):
        within = [("list.", kind.value_field.with_name("element"))]
    else:
        yield field.name
        return
    for prefix, child in within:
        yield from (f"{field.name}.{prefix}{path}" for path in _paths(child))
