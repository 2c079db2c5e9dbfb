"""Describes what a join will do before it runs: what is probed first and, on Spark, where rows go and what is held."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import numpy as np

from thalweg.plan.byte_size import size
from thalweg.plan.join_graph import JoinTree
from thalweg.plan.join_plan import JoinPlan
from thalweg.plan.partitioning import Partitioning
from thalweg.plan.window import Length, in_words, length_of
from thalweg.report.explanation import ADAPTS, NOTES, Explanation, Paragraph
from thalweg.report.join_sentences import probes
from thalweg.report.plan_tree import Node
from thalweg.report.view import WIDTH
from thalweg.report.words import listed, many
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_settings import JoinSettings


@dataclass(frozen=True)
class JoinLayout:
    """How a join is laid out over DataFrames of Spark."""

    binding: JoinBinding
    partitioning: Partitioning
    buckets: int
    partitions: int
    streaming: bool = True
    followed: tuple[str, ...] = ()
    """Streams whose time column already has a watermark in Spark."""
    given: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The columns of the DataFrames, to name those that are not read."""


def explain_layout(layout: JoinLayout, settings: JoinSettings) -> Explanation:
    """How a join will run on Spark."""
    plan, streaming = layout.binding.plan, layout.streaming
    graph = plan.graph
    where = "a Spark stream" if streaming else "Spark, on finished data"
    streams = [alias for alias in graph.aliases if alias not in layout.partitioning.broadcast]
    said = {alias: _stream(plan, alias, layout) for alias in streams}
    paragraphs = (
        Paragraph("Where rows go", tuple(_places(layout)), wrapped=True),
        Paragraph("What is held", tuple(_held(layout, alias) for alias in graph.aliases), wrapped=True),
        _order(plan, settings, streams),
        Paragraph("Time", tuple(_time(streams, layout, settings)), wrapped=True),
        Paragraph("Limits", tuple(_limits(settings, streaming)), wrapped=True),
        Paragraph(ADAPTS, (_adapts(settings, len(graph.aliases), "in each bucket by itself"),), wrapped=True),
    )
    return Explanation(_title(plan), where, ((f"Plan, for {where}", _tree(plan, settings, said)),), paragraphs)


def explain_plan(plan: JoinPlan, settings: JoinSettings) -> Explanation:
    """What is known of a join before it has data."""
    said = {alias: _stream(plan, alias) for alias in plan.streams}
    example = ", ".join(f"{alias}=df" for alias in plan.graph.aliases[:2]) + ", ..." * (len(plan.graph.aliases) > 2)
    paragraphs = (
        _order(plan, settings, plan.streams),
        Paragraph(ADAPTS, (_adapts(settings, len(plan.graph.aliases)),), wrapped=True),
        Paragraph(
            NOTES,
            (f"explain({example}) with DataFrames of Spark says where rows go, what is held, and which limits apply",),
            wrapped=True,
        ),
    )
    return Explanation(_title(plan), "", (("Plan", _tree(plan, settings, said)),), paragraphs)


def _title(plan: JoinPlan) -> str:
    return f"Join of {listed(plan.graph.aliases)}"


def _tree(plan: JoinPlan, settings: JoinSettings, said: Mapping[str, str]) -> Node:
    """`said`: of each stream; the others are tables."""
    aliases = plan.graph.aliases
    tables = [alias for alias in aliases if alias not in said]
    both = " and ".join([many(len(said), "stream"), *([many(len(tables), "table")] if tables else [])])
    kind = "probed in the written order" if settings.policy_name == "static" else "adaptive"
    on = textwrap.wrap(f"on {plan.on}", WIDTH - 4, break_on_hyphens=False)
    inputs = tuple(
        Node("Stream", (f"{alias}: {said[alias]}",))
        if alias in said
        else Node("Table", (f"{alias}: without time or window",))
        for alias in aliases
    )
    return Node("Join", (f"of {both}, {kind}, over windows ({settings.policy_name})", *on), inputs)


def _order(plan: JoinPlan, settings: JoinSettings, streams: Sequence[str]) -> Paragraph:
    looking = (f"new rows of {alias} look {probes(plan.graph.tree(alias))}" for alias in streams)
    title = f"First order of probes (policy {settings.policy_name})"
    return Paragraph(title, (*looking, *_conditions(plan)), wrapped=True)


def _length(length: Length) -> str:
    """A length as the user wrote it; whole numbers are ticks."""
    if isinstance(length, str):
        return length
    if isinstance(length, (timedelta, np.timedelta64)):
        return in_words(length_of(length, "us"), 1000)
    return many(int(length), "tick")


def _stream(plan: JoinPlan, alias: str, layout: JoinLayout | None = None) -> str:
    """Its window, its time, and how late its rows may be, where rows can be late."""
    window = f"window {_length(plan.windows[alias])}" if alias in plan.windows else f"until {plan.ends[alias]}"
    said = f"{window}, time {plan.times[alias]}"
    if layout is not None and not layout.streaming:
        return said
    if layout is not None and alias in layout.followed:
        return f"{said}, whose watermark in Spark is followed; lateness= is not used"
    lateness = plan.lateness[alias]
    if layout is not None:
        late: Length = layout.binding.lateness[alias]
    else:
        late = length_of(lateness, "us") if isinstance(lateness, (str, timedelta, np.timedelta64)) else lateness
    return f"{said}, up to {_length(lateness)} out of order" if late else f"{said}, in order"


