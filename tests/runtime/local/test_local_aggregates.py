"""Aggregates over batches in this process: rounds, watermarks, and reported counts."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.aggregates_oracle import in_ticks, rows
from tests.kernels.generated_aggregates import Case, cases
from tests.long_run import examples
from thalweg.errors import PlanError
from thalweg.plan.joins.window import GroupWindow
from thalweg.plan.query.group_spec import AggregateColumn, GroupSpec
from thalweg.runtime.local.aggregates import RESULT_ROWS, GroupCounts, aggregate_batches
from thalweg.runtime.local.rounds import ROUND_ROWS

COUNT = AggregateColumn("count", None, pa.int64())
TENS = GroupSpec("t", GroupWindow(10, 10), (), (COUNT,))


@examples(50, long=2_000)
@given(case=cases(), given_mark=st.booleans())
def test_same_as_duckdb(case: Case, given_mark: bool) -> None:
    """Also if the watermark comes from elsewhere and lags slightly."""
    reported: list[GroupCounts] = []
    read = 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal read
        for batch in case.batches:
            read += batch.num_rows
            yield batch

    def watermark() -> int | None:
        known = [tick for tick in case.ticks[:read] if tick is not None]
        return max(known) - case.lateness - 1 if known else None

    out = list(
        aggregate_batches(
            batches(), case.spec, case.lateness, reported.append, watermark=watermark if given_mark else None
        )
    )
    assert len(out) >= 1
    table = pa.Table.from_batches(out)
    assert rows(in_ticks(table)) == case.expected()
    last = reported[-1]
    assert (last.rows, last.late, last.results, last.held) == (case.table.num_rows, 0, table.num_rows, 0)
    assert last.no_time == case.ticks.count(None)


def counts(batches: list[list[int]], lateness: int = 0) -> tuple[list[tuple[int, int]], GroupCounts]:
    reported: list[GroupCounts] = []
    made = [pa.record_batch({"t": pa.array(times, pa.int64())}) for times in batches]
    out = pa.Table.from_batches(list(aggregate_batches(made, TENS, lateness, reported.append)))
    return list(zip(out["window_start"].to_pylist(), out["agg 0"].to_pylist(), strict=True)), reported[-1]


def test_a_late_row_is_counted_and_in_no_window() -> None:
    out, reported = counts([[1, 15], [9, 16, 14, 15], [3, 30]])
    # the watermark is 15 in the second round, so 9 and 14 are late; 16 in the third, so 3 is
    assert out == [(0, 1), (10, 3), (30, 1)]
    assert (reported.rows, reported.late, reported.most_late) == (8, 3, 13)
    out, reported = counts([[1, 15], [9, 16, 14, 15], [3, 30]], lateness=6)
    assert out == [(0, 2), (10, 4), (30, 1)]
    assert (reported.late, reported.most_late) == (1, 7)


def test_a_large_batch_is_several_rounds() -> None:
    out, reported = counts([[100] * ROUND_ROWS + [5]])
    assert out == [(100, ROUND_ROWS)]
    assert reported.late == 1
    out, reported = counts([[100] * (ROUND_ROWS - 1) + [5]])
    assert out == [(0, 1), (100, ROUND_ROWS - 1)]
    assert reported.late == 0


def test_windows_come_as_soon_as_the_watermark_passes_them() -> None:
    read: list[list[int]] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for times in ([1], [10], [30]):
            read.append(times)
            yield pa.record_batch({"t": times})

    out = aggregate_batches(batches(), TENS)
    assert next(out)["window_start"].to_pylist() == [0]
    assert read == [[1], [10]]
    assert next(out)["window_start"].to_pylist() == [10]
    assert read == [[1], [10], [30]]


def test_without_rows_there_is_a_schema() -> None:
    schema = pa.schema({"t": pa.timestamp("ms"), "x": pa.string()})
    spec = GroupSpec("t", GroupWindow(1000, 1000), ("x",), (COUNT,))
    reported: list[GroupCounts] = []
    for batches in ([], [pa.RecordBatch.from_pylist([], schema)]):
        (batch,) = aggregate_batches(batches, spec, report=reported.append, schema=schema)
        assert batch.num_rows == 0
        assert batch.schema == spec.output(schema)
    assert list(aggregate_batches([], spec)) == []
    assert {count.rows for count in reported} == {0}


def test_results_are_in_batches_of_bounded_size() -> None:
    rows_ = RESULT_ROWS + 5
    batch = pa.record_batch({"t": [1] * rows_, "k": range(rows_)})
    out = list(aggregate_batches([batch], GroupSpec("t", GroupWindow(10, 10), ("k",), (COUNT,))))
    assert [each.num_rows for each in out] == [RESULT_ROWS, 5]


def test_bad_arguments_are_refused_at_once() -> None:
    with pytest.raises(PlanError, match="lateness=-1: must not be negative"):
        aggregate_batches([], TENS, -1)
    with pytest.raises(PlanError, match="no column 't'"):
        aggregate_batches([], TENS, schema=pa.schema({"x": pa.int64()}))
