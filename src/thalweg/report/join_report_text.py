"""Formats a section of a join report as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

from thalweg.draw.html import folded, paragraph, table
from thalweg.events.parts import TimeCounts, TrialCounts, WindowCounts
from thalweg.formatting import (
    WIDTH,
    aligned,
    byte_size,
    in_seconds,
    listed,
    percent_of,
    plural,
    time_span,
    whole_percent,
    wrapped,
)
from thalweg.printable import columns_of, printable
from thalweg.report.join_section import JoinSection, StreamReport, TableReport
from thalweg.report.run_sentences import compiling_lines, trial_lines, what_moved
from thalweg.report.section import SwitchReport, query_words

NEAR = 0.1
"""A row with more than this share of `max_matches` is reported."""
SKEWED = 2
"""A bucket that holds more than this many times its share of a window is reported..."""
SKEWED_ROWS = 10_000
"""...if the window has at least this many rows."""

_HEAD = (
    "stream", "rows", "with partners", "results", "probes (share that finds a partner)", "in window", "at most",
    "memory",
)  # fmt: skip
_LEFT = (0, 4)
"""Columns of text, which are aligned to the left."""


def title(section: JoinSection) -> str:
    """Return the title, which says which run the numbers belong to."""
    run = section.run
    if section.kind == "stream":
        run = f"streaming query {query_words(run, section.query_name)}"
        if section.first_batch is not None:
            run += f", micro-batches {section.first_batch} to {section.last_batch}"
    elif section.kind == "batch":
        run += ", the first action on this DataFrame (Spark observes only that one)"
    where = f" in {plural(section.buckets, 'bucket')}" if section.kind != "local" else ""
    return f"{run}: {plural(section.results, 'result')}{where}, policy {section.policy}"


def in_one_line(section: JoinSection) -> str:
    """Return one line about an older run."""
    rows = ", ".join(f"{s.alias} {s.stream.rows:,}" for s in section.streams.values())
    return f"{title(section)}; rows: {rows}"


def _probe(stream: StreamReport, other: str) -> str:
    k = stream.others.index(other)
    now = stream.in_force
    seen = now.evaluated[k]
    return f"{other} {whole_percent(now.passed[k] / seen)}" if seen else other


def _table(section: JoinSection) -> list[tuple[str, ...]]:
    windows = {alias: stream.window for alias, stream in section.streams.items()}
    stored = any(window.state_bytes for window in windows.values())
    head = (*_HEAD, "state store") if stored else _HEAD
    lines = [
        (
            alias, f"{s.stream.rows:,}", f"{s.probes.kept:,}", f"{s.matches.results:,}",
            " > ".join(_probe(s, other) for other in s.order), f"{windows[alias].rows:,}",
            f"{windows[alias].most_rows:,}", byte_size(windows[alias].most_bytes),
            *([byte_size(windows[alias].state_bytes)] if stored else []),
        )
        for alias, s in section.streams.items()
    ]  # fmt: skip
    return [head, *lines]


def facts(section: JoinSection) -> list[str]:
    """Return sentences about what the table does not show."""
    lines = [fact for stream in section.streams.values() for fact in _facts_of(stream, section.buckets)]
    lines += [_fact_of_table(table, section.kind) for table in section.tables.values()]
    lines += [_fact_of_inner(inner) for inner in section.inner.values()]
    lines += section.plans.sentences(section.kind)
    lines += _furthest_behind(section)
    times, trials = TimeCounts(), TrialCounts()
    for stream in section.streams.values():
        times.add(stream.times)
        trials.add(stream.trials)
    held = WindowCounts.of_buckets(stream.window for stream in section.streams.values())
    if held.state_chunks:
        read = plural(held.reloaded, "chunk")
        back = f"; {read} read back by workers that did not hold the windows" if held.reloaded else ""
        lines.append(f"{byte_size(held.state_bytes)} of state in {plural(held.state_chunks, 'chunk')}{back}")
    total = times.total_ns or 1
    shares = (
        f"profiling {percent_of(times.profiling_ns, total)}, re-optimizing {percent_of(times.reoptimizing_ns, total)}"
    )
    lines += trial_lines(trials)
    lines += compiling_lines(times.compiling_ns)
    lines.append(f"{in_seconds(total)}, of which {shares}; {plural(section.all_switches, 'switch', 'switches')}")
    return lines + _standing_lines(section)


def _standing_lines(section: JoinSection) -> list[str]:
    """Return why the orders have not changed. Streams with the same reason share a line."""
    reasons: dict[str, list[str]] = {}
    for stream in section.streams.values():
        if sentence := section.standing(stream):
            reasons.setdefault(sentence, []).append(stream.alias)
    if len(reasons) == 1 and len(*reasons.values()) == len(section.streams):
        return [f"why the orders are kept: {sentence}" for sentence in reasons]
    return [f"why the order of {listed(streams)} is kept: {sentence}" for sentence, streams in reasons.items()]


def _facts_of(s: StreamReport, buckets: int) -> list[str]:
    rows, found, held = s.stream, s.matches, s.window.rows
    counted = [
        (rows.late, f"late, by up to {time_span(rows.most_late, rows.tick_ns)}, not joined"),
        (rows.no_time, "without a time, not joined"),
        (rows.no_key, "with a key that equals nothing, not joined"),
        (rows.filtered, "dropped by a condition on this stream"),
        (rows.ahead, "too far in the future (max_ahead=): joined, but the watermark did not advance to them"),
    ]
    lines = [f"{s.alias}: {plural(count, 'row')} {what}" for count, what in counted if count]
    if rows.replicated and buckets > 1:
        lines.append(
            f"{s.alias}: held in each of {buckets} buckets; its window counts every copy, its rows are counted once"
        )
    worker, most = s.fullest
    if not rows.replicated and held >= SKEWED_ROWS and most * len(s.buckets) > SKEWED * held:
        lines.append(
            f"{s.alias}: {worker} of {buckets} holds {whole_percent(most / held)} of its window: one key is "
            "far more common than the others, or there are few keys"
        )
    if s.other_orders:
        lines.append(f"{s.alias}: the order of probes differs in {s.other_orders} of {len(s.buckets)} buckets")
    if found.most_matches > NEAR * found.limit:
        matches = plural(found.most_matches, "match", "matches")
        lines.append(
            f"{s.alias}: a row{f' ({found.hottest})' if found.hottest else ''} had {matches} by its keys; "
            f"the join fails if there are more than {found.limit:,} (max_matches=)"
        )
    return lines


def _fact_of_table(t: TableReport, kind: str) -> str:
    where = " once per worker" if kind != "local" else ""
    held = f"{plural(t.window_rows, 'row')} held{where}, {byte_size(t.window_bytes)}"
    left = [(t.no_key, "with a key that equals nothing"), (t.filtered, "dropped by a condition on this table")]
    return ", ".join([f"{t.table}: a table, {held}", *(f"{n:,} {what}" for n, what in left if n)])


def _fact_of_inner(inner: StreamReport) -> str:
    window = inner.window
    held = f"{window.rows:,} held, at most {window.most_rows:,} ({byte_size(window.most_bytes)})"
    return f"{inner.alias}: a kept sub-join, {plural(inner.stream.rows, 'row')} made, {held}"


def _furthest_behind(section: JoinSection) -> list[str]:
    """Return, for streaming queries, which stream holds the watermark back."""
    if section.kind != "stream":
        return []
    found = {alias: stream.window.watermark for alias, stream in section.streams.items()}
    marks = {alias: mark for alias, mark in found.items() if mark is not None}
    if len(marks) < 2 or len(set(marks.values())) == 1:
        return []
    last, first = min(marks, key=marks.__getitem__), max(marks, key=marks.__getitem__)
    by = time_span(marks[first] - marks[last], section.streams[last].stream.tick_ns)
    return [f"watermark: {last} is furthest behind, {by} behind {first}"]


def _switch_lines(section: JoinSection) -> list[str]:
    switches = [
        f"{_place(section, s)}, row {s.at_row:,}: "
        + (f"{what_moved(s.before, s.after)}: {s.reason}" if s.before != s.after else s.reason)
        for s in section.switches
    ]
    return [*switches, *section.plans.change_lines()]


def _place(section: JoinSection, switch: SwitchReport) -> str:
    """Return where the switch was made. The name of a worker ends with the stream, as in `bucket 3 a`."""
    stream = max((s for s in section.streams if switch.worker.endswith(f" {s}")), key=len, default="")
    worker = switch.worker.removesuffix(f" {stream}")
    place = stream if section.kind == "local" and stream else f"{stream} in {worker}" if stream else worker
    return place if switch.batch is None else f"batch {switch.batch}, {place}"


def as_text(section: JoinSection) -> str:
    """Return a table and the facts below it."""
    lines = [title(section), *(f"  {line}" for line in aligned(_table(section), left=_LEFT))]
    for indent, sentences in ((2, facts(section)), (4, _switch_lines(section))):
        for fact in sentences:
            lines += wrapped(fact, indent, width=max(WIDTH, columns_of(lines[1])))
    for mesh in section.meshes.values():
        lines += ["  " + line for line in str(mesh).splitlines()]
    return "\n".join(map(printable, lines))


def as_html(section: JoinSection) -> str:
    """Return HTML with inline styles only, because notebooks keep those."""
    count = plural(section.all_switches, "switch", "switches")
    return (
        f"{paragraph(title(section))}{table(_table(section), left=_LEFT)}{paragraph(*facts(section))}"
        f"{folded(count, _switch_lines(section), is_open=len(section.switches) <= 3)}"
        f"{''.join(mesh._repr_html_() for mesh in section.meshes.values())}"
    )
