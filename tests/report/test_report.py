"""The report for people and for programs."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings

import thalweg as tw
from tests.events.flat_records import made
from tests.events.some_records import records_of_a_run
from thalweg.adapt import POLICIES, setting_names
from thalweg.events import Observed, Origin, Record, VerdictGiven, read, to_json
from thalweg.events.counts import shape_of
from thalweg.report import Report, Tally, fold
from thalweg.report.run_report import SHOWN_IN_FULL
from thalweg.report.section import LATEST_SWITCHES
from thalweg.report.tally import MOST_SECTIONS


def observed(run: str = "r", **changes: Any) -> Observed:
    values: dict[str, Any] = {
        "run": run, "kind": "local", "batch": None, "worker": "w", "policy": "a-greedy", "predicates": ("a", "b"),
        "order": ("b", "a"), "rows": 1000, "kept": 100, "evaluated": (200, 1000), "passed": (100, 200),
        "busy_ns": (10, 20), "cost_ns": (250.0, None), "profiled": (30, 0), "profile_busy_ns": (5, 0),
        "profile_errors": (1, 0), "profile_tuples": 40, "total_ns": 1000, "profiling_ns": 200, "reoptimizing_ns": 50,
    }  # fmt: skip
    values |= changes
    in_force = {f"{name}_in_force": values[name] for name in ("rows", "evaluated", "passed")}
    return made(Observed, **{**in_force, **values})


def verdict(run: str = "r", reason: str = "because", at: int = 5) -> VerdictGiven:
    return VerdictGiven(Origin(run, "local", None, "w", "a-greedy"), at, ("a", "b"), ("b", "a"), reason)


@given(records_of_a_run())
def test_numbers_are_the_sums_of_the_records(records: list[Record]) -> None:
    (section,) = fold(records).sections
    seen = [record for record in records if isinstance(record, Observed)]
    told = [record for record in records if isinstance(record, VerdictGiven)]
    for part in ("chain", "calls", "times", "trials", "chart"):
        for each in shape_of(type(getattr(section, part))):
            values = [getattr(getattr(record, part), each.name) for record in seen]
            if not each.by:
                assert getattr(getattr(section, part), each.name) == pytest.approx(sum(values)), each.name
            elif each.zero == 0:
                assert getattr(getattr(section, part), each.name) == [sum(k) for k in zip(*values, strict=True)]
    by_name = {p.name: p for p in section.predicates}
    assert [p.name for p in section.predicates] == list(seen[-1].order)
    for k, name in enumerate(seen[0].predicates):
        for field in ("evaluated", "passed", "profiled", "profile_errors"):
            part = "calls" if field == "profile_errors" else "chain"
            assert getattr(by_name[name], field) == sum(getattr(getattr(record, part), field)[k] for record in seen)
        assert by_name[name].raised == sum(record.calls.raised[k] for record in seen)
        known = [record.calls.cost_ns[k] for record in seen if record.calls.cost_ns[k] is not None]
        assert by_name[name].cost_ns == (known[-1] if known else None)
    assert section.switch_count == len(told) + sum(record.omitted_switches for record in seen)
    assert [s.reason for s in section.switches] == [record.reason for record in told][-LATEST_SWITCHES:]
    assert set(section.workers) == {record.origin.worker for record in seen}
    in_batches = [record.origin.batch for record in seen if record.origin.batch is not None]
    assert (section.first_batch, section.last_batch) == (min(in_batches, default=None), max(in_batches, default=None))


@given(records_of_a_run())
def test_it_can_be_shown_in_every_form_whatever_it_holds(records: list[Record]) -> None:
    report = fold(records)
    told = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert told == report.to_dict()
    (section,) = told["sections"]
    assert section["rows"] == report.sections[0].rows
    assert len(section["predicates"]) == len(report.sections[0].names)
    assert str(report)
    assert report._repr_html_()


def test_the_dictionary_is_what_programs_read() -> None:
    report = fold([verdict(), observed()])
    assert report.to_dict() == {
        "sections": [
            {
                "run": "r", "kind": "local", "policy": "a-greedy", "counted": "1,000 rows of r in this process",
                "order": ["b", "a"], "rows": 1000, "kept": 100, "failed": 0,
                "predicates": [
                    {
                        "name": "b", "position": 1, "evaluated": 1000, "passed": 200, "selectivity": 0.2,
                        "cost_ns": None, "profiled": 0, "profile_errors": 0, "raised": 0,
                        "evaluated_in_force": 1000, "passed_in_force": 200,
                    },
                    {
                        "name": "a", "position": 2, "evaluated": 200, "passed": 100, "selectivity": 0.5,
                        "cost_ns": 250.0, "profiled": 30, "profile_errors": 1, "raised": 0,
                        "evaluated_in_force": 200, "passed_in_force": 100,
                    },
                ],
                "rows_in_force": 1000,
                "evaluations": 1230, "evaluations_of_all": 2000, "profile_tuples": 40,
                "time_ns": {"processing": 750, "profiling": 200, "reoptimizing": 50, "compiling": 0},
                "trials": 0, "trial_rows": 0, "trial_ns": 0, "trial_loss_ns": 0,
                "standing": "nothing better found, based on 40 profiled rows",
                "switches": 1,
                "latest_switches": [
                    {
                        "batch": None, "worker": "w", "at_row": 5, "before": ["a", "b"], "after": ["b", "a"],
                        "reason": "because",
                    }
                ],
                "workers": 1, "workers_with_another_order": 0,
            }
        ],
        "pending": 0, "unobserved": 0, "deaths": [], "left_out": 0,
    }  # fmt: skip


def test_rows_that_failed_are_reported_where_there_are_any() -> None:
    calm, failing = fold([observed()]), fold([observed(failed=7, raised=(0, 9))])
    for text in (str(calm), calm._repr_html_()):
        assert "no other predicate dropped" not in text
    for text in (str(failing), failing._repr_html_()):
        assert "a predicate raised on 7 rows that no other predicate dropped" in text
        assert "1,000 (9 raised)" in text
    section = failing.to_dict()["sections"][0]
    assert (section["failed"], {p["name"]: p["raised"] for p in section["predicates"]}) == (7, {"a": 0, "b": 9})


def test_the_text_names_what_a_person_asks_for() -> None:
    text = str(fold([verdict(reason="b drops twice as much"), observed()]))
    lines = text.splitlines()
    assert lines[0] == "policy a-greedy; counted: 1,000 rows of r in this process"
    first, second = lines[2].split(), lines[3].split()
    assert first[:3] == ["1", "b", "1,000"]
    assert second[:3] == ["2", "a", "200"]
    assert "20.0 %" in lines[2]
    assert "unknown" in lines[2]
    assert "50.0 %" in lines[3]
    assert "250 ns" in lines[3]
    assert "30 (1 raised)" in lines[3]
    assert "kept 100 of 1,000 rows (10.0 %)" in text
    assert "1,230 evaluations; all predicates on all rows would be 2,000 (38.5 % saved)" in text
    assert "processing 75.0 %, profiling 20.0 %, re-optimizing 5.0 %" in text
    assert "1 switch:" in text
    assert "row 5 of worker w: b moves from 2 to 1: b drops twice as much" in text


def test_a_filter_no_row_reached_has_no_selectivity() -> None:
    report = fold([observed(evaluated=(0, 1000), passed=(0, 0))])
    assert report.sections[0].predicates[1].selectivity is None
    assert json.dumps(report.to_dict(), allow_nan=False)
    assert str(report)


def test_a_run_without_time_or_rows_can_be_shown() -> None:
    empty = observed(rows=0, kept=0, evaluated=(0, 0), passed=(0, 0), total_ns=0, profiling_ns=0, reoptimizing_ns=0)
    assert "kept 0 of 0 rows (-)" in str(fold([empty]))


def test_nothing_has_run_yet() -> None:
    report = tw.filters(tw.predicate(len, "x")).report()
    assert report.sections == ()
    assert "Nothing has run yet" in str(report)
    assert "A streaming query is counted from the end of its first micro-batch." in str(report)
    assert "Nothing has run yet" in report._repr_html_()
    assert "2 filtered DataFrames" in str(Report((), pending=2))
    assert "2 filtered DataFrames" in Report((), pending=2)._repr_html_()


class Page(HTMLParser):
    """The elements of a page, and that they are closed in turn."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag != "br":  # has no end
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_escapes_every_name() -> None:
    evil = "<script>alert('&')</script>"
    report = fold(
        [
            VerdictGiven(Origin(evil, "local", None, evil, evil), 5, (evil, "b"), ("b", evil), evil),
            observed(evil, policy=evil, worker=evil, predicates=(evil, "b"), order=("b", evil)),
        ]
    )
    page = Page(report._repr_html_())
    assert "script" not in page.tags
    assert page.tags == {"b", "br", "p", "table", "tr", "th", "td", "li", "details", "summary", "ol"}
    assert page.text.count(evil) >= 4


