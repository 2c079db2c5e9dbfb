"""The report of joins: buckets and micro-batches are summed, what is held now is the latest of each bucket."""

from __future__ import annotations

import json
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import thalweg as tw
from tests.events.flat_records import made, places
from tests.report.join_records import OTHERS, joined, verdict
from tests.report.test_report import Page, observed
from thalweg.cli import app
from thalweg.errors import ThalwegError
from thalweg.events import JoinObserved, JsonLines, Origin, Record, VerdictGiven, read
from thalweg.report import JoinReport, JoinTally, fold
from thalweg.report.run_report import SHOWN_IN_FULL
from thalweg.report.section import LATEST_SWITCHES
from thalweg.report.tally import LATEST_BATCHES, MOST_SECTIONS


def report_of(*records: Record) -> JoinReport:
    tally = JoinTally()
    for record in records:
        tally.add(record)
    return tally.report()


counts = st.integers(0, 1000)
PLACES = places(JoinObserved)
TOTALS = {
    name: PLACES[name]
    for name in ("rows", "late", "no_time", "no_key", "kept", "results", "profile_tuples", "looked", "total_ns",
                 "profiling_ns", "reoptimizing_ns", "expired", "filtered", "ahead", "reloaded", "trials", "trial_rows",
                 "trial_ns", "trial_loss_ns", "compiling_ns", "routing_ns")
}  # fmt: skip
BY_OTHER = {name: PLACES[name] for name in ("evaluated", "passed", "profiled")}


@st.composite
def streams(draw: st.DrawFn) -> list[JoinObserved]:
    """Some micro-batches of a query; in each, some buckets report on each stream."""
    told = []
    for batch in range(draw(st.integers(1, 2 * LATEST_BATCHES))):
        for bucket in draw(st.lists(st.integers(0, 3), min_size=1, max_size=4, unique=True)):
            for stream, others in OTHERS.items():
                changes: dict[str, Any] = {name: draw(counts) for name in TOTALS} if batch < 3 else {}
                changes |= {name: (draw(counts), draw(counts)) for name in BY_OTHER} if batch < 3 else {}
                changes |= {"window_rows": draw(counts), "state_bytes": draw(counts), "most_rows": draw(counts)}
                changes |= {"most_late": draw(counts), "most_matches": draw(counts)}
                changes |= {"watermark": draw(st.none() | counts), "order": draw(st.permutations(others).map(tuple))}
                changes["hottest"] = f"k={changes['most_matches']}"
                told.append(joined("q run s chain c", stream, bucket, batch=batch, query="q", start="s", **changes))
    return told


@settings(max_examples=25)
@given(streams())
def test_buckets_are_summed_and_the_latest_state_counts(records: list[JoinObserved]) -> None:
    (section,) = report_of(*records).sections
    assert (section.first_batch, section.last_batch) == (0, records[-1].origin.batch)
    assert section.results == sum(r.matches.results for r in records)
    for alias, stream in section.streams.items():
        mine = [r for r in records if r.alias == alias]
        latest = {r.origin.worker: r for r in mine}
        for name, place in TOTALS.items():
            assert attrgetter(place)(stream) == sum(attrgetter(place)(r) for r in mine), name
        for place in BY_OTHER.values():
            assert attrgetter(place)(stream) == [sum(attrgetter(place)(r)[k] for r in mine) for k in range(2)]
        for name in ("rows", "bytes", "state_bytes", "state_chunks"):
            assert getattr(stream.window, name) == sum(getattr(r.window, name) for r in latest.values())
        most = [max(r.window.most_rows for r in mine if r.origin.worker == worker) for worker in latest]
        assert stream.window.most_rows == sum(most)
        assert stream.stream.most_late == max(r.stream.most_late for r in mine)
        assert stream.matches.most_matches == max(r.matches.most_matches for r in mine)
        assert stream.matches.hottest == f"k={stream.matches.most_matches}"
        marks = [r.window.watermark for r in latest.values() if r.window.watermark is not None]
        assert stream.window.watermark == (min(marks) if marks else None)
        orders = [r.order for r in latest.values()]
        assert orders.count(stream.order) == max(map(orders.count, orders))
        assert stream.other_orders == len(orders) - orders.count(stream.order)


