"""Estimates of the parts of a plan before it runs. `report` turns them into sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from thalweg.plan.estimate import Estimate


@dataclass(frozen=True)
class PartnersEstimate:
    """The partners that one row of another source finds in the window of this one: a directed edge of the join."""

    of: str
    """The alias of the other source, whose rows look for partners."""
    column: str | None
    """The column whose values decide; None: the key is computed from several."""
    values: Estimate | None
    """The number of distinct values of the column."""
    partners: Estimate | None
    """The number of partners per row of the other source."""

    @property
    def share_found(self) -> float | None:
        """The share of rows that find a partner, if partners are distributed at random; None: it is unknown."""
        return None if self.partners is None else -math.expm1(-self.partners.value)


@dataclass(frozen=True)
class SourceEstimates:
    """The estimates for one stream or table of a query. None: unknown."""

    rows_per_second: Estimate | None = None
    rows: Estimate | None = None
    """The number of rows in its window, or in the table, before filters."""
    kept: Estimate | None = None
    """The share of rows that its filters keep; None: it has no filters."""
    partners: tuple[PartnersEstimate, ...] = ()
    """One estimate for each source whose rows look for partners here."""


@dataclass(frozen=True)
class PlanEstimates:
    """The estimates for all sources, by alias, for pairs of them, and for user functions, by name."""

    sources: Mapping[str, SourceEstimates] = field(default_factory=dict)
    shares: Mapping[frozenset[str], Estimate] = field(default_factory=dict)
    """The share of pairs of rows that join, by the aliases of two sources that an equality connects."""
    costs_us: Mapping[str, Estimate] = field(default_factory=dict)
    """The cost of functions per row, in microseconds. A function that is missing has an unknown cost."""
