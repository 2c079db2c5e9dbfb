"""Claims of a paper, and what we measured for them.

A claim is a number (`Number`) or a sentence of the prose (`Statement`) with the comparison that decides it. In both
cases the verdict is computed from the measurements. People write the claim before the run, and the reason after it.

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
    """A claim, what was measured and the verdict, as texts that can be shown or stored."""

    about: str
    paper: str
    measured: str
    holds: bool
    exact: bool = False
    """Whether it follows from the algorithm: if it does not hold, the code is wrong."""
    why: str = ""
    """Why it does not hold here; empty if it does."""


@dataclass(frozen=True, slots=True)
class Number:
    """One number that a paper gives."""

    about: str
    paper: str
    """The number as the paper prints it."""
    expected: float
    """The value of the number."""
    tolerance: float = 1e-9
    """The share of the number by which a measurement may differ and still agree."""
    reading: str = ""
    """How the printed text must be read, if it cannot be taken literally."""
    exact: bool = False
    unit: str = ""
    why: str = ""
    """Why it does not hold; written after the run, and shown only if it does not hold."""

    def judge(self, measured: float) -> Finding:
        """Return whether the measurement agrees with the number."""
        holds = abs(measured - self.expected) <= self.tolerance * abs(self.expected)
        paper = f"{self.paper} ({self.reading})" if self.reading else self.paper
        why = "" if holds else self.why
        return Finding(self.about, paper, f"{measured:.4g}{self.unit}", holds, self.exact, why)


@dataclass(frozen=True)  # no slots: Python 3.11 cannot make a Statement[R] that has them
class Statement(Generic[R]):
    """One sentence of a paper, in our words, decided by the results of an experiment."""

    about: str
    paper: str
    """Where the paper says so, and how, in a few words."""
    holds: Callable[[R], bool]
    measured: Callable[[R], str]
    """The numbers that decide it."""
    why: str = ""
    """Why it does not hold; written after the run, and shown only if it does not hold."""

    def judge(self, results: R) -> Finding:
        """Return whether the results confirm the sentence."""
        holds = bool(self.holds(results))
        return Finding(self.about, self.paper, self.measured(results), holds, why="" if holds else self.why)


def judged(claims: Sequence[Statement[R]], results: R) -> list[Finding]:
    """Judge all claims by the same results."""
    return [claim.judge(results) for claim in claims]


def reasons(findings: Sequence[Finding]) -> dict[str, list[str]]:
    """Return each reason why claims do not hold, with the claims it explains; the reason is empty if none was written.

    >>> reasons([Finding("a", "", "1", False, why="noise"), Finding("b", "", "2", False, why="noise")])
    {'noise': ['a', 'b']}
    """
    found: dict[str, list[str]] = {}
    for finding in findings:
        if not finding.holds:
            found.setdefault(finding.why, []).append(finding.about)
    return found
