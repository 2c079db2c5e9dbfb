"""Figure 11b, which needs data sets that are not in the repository, with and without them."""

from __future__ import annotations

from pathlib import Path

import pytest

from thalweg.lab.experiment import untracked
from thalweg.lab.query_mesh import figure_11b
from thalweg.lab.query_mesh.real_streams import FILES, data_folder


def test_without_data_sets_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("THALWEG_DATA", str(tmp_path))
    outcome = figure_11b.measure(True, untracked)
    assert len(outcome.findings) == 3
    assert not any(finding.holds for finding in outcome.findings)
    assert all("0 of 2 data sets" in finding.measured for finding in outcome.findings)
    assert all("THALWEG_DATA" in finding.why for finding in outcome.findings)


def test_real_data_where_they_exist() -> None:
    missing = [file for files in FILES.values() for file in files if not (data_folder() / file).is_dir()]
    if missing:
        pytest.skip(f"{', '.join(missing)} not found in {data_folder()}: let THALWEG_DATA name the folder")
    outcome = figure_11b.measure(True, untracked)
    assert [figure.name for figure in outcome.figures] == ["figure-11b-intel-lab", "figure-11b-stocks"]
    assert all(finding.why != "" or finding.holds for finding in outcome.findings)
