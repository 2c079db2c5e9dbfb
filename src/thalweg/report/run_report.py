"""The base class of filter and join reports: older runs in one line each, the latest in full, and what is pending."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from thalweg.draw.html import paragraph
from thalweg.formatting import plural
from thalweg.printable import printable
from thalweg.report.view import View

SHOWN_IN_FULL = 5
"""The number of latest runs that are shown in full; `foreachBatch` makes one run per micro-batch."""


class Dictionary(Protocol):
    """A section of a report."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON."""
        ...


S = TypeVar("S", bound=Dictionary)


@dataclass(frozen=True, slots=True, repr=False)
class RunReport(View, Generic[S]):
    """A report with one section per query or run.

    Use `print(report)`, `report.to_dict()`, `report.save("report.html")`, or the last line of a notebook cell.
    """

    sections: tuple[S, ...]
    """One section per query or run, the latest last."""
    pending: int = 0
    """Batch DataFrames on which no action has finished yet."""
    unobserved: int = 0
    """Batch DataFrames whose first action finished without a record: it failed, or it read no rows."""
    deaths: tuple[str, ...] = ()
    """Sentences about Python workers on this host that ended inside a predicate."""
    left_out: int = 0
    """Number of older runs that are no longer kept."""

    nothing: ClassVar[str]
    """The text of a report without any run."""
    done: ClassVar[str]
    """A word for what was done to a DataFrame, such as "filtered"."""
    again: ClassVar[str]
    """The call that does it."""

    def _line(self, section: S) -> str:
        """Return one line about an older run."""
        raise NotImplementedError

    def _text(self, section: S) -> str:
        raise NotImplementedError

    def _html(self, section: S) -> str:
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON.

        Returns
        -------
        dict
            ``sections`` has one dict per query or run; the other keys are the attributes of the report.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> keep = tw.filters(tw.predicate(str.isdigit, "code"))
        >>> batches = list(keep.over(pa.table({"code": ["7", "x7"]})))
        >>> report = keep.report().to_dict()
        >>> report["sections"][0]["kept"], report["pending"]
        (1, 0)
        """
        return {
            "sections": [section.to_dict() for section in self.sections],
            "pending": self.pending,
            "unobserved": self.unobserved,
            "deaths": list(self.deaths),
            "left_out": self.left_out,
        }

    def __str__(self) -> str:
        before = "\n".join(map(printable, self._before()))
        parts = [before] if before else []
        parts += [self._text(section) for section in self.sections[-SHOWN_IN_FULL:]]
        return "\n\n".join([*parts, *map(printable, self._after())])

    def _before(self) -> list[str]:
        """Return the older runs, one line each."""
        older = [self._line(section) for section in self.sections[:-SHOWN_IN_FULL]]
        if self.left_out:
            verb = "is" if self.left_out == 1 else "are"
            older.insert(0, f"{plural(self.left_out, 'older run')} {verb} left out; an events file keeps all runs")
        return older

    def _after(self) -> list[str]:
        """Return the lines after the sections."""
        lines = []
        if self.pending:
            lines.append(f"{plural(self.pending, f'{self.done} DataFrame')} with no finished action yet.")
        if self.unobserved:
            lines.append(
                f"On {plural(self.unobserved, 'DataFrame')} the first action left no record: it failed, or read no "
                f"rows. Spark observes only the first action; call {self.again} again to count another one."
            )
        lines += self.deaths
        return lines if lines or self.sections else [self.nothing]

    def _repr_html_(self) -> str:
        before = self._before()
        parts = [paragraph(*before)] if before else []
        parts += [self._html(section) for section in self.sections[-SHOWN_IN_FULL:]]
        parts += map(paragraph, self._after())
        return "".join(parts)


def in_runs(report: RunReport[Any]) -> str:
    """Return over which runs an explanation sums its counts; empty if there is one run.

    >>> in_runs(RunReport(("first", "second"))), in_runs(RunReport(("only",)))
    (', summed over 2 runs', '')
    >>> in_runs(RunReport(("second", "third"), left_out=1))
    ', summed over the latest 2 runs of 3'
    """
    runs = len(report.sections)
    if report.left_out:
        latest = f"summed over the latest {runs} runs" if runs > 1 else "in the latest run"
        return f", {latest} of {runs + report.left_out:,}"
    return f", summed over {runs} runs" if runs > 1 else ""
