"""Writes one Markdown page per paper: each claim, what was measured, whether it holds, and if not, why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from thalweg.lab.claim import Finding, reasons
from thalweg.lab.experiment import Experiment, Paper
from thalweg.lab.record import Record


def page(paper: Paper, records: Mapping[str, Record]) -> str:
    """Return the page with all experiments that were run."""
    return "\n".join(_lines(paper, records)) + "\n"


def _lines(paper: Paper, records: Mapping[str, Record]) -> Iterator[str]:
    run = [name for name in paper.experiments if name in records]
    findings = [finding for name in run for finding in records[name].findings]
    yield f"# {paper.name}: what the paper claims, and what we found"
    yield ""
    yield "For researchers who want to know which claims of the paper hold for its algorithms as Thalweg has them."
    yield "Terms are explained in the [glossary](../glossary.md); [the guide](../lab.md) shows how to repeat this."
    yield ""
    yield f"{paper.reference}. Written by `thalweg lab {paper.name} --out`; do not edit."
    yield ""
    if paper.preface:
        yield paper.preface
        yield ""
    yield f"{sum(finding.holds for finding in findings)} of {len(findings)} claims hold here."
    yield ""
    yield "| experiment | about | claims that hold |"
    yield "|---|---|---:|"
    for name in run:
        held = sum(finding.holds for finding in records[name].findings)
        yield f"| [{name}](#{name}) | {paper.experiments[name].title} | {held} of {len(records[name].findings)} |"
    for name in run:
        yield ""
        yield from section(name, paper.experiments[name], records[name])


def section(name: str, experiment: Experiment, record: Record) -> Iterator[str]:
    """Return the lines about one experiment."""
    yield f"## {name}"
    yield ""
    how = "quick run" if record.quick else "full run"
    yield f"**{experiment.title}** ({experiment.reference}; {how}, {record.seconds:.0f} s)."
    if experiment.setting:
        yield ""
        yield experiment.setting
    for file, title in record.figures:
        yield ""
        yield f"![{title}]({file})"
    yield ""
    yield "| claim | paper | measured | holds |"
    yield "|---|---|---|---|"
    for finding in record.findings:
        yield f"| {_cell(finding.about)} | {_cell(finding.paper)} | {_cell(finding.measured)} | {verdict(finding)} |"
    not_held = reasons(record.findings)
    if not_held:
        yield ""
        yield "Why claims do not hold:"
        yield ""
        for why, abouts in not_held.items():
            yield f"- {'; '.join(f'*{about}*' for about in abouts)}: {why or 'not understood yet.'}"


def verdict(finding: Finding) -> str:
    """Return the verdict for a cell of a Markdown table."""
    return "yes" if finding.holds else "**no**"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
