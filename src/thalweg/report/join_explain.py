"""Explains what a join will do: what is probed first and, on Spark, where rows go and what is held.

If it has run, the explanation also has what was counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import numpy as np

from thalweg.formatting import WIDTH, byte_size, listed, percent, plural, time_span, wrapped
from thalweg.optimizer.choose_plan import Candidate
from thalweg.optimizer.joins.start_plan import StartPlan
from thalweg.plan.join_graph import JoinGraph, JoinTree
from thalweg.plan.join_plan import JoinPlan
from thalweg.plan.join_shape import Shape, nodes_of, to_text
from thalweg.plan.partitioning import Partitioning
from thalweg.plan.window import Length, length_of
from thalweg.report.explanation import ADAPTS, NOTES, SINK, Explanation, Paragraph
from thalweg.report.filter_explain import latest_run, most_routes
from thalweg.report.join_report import JoinReport
from thalweg.report.join_sentences import probes
from thalweg.report.mesh_view import MeshView
from thalweg.report.plan_choice import plan_curves, plan_paragraph
from thalweg.report.plan_curves import Measured, PlanCurves
from thalweg.report.plan_tree import TreeItem
from thalweg.report.run_report import in_runs
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_settings import JoinSettings

NOTHING_RAN = JoinReport(())
KEPT_CHANGES = "which sub-joins are kept"
"""What may change if the user has not set the plan."""


@dataclass(frozen=True)
class JoinLayout:
    """How a join is distributed over Spark DataFrames."""

    binding: JoinBinding
    partitioning: Partitioning
    buckets: int
    partitions: int
    streaming: bool = True
    followed: tuple[str, ...] = ()
    """Streams whose time column already has a watermark in Spark."""
    given: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The columns of the DataFrames. Those that are not read are named."""


def explain_layout(
    layout: JoinLayout, settings: JoinSettings, start: StartPlan, report: JoinReport = NOTHING_RAN,
    sink: tuple[str, ...] = (),
) -> Explanation:  # fmt: skip
    """Explain how a join will run on Spark. `start`: the plan that it begins with. `report` has what was counted so
    far, `sink` who writes the results of the last start."""
    plan, streaming = layout.binding.plan, layout.streaming
    graph = plan.graph
    where = "a Spark stream" if streaming else "Spark, on finished data"
    streams = [alias for alias in graph.aliases if alias not in layout.partitioning.broadcast]
    descriptions = {alias: _stream(plan, alias, layout) for alias in streams}
    compared = compared_plans(join_title(plan), start, report, changes=streaming)
    paragraphs = (
        Paragraph("Where rows go", tuple(_places(layout)), wrapped=True),
        Paragraph("What is held", tuple(_held(layout, alias) for alias in graph.aliases), wrapped=True),
        _order(plan, settings, compared.shape, streams),
        compared.paragraph,
        Paragraph("Time", tuple(_time(streams, layout, settings)), wrapped=True),
        Paragraph("Limits", tuple(_limits(settings, streaming)), wrapped=True),
        Paragraph(SINK, sink, wrapped=True),
        Paragraph(ADAPTS, (_adapts(settings, graph, compared, "separately in each bucket"),), wrapped=True),
    )
    tree = _tree(plan, settings, compared.shape, descriptions, report)
    return Explanation(
        join_title(plan), where, ((f"Plan, for {where}", tree),), paragraphs,
        compared.candidates, compared.curves, join_meshes(report),
    )  # fmt: skip


def explain_plan(
    plan: JoinPlan, settings: JoinSettings, start: StartPlan, report: JoinReport = NOTHING_RAN
) -> Explanation:  # fmt: skip
    """Explain what is known about a join without its data. `start`: the plan that it begins with, as far as it is known
    without the columns. `report` has what was counted so far."""
    compared = compared_plans(join_title(plan), start, report)
    descriptions = {alias: _stream(plan, alias) for alias in plan.streams}
    example = ", ".join(f"{alias}=df" for alias in plan.graph.aliases[:2]) + ", ..." * (len(plan.graph.aliases) > 2)
    paragraphs = (
        _order(plan, settings, compared.shape, plan.streams),
        compared.paragraph,
        Paragraph(ADAPTS, (_adapts(settings, plan.graph, compared),), wrapped=True),
        Paragraph(
            NOTES,
            (f"explain({example}) with Spark DataFrames shows where rows go, what is held, and which limits apply",),
            wrapped=True,
        ),
    )
    tree = _tree(plan, settings, compared.shape, descriptions, report)
    return Explanation(
        join_title(plan), "", (("Plan", tree),), paragraphs, compared.candidates,
        compared.curves, join_meshes(report),
    )  # fmt: skip


