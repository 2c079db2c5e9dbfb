"""A route on which the order of all filters is open, for policies that decide at run time (Eddies).

A policy with such a route has it as `mesh`, where other policies have a mesh or None. The loop asks for the slices of
the lottery before each slice of rows (`slices_of`), and cuts the rows into rusters of at most `ruster_rows` rows. Each
decision is made for one ruster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.errors import PlanError
from thalweg.plan.filters.pipeline import Pipeline

Numbers = NDArray[np.float64]
Codes = NDArray[np.int64]
MOST_BATCH = 16_384


@dataclass(frozen=True, slots=True)
class EddySettings:
    """The settings of the policies `eddy` and `eddy-cbr`."""

    batch: int = 100
    """The rows for which one decision is made. With 1, each row is routed by itself, and each decision costs a call of
    a filter. With many, decisions are rare and follow the data late."""

    def __post_init__(self) -> None:
        rows: Any = self.batch
        if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= MOST_BATCH:
            raise PlanError(f"batch={rows!r}: the rows per decision must be a whole number from 1 to {MOST_BATCH:,}")


@dataclass(slots=True)
class OpenRoute:
    """One open set of all filters, and the slices of the lottery."""

    order: tuple[int, ...]
    """The order in which filters are listed; it respects the guards."""
    ruster_rows: int
    slices: Numbers = field(default_factory=lambda: np.zeros(0))
    """By filter. The policy replaces them as it learns."""

    @classmethod
    def equal(cls, pipeline: Pipeline, ruster_rows: int) -> OpenRoute:
        """Return the route with equal slices."""
        return cls(pipeline.start, ruster_rows, np.zeros(len(pipeline)))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns on which slices depend."""
        return ()

    def slices_of(self, values: Mapping[str, pa.Array], rows: int) -> tuple[Codes, Numbers]:
        """Divide rows into classes.

        Parameters
        ----------
        values
            The values of `columns`.
        rows
            The number of rows.

        Returns
        -------
        tuple
            The class of each row, and by class and filter the slices of the lottery.
        """
        return np.zeros(rows, np.int64), self.slices[None, :]
