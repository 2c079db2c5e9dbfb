"""The report people and programs read."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

from thalweg.report.section import Section
from thalweg.report.view import as_html, as_text, in_one_line
from thalweg.report.words import many

NOTHING = (
    "Nothing has run yet: use df.transform(keep) and start an action or a query, or read what keep.over(batches) "
    "gives, which tells every 100,000 rows and at its end."
)
SHOWN_IN_FULL = 5
"""Of the runs, the latest; a `foreachBatch` makes one a micro-batch."""


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """One section a query or run. `print(report)`, `report.to_dict()`, or the last line of a notebook cell."""

    sections: tuple[Section, ...]
    pending: int = 0
    """Batch DataFrames on which no action has ended yet."""
    unobserved: int = 0
    """Batch DataFrames whose first action ended and left nothing: it failed, or it read no rows."""
    deaths: tuple[str, ...] = ()
    """Sentences about Python workers on this host that ended inside a predicate."""
    left_out: int = 0
    """Older runs that are not remembered any more."""

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
        parts += [as_text(section) for section in self.sections[-SHOWN_IN_FULL:]]
        return "\n\n".join([*parts, *self._behind()])

    __repr__ = __str__

    def _before(self) -> list[str]:
        """The older runs, a line each."""
        older = [in_one_line(section) for section in self.sections[:-SHOWN_IN_FULL]]
        if self.left_out:
            verb = "is" if self.left_out == 1 else "are"
            older.insert(0, f"{many(self.left_out, 'older run')} {verb} left out; an events file has them all")
        return older

    def _behind(self) -> list[str]:
        """What is known besides the runs."""
        told = []
        if self.pending:
            told.append(f"{many(self.pending, 'DataFrame')} filtered on which no action has ended yet.")
        if self.unobserved:
            told.append(
                f"On {many(self.unobserved, 'DataFrame')} the first action left nothing: it failed, or read no rows. "
                "Spark observes only the first action; df.transform(keep) again to have another counted."
            )
        told += self.deaths
        return told if told or self.sections else [NOTHING]

    def _repr_html_(self) -> str:
        before = "<br>".join(html.escape(line) for line in self._before())
        parts = [f"<p>{before}</p>"] if before else []
        parts += [as_html(section) for section in self.sections[-SHOWN_IN_FULL:]]
        parts += [f"<p>{html.escape(line)}</p>" for line in self._behind()]
        return "".join(parts)
