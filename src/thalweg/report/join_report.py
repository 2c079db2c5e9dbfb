"""What a join did with each of its streams, and why it probed as it did; folded from event records."""

from __future__ import annotations

import html
import threading
from collections import OrderedDict, deque
from dataclasses import asdict, dataclass, field
from typing import Any

from thalweg.events import JoinObserved, Record, VerdictGiven
from thalweg.report.section import SwitchReport
from thalweg.report.words import many, what_moved

MOST_SECTIONS = 100
LATEST_SWITCHES = 20
NEAR = 0.1
"""A row that has had this share of the results it may have is worth a word."""
NOTHING = "Nothing has run yet: read what j.over(a=..., b=...) gives."
_SUMS = ("rows", "late", "no_time", "no_key", "kept", "results", "profile_tuples", "looked", "total_ns", "profiling_ns",
         "reoptimizing_ns", "expired", "filtered")  # fmt: skip
_OF_TABLES = ("rows", "window_rows", "window_bytes", "no_key", "filtered")
_LISTS = ("evaluated", "passed", "profiled")


@dataclass(slots=True)
class StreamReport:
    """Of one stream or table. Lists go with `others`, the streams its rows are probed for; a table probes for none."""

    stream: str
    others: tuple[str, ...]
    order: tuple[str, ...] = ()
    rows: int = 0
    late: int = 0
    no_time: int = 0
    no_key: int = 0
    kept: int = 0
    results: int = 0
    evaluated: list[int] = field(default_factory=list)
    passed: list[int] = field(default_factory=list)
    profiled: list[int] = field(default_factory=list)
    profile_tuples: int = 0
    looked: int = 0
    total_ns: int = 0
    profiling_ns: int = 0
    reoptimizing_ns: int = 0
    expired: int = 0
    window_rows: int = 0
    window_bytes: int = 0
    most_rows: int = 0
    most_bytes: int = 0
    filtered: int = 0
    most_late: int = 0
    watermark: int | None = None
    most_matches: int = 0
    hottest: str = ""
    limit: int = 0

    def add(self, record: JoinObserved) -> None:
        """Sums grow; what is said of now is replaced."""
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(record, name))
        for name in _LISTS:
            before = getattr(self, name) or [0] * len(self.others)
            setattr(self, name, [a + b for a, b in zip(before, getattr(record, name), strict=True)])
        for name in (
            "order", "window_rows", "window_bytes", "most_rows", "most_bytes", "most_late", "watermark", "most_matches",
            "hottest", "limit",
        ):  # fmt: skip
            setattr(self, name, getattr(record, name))

    @property
    def probes(self) -> int:
        """Made for ordinary work and to learn something."""
        return sum(self.evaluated) + sum(self.profiled)


@dataclass(slots=True)
class JoinSection:
    """One pass or query."""

    run: str
    kind: str
    policy: str
    streams: dict[str, StreamReport] = field(default_factory=dict)
    tables: dict[str, StreamReport] = field(default_factory=dict)
    switches: deque[SwitchReport] = field(default_factory=lambda: deque(maxlen=LATEST_SWITCHES))
    all_switches: int = 0

    @property
    def results(self) -> int:
        """Put together so far."""
        return sum(stream.results for stream in self.streams.values())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "run": self.run, "kind": self.kind, "policy": self.policy, "results": self.results,
            "streams": {alias: asdict(stream) for alias, stream in self.streams.items()},
            "tables": {a: {name: getattr(table, name) for name in _OF_TABLES} for a, table in self.tables.items()},
            "switches": self.all_switches, "latest_switches": [asdict(switch) for switch in self.switches],
        }  # fmt: skip

    def facts(self) -> list[str]:
        """Sentences about what is no number of the table."""
        told = []
        for s in self.streams.values():
            lost = [
                (s.late, f"late, by up to {s.most_late:,} ticks of its time, not joined"),
                (s.no_time, "without a time, not joined"),
                (s.no_key, "with a key that equals nothing, not joined"),
                (s.filtered, "dropped by a condition on this stream"),
            ]
            told += [f"{s.stream}: {many(count, 'row')} {what}" for count, what in lost if count]
            if s.most_matches > NEAR * s.limit:
                told.append(
                    f"{s.stream}: a row ({s.hottest}) had {s.most_matches:,} matches by its keys; more than "
                    f"{s.limit:,} (max_matches) fail the join"
                )
        for t in self.tables.values():
            held = f"{many(t.window_rows, 'row')} held, {t.window_bytes / 1e6:,.1f} MB"
            left = [(t.no_key, "with a key that equals nothing"), (t.filtered, "dropped by a condition on this table")]
            told.append(", ".join([f"{t.stream}: a table, {held}", *(f"{n:,} {what}" for n, what in left if n)]))
        total = sum(s.total_ns for s in self.streams.values()) or 1
        shares = ", ".join(
            f"{name} {100 * sum(getattr(s, f'{field_}_ns') for s in self.streams.values()) / total:.1f} %"
            for name, field_ in (("profiling", "profiling"), ("re-optimizing", "reoptimizing"))
        )
        told.append(f"{total / 1e9:.2f} s, of which {shares}; {many(self.all_switches, 'switch', 'switches')}")
        told += [
            f"  {s.worker.split()[-1]}, row {s.at_row:,}: {what_moved(s.before, s.after)}: {s.reason}"
            for s in self.switches
        ]
        return told

    def cells(self) -> list[tuple[str, ...]]:
        """The table."""
        return [
            (
                s.stream, f"{s.rows:,}", f"{s.kept:,}", f"{s.results:,}", " > ".join(map(s.probe, s.order)),
                f"{s.window_rows:,}", f"{s.most_rows:,}", f"{s.most_bytes / 1e6:,.1f} MB",
            )
            for s in map(_Line, self.streams.values())
        ]  # fmt: skip


