"""Groups are those of DuckDB on the finished data, however rows are cut into batches, one window after another."""

from __future__ import annotations

from unittest.mock import patch

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.aggregates_oracle import in_ticks, rows
from tests.kernels.generated_aggregates import Case, cases
from tests.long_run import examples
from thalweg.kernels import pane_groups, window_groups
from thalweg.kernels.window_groups import WindowGroups

AT_ONCE = st.sampled_from([1, 5, 1 << 20])


@examples(80, long=5_000)
@given(case=cases(), at_once=AT_ONCE)
def test_each_window_is_emitted_once_and_as_soon_as_possible(case: Case, at_once: int) -> None:
    expected = case.expected()
    groups = WindowGroups(case.spec, case.table.schema)
    out: list[pa.Table] = []
    latest, done = None, 0
    with patch.object(window_groups, "EXPANDED_ROWS", at_once), patch.object(pane_groups, "WINDOWS_AT_ONCE", at_once):
        for batch in case.batches:
            groups.add(batch)
            ticks = [tick for tick in case.ticks[done : done + batch.num_rows] if tick is not None]
            done += batch.num_rows
            if ticks:
                latest = max([*ticks] if latest is None else [latest, *ticks])
            if latest is not None:
                until = latest - case.lateness
                out.append(groups.close(until))
                so_far = rows(in_ticks(pa.concat_tables(out)))
                assert so_far == [row for row in expected if int(row[1]) <= until]
        out.append(groups.close_all())
    table = pa.concat_tables(out)
    assert rows(in_ticks(table)) == expected
    assert table["window_start"].to_pylist() == sorted(table["window_start"].to_pylist())
    assert table.schema == groups.output
    assert groups.late == 0
    assert groups.no_time == case.ticks.count(None)
    assert groups.rows == case.table.num_rows
    assert len(groups) == 0


@examples(60, long=5_000)
@given(case=cases(ordered=False), lateness=st.sampled_from([0, 5, 100]), at_once=AT_ONCE)
def test_late_rows_are_counted_and_in_no_window(case: Case, lateness: int, at_once: int) -> None:
    groups = WindowGroups(case.spec, case.table.schema)
    out: list[pa.Table] = []
    in_time: list[bool] = []
    mark, latest, most_late = None, None, 0
    with patch.object(window_groups, "EXPANDED_ROWS", at_once), patch.object(pane_groups, "WINDOWS_AT_ONCE", at_once):
        for batch in case.batches:
            for tick in case.ticks[len(in_time) : len(in_time) + batch.num_rows]:
                late_by = 0 if tick is None or mark is None else max(mark - tick, 0)
                in_time.append(not late_by)
                most_late = max(most_late, late_by)
                if tick is not None:
                    latest = tick if latest is None else max(latest, tick)
            groups.add(batch)
            assert groups.latest == latest
            if latest is not None:
                mark = latest - lateness
                out.append(groups.close(mark))
        out.append(groups.close_all())
    assert rows(in_ticks(pa.concat_tables(out))) == case.expected(in_time)
    assert (groups.late, groups.most_late) == (in_time.count(False), most_late)