@dataclass(frozen=True)
class ComparedPlans:
    """The plans of a join that were compared before its start."""

    paragraph: Paragraph
    shape: Shape | None = None
    """The plan that the join begins with; None: nothing is kept."""
    candidates: tuple[Candidate, ...] = ()
    curves: PlanCurves | None = None
    may_change: bool = False
    """Whether the plan may change while the join runs."""


def compared_plans(
    title: str, start: StartPlan, report: JoinReport = NOTHING_RAN, *, changes: bool = True
) -> ComparedPlans:  # fmt: skip
    """Return the comparison of a join's plans; without lines if the user has set the plan. `changes`: whether plans can
    change where the join runs."""
    may_change = changes and start.may_change
    if start.wanted.text is not None:
        return ComparedPlans(Paragraph("", ()), start.shape, may_change=may_change)
    last = report.sections[-1].plans if report.sections else None  # the latest run
    points = None if last is None else last.measured()
    curves = plan_curves(
        title, start, None if points is None else Measured(*points),
        None if last is None else last.most_bytes or None,
    )  # fmt: skip
    paragraph = plan_paragraph(start, curves, adapts=may_change)
    candidates = () if start.choice is None else start.choice.candidates
    return ComparedPlans(paragraph, start.shape, candidates, curves, may_change)


def join_meshes(report: JoinReport, of: str = "") -> tuple[tuple[str, MeshView], ...]:
    """Return the meshes of the streams in the latest run with titles. `of`: a name of the join."""
    meshes = report.sections[-1].meshes if report.sections else {}
    return tuple((latest_run(of), mesh) for mesh in meshes.values() if len(mesh.routes) > 1)


def counted_results(report: JoinReport) -> str:
    """Return how many results a join has given in all its runs; there is at least one."""
    return f"{plural(sum(section.results for section in report.sections), 'result')}{in_runs(report)}"


def counted_rows(report: JoinReport, alias: str) -> str:
    """Return how many rows a stream had, and how many rows of other streams found a partner among them."""
    streams = [stream for section in report.sections for stream in section.streams.values()]
    rows = sum(each.stream.rows for each in streams if each.alias == alias)
    late = sum(each.stream.late for each in streams if each.alias == alias)
    looked = found = 0
    for each in streams:
        for other, evaluated, passed in zip(each.others, each.probes.evaluated, each.probes.passed, strict=True):
            if other == alias:
                looked, found = looked + evaluated, found + passed
    counts = f"{plural(rows, 'row')} to the join" + (f", {late:,} of them late" if late else "")
    return counts + (f", {percent(found / looked)} of {looked:,} probes of it found a partner" if looked else "")


def join_title(plan: JoinPlan) -> str:
    return f"Join of {listed(plan.graph.aliases)}"


def _tree(
    plan: JoinPlan, settings: JoinSettings, shape: Shape | None, descriptions: Mapping[str, str], report: JoinReport
) -> TreeItem:
    """Return the plan, with what was counted. `descriptions` has one entry per stream; other aliases are tables."""
    aliases = plan.graph.aliases
    tables = [alias for alias in aliases if alias not in descriptions]
    both = " and ".join([plural(len(descriptions), "stream"), *([plural(len(tables), "table")] if tables else [])])
    kind = kind_of(shape, settings.policy_name)
    on = wrapped(f"on {plan.on}", 0, further=0, width=WIDTH - 4)
    results = [f"counted: {counted_results(report)}"] if report.sections else []
    rows = {
        alias: [f"counted: {counted_rows(report, alias)}"]
        for section in report.sections
        for alias in section.streams
    }  # fmt: skip
    inputs = tuple(
        TreeItem("Stream", (f"{alias}: {descriptions[alias]}", *rows.get(alias, [])))
        if alias in descriptions
        else TreeItem("Table", (f"{alias}: without time or window",))
        for alias in aliases
    )
    kept = [to_text(part) for part in nodes_of(shape or ())][:-1]
    keeps = [f"keeps {listed(kept)} (plan {to_text(shape or ())})"] if kept else []
    return TreeItem(
        "Join", (f"of {both}, {kind}, over windows ({settings.policy_name})", *on, *keeps, *results), inputs
    )


