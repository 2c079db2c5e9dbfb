"""The adaptive parts of one run of a query, and what they report together."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from thalweg.events import Record
from thalweg.report import JoinReport, Report


class Part(Protocol):
    """A filter or a join of a plan that adapts: a `Filters` or a `Join` on Spark, a `LocalPart` in this process."""

    listeners: list[Callable[[Record], None]]
    """Called with every event record."""

    def report(self) -> Report | JoinReport:
        """What has been counted so far."""
        ...


@dataclass
class Parts:
    """By what they do, in the order rows meet them."""

    named: dict[str, Part] = field(default_factory=dict)
    groups: list[Any] = field(default_factory=list)
    """Counts of the windows' groups, the latest."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Rows by stream that came too late for its window of rows."""

    def add(self, name: str, part: Part) -> None:
        """One more."""
        self.named[name] = part

    def report(self) -> QueryReport:
        """What they have counted so far."""
        reports = tuple((name, part.report()) for name, part in self.named.items())
        return QueryReport(reports, tuple(self.groups), dict(self.left_out))


@dataclass(frozen=True, repr=False)
class QueryReport:
    """What the adaptive parts of a query did. `print(report)`, `report.to_dict()`, or the last line of a notebook
    cell."""

    parts: tuple[tuple[str, Report | JoinReport], ...]
    groups: tuple[Any, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Rows by stream that came too late for its window of rows."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "parts": {name: report.to_dict() for name, report in self.parts},
            "groups": [{k: getattr(g, k) for k in g.__slots__} for g in self.groups],
            "left_out": dict(self.left_out),
        }

    def _lines(self) -> list[str]:
        told = [f"groups: {of_groups(counts)}" for counts in self.groups]
        return told + [
            f"{alias}: {rows:,} rows came later than its lateness allows and are in no window of rows"
            for alias, rows in self.left_out.items()
        ]

    def __str__(self) -> str:
        told = [f"{name}\n{'-' * len(name)}\n{report}" for name, report in self.parts]
        told += self._lines()
        return "\n\n".join(told) or "Nothing here adapts: the query is carried out as it is planned."

    __repr__ = __str__

    def _repr_html_(self) -> str:
        told = [f"<h4>{html.escape(name)}</h4>{report._repr_html_()}" for name, report in self.parts]
        told += [f"<p>{html.escape(line)}</p>" for line in self._lines()]
        return "".join(told) or f"<p>{html.escape(str(self))}</p>"


def of_groups(counts: Any) -> str:
    """What the windows of groups counted."""
    late = f", {counts.late:,} late and in none" if counts.late else ""
    timeless = f", {counts.no_time:,} without a time and in none" if counts.no_time else ""
    return f"{counts.rows:,} rows in, {counts.results:,} groups out, at most {counts.most_held:,} held{late}{timeless}"
