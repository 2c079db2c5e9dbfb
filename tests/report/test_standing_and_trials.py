"""A report says why the order has not changed, and counts trials and compiling apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import thalweg as tw
from tests.report.join_records import joined
from tests.report.join_records import verdict as join_verdict
from tests.report.test_report import observed, verdict
from thalweg.cli import app
from thalweg.events import Record, to_json
from thalweg.report import JoinReport, JoinTally, Report, fold

HELD_BACK = "held back: a trial of geo would cost more than it may save"


def join_report(*records: Record) -> JoinReport:
    tally = JoinTally()
    for record in records:
        tally.add(record)
    return tally.report()


def forms(report: Report | JoinReport) -> list[str]:
    return [" ".join(text.split()) for text in (str(report), report._repr_html_())]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"policy": "auto", "standing": HELD_BACK}, HELD_BACK),
        ({"policy": "static"}, "policy static never changes the order"),
        ({"profile_tuples": 0}, "not enough seen yet: no dropped row has been profiled"),
        ({"kept": 1000, "profile_tuples": 0}, "not enough seen yet: no row was dropped"),
        ({"profile_tuples": 40}, "nothing better found, based on 40 profiled rows"),
        ({"policy": "velox-rank", "profile_tuples": 0}, "nothing better found"),
    ],
)
def test_a_report_says_why_nothing_was_changed(changes: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    report = fold([observed(**changes)])
    assert report.to_dict()["sections"][0]["standing"] == sentence
    for text in forms(report):
        assert f"why the order is kept: {sentence}" in text
    path = tmp_path / "events.jsonl"
    path.write_text(to_json(observed(**changes)) + "\n")
    printed = CliRunner().invoke(app, ["report", str(path)]).stdout
    assert f"why the order is kept: {sentence}" in " ".join(printed.split())
    told = json.loads(CliRunner().invoke(app, ["report", str(path), "--json"]).stdout)
    assert told["sections"][0]["standing"] == sentence


def test_one_predicate_has_no_order() -> None:
    one: dict[str, Any] = {"predicates": ("a",), "order": ("a",)}
    lists = ("evaluated", "passed", "busy_ns", "cost_ns", "profiled", "profile_busy_ns", "profile_errors")
    one |= dict.fromkeys(lists, (1,))
    assert fold([observed(**one)]).sections[0].standing == "there is nothing to order"


def test_the_worker_that_reported_last_is_heard() -> None:
    told = [observed(worker=w, standing=s) for w, s in (("u", "first"), ("v", "second"), ("u", "third"))]
    assert fold(told).sections[0].standing == "third"
    stream = [observed(kind="stream", batch=k, standing=s) for k, s in enumerate(("first", "second"))]
    assert fold(stream).sections[0].standing == "second"


def test_right_after_a_switch_only_the_policy_gives_a_reason() -> None:
    just, long_ago = observed(switched=True, rows_in_force=10), observed(switched=True, rows_in_force=900)
    assert fold([verdict(), just]).sections[0].standing == ""
    assert "why the order is kept" not in str(fold([verdict(), just]))
    assert fold([verdict(), just, observed()]).sections[0].standing.startswith("nothing better")
    assert fold([verdict(), long_ago]).sections[0].standing.startswith("nothing better")
    assert fold([verdict(), observed(switched=True, standing=HELD_BACK)]).sections[0].standing == HELD_BACK


def test_a_run_of_every_kind_of_policy_says_it() -> None:
    # so that only a filter twenty times as good comes forward,
    calm = "a-greedy(alpha=0.05)"

    def slowly_even(x: int) -> bool:  # and this one is a hundred times as expensive, however busy the machine is
        return sum(range(2000)) > 0 and x % 2 == 0

    for policy, begins in (("static", "policy static never"), (calm, "nothing better found, based on")):
        keep = tw.filters(
            tw.predicate(lambda x: x % 7 == 0, "x", name="rare"), tw.predicate(slowly_even, "x", name="even"),
            seed=1, policy=policy,
        )  # fmt: skip
        list(keep.over(pa.table({"x": range(5000)})))
        assert keep.report().sections[0].standing.startswith(begins)


def test_joins_say_it_by_stream() -> None:
    calm = join_report(joined(), joined(stream="b", standing=HELD_BACK), joined(stream="c"))
    for text in forms(calm):
        assert "why the order of a and c is kept: nothing better found, based on 4 profiled rows" in text
        assert f"why the order of b is kept: {HELD_BACK}" in text
    streams = calm.to_dict()["sections"][0]["streams"]
    assert streams["b"]["standing"] == HELD_BACK
    for text in forms(join_report(joined(), joined(stream="b"))):
        assert "why the orders are kept: nothing better found, based on 4 profiled rows" in text
    assert "why the order" not in forms(join_report(joined(), join_verdict()))[0]


def test_trials_are_reported_and_are_no_switches() -> None:
    trials: dict[str, Any] = {"trials": 1, "trial_rows": 2048, "trial_ns": 1_050_000, "trial_loss_ns": 200_000}
    sentence = "2 trials on 4,096 rows took 2.1 ms, 0.4 ms more than the order in force would have"
    for calm, tried in (
        (fold([observed()]), fold([observed(**trials)] * 2)),
        (join_report(joined()), join_report(joined(**trials), joined(stream="b", **trials))),
    ):
        for text in forms(calm):
            assert "trial" not in text
        for text in forms(tried):
            assert sentence in text
            assert "0 switches" in text
    section = fold([observed(**trials)]).to_dict()["sections"][0]
    assert {name: section[name] for name in trials} == trials
    assert (section["switches"], section["latest_switches"]) == (0, [])
    stream = join_report(joined(**trials)).to_dict()["sections"][0]["streams"]["a"]
    assert {name: stream[name] for name in trials} == trials


def test_compiling_is_reported_apart_if_noticeable() -> None:
    noticed = "numba took another 12.40 s to compile or load functions at their first call"
    for quiet, loud in (
        (fold([observed(compiling_ns=3_000_000)]), fold([observed(compiling_ns=12_400_000_000)])),
        (join_report(joined(compiling_ns=3_000_000)), join_report(joined(compiling_ns=12_400_000_000))),
    ):
        for text in forms(quiet):
            assert "compiling" not in text
        for text in forms(loud):
            assert noticed in text
    times = fold([observed(compiling_ns=7)]).to_dict()["sections"][0]["time_ns"]
    assert times == {"processing": 750, "profiling": 200, "reoptimizing": 50, "compiling": 7}
