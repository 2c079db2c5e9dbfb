"""The plans of a join that were compared, and the one that was chosen, as frozen data.

`choose_plan.py` makes a `PlanChoice`, and `compare_plans.py` makes what an explanation shows beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from thalweg.cost.ties import TIES, caution
from thalweg.plan.estimate import Origin
from thalweg.plan.joins.shape import Shape, plan_text
from thalweg.plan.joins.wanted_plan import WantedPlan
from thalweg.plan.objective import LEAST_CPU, LOCAL_RATE, Objective

Numbers = NDArray[np.float64]
SHOWN = 8
"""The most candidates in a table or a picture."""
LEVEL = 0.9
"""The probability with which a quantity is in its band."""


@dataclass(frozen=True)
class Band:
    """An expected value, and the interval that contains the quantity with a probability of 90 %."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, drawn: Numbers) -> Band:
        """Return the band of values of which the first is the expected one and the others are drawn."""
        return cls.of_each([drawn])[0]

    @classmethod
    def of_each(cls, drawn: Sequence[Numbers]) -> list[Band]:
        """Return the bands of several arrays of the same length."""
        low, high = np.quantile(np.array(drawn), [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=-1)
        values = [float(each[0]) for each in drawn]
        ends = zip(low.tolist(), high.tolist(), strict=True)
        return [cls(value, min(a, value), max(b, value)) for value, (a, b) in zip(values, ends, strict=True)]

    def times(self, factor: float) -> Band:
        """Return the band of the quantity multiplied by a constant."""
        return Band(self.value * factor, self.low * factor, self.high * factor)


@dataclass(frozen=True)
class Candidate:
    """A plan that was considered, and what is expected of it."""

    shape: Shape
    load: Band
    """CPU seconds per second of the streams, with full windows. Above the number of workers, they do not keep up."""
    memory: Band
    """Bytes of all windows and kept sub-joins, when they are full."""
    score: float
    """What the objective compares, at the expected values; less is better."""
    regret: float
    """By how many times its score exceeds that of the best plan, on average over the draws; 1 is the best."""
    cpu_regret: float
    """By how many times its CPU time exceeds the least one, on average over the draws."""
    searched: float | None = None
    """What the search of the objective estimates: the results by a time, or a time. None: it does not find such a
    plan, or the objective has no search."""
    fits: bool = True
    """Whether the upper end of its memory is within the limit, in which tables do not count."""

    @property
    def plan(self) -> str:
        """The plan as the argument `plan=` takes it."""
        return plan_text(self.shape)

    @property
    def cpu_weighted(self) -> float:
        """Its CPU time as it is compared: a plan that keeps sub-joins must save some."""
        return self.cpu_regret * caution(self.shape, LEAST_CPU)

    @property
    def cpu(self) -> float:
        """Expected CPU seconds per second of the streams."""
        return self.load.value

    @property
    def bytes(self) -> float:
        """Expected bytes of all windows and kept sub-joins."""
        return self.memory.value


@dataclass(frozen=True)
class PlanChoice:
    """The plan that is chosen, and why."""

    objective: Objective
    candidates: tuple[Candidate, ...]
    """The candidates, the chosen one first."""
    results: Band
    """Results per second with full windows, if the workers keep up."""
    origin: Origin
    """Where the weakest of the numbers comes from."""
    over_memory: bool = False
    """Whether no candidate is within the memory limit, so that the one with the least memory was chosen."""
    complete: bool = True
    """Whether all plans were compared."""
    shares: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """The expected share of pairs of rows of a bucket that join, by pair."""

    @property
    def chosen(self) -> Candidate:
        """The plan that is chosen."""
        return self.candidates[0]

    @property
    def compared(self) -> tuple[Candidate, ...]:
        """The candidates that could have been chosen: those within the memory limit if there are any, and of these the
        ones that the search of the objective finds. If all exceed the limit, memory decides between all of them."""
        if self.over_memory:
            return self.candidates
        found = [each for each in self.candidates if each.fits]
        return tuple([each for each in found if each.searched is not None] or found)

    @property
    def equal(self) -> tuple[Candidate, ...]:
        """The candidates that are as good as the chosen one in what the choice is by, which is one of them."""
        limit = min(map(self.first, self.compared)) * (1.0 + TIES)
        return tuple(each for each in self.compared if self.first(each) <= limit)

    def first(self, candidate: Candidate) -> float:
        """Return the number that candidates are compared by first, less is better."""
        if self.over_memory:
            return candidate.bytes
        if candidate.searched is not None:
            return 1.0 / candidate.searched if self.objective.search == LOCAL_RATE else candidate.searched
        return candidate.cpu_weighted if self.objective == LEAST_CPU else candidate.regret


@dataclass(frozen=True)
class TippingPoint:
    """The number that decides: where it is now, and at which value another plan would be the best."""

    quantity: tuple[str, ...]
    """Its name, as `JoinEstimates.quantities` has it."""
    value: float
    tips_at: float
    plan: Shape
    """The plan that is the best beyond that value."""
    held: Mapping[str, float]
    """The rows in the windows and tables of all buckets, by source."""


@dataclass(frozen=True)
class ResultsOverTime:
    """The results that plans are expected to have returned by some times."""

    times: Numbers
    expected: Mapping[Shape, Numbers]
    low: Mapping[Shape, Numbers]
    """The lower end of the 90 % band."""
    high: Mapping[Shape, Numbers]


@dataclass(frozen=True)
class ComparedPlans:
    """The plan that a join begins with, and what is known of the plans that were compared."""

    streams: int
    """The number of its streams and tables."""
    wanted: WantedPlan
    shape: Shape | None
    """The plan that it begins with; None: nothing is kept."""
    may_change: bool
    """Whether the plan may change while the join runs."""
    unknown: tuple[str, ...]
    """What would have to be known to compare plans."""
    choice: PlanChoice | None
    """None: the user has set the plan, something is unknown, or there is only one plan."""
    buckets: int
    all_memory: float
    """The bytes that all buckets together may need."""
    seconds: float
    """The time by which results are asked for, or else the length of the longest window."""
    tipping: TippingPoint | None = None
    over_time: ResultsOverTime | None = None
    """Of the first `SHOWN` candidates; None if no plans were compared, or if no window has a length in time."""

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The plans that were compared, the chosen one first."""
        return () if self.choice is None else self.choice.candidates
