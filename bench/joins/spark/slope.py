"""Whether a batch takes longer the later it comes: a straight line through the times of batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ERRORS = 2.0
"""The number of standard errors from which a slope counts as growth."""


@dataclass(frozen=True)
class Slope:
    """Least squares. `error` is the standard error of the slope.

    >>> fitted = slope_of([10.0, 12.0, 11.0, 13.0, 15.0, 14.0])
    >>> round(fitted.ms, 3), round(fitted.error, 3), fitted.grows
    (0.886, 0.232, True)
    >>> slope_of([10.0, 12.0, 11.0, 10.0, 12.0, 11.0]).grows
    False
    """

    ms: float
    """The slope in ms per batch."""
    error: float

    @property
    def grows(self) -> bool:
        """Whether the slope is larger than chance explains."""
        return self.ms > ERRORS * self.error


def slope_of(times_ms: Sequence[float]) -> Slope | None:
    """Return the slope; None for two batches or fewer."""
    y = np.asarray(times_ms, float)
    if len(y) < 3:
        return None
    x = np.arange(len(y)) - (len(y) - 1) / 2
    slope = float(x @ y / (x @ x))
    rest = y - y.mean() - slope * x
    return Slope(slope, float(np.sqrt(rest @ rest / (len(y) - 2) / (x @ x))))
