"""The picture of a chart: every region, plan, round and the present point is in it; it is well-formed for any names."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from tests.long_run import examples
from thalweg import Estimate, PlanError
from thalweg.draw.chart_picture import ChartCells, ChartSide, chart_as_svg, chart_text, description, letter

SVG = "{http://www.w3.org/2000/svg}"
KNOWN = {
    "a": {"rows_per_second": {"low": 2_000, "high": 40_000}}, "b": {"rows_per_second": {"low": 100, "high": 4_000}},
    "c": {"rows_per_second": 300}, "partners": {"a.k = b.k": (30, None), "b.m = c.m": (0.01, None)},
}  # fmt: skip
ON = "a.k = b.k AND b.m = c.m"


def cells_of(rows: int, columns: int, plans: int, seed: int, name: str = "a") -> ChartCells:
    r = random.Random(seed)
    made = tuple(tuple(r.randrange(plans) for _ in range(columns)) for _ in range(rows))
    return ChartCells(
        f"Join of {name}", ChartSide(name, 0.0, 50.0), ChartSide("b", 1.0, 2.0), made,
        tuple(f"(({name} b{n}) c)" for n in range(plans)), (70.0, 1.5), ((10.0, 1.2), (20.0, 1.4)),
        ((ChartSide("c", 0.0, 9.0), 3.5),),
    )  # fmt: skip


@examples(40, long=1_000)
@given(
    rows=st.integers(2, 12), columns=st.integers(2, 12), plans=st.integers(1, 30), seed=st.integers(0, 2**32),
    name=st.text(min_size=1, max_size=20),
)  # fmt: skip
def test_any_chart_is_well_formed_and_complete(rows: int, columns: int, plans: int, seed: int, name: str) -> None:
    chart = cells_of(rows, columns, plans, seed, name)
    svg = chart_as_svg(chart)
    root = ElementTree.fromstring(svg)
    boxes = [each for each in root.iter(f"{SVG}rect") if "bar" in (each.get("class") or "")]
    legend = len(chart.plans)
    wide, tall = 400 / columns, 400 / rows
    area = sum(float(each.get("width", 0)) * float(each.get("height", 0)) for each in boxes[:-legend])
    assert area == pytest.approx(400 * 400, rel=0.02)
    assert all(float(each.get("height", 0)) == pytest.approx(tall, abs=0.06) for each in boxes[:-legend])
    assert all(float(each.get("width", 0)) >= wide - 0.06 for each in boxes[:-legend])
    letters = [each.text for each in root.iter(f"{SVG}text") if each.get("class") == "number"]
    used = {letter(plan) for row in chart.cells for plan in row}
    assert used <= set(letters[:-legend])
    dots = [each for each in root.iter(f"{SVG}circle") if each.get("class") == "measured-dot"]
    assert len(dots) == len(chart.track) + 1  # one in the legend
    assert chart_as_svg(chart) == svg
    assert "script" not in svg


def test_a_point_outside_is_at_the_edge() -> None:
    root = ElementTree.fromstring(chart_as_svg(cells_of(4, 4, 2, 0)))
    ring = next(each for each in root.iter(f"{SVG}circle") if each.get("class") == "crossing")
    assert (ring.get("cx"), ring.get("cy")) == ("492", "270")


def test_text_and_description_say_the_same() -> None:
    chart = ChartCells(
        "Join", ChartSide("a", 0.0, 50.0), ChartSide("b", 1.0, 2.0), ((0, 0, 1), (0, 1, 1)), ("multiway", "((b c) a)"),
        (40.0, 1.5), ((10.0, 1.2),), ((ChartSide("c", 0.0, 9.0), 3.5),),
    )  # fmt: skip
    assert chart_text(chart).splitlines() == [
        "rows per second of b, from 2 (top) to 1", "  A B B", "  A A B", "rows per second of a, from 0 to 50",
        "at 3.5 rows per second of c", "A: multiway", "B: ((b c) a)", "now: 40 of a, 1.5 of b",
    ]  # fmt: skip
    assert description(chart) == (
        "The best plan by rows per second of a and rows per second of b, in 6 regions. at 3.5 rows per second of c. A, "
        "multiway: 3 regions. B, ((b c) a): 3 regions. now: 40 of a, 1.5 of b. the track has 1 round."
    )


def test_a_chart_of_a_join_is_saved(tmp_path: Path) -> None:
    chart = tw.join(ON, "10 seconds", "ts", statistics=KNOWN).chart(k=6)
    for suffix, begins in ((".svg", "<svg "), (".html", "<!doctype html>"), (".txt", "rows per second of b")):
        chart.save(tmp_path / f"chart{suffix}")
        assert (tmp_path / f"chart{suffix}").read_text().startswith(begins)
    with pytest.raises(PlanError, match=r"ends with '.png', which is not a known format; use .svg \(a picture\)"):
        chart.save(tmp_path / "chart.png")
    with pytest.raises(PlanError, match="there is no folder"):
        chart.save(tmp_path / "no" / "chart.svg")
    assert "<svg " in chart._repr_html_()


def test_other_streams_can_be_on_the_sides() -> None:
    chart = tw.join(ON, "10 seconds", "ts", statistics=KNOWN).chart(k=3)
    assert "rows per second of c" in str(chart.show(up="c")).splitlines()[0]
    expected = f"{Estimate.between(100, 4_000).value:,.0f}"
    assert str(chart.show("b", "a")).splitlines()[-1].startswith(f"now: {expected} of b, ")
    wrong: tuple[tuple[tuple[Any, ...], str], ...] = (
        ((5,), "show(5): not a stream of this chart; it has a, b and c"),
        (("x", "a"), "show('x'): not a stream of this chart; it has a, b and c"),
        (("a", "a"), "show(across='a', up='a'): the sides must be different streams"),
    )
    for sides, message in wrong:
        with pytest.raises(PlanError) as caught:
            chart.show(*sides)
        assert str(caught.value).startswith(message)


def test_wrong_rates_are_refused() -> None:
    chart = tw.join(ON, "10 seconds", "ts", statistics=KNOWN).chart(k=3)
    assert chart.plan_at(a=1e9) in {"multiway", "(a (b c))"}
    counted: Any = np.int64(30_000)
    assert chart.plan_at(a=counted) == chart.plan_at(a=30_000)
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"z": 1.0}, "plan_at(z=...): not a stream of this chart; it has a, b and c"),
        ({"a": -1.0}, "plan_at(a=-1.0): must be a number of rows per second, from 0 to 1e+15"),
        ({"a": float("nan")}, "plan_at(a=nan): must be a number"),
        ({"a": float("inf")}, "plan_at(a=inf): must be a number"),
        ({"a": 10**400}, "plan_at(a=1000"),
        ({"a": True}, "plan_at(a=True): must be a number"),
    )
    for rates, message in wrong:
        with pytest.raises(PlanError) as caught:
            chart.plan_at(**rates)
        assert str(caught.value).startswith(message)


def test_a_stream_may_be_called_self() -> None:
    known = {"self": KNOWN["a"], "b": KNOWN["b"], "c": KNOWN["c"]}
    known["partners"] = {"self.k = b.k": (30, None), "b.m = c.m": (0.01, None)}
    chart = tw.join("self.k = b.k AND b.m = c.m", "10 seconds", "ts", statistics=known).chart(k=3)
    assert chart.plan_at(self=1e9) in {"multiway", "(self (b c))"}


def test_a_join_without_a_choice_has_no_chart() -> None:
    with pytest.raises(PlanError, match=r"has one plan, because plans are compared for 3 to 12 streams"):
        tw.join("a.k = b.k", "10 seconds", "ts").chart()
    with pytest.raises(PlanError, match=r"unknown: the rate of a, the rate of b, .* declare them with statistics="):
        tw.join(ON, "10 seconds", "ts").chart()


def test_a_join_of_one_stream_and_tables_has_no_chart() -> None:
    s = tw.session()
    schema = pa.schema([("ts", pa.timestamp("us")), ("k", pa.int64()), ("m", pa.int64())])
    s.stream("a", schema.empty_table(), time="ts", statistics={"rows_per_second": 1_000})
    for name in ("b", "c"):
        s.table(name, schema.empty_table(), statistics={"rows": 50})
    q = s.query(
        "SELECT a.k FROM a, b, c WHERE a.k = b.k AND b.m = c.m WINDOW 5 SECONDS",
        statistics={"partners": {"a, b": (1, None), "b, c": (1, None)}},
    )
    with pytest.raises(
        PlanError, match=r"shows the rates of two streams, and this join has only a, .* use explain\(\)"
    ):
        q.chart()