def test_switches_kept_are_bounded_and_the_count_is_not() -> None:
    report = fold([*(verdict(reason=f"reason {k}") for k in range(50)), observed()])
    (section,) = report.sections
    assert section.switch_count == 50
    assert [s.reason for s in section.switches] == [f"reason {k}" for k in range(50 - LATEST_SWITCHES, 50)]


def test_sections_kept_are_bounded_and_the_oldest_goes_first() -> None:
    report = fold(observed(f"run {k}") for k in range(MOST_SECTIONS + 5))
    assert [section.run for section in report.sections] == [f"run {k}" for k in range(5, MOST_SECTIONS + 5)]


def test_a_report_does_not_change_while_it_is_read() -> None:
    tally = Tally()
    tally.add(observed())
    report = tally.report()
    before = report.to_dict()
    tally.add(verdict())
    tally.add(observed())
    assert report.to_dict() == before
    assert tally.report().sections[0].rows == 2000


def keep_everything(path: Path, policy: str = "a-greedy") -> tw.Filters:
    more: dict[str, Any] = {"p": 0.5} if "p" in setting_names(policy) else {}
    return tw.filters(
        tw.predicate(lambda x: x % 2 == 0, "x", name="even"),
        tw.predicate(lambda x: x < 100, "x", name="small"),
        policy=tw.policy(policy, **more),
        seed=1,
        slice_rows=64,
        events=str(path),
    )


