"""The benchmark of charts runs, prints what it promises and refuses wrong results; so few rows measure nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

pytest.importorskip("numba")

from bench.charts import __main__ as command
from bench.charts import table
from bench.charts.compared import AUTO, CHART
from bench.charts.drawn import FACTOR, PERIOD_S, SHAPES, calm, draw, predicted_gain, statistics_of, swinging
from bench.charts.hindsight import Hindsight, most_bytes, steady
from bench.charts.lookup import stored_bytes
from bench.charts.summary import CALM, LOOKUP, SWINGS, summary
from bench.joins.checksum import Checksum
from bench.plans.expected import expected
from bench.plans.measured import AGAIN, Measured
from bench.plans.shapes import MULTIWAY
from bench.plans.streams import make
from bench.plans.swing import Swing
from bench.plans.trial import PlanTrial, join_of, run
from tests.long_run import examples
from thalweg.cost.plan_chart import Dimension, PlanChart
from thalweg.plan.joins.graph import JoinGraph

Line = dict[str, Any]


@pytest.mark.benchmark
def test_a_quick_run_has_variants_figures_targets_and_tables(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert command.main(["--quick", "--shape", "fan-out"]) == 0
    printed = capsys.readouterr().out
    lines = [json.loads(line) for line in printed.splitlines()]
    figures = {line["part"]: line for line in lines if line["line"] == "figures"}
    assert list(figures) == [LOOKUP, SWINGS, CALM]
    assert figures[LOOKUP]["regions"] == 1_000
    variants = [line["variant"] for line in lines if line["line"] == "variant" and line["part"] == SWINGS]
    assert sorted(variants) == sorted([MULTIWAY, AGAIN, CHART, AUTO, "(a (b c))", "((a b) c)"])
    for part in (SWINGS, CALM):
        assert figures[part]["aa"] >= 1
        assert figures[part][CHART]["rounds"] > 0
        assert figures[part][CHART]["bytes_over_hindsight"] > 0
    targets = [line for line in lines if line["line"] == "target"]
    assert [line["scenario"] for line in targets][:3] == [LOOKUP] * 3
    assert {line["scenario"] for line in targets} == {LOOKUP, SWINGS, CALM}
    run_file, page = tmp_path / "run.jsonl", tmp_path / "page.md"
    run_file.write_text(printed)
    page.write_text(f"# Before\n{table.BEGIN}\nold\n{table.END}\nafter\n")
    assert table.main([str(run_file), "--into", str(page)]) == 0
    text = page.read_text()
    assert all(line["target"] in text for line in targets)
    assert (text.startswith("# Before\n"), "old" in text, text.endswith("\nafter\n")) == (True, False, True)


@pytest.mark.benchmark
def test_a_wrong_result_ends_the_run_with_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = iter(range(1_000))
    monkeypatch.setattr(Checksum, "result", property(lambda self: (self.rows, self.value + next(calls))))
    assert command.main(["--quick", "--shape", "fan-out", "--part", "swings"]) == 1
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["line"] == "error"


@examples(40, long=1_000)
@given(st.integers(0, 10_000), st.sampled_from(list(SHAPES)), st.integers(0, 50))
def test_drawn_joins_are_connected_and_repeatable(seed: int, shape: str, attempt: int) -> None:
    drawn = draw(seed, shape, attempt)
    assert drawn == draw(seed, shape, attempt)
    edges = [(a, each.column, b, each.column) for each in drawn.classes for a, b in each.equalities]
    graph = JoinGraph.of(edges, drawn.aliases)  # refuses what is not connected
    assert len(graph.aliases) == (4 if shape.endswith("4") else 3)
    assert sum(drawn.shares.values()) == pytest.approx(1)
    assert calm(drawn).swing is None


@examples(30, long=500)
@given(st.floats(1.5, 50), st.floats(0, 1), st.integers(1, 4))
def test_rates_swing_by_the_factor_around_their_mean(factor: float, phase: float, periods: int) -> None:
    swing = Swing(factor, 60.0, {"a": phase})
    levels = [swing.level("a", at) for at in np.linspace(0, 60.0 * periods, 600 * periods, endpoint=False)]
    assert np.mean(levels) == pytest.approx(1, rel=1e-6)
    assert [min(levels), max(levels)] == pytest.approx(swing.levels, rel=1e-3)
    assert max(levels) / min(levels) == pytest.approx(factor, rel=2e-3)


def test_rows_have_the_declared_keys_and_rates_at_each_time() -> None:
    drawn = draw(3, "chain-4", 0)
    joined = make(drawn, 400_000)
    for alias, rows in joined.tables.items():
        whole = statistics_of(drawn, joined.rows)[alias]
        ends = whole["rows_per_second"]
        assert ends["high"] / ends["low"] == pytest.approx(FACTOR)
        with duckdb.connect() as connection:
            connection.register("rows_of", rows)
            counts = dict(connection.sql("SELECT epoch_us(ts) // 5000000, count(*) FROM rows_of GROUP BY 1").fetchall())
            for column, distinct in whole["distinct"].items():
                ((most,),) = connection.sql(f"SELECT max({column}) + 1 FROM rows_of").fetchall()
                assert 0.95 * distinct <= most <= distinct
        for five in range(int(drawn.run_seconds / 5)):
            rates = [
                statistics_of(drawn, joined.rows, 5.0 * five + at)[alias]["rows_per_second"] for at in (0.5, 2.5, 4.5)
            ]
            rows_here = counts.get(five, 0) / 5
            assert rows_here == pytest.approx(np.mean(rates), rel=0.05, abs=6 * rows_here**0.5 / 5**0.5)


def test_joins_with_the_most_to_gain_come_first() -> None:
    gains = [predicted_gain(drawn) for drawn in swinging(1, "fan-out", 3)]
    assert gains == sorted(gains, reverse=True)
    assert min(gains) >= 1


def test_slices_have_the_time_and_memory_of_the_run() -> None:
    joined = make(draw(0, "fan-out", 0), 20_000)
    for plan in (MULTIWAY, "(a (b c))"):
        trial = run(joined, join_of(joined, plan=plan))
        assert trial.result == expected(joined)
        assert len(trial.cpu_by_slice) == len(trial.bytes_by_slice) == joined.slices
        assert min(trial.cpu_by_slice) > 0
        assert sum(trial.cpu_by_slice) == pytest.approx(steady(trial))
        assert 0 < trial.start_seconds < trial.cpu_seconds
        assert 0 < max(trial.bytes_by_slice) <= trial.held_bytes + trial.kept_bytes


def trial_of(cpu: list[float], nbytes: list[int], start: float = 0.5, stopped: str = "") -> PlanTrial:
    return PlanTrial(
        sum(cpu) + start, None if stopped else (1, 1), 0.0, 1.0, stopped,
        start_seconds=start, cpu_by_slice=tuple(cpu), bytes_by_slice=tuple(nbytes),
    )  # fmt: skip


def test_hindsight_has_the_best_plan_of_each_part() -> None:
    trials = {
        MULTIWAY: [trial_of([1, 1, 4, 4], [10, 10, 10, 90]), trial_of([1, 1, 6, 6], [10, 10, 10, 90])],
        AGAIN: [trial_of([1, 1, 4, 4], [10, 10, 10, 90]), trial_of([1, 1, 6, 6], [10, 10, 10, 90])],
        # in the second round it is lucky once, in a part in which it is usually the worse one
        "(a (b c))": [trial_of([4, 4, 1, 1], [70, 20, 30, 40]), trial_of([0.5, 4, 1, 1], [70, 20, 30, 40])],
        "((a b) c)": [trial_of([0, 0, 0, 0], [1, 1, 1, 1], stopped="cpu")] * 2,
        CHART: [trial_of([2, 2, 2, 2], [20, 60, 20, 20], 3.0), trial_of([2, 2, 3, 3], [20, 60, 20, 20], 3.0)],
        AUTO: [trial_of([1, 1, 1, 1], [10, 10, 10, 10])] * 2,
    }
    measured = Measured(make(draw(0, "fan-out", 0), 100), (1, 1), trials, (), {CHART: CHART, AUTO: AUTO})
    hindsight = Hindsight(measured, parts=2)
    assert hindsight.plans == [MULTIWAY, "(a (b c))"]
    assert hindsight.cpu_over(CHART) == pytest.approx((8 / 4 + 10 / 4) / 2)
    assert hindsight.cpu_over(MULTIWAY) == pytest.approx((10 / 4 + 14 / 4) / 2)
    assert hindsight.bytes_over(CHART) == 60 / 40
    assert most_bytes(measured, MULTIWAY) == 90


def figures_of(part: str, over: float, single: float, aa: float = 1.01) -> Line:
    policy = {
        "cpu_over_hindsight": over, "cpu_over_single": over / single, "bytes_over_hindsight": 1.0,
        "bytes_over_single": 1.0,
    }  # fmt: skip
    ends = {"single_cpu_over_hindsight": single, "single_bytes_over_hindsight": 1.0}
    return {"part": part, "seed": 1, "join": "x", "aa": aa, CHART: policy, **ends}


@pytest.mark.parametrize(
    ("figures", "verdicts"),
    [
        ([figures_of(SWINGS, 1.05, 1.2), figures_of(SWINGS, 1.08, 1.05)], ["reached", "reached", "reached"]),
        ([figures_of(SWINGS, 1.11, 1.05, aa=1.02)], ["undecided", "reached"]),
        ([figures_of(SWINGS, 1.3, 1.2), figures_of(SWINGS, 1.0, 1.0)], ["missed", "missed", "reached"]),
        ([figures_of(CALM, 1.01, 1.0), figures_of(CALM, 1.04, 1.0, aa=1.03)], ["undecided"]),
        ([figures_of(CALM, 1.04, 1.0)], ["missed"]),
        ([figures_of(SWINGS, 1.2, 1.2, aa=1.0)], ["missed", "missed", "reached"]),
    ],
)
def test_limits_hold_beyond_the_spread_of_the_same_join(figures: list[Line], verdicts: list[str]) -> None:
    assert [line["verdict"] for line in summary(figures)] == verdicts


@pytest.mark.parametrize(
    ("times", "seconds", "size", "verdicts"),
    [
        (150.0, 0.5, 900, ["reached", "reached", "reached"]),
        (95.0, 1.05, 100_001, ["undecided", "undecided", "missed"]),
        (50.0, 2.0, 100_000, ["missed", "missed", "reached"]),
    ],
)
def test_a_chart_is_judged_by_look_ups_time_and_size(
    times: float, seconds: float, size: int, verdicts: list[str]
) -> None:
    line = {"part": LOOKUP, "times": times, "make_seconds": seconds, "bytes": size, "aa": 1.1, "make_aa": 1.1}
    better = {**line, "times": 1_000.0, "make_seconds": 0.1, "bytes": 1}
    assert [each["verdict"] for each in summary([line, better])] == verdicts


def test_the_stored_form_is_counted_in_bytes() -> None:
    chart = PlanChart((Dimension("ä", 0, PERIOD_S, 2),), lambda rates: ("a", "b", "c")).complete()
    assert stored_bytes(chart) == len(json.dumps(chart.to_dict()))
