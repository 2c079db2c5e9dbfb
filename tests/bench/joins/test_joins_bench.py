"""The benchmark of joins runs, prints what it promises, and refuses wrong results; so few rows measure nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numba")
pytest.importorskip("duckdb")
pytest.importorskip("polars")

from bench.joins import local, table, targets
from bench.joins.agenda import QUICK, Item
from bench.joins.checksum import Checksum
from bench.joins.measured import Measured
from bench.joins.streams import JoinScenario, star, three_way
from bench.rounds import Trial, Variant


@pytest.mark.benchmark
def test_a_quick_run_tells_every_scenario_target_and_table(tmp_path: Path) -> None:
    """In a process of its own: Polars reads how many threads it may have when it is imported."""
    ran = subprocess.run(
        [sys.executable, "-m", "bench.joins.local", "--quick"], check=True, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    assert all(line["bench"] == "joins" for line in lines)
    variants = [line for line in lines if "variant" in line]
    assert {line["scenario"] for line in variants} == {
        "three-way", "three-way-text", "three-way-dense", "uneven", "star", "window-1000", "window-2000", "streams-2",
        "streams-3",
    }  # fmt: skip
    assert {"duckdb", "polars", "tree ((a b) c)", "hindsight", "auto again"} <= {line["variant"] for line in variants}
    for line in variants:
        assert line["seconds_median"] > 0
        assert line["results"] > 0
    judged = {line["scenario"] for line in lines if "reached" in line}
    assert judged == {"three-way", "three-way-text", "three-way-dense", "star"}
    run, page = tmp_path / "run.jsonl", tmp_path / "page.md"
    run.write_text(ran.stdout)
    page.write_text(f"# Before\n{table.BEGIN}\nold\n{table.END}\nafter\n")
    assert table.main([str(run), "--into", str(page)]) == 0
    text = page.read_text()
    assert all(line["scenario"] in text for line in variants)
    assert (text.startswith("# Before\n"), "old" in text, text.endswith("\nafter\n")) == (True, False, True)


@pytest.mark.benchmark
def test_a_wrong_result_ends_the_run_with_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def joined_differently(self: Checksum) -> tuple[int, int]:
        return self.rows, self.value + (self.columns == ["a_id", "b_id", "c_id"] and next(calls))

    calls = iter(range(1_000))
    monkeypatch.setitem(QUICK, "three-way", (Item(three_way, 1_000),))
    monkeypatch.setattr(Checksum, "result", property(joined_differently))
    assert local.main(["--quick", "--scenario", "three-way"]) == 1
    assert "error" in json.loads(capsys.readouterr().out.splitlines()[-1])


def test_targets_are_judged_from_the_numbers() -> None:
    def judged(scenario: JoinScenario, trials: dict[str, Trial]) -> list[dict[str, Any]]:
        variants = tuple(Variant(n, lambda _: Trial(0.0), ours=n in ("auto", "a-greedy")) for n in trials)
        return targets.targets(Measured(scenario, variants, {n: [t] for n, t in trials.items()}, (1, 1)))

    joined = three_way(1_000)  # 3,000 rows: a millisecond is the limit
    fast = judged(joined, {"auto": Trial(9.0, 0.000_9), "auto again": Trial(9.0, 0.001), "duckdb": Trial(9.0, 0.009)})
    assert [line["value"] for line in fast] == [pytest.approx(3_333_333.3333), 0.1]
    assert [line.get("reached") for line in fast] == [True, None]
    slow = judged(joined, {"auto": Trial(0.1, 0.001_1), "auto again": Trial(9.0, 0.001)})
    assert [line["reached"] for line in slow] == [False]
    text = replace(joined, name="three-way-text")
    assert [line["reached"] for line in judged(text, {"auto": Trial(0.1, 0.001_1)})] == [True]

    stars = star(100, window=50)
    known = Trial(1.0, 1.0, evaluated={"a": 60, "b": 40})
    ours = {
        name: Trial(1.0, 1.0, evaluated={"a": 50, "b": 50}, profiled={"a": profiled})
        for name, profiled in (("a-greedy", 10), ("auto", 11))
    }
    lines = judged(stars, {**ours, "hindsight": known})
    assert [(line["policy"], line["value"], line["reached"]) for line in lines] == [
        ("a-greedy", 1.1, True), ("auto", 1.11, False),
    ]  # fmt: skip
