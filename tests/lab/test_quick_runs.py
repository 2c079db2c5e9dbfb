"""Quick runs of all experiments: each runs, the claims hold that do not depend on size or CPU time, and what is
published is a full run.

Virtual time and fixed seeds make these findings the same on every machine. Findings in CPU time (a-greedy's table 2,
the breakdowns) are only checked for plausibility.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY
from tests.lab.png import size_of_png
from thalweg.lab import PAPERS, Outcome
from thalweg.lab.experiment import untracked
from thalweg.lab.page import page
from thalweg.lab.record import read
from thalweg.lab.run import ExperimentRun, keep

Runs = Callable[[str], dict[str, Outcome]]
SLOW = {"a-greedy", "rate-based"}
NEEDS_DATA = {"query-mesh": {"figure-11b"}}
"""Experiments with data sets of others: see `tests/lab/query_mesh/test_real_data.py`."""
PICTURES = {
    "a-greedy": [f"figure-{number}" for number in range(9, 22)],
    "rate-based": ["figure-1", "equations-2-3", "figure-7-8", "figure-9-10", "figure-14-15", "section-5-3"],
    "om": ["figure-3a", "figure-3a-track", "figure-3b", "figure-3c", "figure-4a", "figure-4b", "section-5-4"],
    "query-mesh": [
        "figure-10a", "figure-10c", "figure-11a-shifted", "figure-11a-reversed", "figure-11a-mild", "figure-12",
        "figure-13",
    ],
}  # fmt: skip
HOLDS = {
    "a-greedy/figure-9": [
        "A-Greedy is near-optimal for small n",
        "it falls behind because of its overhead, not because of its order",
    ],
    "a-greedy/figure-10": ["the gain over Independent is largest for intermediate selectivities"],
    "a-greedy/figure-11": ["the gain over Independent first grows with the correlation"],
    "a-greedy/figure-12-13": [
        "Sweep gets ahead of A-Greedy as n grows",
        "LocalSwaps gets ahead of A-Greedy as n grows",
    ],
    "a-greedy/figure-14-15": ["A-Greedy's overhead is much higher than with equal costs"],
    "a-greedy/figure-16": ["A-Greedy converges to the new Greedy order much faster than Sweep"],
    "a-greedy/figure-18": ["Independent's order is worse than A-Greedy's before and after the change"],
    "a-greedy/figure-19": ["A-Greedy is faster than Sweep when changes come every 100,000 tuples"],
    "a-greedy/figure-21": ["Sweep improves compared with A-Greedy as filters become more expensive"],
    "rate-based/figure-1": [
        "outputs per second, expensive first",
        "outputs per second, expensive last",
        "with the expensive selection first, its backlog increases all the time",
        "with the expensive selection last, inputs are not delayed",
    ],
    "rate-based/equations-2-3": [f"equations 2 and 3 as printed, {n} streams" for n in (2, 3, 4)]
    + [f"half of the time, {n} streams" for n in (2, 3, 4)]
    + [f"the fluid model, {n} streams" for n in (2, 3, 4)],
    "rate-based/section-5-2": ["the predicted crossing is close to the measured one"],
    "rate-based/section-5-3": [
        "Left Deep is the slowest in the end",
        "Left Deep is predicted to be ahead of Fast Leaves at first",
    ],
    "rate-based/section-5-4": ["where the models disagree about the paper's trees, the rate model is right"],
}
DOES_NOT = {
    "rate-based/figure-1": ["inputs are not delayed either if they arrive at random, as in section 5"],
    "rate-based/equations-2-3": [
        "the integral of equation 2 is the number of results",
        "the rate at half of the time overestimates as much as it underestimates",
    ],
    "rate-based/section-5-2": ["local rate maximization changes the plan where the measured curves cross"],
    "rate-based/section-5-3": ["Evenly Spread is the best plan", "local time minimization chooses a good tree"],
    "rate-based/section-5-4": [
        "tables 4 and 5 give both orders of table 6",
        "the rate model is also right if all joins share one processor",
    ],
}


def of(paper: str, *others: Any) -> Any:
    return pytest.param(paper, *others, marks=[pytest.mark.slow] if paper in SLOW else [])


def verdicts() -> list[Any]:
    every = [(HOLDS, True), (DOES_NOT, False)]
    told = [(name, about, holds) for known, holds in every for name, abouts in known.items() for about in abouts]
    return [of(*name.split("/"), about, holds) for name, about, holds in told]


@pytest.fixture(scope="module")
def outcomes_of() -> Runs:
    """Every experiment of a paper that needs no data sets, run once."""

    def run(paper: str) -> dict[str, Outcome]:
        every = PAPERS[paper].experiments.items()
        return {name: e.measure(True, untracked) for name, e in every if name not in NEEDS_DATA.get(paper, ())}

    return cache(run)


@pytest.mark.parametrize("paper", [of(paper) for paper in PAPERS])
def test_each_finds_something(outcomes_of: Runs, paper: str) -> None:
    for name, outcome in outcomes_of(paper).items():
        assert outcome.findings, name
        assert len({finding.about for finding in outcome.findings}) == len(outcome.findings), name
        for finding in outcome.findings:
            assert finding.about, name
            assert finding.paper, f"{name}: {finding.about}"
            assert any(letter.isdigit() for letter in finding.measured), f"{name}: a measurement is a number"
            assert finding.holds or not finding.exact, f"{name}: {finding.about}: {finding.measured}"


@pytest.mark.parametrize(("paper", "name", "about", "holds"), verdicts())
def test_verdicts_that_do_not_depend_on_size(outcomes_of: Runs, paper: str, name: str, about: str, holds: bool) -> None:
    (finding,) = [finding for finding in outcomes_of(paper)[name].findings if finding.about == about]
    assert finding.holds == holds, finding.measured
    assert finding.holds or finding.why


def test_errata_are_the_only_claims_of_examples_that_fail(outcomes_of: Runs) -> None:
    outcomes = outcomes_of("query-mesh")
    findings = [finding for name in ("example-2", "examples-3-4") for finding in outcomes[name].findings]
    assert [finding.about for finding in findings if not finding.holds] == [
        "equation 1 gives the number of partitions",
        "the neighbors of 1/234 are 1/23/4, 1/24/3 and 1/2/34",
        "II-QM from 1/234 ends at 1/23/4",
        "SA-QM as figure 7 prints it reaches 123/4 too",
    ]


@pytest.mark.parametrize("paper", [of(paper) for paper in PAPERS])
def test_page_and_pictures(outcomes_of: Runs, paper: str, tmp_path: Path) -> None:
    outcomes = outcomes_of(paper)
    for name, outcome in outcomes.items():
        keep(ExperimentRun(PAPERS[paper], name, outcome, 0.0), True, tmp_path)
    pictures = [figure.name for outcome in outcomes.values() for figure in outcome.figures]
    assert pictures == PICTURES[paper]
    written = (tmp_path / f"{paper}.md").read_text()
    for picture in pictures:
        assert size_of_png(tmp_path / paper / f"{picture}.png") == (640, 380)
        assert f"({paper}/{picture}.png)" in written
    for outcome in outcomes.values():
        for finding in outcome.findings:
            assert finding.about.replace("|", "\\|") in written
            assert finding.holds or (finding.why or "not understood yet") in written
    assert written == page(PAPERS[paper], read(tmp_path / paper / "findings.json"))


@pytest.mark.parametrize("paper", PAPERS)
def test_what_is_published_is_a_full_run_and_says_why(paper: str) -> None:
    docs = REPOSITORY / "docs" / "lab"
    records = read(docs / paper / "findings.json")
    assert list(records) == list(PAPERS[paper].experiments)
    assert not any(record.quick for record in records.values())
    findings = [finding for record in records.values() for finding in record.findings]
    assert [finding.about for finding in findings if not finding.holds and not finding.why] == []
    assert not any("not run" in finding.why for finding in findings)
    assert (docs / f"{paper}.md").read_text(encoding="utf-8") == page(PAPERS[paper], records)
