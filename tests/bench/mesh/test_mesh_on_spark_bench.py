"""The benchmark of meshes on Spark: its figures, and a quick run; few rows measure nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("numba")
pytest.importorskip("duckdb")
pytest.importorskip("pyspark")

from bench.generated.columns import FOLDER
from bench.mesh import __main__ as command
from bench.mesh.contenders import AGAIN, AUTO, MESH
from bench.mesh.drawn import classes
from bench.mesh.measured import CLAIRVOYANT, SINGLE
from bench.mesh.on_spark import spark_figures
from bench.rounds import Trial

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_figures_on_spark_are_of_wall_times_and_reported_counts() -> None:
    drawn = classes(10_000, 1.0, 1)
    single, best = sum(drawn.single_evaluations.values()), sum(drawn.clairvoyant_evaluations.values())
    half = (single + best) // 2
    trials = {
        SINGLE: [Trial(3.0, evaluated={"p0": single})],
        AUTO.name: [Trial(3.0, evaluated={"p0": single}, profiled={"p0": 100})],
        AGAIN.name: [Trial(3.3, evaluated={"p0": single})],
        MESH.name: [Trial(2.0, evaluated={"p0": half - 500}, profiled={"p0": 300, "p1": 200})],
    }
    line = spark_figures(drawn, trials, {MESH.name: 4})
    assert line["aa"] == 1.1
    assert line["variants"][AUTO.name]["evaluations_share"] < 0
    mesh = line["variants"][MESH.name]
    assert (mesh["times_as_fast_as_auto"], mesh["routes"]) == (1.5, 4)
    assert mesh["evaluations_share"] == pytest.approx(0.5, abs=1e-3)


@pytest.mark.benchmark
@pytest.mark.slow
def test_a_quick_run_on_spark_has_every_variant(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER, "nowhere")
    assert command.main(["--quick", "--spark"], spark) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (figures,) = [line for line in lines if line["line"] == "figures"]
    running = {contender.name for contender in (AUTO, AGAIN, MESH) if not contender.missing}
    assert set(figures["variants"]) == {SINGLE, CLAIRVOYANT} | running
    assert figures["variants"][SINGLE]["evaluations"] == pytest.approx(figures["single_evaluations"], abs=1e-4)
    assert figures["variants"][AUTO.name]["times_as_fast_as_auto"] == 1
