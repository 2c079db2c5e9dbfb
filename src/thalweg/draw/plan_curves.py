"""Plans that were compared, as plain data: results over time with bands, where plans cross, memory, what was measured.

`plan_picture.py` draws them. Numbers that cannot be drawn are refused when the data is made.

>>> one = Curve("((b c) a)", (0.0, 5.0, 10.0), (0.0, 40.0, 200.0), (0.0, 30.0, 150.0), (0.0, 50.0, 260.0), chosen=True)
>>> other = Curve("multiway", (0.0, 5.0, 10.0), (0.0, 60.0, 120.0), (0.0, 50.0, 100.0), (0.0, 70.0, 140.0))
>>> plans = PlanCurves("Query q", (one, other), crossings=(Crossing("multiway", "((b c) a)", 6.0, 72.0),), by=10.0)
>>> Measured((1.0, 2.0), (10.0, float("nan")))
Traceback (most recent call last):
thalweg.errors.PlanError: measured results: results[1]=nan: must be a finite number, 0 or more
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from thalweg.errors import PlanError
from thalweg.formatting import plural


@dataclass(frozen=True, slots=True)
class Curve:
    """The results that a plan is predicted to have returned by some times.

    Examples
    --------
    >>> Curve("multiway", (0.0, 1.0), (0.0, 5.0), (0.0, 6.0), (0.0, 9.0))
    Traceback (most recent call last):
    thalweg.errors.PlanError: curve of 'multiway': results[1]=5.0 is not in its band, from 6.0 to 9.0
    """

    plan: str
    times: tuple[float, ...]
    """In seconds from the start, ascending."""
    results: tuple[float, ...]
    low: tuple[float, ...]
    """The lower end of the 90 % band, at each time."""
    high: tuple[float, ...]
    """The upper end of the 90 % band, at each time."""
    chosen: bool = False

    def __post_init__(self) -> None:
        what = f"curve of {self.plan!r}"
        _check(what, self.times, results=self.results, low=self.low, high=self.high)
        for n, (low, value, high) in enumerate(zip(self.low, self.results, self.high, strict=True)):
            _check_band(what, f"results[{n}]", low, value, high)


@dataclass(frozen=True, slots=True)
class Measured:
    """The results that a query had returned by some times."""

    times: tuple[float, ...]
    """In seconds from the start, ascending."""
    results: tuple[float, ...]

    def __post_init__(self) -> None:
        _check("measured results", self.times, results=self.results)


@dataclass(frozen=True, slots=True)
class Crossing:
    """A time at which two plans have returned the same number of results, and the other one takes the lead."""

    one: str
    other: str
    time: float
    results: float

    def __post_init__(self) -> None:
        _check(f"crossing of {self.one!r} and {self.other!r}", (self.time,), results=(self.results,))


@dataclass(frozen=True, slots=True)
class PlanMemory:
    """The memory that a plan is predicted to need, with its 90 % band, and what was measured if it ran."""

    plan: str
    predicted_bytes: float
    low_bytes: float
    high_bytes: float
    measured_bytes: float | None = None

    def __post_init__(self) -> None:
        what = f"memory of {self.plan!r}"
        measured = () if self.measured_bytes is None else (("measured_bytes", self.measured_bytes),)
        band = (("low_bytes", self.low_bytes), ("high_bytes", self.high_bytes))
        _check_numbers(what, (("predicted_bytes", self.predicted_bytes), *band, *measured))
        _check_band(what, "predicted_bytes", self.low_bytes, self.predicted_bytes, self.high_bytes)


@dataclass(frozen=True, slots=True)
class PlanCurves:
    """The plans that were compared, with what a picture of them shows."""

    title: str
    curves: tuple[Curve, ...]
    measured: Measured | None = None
    """What the plan that ran has returned; None before it runs."""
    crossings: tuple[Crossing, ...] = ()
    by: float | None = None
    """The time in seconds by which results were asked for; None if the objective has no such time."""
    memory: tuple[PlanMemory, ...] = ()
    """The memory of plans with a curve, in any order; plans may be left out."""
    max_bytes: float | None = None
    """The most memory that a plan may need, to be marked beside that of plans."""

    def __post_init__(self) -> None:
        if not self.curves:
            raise PlanError("curves=(): a picture of plans needs at least one plan")
        given = (("by", self.by), ("max_bytes", self.max_bytes))
        _check_numbers("picture of plans", ((name, number) for name, number in given if number is not None))
        known = {curve.plan for curve in self.curves}
        crossing = [("crossings", plan) for each in self.crossings for plan in (each.one, each.other)]
        for name, plan in [*crossing, *(("memory", each.plan) for each in self.memory)]:
            if plan not in known:
                raise PlanError(f"{name}: there is no curve of {plan!r}; add it to curves")


def _check(what: str, times: tuple[float, ...], **values: tuple[float, ...]) -> None:
    """Refuse points that cannot be drawn."""
    for name, each in {"times": times, **values}.items():
        if not each:
            raise PlanError(f"{what}: {name} is empty; give at least one point")
        if len(each) != len(times):
            raise PlanError(f"{what}: {name} has {plural(len(each), 'number')} for {plural(len(times), 'time')}")
        _check_numbers(what, ((f"{name}[{n}]", number) for n, number in enumerate(each)))
    for n, (before, time) in enumerate(pairwise(times), 1):
        if time < before:
            raise PlanError(f"{what}: times[{n}]={time} follows {before}; sort the points by time")


def _check_numbers(what: str, named: Iterable[tuple[str, float]]) -> None:
    for name, number in named:
        if not (math.isfinite(number) and number >= 0.0):
            raise PlanError(f"{what}: {name}={number}: must be a finite number, 0 or more")


def _check_band(what: str, name: str, low: float, value: float, high: float) -> None:
    if not low <= value <= high:
        raise PlanError(f"{what}: {name}={value} is not in its band, from {low} to {high}")
