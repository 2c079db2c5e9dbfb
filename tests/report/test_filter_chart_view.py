"""The chart of filters after a run: its numbers are those that were counted, its text and picture show them."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import thalweg as tw
from tests.events.flat_records import made
from thalweg import PlanError
from thalweg.events import Observed
from thalweg.optimizer.charts.filter_chart import make_filter_chart
from thalweg.plan.filters.pipeline import Pipeline
from thalweg.plan.objective import objective_of
from thalweg.report import Tally
from thalweg.report.filter_chart_view import DeclaredFilters, filter_chart_of, filter_numbers
from thalweg.report.section import Section

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ("cheap", "slow", "other")


def record(n: int, **given: Any) -> Observed:
    """A report of 1,000 rows: `cheap` passes half of them, `slow` a fifth of the rest, `other` all."""
    fields: dict[str, Any] = {
        "run": "q run s", "kind": "local", "batch": None, "worker": "w", "policy": "auto", "predicates": NAMES,
        "order": NAMES, "rows": 1_000, "kept": 100, "evaluated": (1_000, 500 + n, 100), "passed": (500 + n, 100, 100),
        "busy_ns": (0, 0, 0), "cost_ns": (200.0, 1_000.0, 5e3), "profiled": (0, 0, 0), "profile_busy_ns": (0, 0, 0),
        "profile_errors": (0, 0, 0), "profile_tuples": 0, "total_ns": 1_000_000, "profiling_ns": 0,
        "reoptimizing_ns": 0, "fixed_ns": (1_000.0, 2_000.0, None),
    }  # fmt: skip
    fields |= given
    in_force = {f"{name}_in_force": fields[name] for name in ("rows", "evaluated", "passed")}
    return made(Observed, **{**in_force, **fields})


def section_of(*records: Observed) -> Section:
    tally = Tally()
    for each in records:
        tally.add(each)
    return tally.report().sections[-1]


def chart_from(section: Section | None, **given: Any) -> Any:
    asked = {"k": 5, "ranges": None, "objective": None, "interval": None, **given}
    ranges, wanted = asked["ranges"], objective_of(asked["objective"])
    numbers = filter_numbers(Pipeline(NAMES), section, DeclaredFilters("run it"), ranges, asked["interval"])
    known = numbers.times, numbers.rate, numbers.passes
    made = make_filter_chart(*known, asked["k"], ranges=ranges, objective=wanted, round_s=numbers.round_s)
    return filter_chart_of("Filters", made, numbers, section)


def test_shares_and_rate_are_those_that_were_counted() -> None:
    chart = chart_from(section_of(record(0), record(100)))
    assert chart.names == ("rows_per_second", *NAMES)
    assert chart.streams == ()
    assert chart.track[0] == pytest.approx({"rows_per_second": 1e6, "cheap": 0.5, "slow": 0.2, "other": 1.0})
    assert chart.track[1] == pytest.approx({"rows_per_second": 1e6, "cheap": 0.6, "slow": 100 / 600, "other": 1.0})
    assert chart.ranges == {"rows_per_second": (5e5, 2e6), "cheap": (0, 1), "slow": (0, 1), "other": (0, 1)}
    # the time per dropped row decides, in the middle of a region: 200 / 0.1 > 1,000 / 0.9, but 200 / 0.5 < 1,000 / 0.5
    assert chart.plan_at(cheap=0.99, slow=0.1) == "slow → cheap → other"
    assert chart.plan_at(cheap=0.5, slow=0.5) == "cheap → slow → other"


def test_shares_of_all_rows_count_if_the_policy_looked_them_up() -> None:
    looked_up = record(0, policy="chart", rounds=3, shares=(0.5, 0.9, 0.7))
    chart = chart_from(section_of(record(0, policy="chart"), looked_up, record(0, policy="chart")))
    shares = [{name: each[name] for name in NAMES} for each in chart.track]
    assert shares == [dict(zip(NAMES, (0.5, 0.9, 0.7), strict=True))] * 3, "not 0.2, which `slow` passes after `cheap`"


def test_a_chart_that_was_followed_shows_the_shares_of_all_rows() -> None:
    """Of the rows that `odd` passes, `near` passes a tenth; of all rows, it passes half."""
    rng = np.random.default_rng(3)
    odd = rng.random(60_000) < 0.5
    near = np.where(odd, rng.random(60_000) < 0.1, rng.random(60_000) < 0.9)
    rows = pa.table({"odd": odd, "near": near})
    keep = tw.filters(
        *(tw.predicate(lambda bits: bits, name, name=name, vectorized=True) for name in rows.column_names),
        policy="chart", seed=1,
    )  # fmt: skip
    kept = sum(batch.num_rows for batch in keep.over(rows.to_batches(max_chunksize=5_000)))
    assert kept == int((odd & near).sum())
    (shown,) = keep.chart().track[-1:]
    assert shown["odd"] == pytest.approx(0.5, abs=0.15)
    assert shown["near"] == pytest.approx(0.5, abs=0.15)


def test_workers_of_one_micro_batch_are_one_round() -> None:
    both = [record(0, kind="stream", batch=3, worker=worker) for worker in ("a", "b")]
    section = section_of(*both, record(0, kind="stream", batch=4))
    assert [(each.batch, each.chain.rows, each.chain.evaluated) for each in section.rounds] == [
        (3, 2_000, [2_000, 1_000, 200]), (4, 1_000, [1_000, 500, 100]),
    ]  # fmt: skip
    with pytest.raises(PlanError, match="the arrival rate is unknown; give its range"):
        chart_from(section)
    chart = chart_from(section, ranges={"rows_per_second": (10, 50)})
    assert [each["rows_per_second"] for each in chart.track] == [30, 30]


def test_the_shown_share_is_the_one_that_changes_the_order_most() -> None:
    text = str(chart_from(section_of(record(0))))
    assert text.splitlines()[0] == "share of rows passed by cheap, from 1 (top) to 0"
    assert "rows per second, from 500,000 to 2,000,000" in text
    assert text.splitlines()[1].split() == ["B"] * 5  # slow → cheap only if `cheap` passes nearly all rows
    assert text.splitlines()[2].split() == ["A"] * 5
    assert "at 0.2 passed by slow, 1 passed by other" in text
    assert text.splitlines()[-1] == "now: 1,000,000 rows per second, 0.5 passed by cheap"


def test_a_predicate_that_no_row_reached_is_named() -> None:
    unknown = record(0, cost_ns=(100.0, None, 50.0), evaluated=(1_000, 0, 0), passed=(0, 0, 0))
    with pytest.raises(PlanError, match=r"the time per row of slow is unknown; run it"):
        chart_from(section_of(unknown))
    with pytest.raises(PlanError, match=r"the time per row of cheap, slow and other is unknown; run it"):
        chart_from(None)


def test_the_objective_decides() -> None:
    """`slow` drops nearly all rows, so the fewest rows wait if it is first; but it takes most of the time."""
    section = section_of(record(0, evaluated=(1_000, 1_000, 9), passed=(500, 1, 9)))
    at = {"cheap": 0.3, "slow": 0.1, "other": 0.9}
    fastest = chart_from(section).plan_at(**at)
    smallest = chart_from(section, objective="least_memory", ranges={"rows_per_second": (1, 100)}).plan_at(**at)
    both = chart_from(section, objective=tw.objective.balance(rate=1, memory=0)).plan_at(**at)
    assert (fastest, smallest, both) == ("cheap → slow → other", "slow → cheap → other", fastest)


@pytest.mark.parametrize("interval", ["0 seconds", 5, "2 days", True, ()])
def test_wrong_intervals_are_refused(interval: Any) -> None:
    with pytest.raises(PlanError, match=r"interval=.*must be a length of time above 0 and at most a day"):
        chart_from(section_of(record(0)), interval=interval)


def applied() -> tw.Filters:
    rows = pa.table({"n": np.random.default_rng(5).integers(0, 1_000, 60_000)})
    keep = tw.filters(
        tw.predicate(lambda n: n % 3 == 0, "n", name="third"),
        tw.predicate(lambda n: pc.less(n, 300), "n", name="small & <few>", vectorized=True),
        tw.predicate(lambda n: sum(range(n % 20)) < 100, "n", name="slow"),
        seed=1,
    )
    assert sum(batch.num_rows for batch in keep.over(rows.to_batches(max_chunksize=2_000)))
    return keep


def test_filters_that_ran_have_a_chart(tmp_path: Path) -> None:
    chart = applied().chart(k=4, ranges={"rows_per_second": (10, 1_000)}, interval="2 seconds")
    orders = {" → ".join(order) for order in permutations(("third", "small & <few>", "slow"))}
    assert {chart.plan_at(third=a, slow=b) for a in (0.1, 0.9) for b in (0.1, 0.9)} <= orders
    cells = chart.show("slow", "third").cells()
    assert set(cells.plans) <= orders
    assert cells.choice == "order"
    for suffix in (".svg", ".html", ".txt"):
        chart.save(tmp_path / f"chart{suffix}")
    root = ElementTree.fromstring((tmp_path / "chart.svg").read_text())
    texts = [each.text for each in root.iter(f"{SVG}text")]
    assert "rows per second" in texts
    assert any(text is not None and text.startswith("share of rows passed by ") for text in texts)
    assert (root.findtext(f"{SVG}desc") or "").startswith("The best order by rows per second and share of rows")
    assert len([each for each in root.iter(f"{SVG}circle") if each.get("class") == "crossing"]) == 2  # and the legend
    assert chart.to_dict()["dimensions"][1] == ["third", 0.0, 1.0, 4, "passed by"]


def test_wrong_values_of_a_chart_are_refused() -> None:
    chart = chart_from(section_of(record(0)))
    wrong: list[tuple[Any, str]] = [
        (lambda: chart.plan_at(slo=0.5), "plan_at(slo=...): not a dimension of this chart (did you mean 'slow'?); it "
         "has rows_per_second, cheap, slow and other"),
        (lambda: chart.plan_at(slow=1.5), "plan_at(slow=1.5): must be a share of rows, from 0 to 1"),
        (lambda: chart.plan_at(rows_per_second=-1), "must be a number of rows per second, from 0 to 1e+15"),
        (lambda: chart.show("slo"), "show('slo'): not a dimension of this chart (did you mean 'slow'?)"),
        (lambda: chart.show("slow", "slow"), "the sides must be different dimensions"),
    ]  # fmt: skip
    for call, message in wrong:
        with pytest.raises(PlanError) as caught:
            call()
        assert message in str(caught.value)


def test_filters_without_a_choice_have_no_chart() -> None:
    one = tw.filters(tw.predicate(str.isdigit, "c"))
    with pytest.raises(PlanError, match="needs at least two predicates that can change places"):
        one.chart()
    guarded = tw.filters(tw.predicate(str.isdigit, "c"), tw.predicate(int, "c", name="large", after="isdigit"))
    with pytest.raises(PlanError, match="the predicates isdigit and large have only one order"):
        guarded.chart()
    never_ran = tw.filters(tw.predicate(str.isdigit, "c"), tw.predicate(str.isalpha, "c"))
    with pytest.raises(PlanError, match="apply the filters to some rows first"):
        never_ran.chart()
