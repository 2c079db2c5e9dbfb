"""Native predicates in the report: a part of their own, before the chain's numbers."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.events.flat_records import made
from tests.events.some_records import native_records
from tests.report.test_report import Page, observed
from thalweg.events import NativeObserved, Record
from thalweg.report import fold

EVIL = "<script>alert('&')</script>"


def native(run: str = "r", chain: tuple[str, ...] = ("a", "b"), **changes: Any) -> NativeObserved:
    values: dict[str, Any] = {
        "run": run, "kind": "batch", "batch": None, "policy": "a-greedy", "chain": chain,
        "predicates": ("json", "size > 3"), "fingerprint": "f", "kinds": ("JSON", "comparison"), "costs": (100.0, 1.0),
        "before": ("json", "size > 3"), "order": ("size > 3", "json"), "reason": "cheap kinds of expression first",
        "tested": (80, 0), "passed": (20, 0), "masks": (0, 1), "sampled": (20, 60),
    }  # fmt: skip
    return made(NativeObserved, **{**values, **changes})


@given(native_records())
def test_it_can_be_shown_in_every_form_and_sums_what_was_sampled(records: list[NativeObserved]) -> None:
    report = fold(records)
    (section,) = report.sections
    assert section.native is not None
    for p in section.native.predicates:
        k = section.native.names.index(p.name)
        assert p.sampled == sum(r.counts.tested[k] for r in records)
        assert p.passed == sum(r.counts.passed[k] for r in records)
    assert json.loads(json.dumps(report.to_dict(), allow_nan=False)) == report.to_dict()
    assert "no row is sent to Python" in str(report)
    assert Page(report._repr_html_()).tags >= {"li", "ol", "details"}


@given(st.permutations([native(), observed(kind="batch")]))
def test_natives_and_the_chain_of_a_run_are_one_section(records: list[Record]) -> None:
    (section,) = fold(records).sections
    assert section.counted.startswith("1,000 rows that passed the native predicates of the first action")
    told = section.to_dict()["native"]
    assert told["order"] == ["size > 3", "json"]
    assert told["reorders"] == ["size > 3, json: cheap kinds of expression first"]
    assert told["predicates"][1] == {
        "name": "json", "position": 2, "kind": "JSON", "cost": 100.0, "sampled": 80, "passed": 20, "selectivity": 0.25,
    }  # fmt: skip
    lines = str(fold(records)).splitlines()
    assert lines[1:5] == [
        "  in the JVM, before rows are sent to Python:",
        "    1. size > 3: comparison, cost 1, not sampled",
        "    2. json: JSON, cost 100, passes 25.0 % of 80 sampled",
        "    reason for this order: cheap kinds of expression first",
    ]
    assert lines[6].split()[:3] == ["1", "b", "1,000"]


def test_a_section_can_be_shown_before_the_chain_has_reported() -> None:
    report = fold([native()])
    assert report.sections[0].predicates == []
    assert "kept 0 of 0 rows" in str(report)
    assert "cost/row" in report._repr_html_()
    assert report.to_dict()["sections"][0]["predicates"] == []


def test_an_order_that_stands_is_no_reorder() -> None:
    (section,) = fold([native(before=("size > 3", "json"))]).sections
    assert section.to_dict()["native"]["reorders"] == []


def test_a_report_does_not_change_while_it_is_read() -> None:
    from thalweg.report import Tally

    tally = Tally()
    tally.add(native())
    report = tally.report()
    before = report.to_dict()
    tally.add(native())
    assert report.to_dict() == before
    assert tally.report().to_dict() != before


def test_the_page_escapes_every_name() -> None:
    page = Page(
        fold([native(predicates=(EVIL, "b"), before=(EVIL, "b"), order=(EVIL, "b"), reason=EVIL)])._repr_html_()
    )
    assert "script" not in page.tags
    assert page.text.count(EVIL) == 2
