"""Quick runs of the rate-based experiments: each runs, and what does not depend on the number of rows holds.

Virtual time and fixed seeds make these findings the same on every machine.
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
PAPER = PAPERS["rate-based"]
PICTURES = ["figure-1", "equations-2-3", "figure-7-8", "figure-9-10", "figure-14-15", "section-5-3"]


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


HOLDS = {
    "figure-1": [
        "outputs per second, expensive first",
        "outputs per second, expensive last",
        "with the expensive selection first, its backlog increases all the time",
        "with the expensive selection last, inputs are not delayed",
    ],
    "equations-2-3": [f"equations 2 and 3 as printed, {n} streams" for n in (2, 3, 4)]
    + [f"half of the time, {n} streams" for n in (2, 3, 4)]
    + [f"the fluid model, {n} streams" for n in (2, 3, 4)],
    "section-5-2": ["the predicted crossing is close to the measured one"],
    "section-5-3": [
        "Left Deep is the slowest in the end",
        "Left Deep is predicted to be ahead of Fast Leaves at first",
    ],
    "section-5-4": ["where the models disagree about the paper's trees, the rate model is right"],
}
DOES_NOT = {
    "figure-1": ["inputs are not delayed either if they arrive at random, as in section 5"],
    "equations-2-3": [
        "the integral of equation 2 is the number of results",
        "the rate at half of the time overestimates as much as it underestimates",
    ],
    "section-5-2": ["local rate maximization changes the plan where the measured curves cross"],
    "section-5-3": ["Evenly Spread is the best plan", "local time minimization chooses a good tree"],
    "section-5-4": [
        "tables 4 and 5 give both orders of table 6",
        "the rate model is also right if all joins share one processor",
    ],
}


@pytest.mark.parametrize(
    ("name", "about", "holds"),
    [(name, about, True) for name, abouts in HOLDS.items() for about in abouts]
    + [(name, about, False) for name, abouts in DOES_NOT.items() for about in abouts],
)
def test_verdicts_that_do_not_depend_on_size(outcomes: dict[str, Outcome], name: str, about: str, holds: bool) -> None:
    (finding,) = [finding for finding in outcomes[name].findings if finding.about == about]
    assert finding.holds == holds, finding.measured
    assert finding.holds or finding.why


def test_page_and_pictures(outcomes: dict[str, Outcome], tmp_path: Path) -> None:
    for name, outcome in outcomes.items():
        keep(ExperimentRun(PAPER, name, outcome, 0.0), True, tmp_path)
    assert [figure.name for outcome in outcomes.values() for figure in outcome.figures] == PICTURES
    written = (tmp_path / "rate-based.md").read_text()
    for picture in PICTURES:
        assert size_of_png(tmp_path / "rate-based" / f"{picture}.png") == (640, 380)
        assert f"(rate-based/{picture}.png)" in written
    assert written == page(PAPER, read(tmp_path / "rate-based" / "findings.json"))


def test_what_is_published_is_a_full_run_and_says_why() -> None:
    docs = Path(__file__).parents[3] / "docs" / "lab"
    records = read(docs / "rate-based" / "findings.json")
    assert list(records) == list(PAPER.experiments)
    assert not any(record.quick for record in records.values())
    unexplained = [f.about for record in records.values() for f in record.findings if not f.holds and not f.why]
    assert unexplained == []
    assert (docs / "rate-based.md").read_text(encoding="utf-8") == page(PAPER, records)
