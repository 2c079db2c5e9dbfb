"""Choosing, running and showing experiments; the page, the figures and the records."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.lab.png import size_of_png
from thalweg import PlanError
from thalweg.cli import app
from thalweg.errors import ThalwegError
from thalweg.lab import PAPERS, Bars, Experiment, Figure, Number, Outcome, Paper, Series, Statement, main, run
from thalweg.lab.experiment import Track
from thalweg.lab.figure import save
from thalweg.lab.run import chosen, known

LINES = (Series("up", [1, 2, 3], [1, 2, 4]), Series("down", [1, 2], [2, 1]))
FIGURE = Figure("figure-1", "two | lines", "x", "y", LINES)


def test_experiments_are_selected_by_paper_or_all() -> None:
    assert chosen([]) == list(known())
    assert chosen(["a-greedy"]) == [f"a-greedy/{name}" for name in PAPERS["a-greedy"].experiments]
    assert chosen(["a-greedy/figure-9"]) == ["a-greedy/figure-9"]


def test_the_error_for_an_unknown_experiment_lists_all() -> None:
    with pytest.raises(PlanError) as caught:
        main(["a-greedy/figure-8"], quick=True)
    assert "'a-greedy/figure-8'" in str(caught.value)
    assert "a-greedy/figure-9" in str(caught.value)


@pytest.fixture
def paper(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """A paper with two experiments that return the numbers set here."""
    numbers = {"first": 2.0, "second": 1.0}

    def first(quick: bool, track: Track) -> Outcome:
        (value,) = track([numbers["first"]])
        return Outcome([Number("a claim", "2 n", 2.0, exact=True).judge(value)], (FIGURE,))

    def second(quick: bool, track: Track) -> Outcome:
        claim = Statement[float](
            "it grows", "section 3", lambda r: r > 1, lambda r: f"{r} [times] | more", "we are small"
        )
        return Outcome([claim.judge(numbers["second"])])

    experiments = {
        "first": Experiment("the first", "figure 1", first, "How it is set."),
        "second": Experiment("2", "", second),
    }
    monkeypatch.setitem(PAPERS, "toy", Paper("toy", "Nobody, 1999", experiments, "A preface."))
    return numbers


def test_a_claim_that_does_not_hold_is_a_finding(paper: dict[str, float], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["toy"], quick=True) == 0
    printed = capsys.readouterr().out
    assert all(word in printed for word in ("a claim", "2 n", "it grows", "1.0 [times] | more", "no", "we are small"))


def test_one_that_must_hold_fails_the_command(paper: dict[str, float], capsys: pytest.CaptureFixture[str]) -> None:
    paper["first"] = 3.0
    assert main(["toy"], quick=True) == 1
    assert "NO" in capsys.readouterr().out


def test_the_page_holds_claims_verdicts_reasons_and_figures(paper: dict[str, float], tmp_path: Path) -> None:
    main(["toy"], quick=True, out=tmp_path)
    page = (tmp_path / "toy.md").read_text()
    assert "1 of 2 claims hold here" in page
    assert "| a claim | 2 n | 2 | yes |" in page
    assert "| it grows | section 3 | 1.0 [times] \\| more | **no** |" in page
    assert "- *it grows*: we are small" in page
    assert "![two | lines](toy/figure-1.png)" in page
    assert all(words in page for words in ("A preface.", "How it is set.", "quick run", "Nobody, 1999"))
    assert size_of_png(tmp_path / "toy" / "figure-1.png") == (640, 380)


def test_one_experiment_run_again_leaves_the_others_on_the_page(paper: dict[str, float], tmp_path: Path) -> None:
    main(["toy"], quick=True, out=tmp_path)
    paper["second"] = 5.0
    main(["toy/second"], quick=False, out=tmp_path)
    page = (tmp_path / "toy.md").read_text()
    assert "2 of 2 claims hold here" in page
    assert "| a claim | 2 n | 2 | yes |" in page
    assert "we are small" not in page
    assert page.index("## first") < page.index("## second")


def test_a_record_of_something_else_is_refused(paper: dict[str, float], tmp_path: Path) -> None:
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "findings.json").write_text(json.dumps({"first": 1}))
    with pytest.raises(ThalwegError, match=r"findings\.json is not a file that `thalweg lab` wrote"):
        main(["toy"], quick=True, out=tmp_path)


def test_the_command_line(paper: dict[str, float], tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["lab", "toy/first", "--quick", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "toy/first: the first" in done.output
    assert (tmp_path / "toy.md").exists()
    assert CliRunner().invoke(app, ["lab", "toy/frist"]).exit_code == 2


def test_the_folder_may_be_in_the_home_folder(
    paper: dict[str, float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert CliRunner().invoke(app, ["lab", "toy/second", "--quick", "--out", "~/pages"]).exit_code == 0
    assert (tmp_path / "pages" / "toy.md").exists()


def test_no_progress_bar_is_drawn_without_a_terminal(paper: dict[str, float]) -> None:
    done = CliRunner().invoke(app, ["lab", "toy", "--quick"])
    assert "experiments" not in done.output
    assert "\x1b" not in done.output


def test_without_matplotlib_the_error_names_the_extra(
    paper: dict[str, float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    done = CliRunner().invoke(app, ["lab", "toy", "--quick", "--out", str(tmp_path)])
    assert done.exit_code == 1
    assert "thalweg[lab]" in done.output
    assert "Traceback" not in done.output
    assert "a claim" not in done.output  # the error comes before anything is measured


def test_figures_of_every_kind_are_drawn(tmp_path: Path) -> None:
    x = [float(i) for i in range(100)]
    figures = [
        FIGURE,
        Figure("log", "t", "x", "y", (Series("a", [1, 10, 100], [1, 2, 3], "blue", dashed=True),), log_x=True),
        Figure("time", "t", "x", "y", (Series("a", x, x, faint=True), Series("a", x, x)), timeline=True,
               mark=(50.0, "now")),
        Bars("bars", "t", "", "y", (Series("low", [0, 1], [1, 2]), Series("high", [0, 1], [1, 1])),
             bars=("one", "two"), groups=("n = 1", "n = 2")),
    ]  # fmt: skip
    for figure in figures:
        path = save(figure, tmp_path)
        assert path.name == f"{figure.name}.png"
        assert size_of_png(path) == (640, 380)


def test_run_yields_each_experiment_as_soon_as_it_is_finished(paper: dict[str, float]) -> None:
    ran = run(["toy"], quick=True)
    assert next(ran).name == "toy/first"
    assert next(ran).experiment.title == "2"
