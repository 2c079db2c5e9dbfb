"""What a paper says, and what we measured of it.

A claim is a number (`Number`) or a sentence of the prose (`Statement`) with the comparison that decides it. Either way
the verdict is computed from what was measured; what a person writes is the claim before, and the reason after.

>>> claim = Number("A-Greedy, n = 8", "1.49", expected=1.49, tolerance=0.01)
>>> claim.judge(1.495).holds, claim.judge(1.6).holds
(True, False)
>>> better = Statement("never slower", "section 9", holds=lambda r: min(r) >= 1, measured=lambda r: f"least {min(r)}")
>>> better.judge([1.2, 1.5])
Finding(about='never slower', paper='section 9', measured='least 1.2', holds=True, exact=False, why='')
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim beside what was measured: words and a verdict, ready to be shown or stored."""

    about: str
    paper: str
    measured: str
    holds: bool
    exact: bool = False
    """It follows from the algorithm: where it does not hold, the code is wrong."""
    why: str = ""
    """Why it does not hold here; empty where it does."""


@dataclass(frozen=True, slots=True)
class Number:
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
    exact: bool = False
    unit: str = ""
    why: str = ""
    """Written once it was found not to hold, and shown only then."""

    def judge(self, measured: float) -> Finding:
        """Whether the measurement agrees."""
        holds = abs(measured - self.expected) <= self.tolerance * abs(self.expected)
        paper = f"{self.paper} ({self.reading})" if self.reading else self.paper
        why = "" if holds else self.why
        return Finding(self.about, paper, f"{measured:.4g}{self.unit}", holds, self.exact, why)


@dataclass(frozen=True)  # no slots: Python 3.11 cannot make a Statement[R] that has them
class Statement(Generic[R]):
    """One sentence of a paper, in our words, decided by what an experiment returned."""

    about: str
    paper: str
    """Where it says so, and how, in a few words."""
    holds: Callable[[R], bool]
    measured: Callable[[R], str]
    """The numbers that decide it."""
    why: str = ""
    """Written once it was found not to hold, and shown only then."""

    def judge(self, results: R) -> Finding:
        """Whether the results bear it out."""
        holds = bool(self.holds(results))
        return Finding(self.about, self.paper, self.measured(results), holds, why="" if holds else self.why)


def judged(claims: Sequence[Statement[R]], results: R) -> list[Finding]:
    """All of them over the same results."""
    return [claim.judge(results) for claim in claims]


def reasons(findings: Sequence[Finding]) -> dict[str, list[str]]:
    """Why claims do not hold, each reason once, with what it explains; an empty one where none was written.

    >>> reasons([Finding("a", "", "1", False, why="noise"), Finding("b", "", "2", False, why="noise")])
    {'noise': ['a', 'b']}
    """
    found: dict[str, list[str]] = {}
    for finding in findings:
        if not finding.holds:
            found.setdefault(finding.why, []).append(finding.about)
    return found