@settings(max_examples=25)
@given(streams())
def test_it_can_be_shown_in_every_form(records: list[JoinObserved]) -> None:
    report = report_of(*records)
    told = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert told == report.to_dict()
    (section,) = told["sections"]
    assert section["streams"]["a"]["rows"] == report.sections[0].streams["a"].stream.rows
    assert section["streams"]["a"]["window_rows"] == report.sections[0].streams["a"].window.rows
    assert str(report) == repr(report)
    Page(report._repr_html_())


RUN = "0a1b2c3d-0000-0000 run 9f8e7d6c-0000-0000 chain 89abcdef"


def test_the_text_names_what_a_person_asks_for() -> None:
    state = {"state_bytes": 3_000_000, "state_chunks": 4, "most_bytes": 2_000_000, "query_name": "orders"}
    text = str(
        report_of(
            verdict(RUN, reason="c finds less", worker="bucket 1 a"),
            *(joined(RUN, "a", bucket, order=("c", "b"), **state) for bucket in range(3)),
            joined(RUN, "a", 3, order=("b", "c"), **state),
            joined(RUN, "b", 0, batch=6, late=3, most_late=7, no_time=1, no_key=2, filtered=4, ahead=5, reloaded=9,
                   watermark=900, **state),
            joined(RUN, "c", 0, batch=6, replicated=True, **state),
            joined(RUN, "c", 1, batch=6, rows=0, replicated=True, **state),
        )
    )  # fmt: skip
    lines = text.splitlines()
    assert lines[0] == (
        "streaming query orders, start 9f8e7d6c, micro-batches 0 to 6: 490 results in 4 buckets, policy auto"
    )
    assert lines[1].split("  ")[-1].strip() == "state store"
    assert lines[2].split() == [
        "a", "400", "200", "280", "c", "62", "%", ">", "b", "80", "%", "80", "0", "8.0", "MB", "12.0", "MB",
    ]  # fmt: skip
    for fact in (
        "a: the order of probes differs in 1 of 4 buckets",
        "b: 3 rows late, by up to 7 ticks of time, not joined",
        "b: 1 row without a time, not joined",
        "b: 2 rows with a key that equals nothing, not joined",
        "b: 4 rows dropped by a condition on this stream",
        "b: 5 rows too far in the future (max_ahead=): joined, but the watermark did not advance to them",
        "c: held in each of 4 buckets",
        "watermark: b is furthest behind, 100 ticks of time behind a",
        "21.0 MB of state in 28 chunks; 9 chunks read back",
        "profiling 10.0 %, re-optimizing 1.0 %; 1 switch",
        "batch 0, a in bucket 1, row 5: c moves from 2 to 1: c finds less",
    ):
        assert sum(fact in line for line in lines) == 1, fact
    assert "b: the order" not in text
    assert "b: held in each" not in text


def test_lengths_of_time_are_reported_in_known_units() -> None:
    late, late_again = {"late": 3, "most_late": 93_719_920}, {"late": 1, "most_late": 5}
    told = [
        joined(RUN, "a", watermark=7_380_000_000, tick_ns=1_000),
        joined(RUN, "b", watermark=6_541, tick_ns=1_000, **late),
        joined(RUN, "b", batch=1, watermark=6_541, tick_ns=1_000, **late_again),
    ]
    text = str(report_of(*told))
    assert "b: 4 rows late, by up to 93.7 s, not joined" in text
    assert "watermark: b is furthest behind, 2 h 3 min behind a" in text
    assert report_of(*told).to_dict()["sections"][0]["streams"]["b"]["tick_ns"] == 1_000
    many_batches = [joined(RUN, "b", batch=n, tick_ns=1_000, **late) for n in range(3 * LATEST_BATCHES)]
    assert "by up to 93.7 s, not joined" in str(report_of(*many_batches))  # also of what was folded long ago


def test_finished_dataframes_and_local_passes_are_named_as_such() -> None:
    batch = str(report_of(joined("batch 0a1b2c3d", kind="batch", batch=None)))
    assert batch.startswith("batch 0a1b2c3d, the first action on this DataFrame (Spark observes only that one): 70 res")
    assert "in 1 bucket, policy auto" in batch
    local = str(report_of(verdict("r", "local a", batch=None), joined(kind="local", batch=None, worker="local")))
    assert local.startswith("r: 70 results, policy auto")
    assert "state store" not in local
    assert "    a, row 5: c moves" in local


