"""Quick runs of the a-greedy experiments: each runs, and the claims that are robust in virtual time hold.

Virtual time and fixed seeds make these findings the same on every machine. Findings in CPU time (table 2, the
breakdowns) are only checked for plausibility.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.png import size_of_png
from thalweg.lab import PAPERS, Outcome
from thalweg.lab.experiment import untracked
from thalweg.lab.page import page
from thalweg.lab.record import read
from thalweg.lab.run import ExperimentRun, keep

pytestmark = pytest.mark.slow
PAPER = PAPERS["a-greedy"]
PICTURES = [f"figure-{number}" for number in range(9, 22)]


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    """Every experiment, run once."""
    return {name: experiment.measure(True, untracked) for name, experiment in PAPER.experiments.items()}


@pytest.mark.parametrize("name", PAPER.experiments)
def test_each_finds_something(outcomes: dict[str, Outcome], name: str) -> None:
    findings = outcomes[name].findings
    assert findings
    for finding in findings:
        assert finding.about
        assert finding.paper
        assert any(letter.isdigit() for letter in finding.measured), "a measurement is a number"
        assert finding.holds or not finding.exact
    assert len({finding.about for finding in findings}) == len(findings)


def test_there_is_a_picture_of_every_figure(outcomes: dict[str, Outcome]) -> None:
    assert [figure.name for outcome in outcomes.values() for figure in outcome.figures] == PICTURES


ROBUST = {
    "figure-9": [
        "A-Greedy is near-optimal for small n",
        "it falls behind because of its overhead, not because of its order",
    ],
    "figure-10": ["the gain over Independent is largest for intermediate selectivities"],
    "figure-11": ["the gain over Independent first grows with the correlation"],
    "figure-12-13": ["Sweep gets ahead of A-Greedy as n grows", "LocalSwaps gets ahead of A-Greedy as n grows"],
    "figure-14-15": ["A-Greedy's overhead is much higher than with equal costs"],
    "figure-16": ["A-Greedy converges to the new Greedy order much faster than Sweep"],
    "figure-18": ["Independent's order is worse than A-Greedy's before and after the change"],
    "figure-19": ["A-Greedy is faster than Sweep when changes come every 100,000 tuples"],
    "figure-21": ["Sweep improves compared with A-Greedy as filters become more expensive"],
}


@pytest.mark.parametrize(("name", "about"), [(name, about) for name, abouts in ROBUST.items() for about in abouts])
def test_what_is_robust_holds(outcomes: dict[str, Outcome], name: str, about: str) -> None:
    (finding,) = [finding for finding in outcomes[name].findings if finding.about == about]
    assert finding.holds, finding.measured


def test_page_and_pictures(outcomes: dict[str, Outcome], tmp_path: Path) -> None:
    for name, outcome in outcomes.items():
        keep(ExperimentRun(PAPER, name, outcome, 0.0), True, tmp_path)
    for picture in PICTURES:
        assert size_of_png(tmp_path / "a-greedy" / f"{picture}.png") == (640, 380)
    written = (tmp_path / "a-greedy.md").read_text()
    for outcome in outcomes.values():
        for finding in outcome.findings:
            assert finding.about.replace("|", "\\|") in written
            assert finding.holds or (finding.why or "not understood yet") in written
    for picture in PICTURES:
        assert f"(a-greedy/{picture}.png)" in written
    assert written == page(PAPER, read(tmp_path / "a-greedy" / "findings.json"))


def test_what_is_published_is_a_full_run_and_says_why() -> None:
    docs = Path(__file__).parents[3] / "docs" / "lab"
    records = read(docs / "a-greedy" / "findings.json")
    assert list(records) == list(PAPER.experiments)
    assert not any(record.quick for record in records.values())
    unexplained = [f.about for record in records.values() for f in record.findings if not f.holds and not f.why]
    assert unexplained == []
    assert (docs / "a-greedy.md").read_text(encoding="utf-8") == page(PAPER, records)
