"""Filters that follow a chart: moves, fidelity and regret are counted, and are in the report and the records."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from tests.adapt.test_chart import observed
from tests.events.flat_records import changed
from tests.long_run import examples
from thalweg import ThalwegError
from thalweg.adapt import chart
from thalweg.adapt.chart import JUDGE_NS, JUDGING, Chart, ChartSettings, judged
from thalweg.adapt.policy import Observation
from thalweg.adapt.profiling_budget import LOAN_NS
from thalweg.cost.order_load import FilterTimes
from thalweg.events import Observed, read
from thalweg.events.jsonl import from_json, to_json
from thalweg.events.parts import ChartCounts
from thalweg.plan.filters.pipeline import Pipeline
from thalweg.report.chart_sentence import chart_sentence
from thalweg.report.tally import fold

MANY_S = 10**12
"""Nanoseconds of ordinary work, of which a budget pays for any number of comparisons."""


def expected_ns(order: tuple[int, ...], r: dict[str, list[float]], rows: float) -> float:
    """The time of `rows` rows in one slice, filter by filter."""
    reach, total = 1.0, 0.0
    for k in order:
        total += rows * reach * r["per_row"][k] + (1.0 - (1.0 - reach) ** rows) * r["fixed"][k]
        reach *= r["passes"][k]
    return total


@examples(200, long=5_000)
@given(n=st.integers(2, 5), seed=st.integers(0, 2**32), guarded=st.booleans())
def test_an_order_is_judged_as_by_comparing_all(n: int, seed: int, guarded: bool) -> None:
    r = random.Random(seed)
    drawn = {
        "passes": [r.choice([0.0, 1.0, r.random(), r.random()]) for _ in range(n)],
        "per_row": [10 ** r.uniform(1, 5) for _ in range(n)],
        "fixed": [r.choice([0.0, 10 ** r.uniform(2, 6)]) for _ in range(n)],
    }
    rows = float(r.randrange(1, 16_384))
    pipeline = Pipeline(tuple(map(str, range(n))), guards=((1,), *[()] * (n - 1)) if guarded else ())
    times = FilterTimes(pipeline, tuple(drawn["per_row"]), tuple(drawn["fixed"]))
    orders = [order for order in permutations(range(n)) if not guarded or order.index(1) < order.index(0)]
    least = min(expected_ns(order, drawn, rows) for order in orders)
    for order in r.sample(orders, min(len(orders), 6)):
        found, mine = judged(times, order, drawn["passes"], rows), expected_ns(order, drawn, rows)
        assert found["hit"] == (mine <= least * (1 + 1e-9))
        assert found["regret"] == pytest.approx(mine / least)


def working(seen: Observation, ns: int = MANY_S) -> Observation:
    """The same, after so much ordinary work."""
    return replace(seen, working_ns=ns)


def test_rounds_and_moves_are_counted() -> None:
    policy = Chart(Pipeline(("a", "b")), ChartSettings(rounds=1))
    for seed in range(3):
        policy.update(working(observed([0.15, 0.85], [100.0, 100.0], seed, rows=600)))
    policy.update(working(observed([0.85, 0.15], [100.0, 100.0], 3, rows=600)))
    found = policy.looked_up.taken()
    assert (found.rounds, found.moves, found.outside) == (4, 1, 0)
    assert policy.looked_up.taken() == ChartCounts()


def test_another_chart_is_no_move() -> None:
    policy = Chart(Pipeline(("a", "b")))
    policy.update(working(observed([0.5, 0.5], [100.0, 1_000.0], 1)))
    policy.update(working(observed([0.5, 0.5], [10_000.0, 1_000.0], 1)))
    assert policy.looked_up.moves == 0
    assert policy.looked_up.rounds == 2


def test_the_order_in_force_is_judged_by_what_was_observed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by the mean over rounds, which lags, nor by the order that is looked up next."""
    seen: list[tuple[tuple[int, ...], list[float]]] = []

    def kept(times: FilterTimes, order: tuple[int, ...], shares: list[float], rows: float) -> dict[str, Any]:
        seen.append((order, shares))
        return judged(times, order, shares, rows)

    monkeypatch.setattr(chart, "judged", kept)
    policy = Chart(Pipeline(("a", "b")), ChartSettings(decay=0.0, threshold=1e9))
    drawn = [observed([0.1, 0.8], [100.0, 100.0], 1, rows=900), observed([0.8, 0.1], [100.0, 100.0], 2, rows=900)]
    in_force = []
    for each in drawn:
        in_force.append(policy.order)
        policy.update(working(each))
    assert [order for order, _ in seen] == in_force
    for (_, shares), each in zip(seen, drawn, strict=True):
        dropped = each.profile[-512:].mean(axis=0)  # what the window of profiled rows holds
        assert shares == pytest.approx((1.0 - dropped).tolist(), abs=0.02)
    assert policy._shares[0].mean == pytest.approx(np.mean([shares[0] for _, shares in seen]))  # the chart's
    assert (policy.looked_up.judged, policy.looked_up.hits) == (2, 1)
    assert policy.looked_up.regret == pytest.approx(1.0 + (100 + 80) / (100 + 10), rel=0.1)


