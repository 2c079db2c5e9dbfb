"""Runs experiments by name, prints each claim next to what was measured, and writes pages and figures."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from thalweg.errors import PlanError, nearest
from thalweg.given_path import given_path
from thalweg.lab import record
from thalweg.lab.a_greedy import PAPER as A_GREEDY
from thalweg.lab.claim import Finding, reasons
from thalweg.lab.experiment import Experiment, Outcome, Paper, T
from thalweg.lab.figure import check_drawing, save
from thalweg.lab.om import PAPER as OM
from thalweg.lab.page import page
from thalweg.lab.query_mesh import PAPER as QUERY_MESH
from thalweg.lab.rate_based import PAPER as RATE_BASED

PAPERS: dict[str, Paper] = {paper.name: paper for paper in (A_GREEDY, RATE_BASED, OM, QUERY_MESH)}


@dataclass(frozen=True, slots=True)
class ExperimentRun:
    """One experiment that was run, and its outcome."""

    paper: Paper
    short: str
    outcome: Outcome
    seconds: float

    @property
    def name(self) -> str:
        """The full name with the paper: `a-greedy/figure-9`."""
        return f"{self.paper.name}/{self.short}"

    @property
    def experiment(self) -> Experiment:
        """The experiment that was run."""
        return self.paper.experiments[self.short]


def known() -> dict[str, Experiment]:
    """Return all experiments by their full names."""
    return {f"{paper.name}/{short}": e for paper in PAPERS.values() for short, e in paper.experiments.items()}


def chosen(names: Sequence[str]) -> list[str]:
    """Return the experiments to run, given by name or by paper (`a-greedy`); all if none is given.

    >>> chosen(["a-greedy/example-7", "a-greedy/example-6"])
    ['a-greedy/example-6', 'a-greedy/example-7']
    """
    there = known()
    for name in names:
        if not any(_selects(name, full) for full in there):
            raise PlanError(f"there is no experiment {name!r}{nearest(name, there)}; choose from {', '.join(there)}")
    return [full for full in there if not names or any(_selects(name, full) for name in names)]


def _selects(name: str, full: str) -> bool:
    return full == name or full.startswith(f"{name}/")


def run(names: Sequence[str], quick: bool, console: Console | None = None) -> Iterator[ExperimentRun]:
    """Run the chosen experiments, and yield each as soon as it is finished."""
    full_names = chosen(names)
    with Bar(console or Console(quiet=True), len(full_names)) as bar:
        for full in full_names:
            paper, _, short = full.partition("/")
            bar.begin(full)
            begun = time.monotonic()
            outcome = PAPERS[paper].experiments[short].measure(quick, bar.track)
            bar.done()
            yield ExperimentRun(PAPERS[paper], short, outcome, time.monotonic() - begun)


def main(names: list[str], quick: bool, out: Path | None = None) -> int:
    """Print one table per experiment. With `out`, write the figures and pages there after each experiment.

    A claim that does not hold is a finding, not a failure. The result is 1 only if a claim does not hold that follows
    from the algorithm.
    """
    if out is not None:
        out = Path(given_path(out))
        check_drawing()
    console = Console()
    right = True
    for ran in run(names, quick, console):
        console.print(table(ran))
        for why, abouts in reasons(ran.outcome.findings).items():
            claims = escape("; ".join(abouts))
            console.print(f"[dim]Why not ({claims}): {escape(why or 'not understood yet.')}[/dim]")
        console.print()
        if out is not None:
            keep(ran, quick, out)
        right &= all(finding.holds for finding in ran.outcome.findings if finding.exact)
    return 0 if right else 1


def keep(ran: ExperimentRun, quick: bool, out: Path) -> None:
    """Draw the figures, and update this experiment's section of the paper's page."""
    pictures = out / ran.paper.name
    pictures.mkdir(parents=True, exist_ok=True)
    figures = [(f"{ran.paper.name}/{save(f, pictures).name}", f.title) for f in ran.outcome.figures]
    kept = pictures / "findings.json"
    records = record.read(kept)
    records[ran.short] = record.Record(ran.outcome.findings, figures, quick, round(ran.seconds, 1))
    record.write(kept, {short: records[short] for short in ran.paper.experiments if short in records})
    (out / f"{ran.paper.name}.md").write_text(page(ran.paper, records), encoding="utf-8")


def table(ran: ExperimentRun) -> Table:
    """Return a table with the findings of one experiment, for a terminal."""
    shown = Table(
        "claim", "paper", "measured", "holds", title=f"{ran.name}: {ran.experiment.title}",
        caption=f"{ran.experiment.reference}; {ran.seconds:.1f} s", title_justify="left", caption_justify="left",
    )  # fmt: skip
    for finding in ran.outcome.findings:
        shown.add_row(escape(finding.about), escape(finding.paper), escape(finding.measured), verdict(finding))
    return shown


def verdict(finding: Finding) -> str:
    """Return the verdict for a terminal: yes, no, or that the code is wrong."""
    if finding.holds:
        return "yes"
    return "[bold red]NO, but it must[/]" if finding.exact else "[bold yellow]no[/]"


class Bar:
    """Shows which experiment is running, which of its cases, and how long it has taken so far."""

    def __init__(self, console: Console, experiments: int) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal,
        )  # fmt: skip
        self._all = self._progress.add_task("experiments", total=experiments)
        self._cases = self._progress.add_task("", total=1, visible=False)

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def begin(self, name: str) -> None:
        """Show that an experiment begins."""
        self._progress.reset(self._cases, description=name, total=1, visible=False)

    def done(self) -> None:
        """Show that the experiment is finished."""
        self._progress.advance(self._all)

    def track(self, cases: Sequence[T], /) -> Iterator[T]:
        """Iterate over the cases of the experiment, and show the progress."""
        self._progress.reset(self._cases, total=len(cases), visible=True)
        for case in cases:
            yield case
            self._progress.advance(self._cases)
