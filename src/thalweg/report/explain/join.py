"""Describes joins over windows, those of `tw.join` and the `WindowJoin` nodes of a query: what new rows probe, what is
kept, what may change, and what was counted. `explain_join` explains a join, on Spark also where rows go and what is
held.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import numpy as np

from thalweg.draw.plan_tree import TreeItem
from thalweg.formatting import WIDTH, byte_size, listed, percent, plural, time_span, wrapped
from thalweg.optimizer.joins.plan_choice import ComparedPlans
from thalweg.plan.expressions.expression import text_of
from thalweg.plan.joins.graph import JoinGraph, JoinTree
from thalweg.plan.joins.join_plan import JoinPlan, join_graph
from thalweg.plan.joins.partitioning import Partitioning
from thalweg.plan.joins.shape import Shape, nodes_of, to_text
from thalweg.plan.joins.window import Length, length_of
from thalweg.plan.query.nodes import Join, SourceColumn, WindowJoin
from thalweg.plan.query.query_plan import Branch
from thalweg.report.explain.choice import explained_choice
from thalweg.report.explain.filter import latest_meshes, most_routes, or_nothing
from thalweg.report.explanation import ADAPTS, NOTES, SINK, Explanation, Paragraph
from thalweg.report.join_report import JoinReport
from thalweg.report.run_report import in_runs
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_settings import JoinSettings

NOTHING_RAN = JoinReport(())


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


@dataclass(frozen=True)
class JoinDescription:
    """What explanations say of a join over windows."""

    graph: JoinGraph
    streams: tuple[str, ...]
    """Those whose new rows look for partners."""
    on: tuple[str, ...]
    policy: str
    shape: Shape | None
    """The plan that it begins with; None: nothing is kept."""
    may_change: bool
    """Whether the plan may change while it runs."""
    of: str = ""
    """What is joined, before how."""
    computed: Mapping[SourceColumn, str] = field(default_factory=dict)
    """The expressions of computed columns."""

    @classmethod
    def of_plan(
        cls, plan: JoinPlan, policy: str, compared: ComparedPlans, streams: tuple[str, ...]
    ) -> JoinDescription:  # fmt: skip
        """Describe a join. `streams`: all but its tables."""
        tables = len(plan.graph.aliases) - len(streams)
        both = " and ".join([plural(len(streams), "stream"), *([plural(tables, "table")] if tables else [])])
        on = tuple(wrapped(f"on {plan.on}", 0, further=0, width=WIDTH - 4))
        return cls(plan.graph, streams, on, policy, compared.shape, compared.may_change, f"of {both}, ")

    @classmethod
    def of_node(cls, join: WindowJoin, policy: str, compared: ComparedPlans | None) -> JoinDescription:
        """Describe the join of a query. `compared`: None if it is not known where the query will run."""
        shape, may_change = (None, False) if compared is None else (compared.shape, compared.may_change)
        roots = tuple(root for root, _ in join.probe_trees)
        return cls(join_graph(join), roots, conditions_of(join), policy, shape, may_change, computed=_computed(join))

    def tree(self, details: Sequence[str], counted: str, inputs: tuple[TreeItem, ...]) -> TreeItem:
        """Return the node that is drawn. `counted`: empty if nothing was counted."""
        how = "probed in the written order" if self.policy == "static" else "adaptive"
        if self.shape is not None and all(len(node) == 2 for node in nodes_of(self.shape)):
            how = "joined two at a time"
        counts = [f"counted: {counted}"] if counted else []
        kind = f"{self.of}{how}, over windows ({self.policy})"
        return TreeItem("Join", (kind, *self.on, *details, *counts), inputs)

    def first(self) -> list[str]:
        """Return one sentence per join of a plan that keeps sub-joins; otherwise, what the new rows of each stream
        probe first."""
        if self.shape is None:
            trees = {alias: self.graph.tree(alias) for alias in self.streams}
            return [f"new rows of {alias} probe {_probes(tree, self.computed)}" for alias, tree in trees.items()]
        return [_kept_join(node, kept=node != self.shape) for node in nodes_of(self.shape)]

    def changes(self, routes: str = "") -> list[str]:
        """Return what may change while it runs. `routes`: what is said of routes, if the order of probes may change."""
        others = len(self.graph.aliases) - 1
        if others < 2:
            return []
        order = f"for new rows of each stream, the order in which the other {others} windows are probed"
        if self.shape is not None:
            several = [to_text(node) for node in nodes_of(self.shape) if len(node) > 2]
            order = f"in {listed(several)}, the order in which the inputs are probed" if several else ""
        return [*([order + routes] if order else []), *(["which sub-joins are kept"] if self.may_change else [])]


def explain_join(
    plan: JoinPlan, settings: JoinSettings, compared: ComparedPlans, report: JoinReport = NOTHING_RAN,
    layout: JoinLayout | None = None, sink: tuple[str, ...] = (),
) -> Explanation:  # fmt: skip
    """Explain a join. `compared`: the plan that it begins with, as far as it is known. `report` has what was counted so
    far. `layout`: how it will run on Spark; None if its data are not known. `sink`: who writes the results of the last
    start."""
    title, aliases, shape = join_title(plan), plan.graph.aliases, compared.shape
    streams, where, before, after = plan.streams, "", [], []
    notes: tuple[str, ...] = ()
    if layout is None:
        example = ", ".join(f"{alias}=df" for alias in aliases[:2]) + ", ..." * (len(aliases) > 2)
        notes = (f"explain({example}) with Spark DataFrames shows where rows go, what is held, and which limits apply",)
    else:
        where = "a Spark stream" if layout.streaming else "Spark, on finished data"
        streams = tuple(alias for alias in aliases if alias not in layout.partitioning.broadcast)
        held = tuple(_held(layout, alias) for alias in aliases)
        before = [("Where rows go", tuple(_places(layout))), ("What is held", held)]
        after = [
            ("Time", tuple(_time(streams, layout, settings))), ("Limits", tuple(_limits(settings, layout.streaming)))
        ]  # fmt: skip
    described = JoinDescription.of_plan(plan, settings.policy_name, compared, streams)
    probes = f"First order of probes (policy {settings.policy_name})"
    first = probes if shape is None else f"Joins of the plan {to_text(shape)}"
    choice, curves = explained_choice(title, compared, report)
    changes = _adapts(settings, described, "separately in each bucket" if where else "")
    before += [(first, (*described.first(), *_conditions(plan)))]
    after += [(SINK, sink), (ADAPTS, changes), (NOTES, notes)]
    of_each = [[Paragraph(*each, wrapped=True) for each in some] for some in (before, after)]
    kept = [to_text(part) for part in nodes_of(shape or ())][:-1]
    keeps = [f"keeps {listed(kept)} (plan {to_text(shape or ())})"] if kept else []
    inputs = (_input(alias, _stream(plan, alias, layout) if alias in streams else None, report) for alias in aliases)
    tree = described.tree(keeps, counted_results(report), tuple(inputs))
    return Explanation(
        title, where, ((f"Plan, for {where}" if where else "Plan", tree),), (*of_each[0], choice, *of_each[1]),
        compared.candidates, curves, latest_meshes(report),
    )  # fmt: skip


def _input(alias: str, description: str | None, report: JoinReport) -> TreeItem:
    if description is None:
        return TreeItem("Table", (f"{alias}: without time or window",))
    is_counted = any(alias in section.streams for section in report.sections)
    counted = [f"counted: {counted_rows(report, alias)}"] if is_counted else []
    return TreeItem("Stream", (f"{alias}: {description}", *counted))


def conditions_of(join: Join) -> tuple[str, ...]:
    """Return the conditions of the join of a query."""
    residuals = (f"{condition.text}  (checked on joined rows)" for condition in join.residuals)
    return (*(equality.text for equality in join.equalities), *residuals)


def spread_sentence(join: WindowJoin, *, is_finished: bool) -> str | None:
    """Return where rows go on Spark. `is_finished`: Spark knows the sizes of its data, because they are finished."""
    by = join.spread_by
    if by is None:
        return None
    names = _computed(join)
    columns = " = ".join(names.get(key, ".".join(key)) for key in by.columns)
    if is_finished and len(join_graph(join).classes) > 1:
        return (
            "when it runs, Spark's estimates of the sizes in bytes decide which equal columns spread rows over "
            f"buckets; without estimates it is {columns}"
        )
    copied = ""
    if by.replicated:
        copied = f"; {listed(by.replicated)} {'is' if len(by.replicated) == 1 else 'are'} replicated to every bucket"
    return f"rows are spread over buckets by {columns}{copied}: {by.why}"


def counted_results(report: JoinReport) -> str:
    """Return how many results a join has given in all its runs; empty if it has not run."""
    if not report.sections:
        return ""
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


def _probes(tree: JoinTree, names: Mapping[SourceColumn, str]) -> str:
    """Return what new rows of the root probe, in the order that is tried first. `names` are those of computed columns.

    >>> from thalweg.plan.joins.graph import JoinGraph
    >>> _probes(JoinGraph.of([("a", "k", "b", "k"), ("b", "m", "c", "m")]).tree("a"), {})
    'b by k, then c by m (from b)'
    """
    pipeline, column_of = tree.pipeline(), tree.graph.column_of
    found = []
    for other in pipeline.label(pipeline.start):
        by = listed([names.get((other, column_of[c][other]), column_of[c][other]) for c in tree.key(other)])
        parent = tree.parents[other]
        found.append(f"{other} by {by}" + (f" (from {parent})" if parent != tree.root else ""))
    return ", then ".join(found)


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


def _adapts(settings: JoinSettings, described: JoinDescription, where: str) -> tuple[str, ...]:
    most = most_routes(settings.profile) if described.policy == "mesh" else 1
    routes = f" (at most {most} orders per stream, by classes of rows)" if most > 1 else ""
    changes = described.changes(routes)
    if changes:
        changes = [
            ", ".join([" and ".join(changes), *([where] if where else [])]) + "; the result does not depend on it"
        ]
    elif len(described.graph.aliases) > 2:
        changes = [f"nothing: the plan {to_text(described.shape or ())} determines every order"]
    return or_nothing(described.policy, changes)


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


def _computed(join: WindowJoin) -> dict[SourceColumn, str]:
    """Return, for each computed column, the expression that computes it."""
    branches = map(Branch.of, join.inputs)
    return {(branch.alias, name): text_of(e) for branch in branches for name, e in branch.computed}
