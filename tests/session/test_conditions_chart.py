"""The chart of a query of one stream: from declared costs before it runs, from measured ones afterwards."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

import thalweg as tw
from thalweg import PlanError

ROWS = pa.table({"ts": [datetime(2026, 1, 1)] * 6_000, "n": [n * 7 % 1_000 for n in range(6_000)]})
TEXT = "SELECT n FROM e WHERE cheap(n) AND slow(n) AND n < 900"


def session(rate: Any = 500, **costs: float) -> tw.Session:
    s = tw.session()
    s.stream("e", ROWS, time="ts", statistics=None if rate is None else {"rows_per_second": rate})
    s.function("cheap", lambda n: n % 2 == 0, returns="boolean", cost=costs.get("cheap"))
    s.function("slow", lambda n: sum(range(n % 50)) % 3 == 0, returns="boolean", cost=costs.get("slow"))
    return s


def test_declared_costs_and_rates_make_a_chart_before_the_start() -> None:
    q = session(rate={"low": 100, "high": 900}, cheap=1, slow=20).query(TEXT, objective="least_memory")
    chart = q.chart(k=4)
    assert set(chart.names) == {"rows_per_second", "cheap(e.n)", "slow(e.n)", "e.n < 900"}
    assert chart.ranges["rows_per_second"] == pytest.approx((100, 900), rel=1e-3)
    assert chart.track == []
    shares = {"cheap(e.n)": 0.9, "slow(e.n)": 0.1, "e.n < 900": 0.6}
    assert chart.plan_at(**shares) == "slow(e.n) → e.n < 900 → cheap(e.n)"  # the fewest rows wait
    fastest = session(cheap=1, slow=20).query(TEXT).chart(k=4)
    # time per dropped row, in the middle of a region: 0.01 / 0.375, 1.01 / 0.125, 20.01 / 0.875
    assert fastest.plan_at(**shares) == "e.n < 900 → cheap(e.n) → slow(e.n)"


def test_a_query_that_ran_has_measured_times_and_a_track() -> None:
    q = session().query(TEXT)
    with pytest.raises(PlanError, match=r"the time per row of cheap\(e.n\) and slow\(e.n\) is unknown; run the query "
                       r"first, or declare it with s.function\(\.\.\., cost=\.\.\.\)"):  # fmt: skip
        q.chart()
    before = q.dataframe()
    chart = q.chart()
    assert chart.track
    assert chart.track[-1]["rows_per_second"] == 500
    assert chart.track[-1]["cheap(e.n)"] == pytest.approx(0.5, abs=0.2)
    assert "now: 500 rows per second" in str(chart)
    assert q.dataframe().equals(before)


def test_the_parts_are_those_of_the_policy() -> None:
    q = session(cheap=1, slow=2).query(TEXT, policy="chart")
    assert len(q.chart().cells().cells) == 10
    assert len(q.chart(k=3).cells().cells) == 3


def test_a_grouped_query_has_a_chart_too() -> None:
    q = session(cheap=1, slow=2).query("SELECT count(*) AS c FROM e WHERE cheap(n) AND slow(n) GROUP BY TUMBLE(1 HOUR)")
    assert q.chart(k=2).names == ("rows_per_second", "cheap(e.n)", "slow(e.n)")


def test_what_has_no_chart_is_refused_with_the_remedy() -> None:
    s = session(rate=None, cheap=1, slow=2)
    with pytest.raises(PlanError, match=r"no join of streams with windows, and fewer than two conditions"):
        s.query("SELECT n FROM e WHERE slow(n)").chart()
    with pytest.raises(PlanError, match=r"the arrival rate is unknown; give its range, such as ranges="):
        s.query(TEXT).chart()
    assert s.query(TEXT).chart(k=2, ranges={"rows_per_second": (1, 9)}, interval="10 seconds").track == []
    with pytest.raises(PlanError, match=r"'slow' is no dimension, because it is not a predicate .*did you mean 'slow"):
        s.query(TEXT).chart(ranges={"slow": (0, 1), "rows_per_second": (1, 9)})


def test_the_interval_is_not_for_joins() -> None:
    s = session()
    q = s.query("SELECT a.n FROM e a, e b, e c WHERE a.n = b.n AND b.n = c.n WINDOW 10 SECONDS")
    with pytest.raises(PlanError, match=r"interval='1 second'\): it is for queries of one stream; leave it out"):
        q.chart(interval="1 second")
