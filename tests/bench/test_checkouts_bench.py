"""The comparison of two checkouts: a quick run of this checkout against itself, and folders without one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import checkouts

ROOT = Path(checkouts.__file__).resolve().parent.parent


@pytest.mark.benchmark
def test_a_quick_run_has_a_line_per_scenario_and_policy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(checkouts, "SCENARIOS", ("calm",))
    monkeypatch.setattr(checkouts, "POLICIES", ("static", "auto"))
    assert checkouts.main([str(ROOT), "--quick", "--rounds", "1"]) == 0
    *figures, target = map(json.loads, capsys.readouterr().out.splitlines())
    assert [line["policy"] for line in figures] == ["static", "auto"]
    assert all(line["new_over_old"] > 0 and line["aa"] >= 1 for line in figures)
    assert target["limit"] == checkouts.LIMIT


def test_a_folder_without_a_checkout_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert checkouts.main([str(tmp_path)]) == 2
    assert "src/thalweg" in capsys.readouterr().err