def test_a_bucket_that_holds_far_more_than_its_share_is_reported() -> None:
    even = report_of(*(joined(bucket=bucket, window_rows=10_000) for bucket in range(4)))
    assert "far more common" not in str(even)
    uneven = report_of(*(joined(bucket=bucket, window_rows=70_000 if bucket == 2 else 10_000) for bucket in range(4)))
    assert "a: bucket 2 of 4 holds 70 % of its window: one key is far more common" in str(uneven)
    replicated = [
        joined(bucket=bucket, window_rows=70_000 if bucket == 2 else 10_000, replicated=True) for bucket in range(4)
    ]
    assert "far more common" not in str(report_of(*replicated))


def test_a_table_is_reported_by_every_bucket_and_not_summed() -> None:
    """A new worker reads it again."""
    told = [
        made(
            JoinObserved, run="r", kind="stream", batch=batch, worker=f"bucket {bucket}", policy="auto", alias="c",
            table=True, no_key=2, rows=9, window_rows=7, window_bytes=2_000,
        )
        for batch in range(LATEST_BATCHES + 3)
        for bucket in range(2)
    ]  # fmt: skip
    report = report_of(joined(bucket=0), joined(bucket=1), *told)
    (section,) = report.sections
    assert set(section.streams) == {"a"}
    assert (section.tables["c"].rows, section.tables["c"].window_rows) == (9, 7)
    assert "c: a table, 7 rows held once per worker, 2.0 kB, 2 with a key that equals nothing" in str(report)
    assert report.to_dict()["sections"][0]["tables"]["c"]["rows"] == 9


def told(start: int, batch: int, rows: int) -> list[Record]:
    """By two buckets of a query's start."""
    run = f"q run {start} chain c{start}"
    of: dict[str, Any] = {"batch": batch, "query": "q", "start": str(start)}
    return [
        verdict(run, reason=str(rows), **of),
        *(joined(run, "a", bucket, rows=rows, window_rows=rows, **of) for bucket in range(2)),
    ]


