"""Columns of any type that Spark has come out of every path in this process with the values that they had."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

import thalweg as tw
from tests.drawn_columns import columns
from tests.exact_values import exact_values
from tests.long_run import examples
from thalweg.errors import JoinLimitError

ROWS = 5
UTC = pa.timestamp("us", "UTC")


def paths(a: pa.Table, b: pa.Table) -> Iterator[tuple[str, Any]]:
    keep = tw.filters(tw.predicate(lambda ids, c: pa.array([True] * len(ids)), "id", "c", vectorized=True))
    yield "over", keep.over(a)
    fails = tw.filters(tw.predicate(lambda number: 1 // 0, "id", name="fails"), on_error="dead-letter")
    yield "failed", fails.failed_over(a)
    row = tw.filters(tw.predicate(lambda number, value: repr(value) != "", "id", "c", name="r"), on_error="dead-letter")
    yield "row functions", row.tagged_over(a)
    j = tw.join(on="a.id = b.id", window="1 hour", time="ts", select=["a.id", "a.c"])
    yield "join", j.over(a=a, b=b)
    late = a.set_column(1, "ts", pa.nulls(ROWS, UTC))
    yield "tagged", j.tagged_over(a=late, b=b.slice(0, 0))
    table = tw.join(on="a.id = b.id", window={"b": "1 hour"}, time={"b": "ts"}, select=["a.id", "a.c"])
    yield "table", table.over(a=a.drop(["ts"]), b=b)
    s = tw.session()
    s.stream("a", a, time="ts")
    s.stream("b", b, time="ts")
    yield "SQL", s.query("SELECT a.id, a.c FROM a, b WHERE a.id = b.id WINDOW 1 HOUR").batches()
    yield "CASE", s.query("SELECT id, coalesce(NULL, CASE WHEN id >= 0 THEN c END) AS c FROM a").batches()
    with tempfile.TemporaryDirectory() as folder:
        s.query("SELECT id, c FROM a").start(path=Path(folder) / "out").awaitTermination(60)
        yield "files", pq.read_table(Path(folder) / "out").to_batches()


@examples(25, long=2_000)
@given(columns(ROWS))
def test_any_column_comes_out_of_every_path(column: pa.Array) -> None:
    times = pa.array(range(ROWS), pa.int64()).cast(UTC)
    b = pa.table({"id": range(ROWS), "ts": times})
    a = pa.table({"id": range(ROWS), "ts": times, "c": column})
    for name, made in paths(a, b):
        found = pa.Table.from_batches(made)
        found = found.rename_columns([each.removeprefix("a_") for each in found.column_names]).sort_by("id")
        assert found["id"].to_pylist() == list(range(ROWS)), name
        assert exact_values(found["c"]) == exact_values(column), name


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC")])
def test_common_keys_that_python_has_no_value_for(kind: pa.DataType) -> None:
    """The most common key is shown in reports and errors."""
    bits = pa.int32() if pa.types.is_date(kind) else pa.int64()
    latest = pa.array([2 ** (bits.bit_width - 1) - 1] * 3, bits).view(kind)
    rows = pa.table({"ts": pa.array(range(3), pa.int64()).cast(UTC), "k": latest})
    j = tw.join(on="a.k = b.k", window="1 hour", time="ts")
    assert sum(batch.num_rows for batch in j.over(a=rows, b=rows)) == 9
    shown = r"2,147,483,647 days|9,223,372,036,854,775,807 µs"
    with pytest.raises(JoinLimitError, match=rf"k=({shown}) after 1970\) has more than 1"):
        list(tw.join(on="a.k = b.k", window="1 hour", time="ts", max_matches=1).over(a=rows, b=rows))
