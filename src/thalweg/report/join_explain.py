"""Describes what a join will do on Spark before it runs: where rows go, what is held, what is probed first."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

import numpy as np

from thalweg.plan.byte_size import size
from thalweg.plan.join_graph import JoinTree
from thalweg.plan.partitioning import Partitioning
from thalweg.plan.window_length import Length, in_words, length_of
from thalweg.report.view import WIDTH
from thalweg.report.words import listed, many
from thalweg.runtime.join_binding import JoinBinding


def explain_text(
    binding: JoinBinding,
    partitioning: Partitioning,
    buckets: int,
    partitions: int,
    *,
    policy: str = "auto",
    streaming: bool = True,
    given: Mapping[str, Sequence[str]] | None = None,
    max_matches: int | None = None,
    max_bytes: int | None = None,
    max_ahead: Length | None = None,
    idle_after: Length | None = None,
    followed: Sequence[str] = (),
    limits: Sequence[str] = (),
) -> str:
    """About 20 lines. `given`: the columns of the DataFrames, to name those that are not read. `followed`: streams
    whose time column already has a watermark in Spark. `limits`: further sentences. The other arguments are as in
    `JoinSettings`."""
    graph = binding.plan.graph
    streams = [alias for alias in graph.aliases if alias not in partitioning.broadcast]
    tables = f" and {many(len(partitioning.broadcast), 'table')}" if partitioning.broadcast else ""
    parts = {
        f"join of {many(len(streams), 'stream')}{tables} on {binding.plan.on}": [
            *_streams(binding, streams, streaming, followed),
            *(f"{alias}: a table, without time or window" for alias in partitioning.broadcast),
        ],
        "where rows go": list(_places(partitioning, buckets, partitions, streaming)),
        "what is held": [_held(binding, alias, given) for alias in graph.aliases],
        f"in which order windows are probed, to begin with (policy {policy})": [
            *(f"new rows of {alias}: {_probes(graph.tree(alias))}" for alias in streams),
            *_follows(policy, len(graph.aliases)),
            *_conditions(binding),
        ],
        "time": list(_time(streams, streaming, followed, max_ahead, idle_after)),
        "limits": [
            *(
                [f"a row with more than {max_matches:,} matches by its keys fails the join (max_matches=)"]
                if max_matches is not None
                else []
            ),
            _memory(max_bytes, streaming),
            *limits,
        ],
    }
    lines: list[str] = []
    for head, said in parts.items():
        if said:
            lines += [*_wrapped(head, 0), *(line for sentence in said for line in _wrapped(sentence, 2))]
    return "\n".join(lines)


def _wrapped(text: str, indent: int) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=" " * indent, subsequent_indent=" " * (indent + 4), break_on_hyphens=False
    )


def _length(length: Length) -> str:
    """A length as the user wrote it; whole numbers are ticks."""
    if isinstance(length, str):
        return length
    if isinstance(length, (timedelta, np.timedelta64)):
        return in_words(length_of(length, "us"), 1000)
    return many(int(length), "tick")


def _streams(binding: JoinBinding, streams: Sequence[str], streaming: bool, followed: Sequence[str]) -> Iterator[str]:
    """One line for all streams with the same window, time and lateness."""
    plan = binding.plan
    alike: dict[str, list[str]] = {}
    for alias in streams:
        window = f"window {_length(plan.windows[alias])}" if alias in plan.windows else f"until {plan.ends[alias]}"
        text = f"{window}, time {plan.times[alias]}"
        if streaming and alias in followed:
            text += ", whose watermark in Spark is followed; lateness= is not used"
        elif streaming:
            late = binding.lateness[alias]
            text += f", up to {_length(plan.lateness[alias])} out of order" if late else ", in order"
        alike.setdefault(text, []).append(alias)
    yield from (f"{', '.join(aliases)}: {text}" for text, aliases in alike.items())


def _places(by: Partitioning, buckets: int, partitions: int, streaming: bool) -> Iterator[str]:
    columns = listed([f"{alias}.{column}" for alias, column in by.columns.items()])
    yield f"spread by {columns}: {by.reason}"
    fixed = "; the checkpoint fixes them" if streaming else ""
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


def _held(binding: JoinBinding, alias: str, given: Mapping[str, Sequence[str]] | None) -> str:
    carried = list(binding.schemas[alias].names)
    held = list(binding.stored[alias].names)
    only_words = [name for name in carried if name not in held]
    dropped = [name for name in (given or {}).get(alias, ()) if name not in carried]
    parts = [listed(held) if held else "no column"]
    if only_words:
        parts.append(f"{listed(only_words)} only as {'numbers' if len(only_words) > 1 else 'a number'} of its index")
    if dropped:
        parts.append(f"not read: {listed(dropped)}")
    return f"{alias}: {'; '.join(parts)}"


def _probes(tree: JoinTree) -> str:
    pipeline = tree.pipeline()
    probes = []
    for other in pipeline.label(pipeline.start):
        keys = ", ".join(tree.graph.column_of[c][other] for c in tree.key(other))
        parent = tree.parents[other]
        probes.append(f"{other} by {keys}" + (f" of {parent}" if parent != tree.root else ""))
    return ", then ".join(probes)


def _follows(policy: str, streams: int) -> Iterator[str]:
    if streams > 2 and policy != "static":
        yield "each order follows the data, in each bucket by itself; what is joined does not depend on it"


def _conditions(binding: JoinBinding) -> Iterator[str]:
    graph = binding.plan.graph
    alone = [r.text for r in binding.plan.residuals if r.at_intake]
    alone += [f"{a}.{one} = {a}.{other}" for a, one, other in graph.within]
    joint = [r.text for r in binding.plan.residuals if not r.at_intake]
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


def _memory(max_bytes: int | None, streaming: bool) -> str:
    most = (
        "a core's share of half of a machine's or container's memory"
        if max_bytes is None
        else f"{size(max_bytes)} of memory"
    )
    what = "windows, or rows of one micro-batch," if streaming else "windows"
    return f"a bucket whose {what} need more than {most} fails the join (max_bytes=)"


def _time(
    streams: Sequence[str],
    streaming: bool,
    followed: Sequence[str],
    max_ahead: Length | None,
    idle_after: Length | None,
) -> Iterator[str]:
    if not streaming:
        yield "finished data: read in the order of time, bucket by bucket; no row is late"
        return
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
    yield "rows before the watermark are late: counted, not joined; rows leave a window when it has passed their end"
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