class _Line:
    """A stream, with its probes as words."""

    def __init__(self, stream: StreamReport) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def probe(self, other: str) -> str:
        k = self._stream.others.index(other)
        seen = self._stream.evaluated[k]
        return f"{other} {100 * self._stream.passed[k] / seen:.0f} %" if seen else other


_HEAD = (
    "stream",
    "rows",
    "with partners",
    "results",
    "probes (share that finds one)",
    "in window",
    "most",
    "memory",
)


@dataclass(frozen=True, slots=True, repr=False)
class JoinReport:
    """`print(report)`, `report.to_dict()`, or the last line of a notebook cell."""

    sections: tuple[JoinSection, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"sections": [section.to_dict() for section in self.sections]}

    def __str__(self) -> str:
        return "\n\n".join(_text(section) for section in self.sections[-5:]) or NOTHING

    __repr__ = __str__

    def _repr_html_(self) -> str:
        if not self.sections:
            return f"<p>{NOTHING}</p>"
        return "".join(_html(section) for section in self.sections[-5:])


def _text(section: JoinSection) -> str:
    rows = [_HEAD, *section.cells()]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEAD))]
    lines = [f"{section.run}: {many(section.results, 'result')}, policy {section.policy}"]
    for row in rows:
        cells = [c.ljust(w) if i in (0, 4) else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        lines.append("  " + "  ".join(cells).rstrip())
    return "\n".join([*lines, *("  " + fact for fact in section.facts())])


def _html(section: JoinSection) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in _HEAD)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in section.cells()
    )
    facts = "".join(f"<li>{html.escape(fact.strip())}</li>" for fact in section.facts())
    title = html.escape(f"{section.run}: {many(section.results, 'result')}, policy {section.policy}")
    return f"<p>{title}</p><table><tr>{head}</tr>{body}</table><ul>{facts}</ul>"


class JoinTally:
    """Folds records into sections, from any thread."""

    def __init__(self) -> None:
        self._sections: OrderedDict[str, JoinSection] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, record: Record) -> None:
        """One record more."""
        with self._lock:
            section = self._sections.setdefault(record.run, JoinSection(record.run, "local", ""))
            if isinstance(record, JoinObserved):
                section.kind, section.policy = record.kind, record.policy
                among = section.tables if record.table else section.streams
                among.setdefault(record.stream, StreamReport(record.stream, record.others)).add(record)
                section.all_switches += record.omitted_switches
            elif isinstance(record, VerdictGiven):
                section.all_switches += 1
                section.switches.append(
                    SwitchReport(record.batch, record.worker, record.at_row, record.before, record.after, record.reason)
                )
            while len(self._sections) > MOST_SECTIONS:
                self._sections.popitem(last=False)

    def report(self) -> JoinReport:
        """A copy of what is known now."""
        from copy import deepcopy

        with self._lock:
            return JoinReport(tuple(deepcopy(section) for section in self._sections.values() if section.streams))
