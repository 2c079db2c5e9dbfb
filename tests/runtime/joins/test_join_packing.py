"""Rows packed for buckets: each is in one bucket, or in all if its stream is replicated; partners are in the same."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.long_run import examples
from tests.runtime.joins.generated import Case, array_of, cases
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.plan.joins.partitioning import Partitioning
from thalweg.runtime.joins import join_packing
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_packing import PACKED, Packing, unpacked
from thalweg.runtime.watermark import BEGINNING

IDS = (0, 3, 4, 9)
"""The ids of buckets, which Spark's partitioning determines."""


def packed(packing: Packing, batches: list[pa.RecordBatch]) -> list[dict[str, Any]]:
    rows = []
    for batch in packing.pack(batches):
        assert batch.schema == PACKED
        rows += batch.to_pylist()
    return rows


def ids(packing: Packing, rows: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """Return the bucket and number of each row."""
    pairs = []
    for row in rows:
        if row["chunk"] is not None:
            batch = unpacked(packing.binding, packing.alias, row["chunk"])
            assert batch.num_rows
            pairs += [(row["bucket"], i) for i in batch.column("id").to_pylist()]
    return sorted(pairs)


@examples(30, long=1_000)
@given(case=cases(), buckets=st.integers(1, 4), together=st.sampled_from([1, 7, 200_000]))
def test_every_row_is_in_its_bucket_and_partners_meet(case: Case, buckets: int, together: int) -> None:
    """DuckDB determines the partners."""
    if case.columns is not None:
        case = Case(case.on, case.streams, case.windows, case.unit)
    graph = case.binding.plan.graph
    by = Partitioning.of(graph, case.binding.plan.tables)
    places: dict[str, dict[int, set[int]]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(join_packing, "TOGETHER_ROWS", together)
        for alias in case.windows:
            stream = case.streams[alias]
            packing = Packing(case.binding, alias, by.key if alias in by.columns else None, IDS[:buckets])
            rows = packed(packing, stream.batches)
            found = ids(packing, rows)
            numbers = range(stream.table.num_rows)
            copies = buckets if alias in by.replicated else 1
            assert Counter(i for _, i in found) == dict.fromkeys(numbers, copies)
            assert len(set(found)) == len(found)
            assert {bucket for bucket, _ in found} <= set(IDS[:buckets])
            places[alias] = {i: {bucket for bucket, n in found if n == i} for i in numbers}
            check_times(case, alias, packing, rows)
    place = {alias: n for n, alias in enumerate(case.streams)}
    for row in case.expected():
        together_in = set.intersection(*(places[alias][row[place[alias]]] for alias in case.windows))
        assert len(together_in) == 1, "a result is found once"


def check_times(case: Case, alias: str, packing: Packing, rows: list[dict[str, Any]]) -> None:
    stream = case.streams[alias]
    known = [tick for tick in stream.ticks if tick is not None]
    with_latest = [row for row in rows if row["latest"] != BEGINNING]
    if not stream.table.num_rows:
        assert rows == []
    elif known:  # every bucket gets the latest time once, even one without rows
        assert sorted((row["bucket"], row["latest"]) for row in with_latest) == [
            (b, max(known)) for b in packing.buckets
        ]
    else:
        assert with_latest == []
    for row in rows:
        assert packing.binding.plan.graph.aliases[row["stream"]] == alias
        if row["chunk"] is None:
            assert row["first"] == BEGINNING
            continue
        numbers = unpacked(packing.binding, alias, row["chunk"]).column("id").to_pylist()
        ticks = [stream.ticks[i] for i in numbers]
        # a row without a time must be there before others: nothing may have expired
        assert row["first"] == (BEGINNING if None in ticks else min(ticks))


KINDS = [
    (pa.int8(), pa.int64(), [1, -3, 127]),
    (pa.int32(), pa.uint64(), [1, 2, 2**31 - 1]),
    (pa.string(), pa.large_string(), ["", "a", "nine byteß", "x" * 50]),
    (pa.dictionary(pa.int8(), pa.string()), pa.string_view(), ["", "a", "nine byteß"]),
    (pa.timestamp("s"), pa.timestamp("ns"), [0, 10**9, -5 * 10**9]),
    (pa.date32(), pa.date64(), [0, 1, -400]),
]


@pytest.mark.parametrize(("one", "other", "values"), KINDS, ids=lambda value: str(value)[:30])
def test_equal_keys_of_different_types_are_in_one_bucket(
    one: pa.DataType, other: pa.DataType, values: list[Any]
) -> None:
    tables = {
        alias: pa.table(
            {"k": array_of(kind, [*values, None]), "t": [5] * (len(values) + 1), "id": range(len(values) + 1)}
        )
        for alias, kind in (("a", one), ("b", other))
    }
    schemas = {alias: table.schema for alias, table in tables.items()}
    binding = JoinBinding.of(JoinPlan.of("a.k = b.k", 10, "t", 0), schemas)
    found = {}
    for alias, table in tables.items():
        packing = Packing(binding, alias, 0, IDS)
        found[alias] = {i: bucket for bucket, i in ids(packing, packed(packing, table.to_batches()))}
    for i in range(len(values)):
        assert found["a"][i] == found["b"][i]
    assert len(values) in found["a"]  # a null key is kept: it is counted where its row is, and moves the watermark
    assert len(values) in found["b"]


def some(ids: list[int], times: list[int | None]) -> pa.RecordBatch:
    return pa.record_batch(
        {"k": pa.array(ids, pa.int64()), "t": pa.array(times, pa.int64()), "id": pa.array(ids, pa.int64())}
    )


def packing_of(buckets: tuple[int, ...] = IDS, key: int | None = 0) -> Packing:
    schema = some([], []).schema
    return Packing(JoinBinding.of(JoinPlan.of("a.k = b.k", 10, "t", 0), {"a": schema, "b": schema}), "a", key, buckets)


def test_nothing_is_told_of_nothing() -> None:
    assert packed(packing_of(), []) == []
    assert packed(packing_of(), [some([], []), some([], [])]) == []


def test_rows_without_time_are_there_and_tell_of_none() -> None:
    rows = packed(packing_of(), [some([1, 2], [None, None])])
    assert {row["latest"] for row in rows} == {BEGINNING}
    assert [i for _, i in ids(packing_of(), rows)] in ([1, 2], [2, 1])
    assert {row["first"] for row in rows if row["chunk"] is not None} == {BEGINNING}


def test_many_keys_are_in_all_buckets_about_evenly() -> None:
    rows = packed(packing_of(), [some(list(range(8000)), [0] * 8000)])
    share = Counter(bucket for bucket, _ in ids(packing_of(), rows))
    assert sorted(share) == list(IDS)
    assert all(1800 < count < 2200 for count in share.values())


def test_what_comes_together_is_packed_together_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [some(list(range(first, first + 10)), [first] * 10) for first in range(0, 1000, 10)]
    one = packing_of(buckets=(0,), key=None)
    assert len(packed(one, batches)) == 1
    monkeypatch.setattr(join_packing, "TOGETHER_ROWS", 100)
    rows = packed(one, batches)
    assert len([row for row in rows if row["chunk"] is not None]) == 10
    assert [row["latest"] for row in rows if row["latest"] != BEGINNING] == [990]
    monkeypatch.setattr(join_packing, "TOGETHER_BYTES", 1)
    assert len([row for row in packed(one, batches) if row["chunk"] is not None]) == 100
