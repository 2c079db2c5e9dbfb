"""What is thought of the parts of a plan before it runs, as estimates. Sentences about them are made in `report`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from thalweg.plan.estimate import Estimate


@dataclass(frozen=True)
class PartnersEstimate:
    """What one row of another source finds in the window of this one: a directed edge of the join."""

    of: str
    """The alias of the other source, whose rows look."""
    column: str | None
    """The column whose values decide; None: the key is computed from several."""
    values: Estimate | None
    """How many different values it has."""
    partners: Estimate | None
    """How many rows are found per row that looks."""

    @property
    def share_found(self) -> float | None:
        """The share of rows that find a partner, if partners fall on rows at random; None: it is unknown."""
        return None if self.partners is None else -math.expm1(-self.partners.value)


@dataclass(frozen=True)
class SourceEstimates:
    """Of one stream or table of a query. None: it is unknown."""

    rows_per_second: Estimate | None = None
    rows: Estimate | None = None
    """In its window, or in the table, before filters."""
    kept: Estimate | None = None
    """The share of rows that its filters keep; None: it has no filters."""
    partners: tuple[PartnersEstimate, ...] = ()
    """One for each source whose rows look for partners here."""


@dataclass(frozen=True)
class PlanEstimates:
    """Of all sources, by alias, and of the user's functions, by name."""

    sources: Mapping[str, SourceEstimates] = field(default_factory=dict)
    costs_us: Mapping[str, Estimate] = field(default_factory=dict)
    """Per row, in microseconds; a function that is missing has an unknown cost."""
