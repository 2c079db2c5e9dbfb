"""What every report says around its sections: which runs are left out or shown in a line, and what is waited for."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from thalweg.report.words import many

SHOWN_IN_FULL = 5
"""Of the runs, the latest; a `foreachBatch` makes one a micro-batch."""


class Dictionary(Protocol):
    """A section."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        ...


S = TypeVar("S", bound=Dictionary)


@dataclass(frozen=True, slots=True, repr=False)
class RunReport(Generic[S]):
    """One section a query or run. `print(report)`, `report.to_dict()`, or the last line of a notebook cell."""

    sections: tuple[S, ...]
    pending: int = 0
    """Batch DataFrames on which no action has ended yet."""
    unobserved: int = 0
    """Batch DataFrames whose first action ended and left nothing: it failed, or it read no rows."""
    deaths: tuple[str, ...] = ()
    """Sentences about Python workers on this host that ended inside a predicate."""
    left_out: int = 0
    """Older runs that are not remembered any more."""

    nothing: ClassVar[str]
    """Said when nothing has run."""
    done: ClassVar[str]
    """What was done to a DataFrame."""
    again: ClassVar[str]
    """How it is done."""

    def _line(self, section: S) -> str:
        """For a run that others have followed."""
        raise NotImplementedError

    def _text(self, section: S) -> str:
        raise NotImplementedError

    def _html(self, section: S) -> str:
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "sections": [section.to_dict() for section in self.sections],
            "pending": self.pending,
            "unobserved": self.unobserved,
            "deaths": list(self.deaths),
            "left_out": self.left_out,
        }

    def __str__(self) -> str:
        before = "\n".join(self._before())
        parts = [before] if before else []
        parts += [self._text(section) for section in self.sections[-SHOWN_IN_FULL:]]
        return "\n\n".join([*parts, *self._behind()])

    __repr__ = __str__

    def _before(self) -> list[str]:
        """The older runs, a line each."""
        older = [self._line(section) for section in self.sections[:-SHOWN_IN_FULL]]
        if self.left_out:
            verb = "is" if self.left_out == 1 else "are"
            older.insert(0, f"{many(self.left_out, 'older run')} {verb} left out; an events file has them all")
        return older

    def _behind(self) -> list[str]:
        """What is known besides the runs."""
        told = []
        if self.pending:
            told.append(f"{many(self.pending, 'DataFrame')} {self.done} on which no action has ended yet.")
        if self.unobserved:
            told.append(
                f"On {many(self.unobserved, 'DataFrame')} the first action left nothing: it failed, or read no rows. "
                f"Spark observes only the first action; {self.again} again to have another counted."
            )
        told += self.deaths
        return told if told or self.sections else [self.nothing]

    def _repr_html_(self) -> str:
        before = "<br>".join(html.escape(line) for line in self._before())
        parts = [f"<p>{before}</p>"] if before else []
        parts += [self._html(section) for section in self.sections[-SHOWN_IN_FULL:]]
        parts += [f"<p>{html.escape(line)}</p>" for line in self._behind()]
        return "".join(parts)