def _places(layout: JoinLayout) -> Iterator[str]:
    by, buckets, partitions = layout.partitioning, layout.buckets, layout.partitions
    columns = listed([f"{alias}.{column}" for alias, column in by.columns.items()])
    yield f"spread by {columns}: {by.reason}"
    fixed = "; the checkpoint fixes them" if layout.streaming else ""
    yield f"{many(buckets, 'bucket')} over {many(partitions, 'partition')}{_fit(buckets, partitions)}{fixed}"
    if by.replicated:
        names = listed(by.replicated)
        have, are = ("has", "is") if len(by.replicated) == 1 else ("have", "are")
        if buckets == 1:
            yield f"{names} {have} no such column, which costs nothing with one bucket"
        else:
            yield (
                f"{names} {have} no such column and {are} replicated: every row of {names} is sent to and held by each "
                f"of {buckets} buckets"
            )
    if by.broadcast:
        yield f"{listed(by.broadcast)}: held once by every worker, whole, before any row comes"


def _fit(buckets: int, partitions: int) -> str:
    if buckets > partitions:
        return f", at least {math.ceil(buckets / partitions)} in one"
    return f", of which {partitions - buckets} stay empty" if buckets < partitions else ""


def _held(layout: JoinLayout, alias: str) -> str:
    binding = layout.binding
    carried = list(binding.schemas[alias].names)
    held = list(binding.stored[alias].names)
    only_words = [name for name in carried if name not in held]
    dropped = [name for name in layout.given.get(alias, ()) if name not in carried]
    parts = [listed(held) if held else "no column"]
    if only_words:
        parts.append(f"{listed(only_words)} only as {'numbers' if len(only_words) > 1 else 'a number'} of its index")
    if dropped:
        parts.append(f"not read: {listed(dropped)}")
    return f"{alias}: {'; '.join(parts)}"


def _adapts(settings: JoinSettings, aliases: int, where: str = "") -> str:
    if settings.policy_name == "static":
        return "nothing: the policy static keeps every order"
    if aliases <= 2:
        return "nothing: there is one way to do it"
    each = f"for new rows of each stream, the order in which the other {aliases - 1} windows are probed"
    return "; ".join([", ".join([each, where] if where else [each]), "what is joined does not depend on it"])


def _conditions(plan: JoinPlan) -> Iterator[str]:
    graph = plan.graph
    alone = [r.text for r in plan.residuals if r.at_intake]
    alone += [f"{a}.{one} = {a}.{other}" for a, one, other in graph.within]
    joint = [r.text for r in plan.residuals if not r.at_intake]
    unused = sorted({c for root in graph.aliases for c in _left_to_check(graph.tree(root))})
    classes = [" = ".join(f"{a}.{column}" for a, column in graph.column_of[c].items()) for c in unused]
    if alone:
        yield f"when its rows come: {' AND '.join(alone)}"
    if joint:
        yield f"when rows are put together: {' AND '.join(joint)}"
    if classes:
        yield f"when a cycle is closed: what probes did not look at of {', '.join(classes)}"


def _left_to_check(tree: JoinTree) -> Iterator[int]:
    """Classes of equal columns that probes do not compare in all of their streams: every cycle leaves one."""
    for c, members in enumerate(tree.graph.column_of):
        reached = {alias for alias in members if alias in tree.parents and c in tree.key(alias)}
        # a probe by this class compares a stream with its parent; the streams without one are not compared
        if len(members) - len(reached) > 1:
            yield c


def _limits(settings: JoinSettings, streaming: bool) -> Iterator[str]:
    yield f"a row with more than {settings.max_matches:,} matches by its keys fails the join (max_matches=)"
    most = (
        "a core's share of half of a machine's or container's memory"
        if settings.max_bytes is None
        else f"{size(settings.max_bytes)} of memory"
    )
    what = "windows, or rows of one micro-batch," if streaming else "windows"
    yield f"a bucket whose {what} need more than {most} fails the join (max_bytes=)"


def _time(streams: Sequence[str], layout: JoinLayout, settings: JoinSettings) -> Iterator[str]:
    if not layout.streaming:
        yield "finished data: read in the order of time, bucket by bucket; no row is late"
        return
    followed, max_ahead, idle_after = layout.followed, settings.max_ahead, settings.idle_after
    own = [alias for alias in streams if alias not in followed]
    theirs = listed([alias for alias in streams if alias in followed])
    if own:
        but = f"; of {theirs} it is the one of Spark" if theirs else ""
        yield (
            f"the watermark waits for the slowest of {listed(streams)}: the least of their largest times in finished "
            f"micro-batches, each less what it may be out of order{but}"
        )
    else:
        yield f"the watermark is the one of Spark, which waits for the slowest of {theirs}"
    yield (
        "rows before the watermark are late: counted, not joined, and given by late(); rows leave a window when it has "
        "passed their end"
    )
    if own and max_ahead is None:
        yield "times ahead of the clock are believed, however far: one wrong row can make all others late (max_ahead=)"
    elif own and max_ahead is not None:
        whose = f" of {listed(own)}" if theirs else ""
        yield f"times{whose} more than {_length(max_ahead)} ahead of the clock do not move it (max_ahead=)"
    if idle_after is None:
        yield "a stream without rows holds it back, and so the windows of all; idle_after= lets such a stream go"
    else:
        but = ", but Spark waits for it" if theirs else ""
        yield f"a stream without rows for {_length(idle_after)} is not waited for (idle_after=){but}"
