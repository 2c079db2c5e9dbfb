"""The benchmark runs, prints what it promises, and refuses wrong results; numbers of so few rows mean nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("numba")
pytest.importorskip("duckdb")

from bench import filters, kdd_checks, log_checks, scenarios
from bench.agenda import AGENDA, Item
from bench.check import Check
from bench.measured import Measured
from bench.policies import Setting
from bench.rounds import Trial, Variant, WrongResultError, interleave
from bench.scenario import Phase, Scenario, truth_table
from bench.targets import targets
from bench.work import burn, calibrate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OURS = (Setting("auto"), Setting("a-greedy"))
TINY = partial(Item, local=OURS, spark=OURS, others=(Setting("velox-rank"),))


@pytest.mark.benchmark
def test_a_quick_run_reports_every_scenario_and_target(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(kdd_checks.FOLDER, raising=False)
    assert filters.main(["--quick", "--where", "local"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert all(line["bench"] == "filters" for line in lines)
    variants = [line for line in lines if "variant" in line]
    assert {line["scenario"] for line in variants} == {
        "paper-expensive-first", "paper-cheap-first", "logs", "logs-sql", "drift", "calm", "free-1", "free-3", "free-8",
        "example6",
    }  # fmt: skip
    for line in variants:
        assert line["seconds_median"] > 0
        assert line["variant"] == "hindsight" or line["ratio_to"]["hindsight"] > 0
        if "duckdb, " not in line["variant"]:
            assert sum(line["evaluations"].values()) >= line["rows"]
            assert line["cost_weighted_units"] > 0
    judged = [line for line in lines if "target" in line]
    assert {"paper-expensive-first", "logs", "logs-sql", "drift", "calm", "example6"} <= {t["scenario"] for t in judged}
    assert all({"reached", "value", "limit", "policy"} <= set(line) for line in judged)


@pytest.mark.benchmark
def test_real_data_is_measured_where_it_is(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in with the columns of the original: the predicates run on it, and it is judged."""
    rng = np.random.default_rng(1)
    rows = 5_000

    def rate() -> pa.Array:
        return pa.array(rng.random(rows), pa.float32())

    table = pa.table(
        {
            "protocol_type": pa.array(rng.choice(["tcp", "udp", "icmp"], rows)),
            "service": pa.array(rng.choice(["http", "smtp", "ecr_i", "ftp"], rows)),
            "flag": pa.array(rng.choice(["SF", "S0", "REJ"], rows)),
            "dst_bytes": pa.array(rng.integers(0, 500, rows), pa.int32()),
            "logged_in": pa.array(rng.integers(0, 2, rows), pa.int8()),
            "count": pa.array(rng.integers(0, 500, rows), pa.int16()),
            "srv_count": pa.array(rng.integers(0, 500, rows), pa.int16()),
            "dst_host_count": pa.array(rng.integers(0, 256, rows), pa.int16()),
            **{
                name: rate()
                for name in (
                    "serror_rate", "same_srv_rate", "diff_srv_rate", "srv_diff_host_rate", "dst_host_same_srv_rate",
                )
            },
        }
    )  # fmt: skip
    monkeypatch.setenv(kdd_checks.FOLDER, "nowhere")  # and back after `--data` has set it
    file = tmp_path / kdd_checks.FILE
    file.parent.mkdir()
    pq.write_table(table, file)
    assert filters.main(["--quick", "--scenario", "kdd", "--data", str(tmp_path)]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["policy"] for line in lines if "target" in line} == {"auto"}


@pytest.mark.benchmark
def test_a_wrong_result_ends_the_run_with_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lying(rows: int, steps: float) -> Scenario:
        honest = scenarios.calm(rows, steps)
        return replace(honest, passed=~honest.passed)

    monkeypatch.setitem(AGENDA, "calm", (TINY(lying, 1_000),))
    assert filters.main(["--quick", "--where", "local", "--scenario", "calm"]) == 1
    assert "error" in json.loads(capsys.readouterr().out.splitlines()[-1])


def test_rounds_run_every_variant_and_refuse_strangers() -> None:
    ran: list[tuple[str, int]] = []

    def run(name: str, number: int) -> Trial:
        ran.append((name, number))
        return Trial(1.0, 0.5, (3, 6))

    variants = [Variant(name, partial(run, name)) for name in ("a", "b")]
    trials = interleave(variants, 2, (3, 6), "test")
    assert sorted(ran) == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    assert [len(found) for found in trials.values()] == [2, 2]
    with pytest.raises(WrongResultError):
        interleave(variants, 1, (3, 7), "test")


