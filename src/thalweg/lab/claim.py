"""What a paper says, and what we measured of it.

>>> claim = Claim("A-Greedy, n = 8", "1.49", expected=1.49, tolerance=0.01)
>>> Finding(claim, 1.495).holds, Finding(claim, 1.6).holds
(True, False)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Claim:
    """One number a paper gives."""

    about: str
    paper: str
    """As it is printed there."""
    expected: float
    """The number it comes to."""
    tolerance: float = 1e-9
    """By which share of it a measurement may differ and still agree."""
    reading: str = ""
    """How the printed words must be read, where they cannot be taken as they stand."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim and its measurement."""

    claim: Claim
    measured: float

    @property
    def holds(self) -> bool:
        """Whether the measurement agrees."""
        return abs(self.measured - self.claim.expected) <= self.claim.tolerance * abs(self.claim.expected)


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment of a paper."""

    title: str
    reference: str
    measure: Callable[[bool], list[Finding]]
    """Runs it, smaller when asked to be quick."""
