"""Runs experiments by name and prints what the papers say beside what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table

from thalweg.errors import PlanError, nearest
from thalweg.lab.a_greedy import example_6, example_7
from thalweg.lab.claim import Experiment, Finding

EXPERIMENTS: dict[str, Experiment] = {
    "a-greedy/example-6": example_6.EXPERIMENT,
    "a-greedy/example-7": example_7.EXPERIMENT,
}


def chosen(names: Sequence[str]) -> list[str]:
    """The experiments meant: by name, by paper (`a-greedy`), or all when none is named.

    >>> chosen(["a-greedy"])
    ['a-greedy/example-6', 'a-greedy/example-7']
    """
    for name in names:
        if not any(_meant(name, known) for known in EXPERIMENTS):
            raise PlanError(
                f"there is no experiment {name!r}{nearest(name, EXPERIMENTS)}; there are {', '.join(EXPERIMENTS)}"
            )
    return [known for known in EXPERIMENTS if not names or any(_meant(name, known) for name in names)]


def _meant(name: str, known: str) -> bool:
    return known == name or known.startswith(f"{name}/")


def run(names: Sequence[str], quick: bool) -> Iterator[tuple[str, list[Finding]]]:
    """Each chosen experiment's name and findings, as soon as they are there."""
    for name in chosen(names):
        yield name, EXPERIMENTS[name].measure(quick)


def main(names: list[str], quick: bool) -> int:
    """Print a table an experiment; 0 when everything the papers claim was found to hold."""
    console = Console()
    agreed = True
    for name, findings in run(names, quick):
        console.print(table(name, findings))
        agreed &= all(finding.holds for finding in findings)
    return 0 if agreed else 1


def table(name: str, findings: Sequence[Finding]) -> Table:
    """The findings of one experiment, for a terminal."""
    experiment = EXPERIMENTS[name]
    shown = Table(
        "claim", "the paper says", "that is", "measured", "holds", title=f"{name}: {experiment.title}",
        caption=experiment.reference, title_justify="left", caption_justify="left",
    )  # fmt: skip
    for finding in findings:
        claim = finding.claim
        paper = f"{claim.paper}\n[dim]{claim.reading}[/dim]" if claim.reading else claim.paper
        holds = "yes" if finding.holds else "[bold red]NO[/]"
        shown.add_row(claim.about, paper, f"{claim.expected:.4g}", f"{finding.measured:.4g}", holds)
    return shown