def test_targets_are_judged_from_the_numbers() -> None:
    names = ("plain", "nondeterministic", "fused", "hindsight", "hindsight again", "a-greedy", "auto")

    def judged(ours: float) -> list[dict[str, Any]]:
        seconds = dict(zip(names, (8.0, 4.0, 3.0, 1.0, 1.0, ours, 1.04), strict=True))
        variants = tuple(Variant(name, lambda _: Trial(0.0), ours=name == "a-greedy") for name in names)
        trials = {name: [Trial(taken)] for name, taken in seconds.items()}
        return targets(Measured(scenarios.wide(100, 1.0), "spark", variants, trials))

    assert [(line["value"], line["reached"]) for line in judged(2.0)] == [
        (4.0, True), (2.0, True), (2.0, False), (1.04, True),
    ]  # fmt: skip
    assert [line["reached"] for line in judged(5.0)] == [False, False, False, True]
    assert [line["policy"] for line in judged(2.0)] == ["a-greedy"] * 3 + ["auto"]


def test_filters_of_a_group_follow_the_rule_of_80_percent() -> None:
    for selectivity in (0.2, 0.5, 0.8):
        a, b = scenarios.group(np.random.default_rng(1), 200_000, selectivity).T
        assert a.mean() == pytest.approx(selectivity, abs=0.01)
        assert b.mean() == pytest.approx(selectivity, abs=0.01)
        assert (a == b).mean() == pytest.approx(0.8, abs=0.01)


def test_drift_changes_every_group_and_favours_none() -> None:
    changes = scenarios.balanced(np.random.default_rng(3), (0.2, 0.4, 0.6, 0.8), 2)
    assert len(changes) == 8
    assert all(x != y for a, b in pairwise(changes) for x, y in zip(a, b, strict=True))
    twice_each = tuple(sorted((0.2, 0.4, 0.6, 0.8) * 2))
    assert {tuple(sorted(column)) for column in zip(*changes, strict=True)} == {twice_each}


def test_work_is_proportional_to_its_steps() -> None:
    bits = np.array([0b00, 0b01, 0b10, 0b11], dtype=np.int64)
    assert [burn(bits, 1, steps).tolist() for steps in (0, 7)] == [[False, False, True, True]] * 2
    assert calibrate(clock=iter(range(0, 10**12, 20_000 * 200 * 5)).__next__, tries=3) == 50.0


def test_log_checks_in_python_and_in_words_of_sql_agree() -> None:
    scenario = log_checks.logs_sql(2_000, 0.0)
    assert len(scenario.checks) == 5
    assert 0 < scenario.expected[0] < 1_000
    for check in log_checks.logs(2_000, 0.0).checks:
        assert check.units > 0, check.name


@pytest.mark.slow
def test_on_spark_all_variants_agree_and_are_told(spark: SparkSession, tmp_path: Path) -> None:
    def three(rows: int, steps: float) -> Scenario:
        """Enough to differ: every predicate more means two workers more for a chain of UDFs."""
        eight = log_checks.logs(rows, steps)
        return replace(eight, checks=eight.checks[2:5], passed=eight.passed[:, 2:5])

    item = TINY(three, 4_000)
    measured = filters.run_on_spark(spark, item.make(item.rows, 0.0), item, 1, tmp_path)
    by_variant = {line["variant"]: line for line in measured.lines()}
    assert {"plain", "nondeterministic", "fused", "hindsight", "hindsight again", "a-greedy"} <= set(by_variant)
    assert by_variant["plain"]["cost_weighted_units"] > by_variant["fused"]["cost_weighted_units"]
    assert sum(by_variant["hindsight"]["evaluations"].values()) == sum(
        measured.scenario.evaluations(measured.scenario.best_orders).values()
    )
    assert [line["target"][:10] for line in targets(measured)] == [
        "at least 4",
        "faster tha",
        "time over ",
        "time over ",
    ]


def test_on_spark_hindsight_knows_the_order_of_each_phase(spark: SparkSession, tmp_path: Path) -> None:
    from bench import spark_variants

    scenario = scenarios.drift(8_000, 1.0)
    found = {v.name: v for v in spark_variants.variants(spark, scenario, tmp_path, (Setting("a-greedy"),))}
    trial = found["hindsight"].run(0)
    assert trial.evaluated == scenario.evaluations(scenario.best_orders)
    spark_variants.warm_up([found["hindsight"]], scenario.expected)


def test_evaluations_of_code_by_hand_are_those_that_happen(spark: SparkSession, tmp_path: Path) -> None:
    from bench import spark_variants

    counters = [spark.sparkContext.accumulator(0) for _ in range(2)]

    def over(values: pa.Array, *, k: int, least: int) -> Any:
        counters[k].add(len(values))
        return values.to_numpy() >= least

    table = pa.table({"id": pa.array(range(1_000)), "x": pa.array([n % 10 for n in range(1_000)])})
    checks = tuple(Check(f"f{k}", ("x",), partial(over, k=k, least=5), 1.0) for k in range(2))
    scenario = Scenario("counted", table, checks, truth_table(table, checks), (Phase(0, 1_000),))
    for variant in spark_variants.variants(spark, scenario, tmp_path, ()):
        if variant.derived:
            before = [counter.value for counter in counters]
            evaluated = variant.run(0).evaluated
            happened = [counter.value - b for counter, b in zip(counters, before, strict=True)]
            assert happened == list(evaluated.values()), variant.name
