"""Examples 6 and 7 of a-greedy: they follow from the algorithms, so they hold to the last digit."""

from __future__ import annotations

import pytest

from thalweg.lab import run
from thalweg.lab.a_greedy import example_6, example_7


def test_the_papers_numbers_are_the_claims() -> None:
    assert example_6.claims(10)["independent"].expected == pytest.approx(5.41)
    assert example_6.claims(10)["a-greedy"].expected == 1.49
    assert example_7.claims(10)["local-swaps"].expected == 5.5
    assert example_7.claims(10)["a-greedy"].expected == pytest.approx(1.1)


@pytest.mark.parametrize("name", ["a-greedy/example-6", "a-greedy/example-7"])
@pytest.mark.parametrize("quick", [True, False])
def test_they_hold(name: str, quick: bool) -> None:
    (ran,) = run([name], quick)
    findings = ran.outcome.findings
    assert len(findings) >= 4
    assert all(finding.exact for finding in findings)
    assert [f"{f.about}: {f.measured}" for f in findings if not f.holds] == []
