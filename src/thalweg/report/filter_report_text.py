"""Formats a section of a filter report as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

from thalweg.draw.html import folded, paragraph, table
from thalweg.draw.svg import escaped
from thalweg.formatting import aligned, duration, in_seconds, percent_of, plural, tenths_of_percent, wrapped
from thalweg.printable import printable
from thalweg.report.chart_sentence import chart_sentence
from thalweg.report.run_sentences import compiling_lines, trial_lines, what_moved
from thalweg.report.section import Section

_HEAD = ("#", "predicate", "rows seen", "pass", "cost/row", "profiled")
_SUM = "in all orders"
_ONE_ROUTE = "; one route: "
"""Between why an order is kept and why there is one route, as the policy `mesh` writes it."""


def _has_earlier_orders(section: Section) -> bool:
    """Whether rows went through other orders than the one in force."""
    return any(p.evaluated != p.evaluated_in_force for p in section.predicates)


def _has_routes(section: Section) -> bool:
    """Whether rows take several routes, each with an order of its own."""
    return section.mesh is not None and len(section.mesh.routes) > 1


def _table(section: Section) -> list[tuple[str, ...]]:
    """Return the header and the rows. *rows seen* and *pass* are those of the order in force; if the sums over all
    orders differ, they have a separate column."""
    sums, routed = _has_earlier_orders(section), _has_routes(section)
    cells = []
    for p in section.predicates:
        raised = f" ({p.raised:,} raised)" if p.raised else ""
        cells.append(
            (
                "" if routed else str(p.position), p.name, f"{p.evaluated_in_force:,}" + ("" if sums else raised),
                tenths_of_percent(p.selectivity),
                *([f"{p.evaluated:,}{raised}"] if sums else []), duration(p.cost_ns),
                f"{p.profiled:,}" + (f" ({p.profile_errors} raised)" if p.profile_errors else ""),
            )
        )  # fmt: skip
    return [(*_HEAD[:4], _SUM, *_HEAD[4:]) if sums else _HEAD, *cells]


def _which_orders(section: Section) -> list[str]:
    """Return a line that says which numbers are those of the order in force, if the sums over all orders differ."""
    if not _has_earlier_orders(section):
        return []
    switches = f" ({plural(section.switch_count, 'switch', 'switches')})" if section.switch_count else ""
    rows = plural(section.in_force.rows, "row")
    where = "on all routes" if _has_routes(section) else "in the order in force"
    return [f"rows seen and pass: {where} ({rows}); others: since the start{switches}"]


def _summary(section: Section) -> list[str]:
    saved = section.evaluations_of_all - section.evaluations
    times, failed = section.times, section.calls.failed
    shares = ", ".join(
        f"{name} {percent_of(ns, times.total_ns)}"
        for name, ns in (
            ("processing", times.processing_ns),
            ("profiling", times.profiling_ns),
            ("re-optimizing", times.reoptimizing_ns),
        )
    )
    return [
        *_which_orders(section),
        f"kept {section.kept:,} of {plural(section.rows, 'row')} ({percent_of(section.kept, section.rows)})",
        *([f"a predicate raised on {plural(failed, 'row')} that no other predicate dropped"] if failed else []),
        f"{plural(section.evaluations, 'evaluation')}; all predicates on all rows would be "
        f"{section.evaluations_of_all:,} ({percent_of(saved, section.evaluations_of_all)} saved)",
        f"{in_seconds(times.total_ns)} in {plural(len(section.workers), 'worker')}: {shares}",
        *compiling_lines(times.compiling_ns),
        *trial_lines(section.trials),
        *([chart_sentence(section.chart)] if section.chart.rounds else []),
        *_other_orders(section),
    ]


def _standing_lines(section: Section) -> list[str]:
    if _has_routes(section):
        return []  # the tree of the mesh follows
    standing = section.standing
    if section.mesh is not None:  # which says why there is one route
        standing = standing.partition(_ONE_ROUTE)[0]
    return [f"why the order is kept: {standing}"] if standing else []


def _other_orders(section: Section) -> list[str]:
    if not section.other_orders:
        return []
    has = "has another one" if section.other_orders == 1 else "have others"
    return [
        f"workers use different orders: this one is from the worker that reported last; {section.other_orders} of "
        f"{section.latest_workers} {has}"
    ]


def _switch_lines(section: Section) -> list[str]:
    return [
        (f"batch {s.batch}, " if s.batch is not None else "")
        + f"row {s.at_row:,} of worker {s.worker}: "
        + (f"{what_moved(s.before, s.after)}: {s.reason}" if s.before != s.after else s.reason)
        for s in section.switches
    ]


def _native_lines(section: Section) -> list[str]:
    if section.native is None:
        return []
    return ["  in the JVM, before rows are sent to Python:", *("    " + line for line in section.native.lines())]


def as_text(section: Section) -> str:
    """Return a table and the facts below it, about `WIDTH` columns wide."""
    lines = [f"policy {section.policy}; counted: {section.counted}", *_native_lines(section)]
    if not section.names:
        return "\n".join(map(printable, lines))
    lines += [f"  {line}" for line in aligned(_table(section), left=[1])]
    for line in _summary(section):
        lines += wrapped(line, 2)
    shown = len(section.switches)
    latest = "" if not shown else ":" if shown == section.switch_count else f", the latest {shown}:"
    lines.append(f"  {plural(section.switch_count, 'switch', 'switches')}{latest}")
    for line in _switch_lines(section):
        lines += wrapped(line, 4)
    for line in _standing_lines(section):
        lines += wrapped(line, 2)
    if section.mesh is not None:
        lines += ["  " + line for line in str(section.mesh).splitlines()]
    return "\n".join(map(printable, lines))


def in_one_line(section: Section) -> str:
    """Return one line about an older run."""
    if not section.names and section.native is not None:
        return f"{section.run}: native predicates only; order {', '.join(section.native.order)}"
    order = f"; order {', '.join(section.order)}" if section.order else ""
    return f"{section.run}: kept {section.kept:,} of {plural(section.rows, 'row')}{order}"


def as_html(section: Section) -> str:
    """Return HTML with inline styles only, because notebooks keep those. The bar in *rows seen* shows the share of the
    rows in that order that reached the predicate."""
    natives = section.native.lines() if section.native else ()
    in_jvm = folded("in the JVM", natives, is_open=True) if natives else ""
    head = f"<p><b>{escaped(section.policy)}</b>: {escaped(section.counted)}</p>{in_jvm}"
    if not section.names:
        return head
    rows = section.in_force.rows
    shares = [p.evaluated_in_force / rows if rows else 0.0 for p in section.predicates]
    count = plural(section.switch_count, "switch", "switches")
    return (
        f"{head}{table(_table(section), left=[1], bars={_HEAD.index('rows seen'): shares})}"
        f"{paragraph(*_summary(section), *_standing_lines(section))}"
        f"{folded(count, _switch_lines(section), is_open=len(section.switches) <= 3)}"
        f"{'' if section.mesh is None else section.mesh._repr_html_()}"
    )
