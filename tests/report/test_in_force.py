"""Rates in a report are those of the order in force; sums over earlier orders are named so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from tests.events.flat_records import changed
from tests.report.join_records import joined
from tests.report.join_records import verdict as join_verdict
from tests.report.test_report import observed, verdict
from thalweg.events import Observed, read
from thalweg.report import JoinTally, fold
from thalweg.report.tally import LATEST_BATCHES


def test_after_a_switch_rates_are_those_of_the_order_in_force() -> None:
    after = observed(
        order=("b", "a"), switched=True, rows_in_force=100, evaluated_in_force=(30, 100), passed_in_force=(27, 30)
    )
    report = fold([verdict(), after])
    first, second = report.sections[0].predicates
    assert (first.name, first.selectivity, first.evaluated, first.evaluated_in_force) == ("b", 0.3, 1000, 100)
    assert (second.name, second.selectivity, second.passed, second.passed_in_force) == ("a", 0.9, 100, 27)
    told = report.to_dict()["sections"][0]
    assert (told["rows"], told["rows_in_force"]) == (1000, 100)
    assert [p["selectivity"] for p in told["predicates"]] == [0.3, 0.9]
    for text in (str(report), report._repr_html_()):
        assert "in all orders" in text
        assert "rows seen and pass: in the order in force (100 rows); others: since the start (1 switch)" in text
    head, row = str(report).splitlines()[1:3]
    assert head.split()[:6] == ["#", "predicate", "rows", "seen", "pass", "in"]
    assert row.split()[:6] == ["1", "b", "100", "30.0", "%", "1,000"]


def test_with_one_order_nothing_is_said_twice() -> None:
    whole = observed(rows_in_force=1000, evaluated_in_force=(200, 1000), passed_in_force=(100, 200))
    for text in (str(fold([whole])), fold([whole])._repr_html_()):
        assert "in all orders" not in text
        assert "since the start" not in text


@st.composite
def reports(draw: st.DrawFn) -> list[Observed]:
    """What workers report in micro-batches, one after the other."""
    told = []
    for number in range(draw(st.integers(1, 12))):
        counts = st.integers(0, 20)
        switched = draw(st.booleans())
        order = draw(st.sampled_from([("a", "b"), ("b", "a")]))
        told.append(
            observed(
                kind="stream", batch=number * draw(st.sampled_from([0, 1])), worker=draw(st.sampled_from("uvw")),
                order=order, switched=switched, rows_in_force=draw(counts),
                evaluated_in_force=(draw(counts), draw(counts)), passed_in_force=(draw(counts), draw(counts)),
            )
        )  # fmt: skip
    return sorted(told, key=lambda record: record.origin.batch or 0)


@given(reports())
def test_work_since_the_last_switch_of_each_worker_counts(told: list[Observed]) -> None:
    present = told[-1].order
    expected = [0] * 5
    for worker in {record.origin.worker for record in told}:
        mine = [record for record in told if record.origin.worker == worker]
        begin = max(
            (
                i
                for i, record in enumerate(mine)
                if record.in_force.switched or (i and mine[i - 1].order != record.order)
            ),
            default=0,
        )
        for record in mine[begin:] if mine[-1].order == present else ():
            numbers = (record.in_force.rows, *record.in_force.evaluated, *record.in_force.passed)
            expected = [a + b for a, b in zip(expected, numbers, strict=True)]
    now = fold(told).sections[0].in_force
    assert [now.rows, *now.evaluated, *now.passed] == expected


def test_old_micro_batches_kept_as_a_sum_count_too() -> None:
    batches = 3 * LATEST_BATCHES
    counters: dict[str, Any] = {"rows_in_force": 10, "evaluated_in_force": (10, 4), "passed_in_force": (4, 1)}
    told = [observed(kind="stream", batch=k, switched=k == 5, **counters) for k in range(batches)]
    assert fold(told).sections[0].in_force.rows == 10 * (batches - 5)


def test_a_worker_that_goes_back_to_an_order_begins_again() -> None:
    counters: dict[str, Any] = {"rows_in_force": 10, "evaluated_in_force": (10, 4), "passed_in_force": (4, 1)}
    there, back = observed(**counters), observed(order=("a", "b"), switched=True, **counters)
    (section,) = fold([there, there, back, changed(there, switched=True)]).sections
    assert section.in_force.rows == 10


def test_a_run_tells_the_rates_after_its_last_switch(tmp_path: Path) -> None:
    """`rare` passes 1 % of all rows; after `even`, which is clearly more expensive, it passed 2 %. On a busy machine it
    may look more expensive for a while, and the order changes more than once."""
    values = list(range(200_000))

    def multiple(k: int) -> Callable[[pa.Array], pa.Array]:
        def test(x: pa.Array) -> pa.Array:
            for _ in range(20 if k == 2 else 1):
                found = pc.equal(pc.subtract(x, pc.multiply(pc.divide(x, k), k)), 0)
            return found

        return test

    keep = tw.filters(
        tw.predicate(multiple(2), "x", name="even", vectorized=True),
        tw.predicate(multiple(100), "x", name="rare", vectorized=True),
        policy="a-greedy(p=0.5)", seed=1, events=tmp_path / "events.jsonl",
    )  # fmt: skip
    list(keep.over(pa.table({"x": values}).to_batches(max_chunksize=20_000)))
    (section,) = keep.report().sections
    assert section.order[0] == "rare"
    assert section.switch_count == len(section.switches) > 0
    since = section.switches[-1].at_row
    assert section.in_force.rows == len(values) - since
    rare = section.predicates[0]
    passed = sum(1 for x in values[since:] if x % 100 == 0)
    assert (rare.evaluated_in_force, rare.passed_in_force) == (len(values) - since, passed)
    begins = [0, *(switch.at_row for switch in section.switches), len(values)]
    first = ["even", *(switch.after[0] for switch in section.switches)]
    assert rare.evaluated == sum(
        sum(1 for x in values[begin:end] if name == "rare" or x % 2 == 0)
        for begin, end, name in zip(begins, begins[1:], first, strict=False)
    )
    assert fold(read(tmp_path / "events.jsonl")) == keep.report()


def test_a_join_reports_the_rates_of_the_most_common_order() -> None:
    tally = JoinTally()
    now: dict[str, Any] = {"order": ("c", "b"), "switched": True, "rows_in_force": 10, "evaluated_in_force": (2, 10),
           "passed_in_force": (1, 2)}  # fmt: skip
    for record in (
        joined(bucket=0), join_verdict(), joined(bucket=0, batch=1, **now), joined(bucket=1, **now),
        joined(bucket=2, rows_in_force=100, evaluated_in_force=(100, 80), passed_in_force=(80, 50)),
    ):  # fmt: skip
        tally.add(record)
    report = tally.report()
    stream = report.sections[0].streams["a"]
    assert (stream.order, stream.in_force.evaluated, stream.in_force.passed) == (("c", "b"), [4, 20], [2, 4])
    assert "c 20 % > b 50 %" in str(report)
    told = report.to_dict()["sections"][0]["streams"]["a"]
    assert (told["evaluated_in_force"], told["passed_in_force"]) == ([4, 20], [2, 4])
    assert told["evaluated"] == [400, 320], "sums over all orders and buckets"
