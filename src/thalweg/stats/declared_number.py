"""Turn a number that a user declares into an estimate.

It is a plain number, whose variance is unknown; `{"low": 10, "high": 90}`, an interval that contains it with a
probability of 90 %; or an `Estimate`. An interval is log-normal (`Estimate.between`); that of a share, which has two
bounds, is normal. A dict with the fields of an `Estimate` is that estimate, so that statistics can be saved as JSON.

>>> declared_number(30, "partners", "at least 0")
Estimate(value=30.0, origin='declared', variance=None, low=0.0, high=inf, as_of=None)
>>> [round(end, 6) for end in declared_number({"low": 10, "high": 90}, "partners", "at least 0").interval(0.9)]
[10.0, 90.0]
>>> declared_number(float("nan"), "partners", "at least 0")
Traceback (most recent call last):
thalweg.errors.PlanError: partners=nan must be a number at least 0, or a dict such as {'low': 10, 'high': 90}
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from statistics import NormalDist
from typing import Any, Literal

from thalweg.errors import PlanError, nearest
from thalweg.plan.estimate import DECLARED_LEVEL, Estimate, is_real

LARGEST = 1e15
"""The largest number that can be declared. Costs are products of such numbers, one per stream, and must stay finite."""
Limit = Literal["above 0", "at least 0", "share"]
"""The values that a number may have; a share is from 0 to 1."""


def declared_number(given: Any, what: str, limit: Limit) -> Estimate:
    """Return a declared number as an estimate."""
    made = _number(given, what, limit)
    if made.value > LARGEST:
        raise PlanError(f"{what}: the number is {made.value:g}, but may be at most {LARGEST:g}; check its unit")
    return made


def _number(given: Any, what: str, limit: Limit) -> Estimate:
    most = 1.0 if limit == "share" else math.inf
    if isinstance(given, Mapping):
        if "value" not in given:
            return _interval(given, what, most)
        given = _estimate(given, what)
    value: Any = given.value if isinstance(given, Estimate) else given
    if not is_real(value) or not 0 <= value <= most or value == math.inf or (value == 0 and limit == "above 0"):
        is_share = limit == "share"
        wanted = "a share from 0 to 1" if is_share else f"a number {limit}"
        example = {"low": 0.1, "high": 0.9} if is_share else {"low": 10, "high": 90}
        raise PlanError(f"{what}={value!r} must be {wanted}, or a dict such as {example}")
    return given.within(0, most) if isinstance(given, Estimate) else Estimate(value, "declared", None, 0, most)


def _estimate(given: Mapping[str, Any], what: str) -> Estimate:
    names = [each.name for each in fields(Estimate)]
    for key in given:
        if key not in names:
            raise PlanError(f"{what}: the unknown key {key!r}{nearest(str(key), names)}; give {', '.join(names)}")
    try:
        return Estimate(**{"origin": "declared", **given})
    except PlanError as error:
        raise error.within(what) from None


def _interval(given: Mapping[str, Any], what: str, most: float) -> Estimate:
    for key in given:
        if key not in ("low", "high"):
            raise PlanError(f"{what}: the unknown key {key!r}{nearest(str(key), ['low', 'high'])}; give low and high")
    if len(given) < 2:
        raise PlanError(f"{what}={dict(given)!r} must have low and high, the ends of a 90 % interval")
    try:
        made = Estimate.between(given["low"], given["high"])
    except PlanError as error:
        raise error.within(what) from None
    if most == 1:
        low, high = float(given["low"]), float(given["high"])
        if high > 1:
            raise PlanError(f"{what}: high={high!r} is a share, so it must be at most 1")
        deviation = (high - low) / 2 / NormalDist().inv_cdf((1 + DECLARED_LEVEL) / 2)
        return Estimate((low + high) / 2, "declared", deviation * deviation, 0, 1)
    return made
