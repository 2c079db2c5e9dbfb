"""Filters over Arrow batches in this process."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

import pyarrow as pa
import pytest

import thalweg as tw
from thalweg.runtime.local import filters as local


def rows_of(batches: Iterable[pa.RecordBatch]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.to_pylist()]


EVEN = tw.predicate(lambda x: x % 2 == 0, "x", name="even")


@pytest.mark.parametrize("form", ["table", "batch", "batches", "generator", "reader"])
def test_every_form_of_arrow_data(form: str) -> None:
    table = pa.table({"x": range(10), "y": [f"{k}" for k in range(10)]})
    batches = table.to_batches(max_chunksize=3)
    data = {
        "table": table,
        "batch": table.combine_chunks().to_batches()[0],
        "batches": batches,
        "generator": iter(batches),
        "reader": table.to_reader(max_chunksize=4),
    }[form]
    assert rows_of(tw.filters(EVEN).over(data)) == [{"x": k, "y": f"{k}"} for k in range(0, 10, 2)]


def test_batches_come_back_one_for_one_with_their_schema() -> None:
    schema = pa.schema([("x", pa.int8()), ("y", pa.dictionary(pa.int32(), pa.string()))], metadata={"k": "v"})
    batches = pa.Table.from_pydict({"x": [1, 2, 3], "y": ["a", "b", "a"]}, schema=schema).to_batches(max_chunksize=1)
    out = list(tw.filters(EVEN).over(batches))
    assert [batch.num_rows for batch in out] == [0, 1, 0]
    assert all(batch.schema.equals(schema, check_metadata=True) for batch in out)


def test_no_batches_no_rows_no_report() -> None:
    keep = tw.filters(EVEN)
    assert list(keep.over([])) == []
    assert list(keep.over(pa.table({"x": pa.array([], pa.int64())}))) == []
    assert keep.report().sections == ()


def test_columns_are_found_whatever_their_case_and_dots() -> None:
    seen: list[tuple[Any, ...]] = []

    def look(*row: Any) -> bool:
        seen.append(row)
        return True

    table = pa.table({"line": ["x"], "a.b": [1], "a": [{"b": 2}], "Size": [3], "size": [4]})
    assert rows_of(tw.filters(tw.predicate(look, "LINE", "a.b", "Size")).over(table)) == table.to_pylist()
    assert seen == [("x", 1, 3)]


def test_two_spellings_of_one_column_are_one_column() -> None:
    p = tw.predicate(lambda a, b: a == b, "x", "X", name="same")
    assert len(rows_of(tw.filters(p).over(pa.table({"x": [1, 2]})))) == 2


def test_each_pass_is_a_section_of_its_own() -> None:
    keep = tw.filters(EVEN)
    list(keep.over(pa.table({"x": [1, 2]})))
    list(keep.over(pa.table({"x": [1, 2, 4]})))
    assert [(s.rows, s.kept) for s in keep.report().sections] == [(2, 1), (3, 2)]


def test_a_pass_that_is_left_early_is_counted_as_far_as_it_went() -> None:
    keep = tw.filters(EVEN)
    out = keep.over(pa.table({"x": range(100)}).to_batches(max_chunksize=10))
    next(out)
    next(out)
    assert isinstance(out, Generator)
    out.close()
    (section,) = keep.report().sections
    assert (section.rows, section.kept) == (20, 10)


def test_a_long_pass_reports_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "REPORT_EVERY_ROWS", 25)
    keep = tw.filters(EVEN)
    batches = pa.table({"x": range(100)}).to_batches(max_chunksize=10)
    reported = [sum(section.rows for section in keep.report().sections) for _ in keep.over(batches)]
    assert reported == [0, 0, 0, 30, 30, 30, 60, 60, 60, 90]
    (section,) = keep.report().sections
    assert section.rows == 100


def test_setup_is_called_once_a_pass_whatever_the_batches() -> None:
    made: list[int] = []

    def model() -> set[int]:
        made.append(1)
        return {1, 2}

    known = tw.predicate(lambda model, x: x in model, "x", name="known", setup=model)
    assert len(rows_of(tw.filters(known).over(pa.table({"x": [1, 2, 3]}).to_batches(max_chunksize=1)))) == 2
    assert made == [1]


def test_the_same_seed_does_the_same_work() -> None:
    def counts() -> list[tuple[str, int, int]]:
        small = tw.predicate(lambda x: x < 500, "x", name="small")
        keep = tw.filters(EVEN, small, policy="static", slice_rows=100)
        list(keep.over(pa.table({"x": range(5000)})))
        sampled = tw.filters(EVEN, small, policy="a-greedy(p=0.3)", seed=7, slice_rows=100)
        list(sampled.over(pa.table({"x": range(100)})))  # one slice: no order has changed yet
        return [(p.name, p.evaluated, p.profiled) for s in sampled.report().sections for p in s.predicates]

    assert counts() == counts()
