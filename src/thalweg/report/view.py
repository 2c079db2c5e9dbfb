"""A section as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

import html

from thalweg.report.section import Section


def _percent(part: float, whole: float) -> str:
    return f"{100.0 * part / whole:.1f} %" if whole else "-"


def _cost(ns: float | None) -> str:
    if ns is None:
        return "unknown"
    return f"{ns:,.0f} ns" if ns < 10_000 else f"{ns / 1_000:,.0f} us"


_HEAD = ("#", "predicate", "rows seen", "pass", "cost/row", "profiled")


def _cells(section: Section) -> list[tuple[str, ...]]:
    return [
        (
            str(p.position), p.name, f"{p.evaluated:,}",
            "-" if p.selectivity is None else f"{100 * p.selectivity:.1f} %", _cost(p.cost_ns),
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
    return [
        f"kept {section.kept:,} of {section.rows:,} rows ({_percent(section.kept, section.rows)})",
        f"{section.evaluations:,} evaluations; all predicates on all rows would be {section.evaluations_of_all:,} "
        f"({_percent(saved, section.evaluations_of_all)} saved)",
        f"{section.total_ns / 1e9:.2f} s in {len(section.workers)} worker(s): {times}",
    ]


def _switch_lines(section: Section) -> list[str]:
    return [
        (f"batch {s.batch}, " if s.batch is not None else "")
        + f"row {s.at_row:,} of worker {s.worker}: {', '.join(s.after)}: {s.reason}"
        for s in section.switches
    ]


def as_text(section: Section) -> str:
    rows = [_HEAD, *_cells(section)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEAD))]
    table = [
        "  "
        + "  ".join(
            cell.ljust(w) if i == 1 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    lines = [f"policy {section.policy}; counted: {section.counted}", *table]
    lines += ["  " + line for line in _summary(section)]
    shown = len(section.switches)
    lines.append(f"  {section.switch_count} switch(es)" + (f", the latest {shown}:" if shown else ""))
    lines += ["    " + line for line in _switch_lines(section)]
    return "\n".join(lines)


def as_html(section: Section) -> str:
    def cells(row: tuple[str, ...], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) + "</tr>"

    table = cells(_HEAD, "th") + "".join(cells(row, "td") for row in _cells(section))
    facts = "".join(f"<li>{html.escape(line)}</li>" for line in _summary(section))
    switches = "".join(f"<li>{html.escape(line)}</li>" for line in _switch_lines(section))
    return (
        f"<h4>{html.escape(section.policy)}</h4><p>{html.escape(section.counted)}</p>"
        f"<table>{table}</table><ul>{facts}</ul>"
        f"<details><summary>{section.switch_count} switch(es)</summary><ol>{switches}</ol></details>"
    )
