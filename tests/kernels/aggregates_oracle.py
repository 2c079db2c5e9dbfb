"""The expected aggregates over windows, by DuckDB: every row is joined with every window that covers it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import duckdb
import pyarrow as pa

from thalweg.plan.query.group_spec import GroupSpec


def expected(
    table: pa.Table, ticks: Sequence[int | None], spec: GroupSpec, length: int, slide: int
) -> list[tuple[str, ...]]:
    """Return the rows of the result, with the window's bounds in ticks; times, length and slide are in ticks too."""
    known = [tick for tick in ticks if tick is not None]
    first = (min(known, default=0) - length) // slide * slide
    starts = pa.table({"w": pa.array(range(first, max(known, default=0) + slide, slide), pa.int64())})
    columns = dict(zip(table.column_names, table.columns, strict=True)) | {"tick": pa.array(ticks, pa.int64())}
    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.register("r", pa.table(columns))
    connection.register("s", starts)
    keys = [f'r."{key}"' for key in spec.keys]
    arguments = ["*" if a.column is None else f'{"DISTINCT " * a.distinct}r."{a.column}"' for a in spec.aggregates]
    aggregates = [f"{a.function}({of})::{_of_duckdb(a.type)}" for a, of in zip(spec.aggregates, arguments, strict=True)]
    found = connection.sql(
        f"SELECT {', '.join(['w', f'w + {length}', *keys, *aggregates])} FROM r, s "
        f"WHERE tick >= w AND tick < w + {length} GROUP BY {', '.join(['w', *keys])}"
    ).to_arrow_table()
    connection.close()
    return rows(found)


def rows(table: pa.Table) -> list[tuple[str, ...]]:
    """Return rows as a comparable multiset: sorted, each value as text, times in ticks, zero without a sign."""
    columns = [[_comparable(value) for value in _plain(column).to_pylist()] for column in table.columns]
    return sorted(zip(*columns, strict=True))


def in_ticks(table: pa.Table) -> pa.Table:
    """Return results with the window's bounds as whole numbers."""
    for n, name in enumerate(("window_start", "window_end")):
        table = table.set_column(n, name, table[name].cast(pa.int64()))
    return table


def _comparable(value: Any) -> str:
    if isinstance(value, float):
        return f"{value + 0.0:.12g}"
    return repr(value.isoformat() if isinstance(value, datetime) else value)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column


def _of_duckdb(kind: pa.DataType) -> str:
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if pa.types.is_timestamp(kind):
        zoned = " WITH TIME ZONE" if kind.tz else ""
        return f"TIMESTAMP{zoned}"
    return {
        pa.int64(): "BIGINT", pa.int32(): "INTEGER", pa.int16(): "SMALLINT", pa.int8(): "TINYINT",
        pa.bool_(): "BOOLEAN", pa.float64(): "DOUBLE", pa.float32(): "FLOAT", pa.string(): "VARCHAR",
        pa.date32(): "DATE",
    }[kind]  # fmt: skip