def _order(plan: JoinPlan, settings: JoinSettings, shape: Shape | None, streams: Sequence[str]) -> Paragraph:
    if shape is None:
        lines = [f"new rows of {alias} probe {probes(plan.graph.tree(alias))}" for alias in streams]
        title = f"First order of probes (policy {settings.policy_name})"
    else:
        lines = tree_sentences(shape)
        title = f"Joins of the plan {to_text(shape)}"
    return Paragraph(title, (*lines, *_conditions(plan)), wrapped=True)


def tree_sentences(shape: Shape) -> list[str]:
    """Return one sentence per join of a plan that keeps sub-joins."""
    return [_kept_join(node, kept=node != shape) for node in nodes_of(shape)]


def kind_of(shape: Shape | None, policy: str) -> str:
    """Return how a join of this plan runs, in a few words."""
    if shape is not None and all(len(node) == 2 for node in nodes_of(shape)):
        return "joined two at a time"
    return "probed in the written order" if policy == "static" else "adaptive"


def _kept_join(node: tuple[Shape, ...], *, kept: bool) -> str:
    """Describe one join of a plan that keeps sub-joins."""
    how = "joined by hashing" if len(node) == 2 else "joined by probes, as in a multiway join"
    return f"{listed([to_text(part) for part in node])} are {how}{'; the results are kept' if kept else ''}"


def _length(length: Length) -> str:
    """Return a length as the user wrote it. Whole numbers are ticks."""
    if isinstance(length, str):
        return length
    if isinstance(length, (timedelta, np.timedelta64)):
        return time_span(length_of(length, "us"), 1000)
    return plural(int(length), "tick")


def _stream(plan: JoinPlan, alias: str, layout: JoinLayout | None = None) -> str:
    """Return the window and the time of a stream, and how late its rows may be, if rows can be late."""
    window = f"window {_length(plan.windows[alias])}" if alias in plan.windows else f"until {plan.ends[alias]}"
    description = f"{window}, time {plan.times[alias]}"
    if layout is not None and not layout.streaming:
        return description
    if layout is not None and alias in layout.followed:
        return f"{description}, with its own watermark from Spark; lateness= is not used"
    lateness = plan.lateness[alias]
    if layout is not None:
        late: Length = layout.binding.lateness[alias]
    else:
        late = length_of(lateness, "us") if isinstance(lateness, (str, timedelta, np.timedelta64)) else lateness
    return f"{description}, up to {_length(lateness)} out of order" if late else f"{description}, in order"


def _places(layout: JoinLayout) -> Iterator[str]:
    by, buckets, partitions = layout.partitioning, layout.buckets, layout.partitions
    columns = listed([f"{alias}.{column}" for alias, column in by.columns.items()])
    yield f"rows are spread over buckets by {columns}: {by.reason}"
    fixed = "; the checkpoint fixes both numbers" if layout.streaming else ""
    yield f"{plural(buckets, 'bucket')} in {plural(partitions, 'partition')}{_fit(buckets, partitions)}{fixed}"
    if by.replicated:
        names = listed(by.replicated)
        have, are = ("has", "is") if len(by.replicated) == 1 else ("have", "are")
        if buckets == 1:
            yield f"{names} {have} no such column; with one bucket this costs nothing"
        else:
            yield (
                f"{names} {have} no such column and {are} replicated: every row of {names} is sent to each of "
                f"{buckets} buckets and held there"
            )
    if by.broadcast:
        yield f"{listed(by.broadcast)}: every worker holds the whole table once, before the first row arrives"


def _fit(buckets: int, partitions: int) -> str:
    if buckets > partitions:
        return f", at least {math.ceil(buckets / partitions)} in one partition"
    return f", {partitions - buckets} of which stay empty" if buckets < partitions else ""


def _held(layout: JoinLayout, alias: str) -> str:
    binding = layout.binding
    carried = list(binding.schemas[alias].names)
    held = list(binding.stored[alias].names)
    only_words = [name for name in carried if name not in held]
    dropped = [name for name in layout.given.get(alias, ()) if name not in carried]
    parts = [listed(held) if held else "no column"]
    if only_words:
        parts.append(f"{listed(only_words)} only as {'numbers' if len(only_words) > 1 else 'a number'} in the index")
    if dropped:
        parts.append(f"not read: {listed(dropped)}")
    return f"{alias}: {'; '.join(parts)}"


