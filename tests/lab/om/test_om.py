"""Quick runs of the OM experiments: each runs, the paper's examples hold, and what is published is a full run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.png import size_of_png
from thalweg.lab import PAPERS, Outcome
from thalweg.lab.experiment import untracked
from thalweg.lab.om import section_3_1, section_3_2, section_5_4
from thalweg.lab.page import page
from thalweg.lab.record import read
from thalweg.lab.run import ExperimentRun, keep

PAPER = PAPERS["om"]
PICTURES = ["figure-3a", "figure-3a-track", "figure-3b", "figure-3c", "figure-4a", "figure-4b", "section-5-4"]


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    """Every experiment, run once."""
    return {name: experiment.measure(True, untracked) for name, experiment in PAPER.experiments.items()}


def test_each_finds_something(outcomes: dict[str, Outcome]) -> None:
    assert list(outcomes) == list(PAPER.experiments)
    for outcome in outcomes.values():
        assert outcome.findings
        assert len({finding.about for finding in outcome.findings}) == len(outcome.findings)
        for finding in outcome.findings:
            assert any(letter.isdigit() for letter in finding.measured), "a measurement is a number"
            assert finding.holds or not finding.exact


def test_the_rounds_of_section_3_1() -> None:
    assert section_3_1.rounds() == [[10, 25, 10], [26, 11], [20]]
    assert [claim.judge([[10, 25], [26, 11], [20]]).holds for claim in section_3_1.CLAIMS] == [True, True]
    assert [claim.judge([[10], [26, 11], [20]]).holds for claim in section_3_1.CLAIMS] == [False, False]


def test_one_reading_gives_the_numbers_of_section_3_2() -> None:
    assert section_3_2.as_printed() == [section_3_2.Reading(True, False, "window", "first")]
    costs = [section_3_2.as_printed()[0].cost(plan) for plan in section_3_2.PLANS.values()]
    assert costs == [(5.0, 775.0), (2.5, 575.0)]


def test_the_simulated_plans_of_section_3_2() -> None:
    """50 of 250 rows per second pass the slow operator's queue in plan 1, 50 of 500 in plan 2."""
    one, two = (section_3_2.simulated(plan, 4.0) for plan in section_3_2.PLANS.values())
    assert one.rate == pytest.approx(5.0, abs=0.5)
    assert two.rate == pytest.approx(2.5, abs=0.5)
    assert one.memory == pytest.approx(200 * 4.0 / 2, rel=0.1)
    assert two.memory == pytest.approx(450 * 4.0 / 2, rel=0.1)


def test_queries_take_turns_until_their_rounds_end() -> None:
    queries = section_5_4.ready(quick=True)
    for number, query in enumerate(queries):
        query.rounds = query.rounds[: 3 + number % 2]
    section_5_4.in_turn(queries)
    assert [query.done for query in queries] == [3, 4] * 5
    assert [query.waited for query in queries] == [9] * 10
    assert [query.is_join for query in queries] == [False, True] * 5


def test_page_and_pictures(outcomes: dict[str, Outcome], tmp_path: Path) -> None:
    for name, outcome in outcomes.items():
        keep(ExperimentRun(PAPER, name, outcome, 0.0), True, tmp_path)
    assert [figure.name for outcome in outcomes.values() for figure in outcome.figures] == PICTURES
    written = (tmp_path / "om.md").read_text()
    for picture in PICTURES:
        assert size_of_png(tmp_path / "om" / f"{picture}.png") == (640, 380)
        assert f"(om/{picture}.png)" in written
    assert written == page(PAPER, read(tmp_path / "om" / "findings.json"))


def test_what_is_published_is_a_full_run_and_says_why() -> None:
    docs = Path(__file__).parents[3] / "docs" / "lab"
    records = read(docs / "om" / "findings.json")
    assert list(records) == list(PAPER.experiments)
    assert not any(record.quick for record in records.values())
    unexplained = [f.about for record in records.values() for f in record.findings if not f.holds and not f.why]
    assert unexplained == []
    assert (docs / "om.md").read_text(encoding="utf-8") == page(PAPER, records)