@pytest.mark.parametrize("policy", POLICIES)
def test_the_events_file_folds_to_the_live_report(policy: str, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    keep = keep_everything(path, policy)
    for _ in range(2):
        list(keep.over(pa.table({"x": range(5000)})))
    live = keep.report()
    assert live.sections[0].rows == 5000
    assert fold(read(path)) == live
    if policy == "a-greedy":
        assert live.sections[0].switch_count >= 1


def test_two_filters_may_write_to_one_file(tmp_path: Path) -> None:
    """Runs are distinguished by name, also those of another object or an earlier process."""
    path = tmp_path / "events.jsonl"
    first, second = keep_everything(path), tw.filters(tw.predicate(lambda x: True, "x", name="all"), events=str(path))
    list(first.over(pa.table({"x": range(10)})))
    list(second.over(pa.table({"x": range(20)})))
    told = fold(read(path))
    assert [section.rows for section in told.sections] == [10, 20]
    assert told.sections == first.report().sections + second.report().sections


@settings(max_examples=20)
@given(records=records_of_a_run())
def test_any_records_fold_the_same_after_a_file(
    records: list[Record], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("fold") / "events.jsonl"
    path.write_text("".join(to_json(record) + "\n" for record in records), encoding="utf-8")
    assert fold(read(path)) == fold(records)


def test_workers_whose_latest_orders_differ_are_reported() -> None:
    calm = fold([observed(worker="v"), observed()])
    assert "workers differ" not in str(calm)
    told = fold([observed(worker="u", order=("a", "b")), observed(worker="v", order=("a", "b")), observed()])
    assert told.sections[0].other_orders == 2
    for text in (str(told), told._repr_html_()):
        assert (
            "workers use different orders: this one is from the worker that reported last; 2 of 3 have others" in text
        )


def test_workers_of_earlier_micro_batches_have_no_say() -> None:
    """They may have ended long ago."""
    gone = observed(kind="stream", batch=1, worker="u", order=("a", "b"))
    (section,) = fold([gone, observed(kind="stream", batch=2)]).sections
    assert (section.other_orders, section.latest_workers) == (0, 1)


def test_the_latest_runs_are_shown_and_the_others_counted() -> None:
    report = fold(observed(f"run {k}") for k in range(MOST_SECTIONS + 3))
    assert report.left_out == report.to_dict()["left_out"] == 3
    for text in (str(report), report._repr_html_()):
        assert "3 older runs are left out" in text
        assert text.count("evaluations;") == SHOWN_IN_FULL
        assert "run 3: kept 100 of 1,000 rows; order b, a" in text
    assert "left out" not in str(fold([observed()]))


def test_a_streaming_query_is_called_by_its_name_or_by_short_ids() -> None:
    run = "0a1b2c3d-0000-0000 run 9f8e7d6c-0000-0000 chain 89abcdef"
    (section,) = fold([observed(run, kind="stream", batch=0)]).sections
    assert section.counted.endswith("of streaming query 0a1b2c3d, start 9f8e7d6c")
    (section,) = fold([observed(run, kind="stream", batch=0, query_name="orders")]).sections
    assert section.counted.endswith("of streaming query orders, start 9f8e7d6c")
    assert section.to_dict()["query_name"] == "orders"


def test_long_reasons_are_wrapped() -> None:
    text = str(fold([verdict(reason="because " * 60), observed()]))
    assert max(map(len, text.splitlines())) <= 100


def test_a_report_shows_itself_in_a_shell() -> None:
    report = fold([observed()])
    assert repr(report) == str(report)