def test_judging_stays_within_its_share_of_the_budget() -> None:
    policy = Chart(Pipeline(("a", "b")))
    policy.update(observed([0.5, 0.4], [100.0, 100.0], 0))
    assert (policy.looked_up.rounds, policy.looked_up.judged) == (1, 0)  # no time has passed
    for seed in range(40):
        policy.update(working(observed([0.5, 0.4], [100.0, 100.0], seed), 5_000_000))
        all_ns = ChartSettings().budget * policy.profiling_budget.time_ns + LOAN_NS
        assert policy.looked_up.judged * JUDGE_NS <= JUDGING * all_ns
    assert 0 < policy.looked_up.judged < policy.looked_up.rounds == 41


@pytest.fixture
def judges_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of a run depends on the machine, and must not decide a test."""
    monkeypatch.setattr(chart, "JUDGE_NS", -(10**15))


def filtered(**given: Any) -> tw.Filters:
    """Filters that have run over rows whose shares change in the middle."""
    n = 30_000
    low, high = [k * 7 % 10 for k in range(n)], [k * 3 % 100 for k in range(n)]
    rows = pa.table({"a": low[: n // 2] + high[n // 2 :], "b": high[: n // 2] + low[n // 2 :]})
    keep = tw.filters(
        tw.predicate(lambda a: a >= 8, "a", name="a"), tw.predicate(lambda b: b >= 8, "b", name="b"),
        policy="chart", seed=1, **given,
    )  # fmt: skip
    assert sum(batch.num_rows for batch in keep.over(rows.to_batches(max_chunksize=2_000))) > 0
    return keep


@pytest.mark.usefixtures("judges_all")
def test_the_report_says_how_the_chart_was_followed(tmp_path: Path) -> None:
    keep = filtered(events=tmp_path / "run.jsonl")
    (section,) = keep.report().sections
    counted = section.chart
    assert counted.judged == counted.rounds >= 2
    assert counted.fidelity is not None
    assert counted.mean_regret is not None
    assert 0 <= counted.fidelity <= 1 <= counted.mean_regret
    assert chart_sentence(counted) in " ".join(str(keep.report()).split())
    assert chart_sentence(counted) in keep.report()._repr_html_()
    assert section.to_dict()["chart"] == {
        "rounds": counted.rounds, "moves": counted.moves, "outside": 0, "judged": counted.judged,
        "fidelity": counted.fidelity, "regret": counted.mean_regret,
    }  # fmt: skip
    assert str(fold(read(tmp_path / "run.jsonl"))) == str(keep.report())
    told = [record for record in read(tmp_path / "run.jsonl") if isinstance(record, Observed)]
    assert sum(record.chart.rounds for record in told) == counted.rounds


def test_more_hits_than_judged_rounds_are_no_record(tmp_path: Path) -> None:
    filtered(events=tmp_path / "run.jsonl")
    record = next(record for record in read(tmp_path / "run.jsonl") if isinstance(record, Observed))
    with pytest.raises(ThalwegError, match="hits is 3, more than the 2 rounds that were judged"):
        from_json(to_json(changed(record, judged=2, hits=3)))


def test_other_policies_have_no_chart_in_their_report() -> None:
    keep = tw.filters(tw.predicate(str.isdigit, "code"), tw.predicate(str.isascii, "code"))
    list(keep.over(pa.table({"code": ["1", "x", "é"] * 2_000})))
    assert "chart" not in str(keep.report())
    assert "chart" not in keep.report().sections[0].to_dict()


@pytest.mark.usefixtures("judges_all")
def test_a_query_of_one_stream_reports_it_too() -> None:
    s = tw.session()
    s.stream("e", pa.table({"id": range(20_000), "ts": pa.array(range(20_000), pa.timestamp("s"))}), time="ts")
    s.function("third", lambda n: n % 3 == 0, returns="boolean")
    s.function("small", lambda n: n % 10 < 4, returns="boolean")
    q = s.query("SELECT id FROM e WHERE third(id) AND small(id)", policy="chart")
    assert q.dataframe().num_rows == sum(n % 3 == 0 and n % 10 < 4 for n in range(20_000))
    text = " ".join(str(q.report()).split())
    assert "chart: " in text
    assert "fidelity " in text
