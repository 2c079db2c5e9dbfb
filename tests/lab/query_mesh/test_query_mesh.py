"""Quick runs of the query-mesh experiments: each runs, the examples hold, and what is published is a full run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.png import size_of_png
from thalweg.lab import PAPERS, Outcome
from thalweg.lab.experiment import untracked
from thalweg.lab.page import page
from thalweg.lab.query_mesh import figure_11b
from thalweg.lab.query_mesh.real_streams import FILES, data_folder
from thalweg.lab.record import read
from thalweg.lab.run import ExperimentRun, keep

PAPER = PAPERS["query-mesh"]
PICTURES = ["figure-10a", "figure-10c", "figure-11a-shifted", "figure-11a-reversed", "figure-11a-mild", "figure-12",
            "figure-13"]  # fmt: skip
"""Those that need no data sets."""


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    """Every experiment but that with real data, run once."""
    return {
        name: experiment.measure(True, untracked)
        for name, experiment in PAPER.experiments.items()
        if name != "figure-11b"
    }


def test_each_finds_something(outcomes: dict[str, Outcome]) -> None:
    for outcome in outcomes.values():
        assert outcome.findings
        assert len({finding.about for finding in outcome.findings}) == len(outcome.findings)
        for finding in outcome.findings:
            assert any(letter.isdigit() for letter in finding.measured), "a measurement is a number"
            assert finding.holds or not finding.exact


def test_errata_are_the_only_claims_of_examples_that_fail(outcomes: dict[str, Outcome]) -> None:
    findings = [finding for name in ("example-2", "examples-3-4") for finding in outcomes[name].findings]
    assert [finding.about for finding in findings if not finding.holds] == [
        "equation 1 gives the number of partitions",
        "the neighbors of 1/234 are 1/23/4, 1/24/3 and 1/2/34",
        "II-QM from 1/234 ends at 1/23/4",
        "SA-QM as figure 7 prints it reaches 123/4 too",
    ]


def test_page_and_pictures(outcomes: dict[str, Outcome], tmp_path: Path) -> None:
    for name, outcome in outcomes.items():
        keep(ExperimentRun(PAPER, name, outcome, 0.0), True, tmp_path)
    assert [figure.name for outcome in outcomes.values() for figure in outcome.figures] == PICTURES
    written = (tmp_path / "query-mesh.md").read_text()
    for picture in PICTURES:
        assert size_of_png(tmp_path / "query-mesh" / f"{picture}.png") == (640, 380)
        assert f"(query-mesh/{picture}.png)" in written
    assert written == page(PAPER, read(tmp_path / "query-mesh" / "findings.json"))


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


def test_what_is_published_is_a_full_run_and_says_why() -> None:
    docs = Path(__file__).parents[3] / "docs" / "lab"
    records = read(docs / "query-mesh" / "findings.json")
    assert list(records) == list(PAPER.experiments)
    assert not any(record.quick for record in records.values())
    findings = [finding for record in records.values() for finding in record.findings]
    assert [finding.about for finding in findings if not finding.holds and not finding.why] == []
    assert not any("not run" in finding.why for finding in findings)
    assert (docs / "query-mesh.md").read_text(encoding="utf-8") == page(PAPER, records)
