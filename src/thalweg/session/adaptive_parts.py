"""The adaptive parts of one run of a query, and their combined report."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from thalweg.draw.html import paragraph
from thalweg.draw.svg import escaped
from thalweg.formatting import plural
from thalweg.optimizer.interval_choice import BUSY
from thalweg.optimizer.trigger_interval import choose_interval
from thalweg.printable import columns_of, printable
from thalweg.report import JoinReport, Report
from thalweg.report.batch_intervals import batch_sentence
from thalweg.report.view import View
from thalweg.runtime.receiver import Receiver
from thalweg.stats.batch_time import BatchTimes


@dataclass
class AdaptiveParts:
    """The adaptive parts of a run by name, in the order in which rows reach them."""

    named: dict[str, Receiver[Report | JoinReport]] = field(default_factory=dict)
    """The receivers of their records."""
    groups: list[Any] = field(default_factory=list)
    """The latest counts of grouped windows."""
    left_out: dict[str, int] = field(default_factory=dict)
    """The number of rows, by stream, that were too late for its window of rows."""
    batch_times: BatchTimes | None = None
    """The times of the micro-batches of a Spark stream."""
    busy: float = BUSY
    """The share of the time in which the query may be busy, with ``trigger="auto"``."""
    sink: tuple[str, ...] = ()
    """Sentences about who writes the results of a Spark stream; empty if it was not started."""

    def __reduce__(self) -> tuple[type[AdaptiveParts], tuple[()]]:
        """Pickle without the parts: a copy of a query in another process starts an empty report."""
        return AdaptiveParts, ()

    def report(self) -> QueryReport:
        """Return what all parts have counted so far."""
        reports = tuple((name, part.report()) for name, part in self.named.items())
        times = copy(self.batch_times)  # micro-batches that end later are not in this report
        return QueryReport(reports, tuple(self.groups), dict(self.left_out), times, self.busy)


@dataclass(frozen=True, repr=False)
class QueryReport(View):
    """The report of a query: what its adaptive parts did.

    Use `print(report)`, `report.to_dict()`, `report.save("report.html")`, or the last line of a notebook cell.
    """

    parts: tuple[tuple[str, Report | JoinReport], ...]
    """The adaptive filters and joins by name, each with its report."""
    groups: tuple[Any, ...] = ()
    """The counts of grouped windows."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """The number of rows, by stream, that were too late for its window of rows."""
    batch_times: BatchTimes | None = None
    """The times of the micro-batches of a Spark stream."""
    busy: float = BUSY
    """The share of the time in which the query may be busy, with ``trigger="auto"``."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON.

        Returns
        -------
        dict
            ``parts`` has the report of each adaptive part by name, ``groups`` the counts of grouped windows, and
            ``left_out`` the number of rows, by stream, that were too late for a window of rows.

        Examples
        --------
        >>> from thalweg.session import QueryReport
        >>> QueryReport(parts=(), left_out={"events": 2}).to_dict()
        {'parts': {}, 'groups': [], 'left_out': {'events': 2}}
        """
        return {
            "parts": {name: report.to_dict() for name, report in self.parts},
            "groups": [{k: getattr(g, k) for k in g.__slots__} for g in self.groups],
            "left_out": dict(self.left_out),
            **({} if self.batch_times is None else {"batches": self.batch_times.to_dict()}),
        }

    def _lines(self) -> list[str]:
        lines = [f"groups: {of_groups(counts)}" for counts in self.groups]
        lines += [
            f"{alias}: {plural(rows, 'row')} arrived later than its lateness allows and "
            f"{'is' if rows == 1 else 'are'} in no window of rows"
            for alias, rows in self.left_out.items()
        ]
        if self.batch_times is not None and self.batch_times.batches:
            lines.append(batch_sentence(choose_interval(self.batch_times, self.busy)))
        return lines

    def __str__(self) -> str:
        names = [printable(name) for name, _ in self.parts]
        texts = [
            f"{name}\n{'-' * columns_of(name)}\n{report}" for name, (_, report) in zip(names, self.parts, strict=True)
        ]
        texts += map(printable, self._lines())
        return "\n\n".join(texts) or "Nothing to report: the query has not run yet, or nothing in it adapts."

    def _repr_html_(self) -> str:
        parts = [f"<h4>{escaped(name)}</h4>{report._repr_html_()}" for name, report in self.parts]
        parts += map(paragraph, self._lines())
        return "".join(parts) or paragraph(str(self))

    def _title(self) -> str:
        return "Report of a query"


def of_groups(counts: Any) -> str:
    """Return a sentence about the counts of grouped windows."""
    rows, groups = plural(counts.rows, "row"), plural(counts.results, "group")
    late = f", {counts.late:,} late and in no group" if counts.late else ""
    timeless = f", {counts.no_time:,} without a time and in no group" if counts.no_time else ""
    return f"{rows} in, {groups} out, at most {counts.most_held:,} held{late}{timeless}"
