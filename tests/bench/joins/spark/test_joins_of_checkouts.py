"""The comparison of joins of two checkouts: a quick run of this checkout against itself, and its target."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("duckdb")
pytest.importorskip("pyspark")

from bench import checkout_process
from bench.checkout_process import AGAIN, HERE, LIMIT, NEW, OLD, process
from bench.joins.spark import checkouts
from bench.joins.spark.agenda import AGENDA
from bench.joins.spark.checkout_work import MAKE


@pytest.mark.benchmark
@pytest.mark.slow
@pytest.mark.spark
def test_a_quick_run_has_a_line_per_scenario(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One process instead of three, because each starts a Spark."""
    with process("bench.joins.spark.checkout_work", HERE) as only:

        @contextmanager
        def once(module: str, checkout: Path) -> Iterator[Any]:
            yield only

        monkeypatch.setattr(checkout_process, "process", once)
        assert checkouts.main([str(HERE), "--quick", "--rounds", "1", "--scenario", "chain-files"]) == 0
    _machine, figures, target = map(json.loads, capsys.readouterr().out.splitlines())
    assert figures["scenario"] == "chain-files"
    for what in ("ms", "cpu_ms"):
        assert set(figures[what]) == {NEW, OLD, AGAIN}
        assert all(value > 0 for (value,) in figures[what].values())
    assert figures["record_bytes"][NEW] > 0
    assert target["limit"] == LIMIT


def test_the_target_is_judged_beyond_the_spread_of_the_old_checkout() -> None:
    def runs(cpu_ms: float) -> list[dict[str, Any]]:
        """The first batches do not count."""
        return [{"ms": [9_000, 9_000, 180, 180], "cpu_ms": [9_000, 9_000, cpu_ms, cpu_ms], "record_bytes": 900}] * 3

    def verdict(new: float) -> object:
        figures, line = checkouts.lines({"star-files": {NEW: runs(new), OLD: runs(100), AGAIN: runs(104)}})
        assert (figures["new_over_old"], figures["aa"], figures["wall_new_over_old"]) == (new / 100, 1.04, 1.0)
        return line["verdict"]

    assert [verdict(new) for new in (101, 105, 107)] == ["reached", "undecided", "missed"]


def test_scenarios_are_those_of_the_benchmark() -> None:
    for name, make in MAKE.items():
        assert make(10, name, 1).about == AGENDA[name].make(10, seed=1).about


def test_a_folder_without_a_checkout_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        checkouts.main([str(tmp_path)])
    assert "src/thalweg" in capsys.readouterr().err
