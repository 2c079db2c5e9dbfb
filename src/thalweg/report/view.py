"""A section as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

import html
import textwrap

from thalweg.report.section import Section
from thalweg.report.words import duration, many, what_moved

WIDTH = 100


def _percent(part: float, whole: float) -> str:
    return f"{100.0 * part / whole:.1f} %" if whole else "-"


_HEAD = ("#", "predicate", "rows seen", "pass", "cost/row", "profiled")


def _cells(section: Section) -> list[tuple[str, ...]]:
    return [
        (
            str(p.position), p.name, f"{p.evaluated:,}" + (f" ({p.raised:,} raised)" if p.raised else ""),
            "-" if p.selectivity is None else f"{100 * p.selectivity:.1f} %", duration(p.cost_ns),
            f"{p.profiled:,}" + (f" ({p.profile_errors} raised)" if p.profile_errors else ""),
        )
        for p in section.predicates
    ]  # fmt: skip


def _summary(section: Section) -> list[str]:
    saved = section.evaluations_of_all - section.evaluations
    times = ", ".join(
        f"{name} {_percent(ns, section.total_ns)}"
        for name, ns in (
            ("processing", section.processing_ns),
            ("profiling", section.profiling_ns),
            ("re-optimizing", section.reoptimizing_ns),
        )
    )
    failed = [f"set aside {section.failed:,} rows on which a predicate raised"] if section.failed else []
    return [
        f"kept {section.kept:,} of {section.rows:,} rows ({_percent(section.kept, section.rows)})",
        *failed,
        f"{section.evaluations:,} evaluations; all predicates on all rows would be {section.evaluations_of_all:,} "
        f"({_percent(saved, section.evaluations_of_all)} saved)",
        f"{section.total_ns / 1e9:.2f} s in {many(len(section.workers), 'worker')}: {times}",
        *_other_orders(section),
    ]


def _other_orders(section: Section) -> list[str]:
    if not section.other_orders:
        return []
    has = "has another one" if section.other_orders == 1 else "have others"
    return [
        f"workers differ: the order is that of the worker that told last; {section.other_orders} of "
        f"{section.latest_workers} {has}"
    ]


def _switch_lines(section: Section) -> list[str]:
    return [
        (f"batch {s.batch}, " if s.batch is not None else "")
        + f"row {s.at_row:,} of worker {s.worker}: {what_moved(s.before, s.after)}: {s.reason}"
        for s in section.switches
    ]


def _native_lines(section: Section) -> list[str]:
    if section.native is None:
        return []
    return ["  in the JVM, before any row travels:", *("    " + line for line in section.native.lines())]


def as_text(section: Section) -> str:
    """A table and the facts, some 100 columns wide."""
    if not section.names:
        return "\n".join([f"policy {section.policy}; counted: {section.counted}", *_native_lines(section)])
    rows = [_HEAD, *_cells(section)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEAD))]
    table = [
        "  "
        + "  ".join(
            cell.ljust(w) if i == 1 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    lines = [f"policy {section.policy}; counted: {section.counted}", *_native_lines(section), *table]
    lines += ["  " + line for line in _summary(section)]
    shown = len(section.switches)
    latest = "" if not shown else ":" if shown == section.switch_count else f", the latest {shown}:"
    lines.append(f"  {many(section.switch_count, 'switch', 'switches')}{latest}")
    for line in _switch_lines(section):
        lines += textwrap.wrap(line, WIDTH, initial_indent="    ", subsequent_indent="      ", break_on_hyphens=False)
    return "\n".join(lines)


def in_one_line(section: Section) -> str:
    """For a run that others have followed."""
    if not section.names and section.native is not None:
        return f"{section.run}: native predicates only; order {', '.join(section.native.order)}"
    order = f"; order {', '.join(section.order)}" if section.order else ""
    return f"{section.run}: kept {section.kept:,} of {section.rows:,} rows{order}"


CELL = "padding:2px 12px;text-align:{align}"
_BAR = ";background:linear-gradient(to right,rgba(70,130,180,.35) {share:.0f}%,transparent {share:.0f}%)"


def as_html(section: Section) -> str:
    """Inline styles only, which notebooks keep; the bar behind *rows seen* is the share of all rows."""

    def line(row: tuple[str, ...], tag: str, share: float | None = None) -> str:
        cells = []
        for i, cell in enumerate(row):
            style = CELL.format(align="left" if i == 1 else "right")
            if i == _HEAD.index("rows seen") and share is not None:
                style += _BAR.format(share=100 * share)
            cells.append(f'<{tag} style="{style}">{html.escape(cell)}</{tag}>')
        return "<tr>" + "".join(cells) + "</tr>"

    shares = [p.evaluated / section.rows if section.rows else 0.0 for p in section.predicates]
    body = "".join(line(row, "td", share) for row, share in zip(_cells(section), shares, strict=True))
    facts = "<br>".join(html.escape(fact) for fact in _summary(section))
    switches = "".join(f"<li>{html.escape(text)}</li>" for text in _switch_lines(section))
    shown = " open" if len(section.switches) <= 3 else ""
    count = many(section.switch_count, "switch", "switches")
    natives = "".join(f"<li>{html.escape(text)}</li>" for text in section.native.lines()) if section.native else ""
    in_jvm = f"<details open><summary>in the JVM</summary><ol>{natives}</ol></details>" if natives else ""
    head = f"<p><b>{html.escape(section.policy)}</b>: {html.escape(section.counted)}</p>{in_jvm}"
    if not section.names:
        return head
    return (
        f"{head}"
        f'<table style="border-collapse:collapse">{line(_HEAD, "th")}{body}</table><p>{facts}</p>'
        f"<details{shown}><summary>{count}</summary><ol>{switches}</ol></details>"
    )
