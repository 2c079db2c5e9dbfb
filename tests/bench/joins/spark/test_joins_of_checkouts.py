"""The comparison of joins of two checkouts: a quick run of this checkout against itself, and how targets are judged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("duckdb")
pytest.importorskip("pyspark")

from bench.checkout_process import AGAIN, HERE, NEW, OLD, Answer, process
from bench.joins.spark import checkouts
from bench.joins.spark.agenda import CHAIN_FILES, STAR_FILES


@pytest.mark.benchmark
@pytest.mark.slow
@pytest.mark.spark
def test_a_quick_run_has_a_line_per_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two processes instead of three, because each starts a Spark."""
    started: dict[str, Any] = {}

    @contextmanager
    def once(module: str, checkout: Path, how: str) -> Iterator[Any]:
        if how in started:
            yield started[how]
            return
        with process(module, checkout, how) as started[how]:
            yield started[how]

    monkeypatch.setattr(checkouts, "process", once)
    assert checkouts.main([str(HERE), "--quick", "--rounds", "1", "--scenario", CHAIN_FILES]) == 0
    _machine, *figures, target = map(json.loads, capsys.readouterr().out.splitlines())
    assert {line["checkout"] for line in figures} == {NEW, OLD, AGAIN}
    assert all(line["batch_ms_median"] > 0 and line["cpu_ms"] > 0 for line in figures)
    assert (target["scenario"], target["limit"]) == (CHAIN_FILES, 1.7)


def test_a_target_is_judged_beyond_the_spread_of_the_old_checkout() -> None:
    def target(new: float) -> object:
        answers: dict[str, list[Answer]] = {
            NEW: [{"ms": new, "cpu_ms": 2.0}] * 3,
            OLD: [{"ms": 180.0, "cpu_ms": 3.0}] * 3,
            AGAIN: [{"ms": ms, "cpu_ms": 3.0} for ms in (171.0, 180.0, 198.0)],
        }
        *_, line = checkouts.lines(STAR_FILES, answers)
        assert (line["value"], line["of_cpu_time"]) == (round(180 / new, 3), 1.5)
        assert line["aa_spread"] == [0.95, 1.1]
        return line["reached"]

    assert [target(ms) for ms in (90.0, 100.0, 120.0)] == [True, None, False]


def test_a_folder_without_a_checkout_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert checkouts.main([str(tmp_path)]) == 2
    assert "src/thalweg" in capsys.readouterr().err
