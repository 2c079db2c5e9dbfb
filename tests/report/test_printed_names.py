"""Names and values in every form for readers: no character that a terminal would obey, or that is invisible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from hypothesis import given

import thalweg as tw
from tests.draw.test_plan_picture import three
from tests.hostile_texts import HOSTILE, READABLE, hidden, hostile_texts
from tests.long_run import examples
from thalweg.draw.chart_picture import ChartCells, ChartSide, chart_as_svg, chart_text
from thalweg.draw.plan_picture import curves_as_svg


def forms(shown: Any) -> list[str]:
    """All forms of an explanation or a report that people read."""
    drawn = [shown.to_graphviz(), shown.to_mermaid()] if hasattr(shown, "to_graphviz") else []
    return [str(shown), repr(shown), shown._repr_html_(), *drawn]


def of_filters(text: str) -> list[str]:
    name, column = f"keeps{text}\ud800", f"size{text}"
    keep = tw.filters(tw.predicate(lambda value: value > 1, column, name=name))
    list(keep.over(pa.table({column: [1, 2, 3]})))
    return [*forms(keep.explain()), *forms(keep.report()), repr(keep)]


def of_a_query(text: str) -> list[str]:
    session, column, other = tw.Session(), f"size{text}", f"name{text}"
    rows = pa.table({"ts": pa.array([1, 2, 3], pa.timestamp("us")), column: [1, 2, 3], other: ["x", f"{text}y", "z"]})
    session.stream("s", rows, time="ts")
    session.function("odd", lambda value: value % 2 == 1, "boolean")
    made = session.query(
        f"SELECT `{column}` AS `as {column}` FROM s WHERE odd(`{column}`) AND `{other}` <> :v",
        name=f"q{text}", args={"v": text},
    )  # fmt: skip
    list(made.batches())
    return [*forms(made.explain()), *forms(made.report()), repr(made)]


def of_pictures(text: str) -> list[str]:
    sides = ChartSide(f"a{text}", 0.0, 1.0), ChartSide(f"b{text}", 0.0, 1.0)
    plans = tuple(f"plan {name}{text}" for name in "ab")
    chart = ChartCells(f"Join of{text}", *sides, ((0, 1), (1, 0)), plans, (0.5, 0.5))
    pictures = [chart_as_svg(chart), curves_as_svg(replace(three(), title=text))]
    for picture in pictures:
        ElementTree.fromstring(picture)
    return [*pictures, chart_text(chart)]


DOORS: dict[str, Callable[[str], list[str]]] = {
    each.__name__: each for each in (of_filters, of_a_query, of_pictures)
}  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
def test_nothing_hostile_is_shown(door: str) -> None:
    for shown in DOORS[door]("".join(HOSTILE).replace("\x00", "")):
        assert hidden(shown) == []


@pytest.mark.parametrize("door", DOORS)
@given(text=hostile_texts)
@examples(10, long=1_000)
def test_nothing_hostile_is_shown_of_drawn_texts(door: str, text: str) -> None:
    for shown in DOORS[door](text.replace("`", "").replace("\x00", "")):
        assert hidden(shown.replace("\u200d", "")) == []


@pytest.mark.parametrize("door", DOORS)
def test_readable_names_are_shown(door: str) -> None:
    for name in READABLE[:-1]:  # without the backslash, which some forms escape
        assert all(name in shown for shown in DOORS[door](name) if not shown.startswith("<svg"))