def _adapts(settings: JoinSettings, graph: JoinGraph, compared: ComparedPlans, where: str = "") -> str:
    shape = compared.shape
    if settings.policy_name == "static":
        return "nothing: policy static never changes an order"
    if len(graph.aliases) <= 2:
        return "nothing: only one order is possible"
    if shape is None:
        each = f"for new rows of each stream, the order in which the other {len(graph.aliases) - 1} windows are probed"
    else:
        each = probes_of_tree(shape)
    if each and settings.policy_name == "mesh" and (most := most_routes(settings.profile)) > 1:
        each += f" (at most {most} orders per stream, by classes of rows)"
    what = " and ".join(part for part in (each, KEPT_CHANGES if compared.may_change else "") if part)
    if not what:
        return f"nothing: the plan {to_text(shape or ())} determines every order"
    return "; ".join([", ".join([what, where] if where else [what]), "the result does not depend on it"])


def probes_of_tree(shape: Shape) -> str:
    """Return which orders of probes a plan with kept sub-joins may change; empty if there are none."""
    several = [to_text(node) for node in nodes_of(shape) if len(node) > 2]
    return f"in {listed(several)}, the order in which the inputs are probed" if several else ""


def _conditions(plan: JoinPlan) -> Iterator[str]:
    graph = plan.graph
    alone = [r.text for r in plan.residuals if r.at_intake]
    alone += [f"{a}.{one} = {a}.{other}" for a, one, other in graph.within]
    joint = [r.text for r in plan.residuals if not r.at_intake]
    unused = sorted({c for root in graph.aliases for c in _left_to_check(graph.tree(root))})
    classes = [" = ".join(f"{a}.{column}" for a, column in graph.column_of[c].items()) for c in unused]
    if alone:
        yield f"checked when rows arrive: {' AND '.join(alone)}"
    if joint:
        yield f"checked on joined rows: {' AND '.join(joint)}"
    if classes:
        yield f"checked when a cycle is closed: the parts of {', '.join(classes)} that no probe compared"


def _left_to_check(tree: JoinTree) -> Iterator[int]:
    """Yield the classes of equal columns that probes do not compare in all of their streams; every cycle leaves one."""
    for c, members in enumerate(tree.graph.column_of):
        reached = {alias for alias in members if alias in tree.parents and c in tree.key(alias)}
        # a probe by this class compares a stream with its parent; the streams without one are not compared
        if len(members) - len(reached) > 1:
            yield c


def _limits(settings: JoinSettings, streaming: bool) -> Iterator[str]:
    matches = plural(settings.max_matches, "match", "matches")
    yield f"the join fails if a row has more than {matches} by its keys (max_matches=)"
    most = (
        "one core's share of half the memory of the machine or container"
        if settings.max_bytes is None
        else f"{byte_size(settings.max_bytes)} of memory"
    )
    what = "windows of a bucket, or its rows of one micro-batch," if streaming else "windows of a bucket"
    yield f"the join fails if the {what} need more than {most} (max_bytes=)"


def _time(streams: Sequence[str], layout: JoinLayout, settings: JoinSettings) -> Iterator[str]:
    if not layout.streaming:
        yield "finished data: read in the order of time, one bucket after the other; no row is late"
        return
    followed, max_ahead, idle_after = layout.followed, settings.max_ahead, settings.idle_after
    own = [alias for alias in streams if alias not in followed]
    theirs = listed([alias for alias in streams if alias in followed])
    if own:
        but = f"; for {theirs} it is Spark's watermark" if theirs else ""
        yield (
            f"the watermark follows the slowest of {listed(streams)}: it is the smallest of their watermarks, each of "
            f"which is the largest time in completed micro-batches minus the lateness{but}"
        )
    else:
        yield f"the watermark is Spark's, which follows the slowest of {theirs}"
    yield (
        "rows older than the watermark are late: they are counted and not joined, and late() returns them; a row "
        "leaves its window when the watermark has passed its end"
    )
    if own and max_ahead is None:
        yield "times in the future are accepted, however far: one wrong row can make all others late (max_ahead=)"
    elif own and max_ahead is not None:
        whose = f" of {listed(own)}" if theirs else ""
        yield f"times{whose} more than {_length(max_ahead)} ahead of the clock do not advance it (max_ahead=)"
    if idle_after is None:
        yield "a stream without rows holds it back, and so the windows of all streams grow; idle_after= sets a limit"
    else:
        but = ", but Spark waits for it" if theirs else ""
        yield f"a stream without rows for {_length(idle_after)} does not hold it back (idle_after=){but}"
