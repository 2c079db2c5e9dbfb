"""The policy `chart`: its settings, and that it orders as `auto`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import thalweg as tw
from thalweg import PlanError
from thalweg.adapt import POLICIES
from thalweg.adapt.auto import Auto
from thalweg.adapt.chart import Chart, ChartSettings


def test_it_is_auto_with_more_settings() -> None:
    assert POLICIES["chart"] is Chart
    assert issubclass(Chart, Auto)
    assert ChartSettings().budget == Auto.defaults.budget  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"chart_parts": 1}, "chart_parts=1: must be a whole number from 2 to 1000"),
        ({"chart_parts": 2.5}, "chart_parts=2.5: must be a whole number"),
        ({"chart_rounds": 0}, "chart_rounds=0: must be a whole number from 1 to 1000"),
        ({"chart_decay": -1.0}, "chart_decay=-1.0: must be a number of at least 0"),
        ({"chart_threshold": float("nan")}, "chart_threshold=nan: must be a number of at least 0"),
        ({"chart_decay": 10**400}, "must be a number of at least 0 and at most 1e+15"),
        ({"chart_threshold": "much"}, "chart_threshold='much': must be a number of at least 0"),
    ],
)
def test_wrong_settings_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError) as caught:
        ChartSettings(**given)
    assert message in str(caught.value)


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    from thalweg.runtime.joins.join_settings import JoinSettings

    monkeypatch.setenv("THALWEG_POLICY", "chart")
    monkeypatch.setenv("THALWEG_CHART_PARTS", "25")
    made = JoinSettings.in_force({})
    assert made.profile == ChartSettings(chart_parts=25)


def test_filters_take_it_too() -> None:
    keep = tw.filters(tw.predicate(str.isdigit, "code"), policy="chart")
    assert [row for batch in keep.over(pa.table({"code": ["1", "x", "23"]})) for row in batch["code"].to_pylist()] == [
        "1", "23",
    ]  # fmt: skip
    assert keep.report().sections[0].policy == "chart"
