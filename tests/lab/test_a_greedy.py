"""The examples of a-greedy as experiments."""

from __future__ import annotations

import pytest

from thalweg import PlanError
from thalweg.lab import EXPERIMENTS, Claim, Finding, main, run
from thalweg.lab.a_greedy import example_6, example_7
from thalweg.lab.claim import Experiment


def test_the_papers_numbers_are_the_claims():
    assert example_6.claims(10)["independent"].expected == pytest.approx(5.41)
    assert example_6.claims(10)["a-greedy"].expected == 1.49
    assert example_7.claims(10)["local-swaps"].expected == 5.5
    assert example_7.claims(10)["a-greedy"].expected == pytest.approx(1.1)


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("quick", [True, False])
def test_they_hold(name: str, quick: bool):
    ((_, findings),) = run([name], quick)
    assert len(findings) >= 4
    assert [f"{f.claim.about}: {f.measured}" for f in findings if not f.holds] == []


def test_what_does_not_hold_is_said_and_ends_with_1(capsys, monkeypatch: pytest.MonkeyPatch):
    wrong = Experiment("a title", "a reference", lambda quick: [Finding(Claim("a claim", "2 n", 2.0), 3.0)])
    monkeypatch.setitem(EXPERIMENTS, "a-greedy/example-6", wrong)
    assert main(["a-greedy/example-6"], quick=True) == 1
    printed = capsys.readouterr().out
    assert all(word in printed for word in ("a claim", "2 n", "3", "NO"))


def test_all_are_run_when_none_is_named(capsys):
    assert main([], quick=True) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in EXPERIMENTS)
    assert "0.49 n + 0.51" in printed
    assert "NO" not in printed


def test_a_paper_stands_for_its_experiments():
    assert [name for name, _ in run(["a-greedy"], quick=True)] == ["a-greedy/example-6", "a-greedy/example-7"]


def test_an_unknown_experiment_is_named_with_those_there_are():
    with pytest.raises(PlanError) as caught:
        main(["a-greedy/example-8"], quick=True)
    assert "'a-greedy/example-8'" in str(caught.value)
    assert "a-greedy/example-6" in str(caught.value)
