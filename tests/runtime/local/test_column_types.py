"""Columns of every Arrow type pass a filter unchanged, whether predicates read them or not."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import thalweg as tw
from thalweg.kernels.columns import plain, plain_schema

ROWS = 24
LONG = "longer than the twelve bytes that a view holds itself, "


def texts(n: int = ROWS) -> list[str | None]:
    return [None if i % 5 == 3 else (LONG if i % 3 else "") + str(i) for i in range(n)]


def encoded(values: pa.Array, run_end_type: pa.DataType | None = None) -> pa.Array:
    """Also of values that Arrow itself does not encode."""
    ends = pa.array(range(4, 4 * len(values) + 1, 4), run_end_type or pa.int32())
    return pa.RunEndEncodedArray.from_arrays(ends, values)


class Tagged(pa.ExtensionType):  # type: ignore[misc]  # pyarrow ships no types
    """A user-defined type whose values are views."""

    def __init__(self) -> None:
        super().__init__(pa.string_view(), "thalweg.tests.tagged")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, data: bytes) -> Tagged:
        return cls()


def _lists(kind: pa.DataType) -> pa.Array:
    values = texts()
    return pa.array([None if i % 7 == 4 else values[: i % 4] for i in range(ROWS)], kind)


def _made() -> dict[str, pa.Array]:
    ids = pa.array(range(ROWS))
    names = pa.array(texts())
    views = pa.array(texts(), pa.string_view())
    six = pa.array([None if i == 2 else f"{LONG}{i}" for i in range(6)])
    codes = pa.array([i % 2 for i in range(ROWS)], pa.int8())
    halves = pa.array([i // 2 for i in range(ROWS)], pa.int32())
    offsets = pa.array([min(3 * i, 22) for i in range(ROWS + 1)], pa.int32())
    pairs = [None if i % 7 == 4 else [(f"k{i}", t)] * (i % 3) for i, t in enumerate(texts())]
    structs = [None if i % 6 == 5 else {"t": t, "n": i} for i, t in enumerate(texts())]
    deep = pa.list_(pa.struct([("t", pa.large_list(pa.binary_view()))]))
    two_views = pa.list_(pa.string_view(), 2)
    sixteen = pa.array([bytes([i] * 16) for i in range(ROWS)], pa.binary(16))
    return {
        "string view": views,
        "binary view": names.cast(pa.binary()).cast(pa.binary_view()),
        "runs of text": encoded(six),
        "runs of views": encoded(six.cast(pa.string_view())),
        "runs of words": encoded(six.dictionary_encode()),
        "runs of structs": encoded(pa.array([{"a": i} for i in range(6)]), pa.int16()),
        "runs of numbers": pc.run_end_encode(pa.array([i // 5 for i in range(ROWS)]), run_end_type=pa.int64()),
        "words": names.dictionary_encode(),
        "words of views": pa.DictionaryArray.from_arrays(codes, pa.array(["x", LONG], pa.string_view())),
        "large text": names.cast(pa.large_string()),
        "large bytes": names.cast(pa.large_binary()),
        "bytes of one size": pa.array([b"ab", None] * 12, pa.binary(2)),
        "nothing": pa.nulls(ROWS),
        "decimal32": pa.array([Decimal(i) for i in range(ROWS)], pa.decimal32(5, 2)),
        "decimal256": pa.array([Decimal(i) for i in range(ROWS)], pa.decimal256(50)),
        "duration": pa.array(range(ROWS), pa.duration("ms")),
        "interval": pa.array([pa.MonthDayNano([1, i, 3]) for i in range(ROWS)]),
        "half": pa.array(np.arange(ROWS, dtype=np.float16)),
        "lists of views": _lists(pa.list_(pa.string_view())),
        "large lists of views": _lists(pa.large_list(pa.string_view())),
        "list views": pa.array([[i] * (i % 3) for i in range(ROWS)], pa.list_view(pa.int64())),
        "list views of views": _lists(pa.list_view(pa.string_view())),
        "lists of two views": pa.array([None if i % 5 == 2 else ["a", LONG] for i in range(ROWS)], two_views),
        "lists of runs": pa.ListArray.from_arrays(offsets, encoded(six)),
        "lists of words": pa.ListArray.from_arrays(offsets, names.dictionary_encode()),
        "maps": pa.array(pairs, pa.map_(pa.string(), pa.string())),
        "maps of views": pa.array(pairs, pa.map_(pa.string_view(), pa.string_view())),
        "structs of views": pa.array(structs, pa.struct([("t", pa.string_view()), ("n", pa.int64())])),
        "structs of runs": pa.StructArray.from_arrays([encoded(six), ids], ["r", "n"]),
        "deep": pa.array([None if i % 5 == 4 else [{"t": [b"x" * i, None]}] * (i % 3) for i in range(ROWS)], deep),
        "dense union": pa.UnionArray.from_dense(codes, halves, [ids, views]),
        "sparse union": pa.UnionArray.from_sparse(codes, [ids, names]),
        "sparse union of views": pa.UnionArray.from_sparse(codes, [ids, views]),
        "uuid": pa.ExtensionArray.from_storage(pa.uuid(), sixteen),
        "extension of views": pa.ExtensionArray.from_storage(Tagged(), views),
    }  # fmt: skip


COLUMNS = _made()
MULTIPLE = 3


def batches(column: pa.Array) -> list[pa.RecordBatch]:
    """Cut so that columns begin in the middle of their buffers."""
    whole = pa.record_batch({"id": pa.array(range(ROWS)), "c": column})
    return [whole.slice(0, 7), whole.slice(7, 1), whole.slice(8, 0), whole.slice(8)]


def rows_of(made: list[pa.RecordBatch], column: pa.Array) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for batch in made:
        batch.validate(full=True)
        assert batch.column("c").type == column.type
        found += zip(*(part.to_pylist() for part in batch.columns), strict=True)
    return found


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_that_no_predicate_reads_comes_along(name: str) -> None:
    column = COLUMNS[name]
    values = column.to_pylist()
    for every in (MULTIPLE, 1, ROWS + 1):
        keep = tw.filters(tw.predicate(lambda i, every=every: i % every == every - 1, "id", name="some"))
        expected = [(i, values[i]) for i in range(ROWS) if i % every == every - 1]
        assert rows_of(list(keep.over(batches(column))), column) == expected


@pytest.mark.parametrize("name", COLUMNS)
def test_rows_that_failed_bring_such_columns_too(name: str) -> None:
    column = COLUMNS[name]
    values = column.to_pylist()
    predicate = tw.predicate(lambda i: 1 // (i % MULTIPLE) > 0, "id", name="p")
    keep = tw.filters(predicate, on_error="dead-letter")
    error = [{"predicate": "p", "error": "ZeroDivisionError: integer division or modulo by zero"}]
    failed: list[tuple[int, Any, Any]] = [(i, values[i], error) for i in range(0, ROWS, MULTIPLE)]
    passed: list[tuple[int, Any, Any]] = [(i, values[i], None) for i in range(1, ROWS, MULTIPLE)]
    assert rows_of(list(keep.failed_over(batches(column))), column) == failed
    assert rows_of(list(keep.tagged_over(batches(column))), column) == sorted(failed + passed, key=lambda row: row[0])


@pytest.mark.parametrize("name", COLUMNS)
def test_a_row_function_gets_the_values(name: str) -> None:
    column = COLUMNS[name]
    values = column.to_pylist()
    seen: list[tuple[int, Any]] = []

    def looks(i: int, value: Any) -> bool:
        seen.append((i, value))
        return value is not None

    keep = tw.filters(
        tw.predicate(lambda i: i % MULTIPLE > 0, "id", name="some"), tw.predicate(looks, "id", "c"), policy="static"
    )
    expected = [(i, value) for i, value in enumerate(values) if i % MULTIPLE > 0]
    found = rows_of(list(keep.over(batches(column))), column)
    assert seen == expected
    assert found == [row for row in expected if row[1] is not None]


@pytest.mark.parametrize("name", COLUMNS)
def test_a_vectorized_predicate_gets_one_type_at_any_position(name: str) -> None:
    column = COLUMNS[name]
    values = column.to_pylist()
    seen: list[Any] = []
    types: set[str] = set()

    def looks(ids: pa.Array, array: pa.Array) -> pa.Array:
        array.validate(full=True)
        seen.extend(zip(ids.to_pylist(), array.to_pylist(), strict=True))
        types.add(str(array.type))
        return pa.array([True] * len(ids))

    some = tw.predicate(lambda i: i % MULTIPLE > 0, "id", name="some")
    array = tw.predicate(looks, "id", "c", vectorized=True)
    for chain in ((some, array), (array, some)):
        seen.clear()
        expected = [(i, value) for i, value in enumerate(values) if i % MULTIPLE > 0]
        assert rows_of(list(tw.filters(*chain, policy="static").over(batches(column))), column) == expected
        assert seen == (expected if chain[0] is some else list(enumerate(values)))
    assert len(types) == 1
    (kind,) = types
    assert kind == {"string view": "string", "binary view": "binary", "runs of text": "string"}.get(name, kind)


@pytest.mark.parametrize("name", ["string view", "runs of views", "structs of runs", "maps of views", "dense union"])
def test_sampled_rows_of_such_columns_are_profiled(name: str) -> None:
    """They are copied out of their batches and joined with those of others."""
    column = COLUMNS[name]
    values = column.to_pylist()
    keep = tw.filters(
        tw.predicate(lambda i: i % MULTIPLE > 0, "id", name="some"),
        tw.predicate(lambda value: value is not None, "c", name="there"),
        tw.predicate(lambda array: array.is_valid(), "c", name="valid", vectorized=True),
        policy="a-greedy(p=1.0)", slice_rows=2,
    )  # fmt: skip
    expected = [(i, value) for i, value in enumerate(values) if i % MULTIPLE > 0 and value is not None]
    assert rows_of(list(keep.over(batches(column))), column) == expected
    section = keep.report().sections[0]
    assert sum(p.profiled for p in section.predicates) > 0
    assert sum(p.profile_errors for p in section.predicates) == 0


def test_functions_of_arrow_work_on_views_and_runs() -> None:
    for name in ("string view", "runs of text", "runs of views", "runs of words"):
        column = COLUMNS[name]
        keep = tw.filters(tw.predicate(lambda c: pc.match_substring(c, "1"), "c", name="has_1", vectorized=True))
        expected = [(i, v) for i, v in enumerate(column.to_pylist()) if v is not None and "1" in v]
        assert rows_of(list(keep.over(batches(column))), column) == expected


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_in_its_plain_type_has_the_same_values(name: str) -> None:
    """As joins and queries store it."""
    for batch in batches(COLUMNS[name]):
        made = plain(batch, plain_schema(batch.schema))
        made.validate(full=True)
        assert made.to_pylist() == batch.to_pylist()
