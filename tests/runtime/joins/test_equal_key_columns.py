"""Key columns that are equal in every result are gathered once; each still has the type and values of its stream."""

from __future__ import annotations

import pyarrow as pa
import pytest

pytest.importorskip("numba")
pytest.importorskip("duckdb")

import thalweg as tw
from tests.runtime.joins.oracle import expected, rows

ON = "a.k = b.k AND a.k = c.k"
WINDOWS = {"a": 4, "b": 4, "c": 4}
KINDS = {
    "one type": (pa.int64(), pa.int64(), pa.int64()),
    "two types": (pa.int64(), pa.int32(), pa.int32()),
    "unsigned": (pa.uint8(), pa.uint64(), pa.uint8()),
    "timestamps": (pa.timestamp("us"), pa.timestamp("us"), pa.timestamp("ms")),
    "dates": (pa.date32(), pa.date32(), pa.date32()),
    "booleans": (pa.bool_(), pa.bool_(), pa.bool_()),
    "text": (pa.string(), pa.string(), pa.large_string()),
}


@pytest.mark.parametrize("kinds", KINDS)
def test_columns_have_their_own_types_and_values(kinds: str) -> None:
    tables = {}
    for alias, kind in zip("abc", KINDS[kinds], strict=True):
        keys = pa.array([n * (3 + ord(alias)) % 5 for n in range(30)])
        if pa.types.is_temporal(kind):
            keys = keys.cast(pa.int32() if kind == pa.date32() else pa.int64())
        tables[alias] = pa.table({"k": keys.cast(kind), "n": range(30), "t": range(30)})
    join = tw.join(ON, window=4, time="t", lateness=0)
    batches = {alias: table.to_batches(max_chunksize=7) for alias, table in tables.items()}
    found = pa.Table.from_batches(join.over(**batches))
    assert found.num_rows > 40
    for alias, kind in zip("abc", KINDS[kinds], strict=True):
        assert found.schema.field(f"{alias}_k").type == kind
    assert rows(found) == rows(expected(tables, ON, WINDOWS))