@st.composite
def restarts(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Start and batch as they happen: each start goes on a batch or two before where the last was left."""
    happened: list[tuple[int, int]] = []
    following = 0
    for start in range(draw(st.integers(1, 5))):
        begin = max(0, following - draw(st.integers(0, 2)))
        following = begin + draw(st.integers(1, 4))
        happened += [(start, batch) for batch in range(begin, following)]
    return happened


@given(restarts())
def test_a_replayed_micro_batch_counts_once(happened: list[tuple[int, int]]) -> None:
    records, last = [], {}
    for number, (start, batch) in enumerate(happened):
        records += told(start, batch, 100 + number)
        last[batch] = start, 100 + number
    sections = report_of(*records).sections
    assert len(sections) == len({start for start, _ in last.values()})
    for section in sections:
        counted = {batch: rows for batch, (start, rows) in last.items() if section.run.startswith(f"q run {start} ")}
        stream = section.streams["a"]
        assert stream.stream.rows == 2 * sum(counted.values())
        assert stream.window.rows == 2 * counted[max(counted)]
        assert section.all_switches == len(counted)
        assert [s.reason for s in section.switches] == [str(counted[batch]) for batch in sorted(counted)]


def test_a_late_record_of_an_earlier_start_takes_nothing_away() -> None:
    report = report_of(*told(0, 0, 10), *told(1, 1, 20), *told(0, 1, 30))
    assert [(s.streams["a"].stream.rows, s.all_switches) for s in report.sections] == [(20, 1), (40, 1)]


def test_what_is_remembered_apart_is_bounded_and_the_sum_is_not() -> None:
    tally = JoinTally()
    for batch in range(10 * LATEST_BATCHES):
        for record in told(1, batch, 10):
            tally.add(record)
    (section,) = tally.report().sections
    assert section.streams["a"].stream.rows == 2 * 10 * 10 * LATEST_BATCHES
    assert section.all_switches == 10 * LATEST_BATCHES
    assert len(section.switches) == LATEST_SWITCHES
    (run,) = tally._runs._runs.values()
    assert len(run._latest) == LATEST_BATCHES
    for number in range(MOST_SECTIONS + 3):
        tally.add(joined(f"batch {number}", kind="batch", batch=None))
    report = tally.report()
    assert len(report.sections) == MOST_SECTIONS
    for text in (str(report), report._repr_html_()):
        assert "4 older runs are left out" in text
        assert text.count("profiling 10.0 %") == SHOWN_IN_FULL


def test_nothing_has_run_yet() -> None:
    report = tw.join(on="a.k = b.k", window=1, time="t", lateness=0).report()
    assert report.sections == ()
    for text in (str(report), report._repr_html_()):
        assert "Nothing has run yet" in text
        assert "A streaming query is counted from the end of its first micro-batch." in text
        assert "j(a=A, b=B)" in text
        assert "j.over(" in text


def test_dataframes_without_an_action_are_reported() -> None:
    report = JoinTally().report(pending=2, unobserved=1)
    for text in (str(report), report._repr_html_()):
        assert "2 joined DataFrames with no finished action yet." in text
        assert "On 1 DataFrame the first action left no record" in text
        assert "j(a=A, b=B) again to count another one" in text
        assert "Nothing has run" not in text
    assert (report.to_dict()["pending"], report.to_dict()["unobserved"]) == (2, 1)


def test_the_page_escapes_every_name() -> None:
    evil = "<script>alert('&')</script>"
    others = (evil, "c")
    report = report_of(
        VerdictGiven(Origin(evil, "local", None, f"{evil} a", evil), 5, others, others[::-1], evil),
        joined(evil, kind="local", worker=evil, policy=evil, others=others, order=others, hottest=evil, limit=1),
    )
    page = Page(report._repr_html_())
    assert "script" not in page.tags
    assert page.text.count(evil) >= 4


def test_one_run_has_one_set_of_streams() -> None:
    with pytest.raises(ThalwegError, match="not one run"):
        report_of(joined(), joined(others=("x", "y"), order=("x", "y")))


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A filter and a join in one streaming query, whose second batch was run again by another start."""
    lines = JsonLines(tmp_path / "events.jsonl")
    for start, batches in (("1", (0, 1)), ("2", (1, 2))):
        for batch in batches:
            of = {"kind": "stream", "batch": batch, "query": "q", "start": start}
            lines.write(observed(f"q run {start} chain f{start}", rows=500, **of))
            lines.write(verdict(f"q run {start} chain j{start}", batch=batch, query="q", start=start))
            for bucket in range(2):
                lines.write(joined(f"q run {start} chain j{start}", "a", bucket, **of))
    return lines.path


def test_a_file_with_filters_and_joins_is_reported_as_both(mixed: Path) -> None:
    shown = CliRunner().invoke(app, ["report", str(mixed)])
    assert shown.exit_code == 0, shown.stderr
    assert "500 rows of micro-batches 0 to 0 of streaming query q, start 1" in shown.stdout
    assert "1,000 rows of micro-batches 1 to 2 of streaming query q, start 2" in shown.stdout
    assert "streaming query q, start 1, micro-batches 0 to 0: 140 results in 2 buckets" in shown.stdout
    assert "streaming query q, start 2, micro-batches 1 to 2: 280 results in 2 buckets" in shown.stdout
    as_json = json.loads(CliRunner().invoke(app, ["report", str(mixed), "--json"]).stdout)
    assert [section["rows"] for section in as_json["sections"]] == [500, 1000]
    assert [section["results"] for section in as_json["joins"]] == [140, 280]
    assert [section["switches"] for section in as_json["joins"]] == [1, 2]


def test_each_tally_leaves_the_records_of_the_other(mixed: Path) -> None:
    records = list(read(mixed))
    assert [section.rows for section in fold(records).sections] == [500, 1000]
    assert [section.results for section in report_of(*records).sections] == [140, 280]


def test_a_file_is_read_without_batches_of_an_earlier_start(tmp_path: Path) -> None:
    lines = JsonLines(tmp_path / "events.jsonl")
    written = [*told(0, 0, 10), *told(0, 1, 20), *told(1, 1, 30)]
    for record in written:
        lines.write(record)
    assert list(read(lines.path)) == [*written[:3], *written[6:]]


def test_the_events_file_of_a_join_folds_to_the_live_report(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    join = tw.join(on="a.k = b.k", window=5, time="t", lateness=0, events=path)
    table = pa.table({"k": [n % 7 for n in range(3000)], "t": range(3000)})
    for _ in range(2):
        list(join.over(a=table, b=table))
    live = join.report()
    assert report_of(*read(path)) == live
    assert len(live.sections) == 2
    assert live.sections[0].streams["a"].stream.rows == 3000
