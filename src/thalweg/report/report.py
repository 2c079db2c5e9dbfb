"""The report people and programs read."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

from thalweg.report.section import Section
from thalweg.report.view import as_html, as_text


@dataclass(frozen=True, slots=True)
class Report:
    """One section a query or run. `print(report)`, `report.to_dict()`, or the last line of a notebook cell."""

    sections: tuple[Section, ...]
    pending: int = 0
    """Batch DataFrames on which no action has ended yet."""
    unobserved: int = 0
    """Batch DataFrames whose first action ended and left nothing: it failed, or it read no rows."""
    deaths: tuple[str, ...] = ()
    """Sentences about Python workers on this host that ended inside a predicate."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "sections": [section.to_dict() for section in self.sections],
            "pending": self.pending,
            "unobserved": self.unobserved,
            "deaths": list(self.deaths),
        }

    def __str__(self) -> str:
        parts = [as_text(section) for section in self.sections]
        if self.pending:
            parts.append(f"{self.pending} DataFrame(s) filtered, but no action on them has ended yet.")
        if self.unobserved:
            parts.append(
                f"On {self.unobserved} DataFrame(s) the first action left nothing: it failed, or read no rows. "
                "Spark observes only the first action; df.transform(keep) again to have another counted."
            )
        parts += self.deaths
        return "\n\n".join(parts) or "Nothing has run yet: use df.transform(keep) and start an action or a query."

    def _repr_html_(self) -> str:
        parts = [as_html(section) for section in self.sections]
        if self.pending or self.unobserved or self.deaths or not parts:
            parts.append(f"<p>{html.escape(str(Report((), self.pending, self.unobserved, self.deaths)))}</p>")
        return "".join(parts)
