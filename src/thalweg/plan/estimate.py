"""A number that is not known exactly: its value, where it comes from, how far it may be wrong, and how old it is.

Answers: arithmetic that carries the doubt along, and `interval(level)`, in which the quantity lies with that
probability.
Guarantee: values and intervals stay within the bounds of the quantity. A result is no better than what it was made
from: it has the weakest origin and the oldest `as_of`, and its variance is unknown if one it depends on is.

An estimate stands for a random quantity with the mean `value` and the variance `variance`. Operands are independent
unless a covariance is given; None is a covariance that is unknown. An estimate is not independent of itself.

| result | mean and variance |
|---|---|
| sum, difference, complement | exact |
| product | exact for independent operands, and for correlated ones that are normal |
| quotient | exact for a log-normal denominator; otherwise to second order, as by the delta method |

A numerator that has a covariance with its denominator is a multiple of it and an independent rest. A denominator is
taken to have one sign; where its bounds have zero between them, the quotient has no mean, so its variance is unknown.

>>> kept = Estimate(0.2, "sampled", variance=0.0004, low=0, high=1)
>>> rate = Estimate(1_000, "declared", low=0)
>>> [round(end, 3) for end in kept.interval(0.9)]
[0.167, 0.233]
>>> kept.complement.value
0.8
>>> rate * kept
Estimate(value=200.0, origin='declared', variance=None, low=0.0, high=inf, as_of=None)
>>> (rate * kept).interval(0.9)
(0.0, inf)

Reference: Goodman: On the Exact Variance of Products. Journal of the American Statistical Association 55 (1960),
equation 2; Bohrnstedt, Goldberger: On the Exact Covariance of Products of Random Variables. The same journal 64 (1969),
equation 6.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from numbers import Real
from statistics import NormalDist
from typing import Literal, get_args

from thalweg.errors import PlanError

Origin = Literal["counted", "sampled", "learned", "declared", "assumed"]
"""Where a number comes from, strongest first: every row was counted; some rows were; a model predicts it from rows of
the past; the user says so; nobody says anything, and it is what is usual."""
ORIGINS: tuple[Origin, ...] = get_args(Origin)
MOST = sys.float_info.max
"""A result that is too large for a float is this."""
ROUNDING = 1e-9
"""A covariance may exceed what the variances allow by this share, because all three are rounded."""


def weakest(origins: Iterable[Origin]) -> Origin:
    """The one that is trusted least.

    >>> weakest(["declared", "counted", "sampled"])
    'declared'
    """
    return max(origins, key=ORIGINS.index)


@dataclass(frozen=True)
class Estimate:
    """A number that is not known exactly. What nobody knows at all is None, and no estimate.

    Parameters
    ----------
    value
        The expected value, which is finite.
    origin
        "counted", "sampled", "learned", "declared" or "assumed".
    variance
        Of the quantity around `value`; 0: it is exact; None: nobody knows.
    low, high
        Bounds that the quantity cannot leave, such as 0 and 1 for a share.
    as_of
        When it was true, in seconds on the caller's clock; None: nobody knows.
    """

    value: float
    origin: Origin
    variance: float | None = None
    low: float = -math.inf
    high: float = math.inf
    as_of: float | None = None

    def __post_init__(self) -> None:
        for name in ("value", "variance", "low", "high", "as_of"):
            given = getattr(self, name)
            if given is None and name in ("variance", "as_of"):
                continue
            if isinstance(given, bool) or not isinstance(given, Real) or math.isnan(given):
                raise PlanError(f"Estimate: {name}={given!r} must be a number")
            if not math.isfinite(given) and name not in ("low", "high"):
                raise PlanError(f"Estimate: {name}={given!r} must be finite")
            object.__setattr__(self, name, float(given) + 0.0)  # no scalar of NumPy, and no -0.0, shows in reprs
        if self.origin not in ORIGINS:
            raise PlanError(f"Estimate: origin={self.origin!r} must be one of {', '.join(ORIGINS)}")
        if self.variance is not None and self.variance < 0:
            raise PlanError(f"Estimate: variance={self.variance!r} must be at least 0, or None where it is unknown")
        if not self.low <= self.value <= self.high:
            raise PlanError(f"Estimate: value={self.value!r} must be between low={self.low!r} and high={self.high!r}")

    def interval(self, level: float) -> tuple[float, float]:
        """The interval that holds the quantity with this probability, such as 0.9, and that contains `value`.

        A quantity with one finite bound, such as a rate, which is at least 0, is taken to be log-normal from that
        bound on; any other to be normal, cut off at the bounds. Where the variance is unknown, these are the bounds.
        """
        if not 0 < level < 1:
            raise PlanError(f"interval: level={level!r} must be above 0 and below 1, such as 0.9")
        if self.variance is None:
            return self.low, self.high
        if not self.variance:
            return self.value, self.value
        deviations = -NormalDist().inv_cdf((1 - level) / 2)
        if math.isinf(self.high) and self.low < self.value and math.isfinite(self.low):
            least, most = _log_normal(self.value - self.low, self.variance, deviations)
            least, most = self.low + least, self.low + most
        elif math.isinf(self.low) and self.value < self.high and math.isfinite(self.high):
            most, least = _log_normal(self.high - self.value, self.variance, deviations)
            least, most = self.high - least, self.high - most
        else:
            error = deviations * math.sqrt(self.variance)
            least, most = self.value - error, self.value + error
        return min(max(least, self.low), self.value), max(min(most, self.high), self.value)

    def within(self, low: float, high: float) -> Estimate:
        """The same quantity when it is also known to lie between these bounds; the value moves to the nearer one.

        >>> (Estimate(0.7, "sampled", 0.01, 0, 1) + Estimate(0.4, "sampled", 0.01, 0, 1)).within(0, 1).value
        1.0
        """
        low, high = max(low, self.low), min(high, self.high)
        if not low <= high:
            raise PlanError(f"Estimate: nothing is between the bounds {low!r} and {high!r}")
        return replace(self, value=min(max(self.value, low), high), low=low, high=high)

    @property
    def complement(self) -> Estimate:
        """One minus it: of a share of rows, the share of the others."""
        return 1 - self

    def plus(self, other: Estimate | float, covariance: float | None = 0.0) -> Estimate:
        """The sum; the covariance is that of the two operands, None where it is unknown."""
        other = self._operand(other)
        covariance = _covariance(self, other, covariance)
        variance = None
        if self.variance is not None and other.variance is not None and covariance is not None:
            variance = self.variance + other.variance + 2 * covariance
        bounds = self.low + other.low, self.high + other.high
        return _result((self, other), self.value + other.value, variance, bounds)

    def minus(self, other: Estimate | float, covariance: float | None = 0.0) -> Estimate:
        """The difference; the covariance is that of the two operands, None where it is unknown."""
        return self.plus(-self._operand(other), None if covariance is None else -covariance)

    def times(self, other: Estimate | float, covariance: float | None = 0.0) -> Estimate:
        """The product; the covariance is that of the two operands, None where it is unknown."""
        other = self._operand(other)
        covariance = _covariance(self, other, covariance)
        if _is_nothing(self) or _is_nothing(other):
            return self if _is_nothing(self) else other
        variance = _variance(self, other, covariance)
        return _result((self, other), self.value * other.value + (covariance or 0.0), variance, _products(self, other))

    def over(self, other: Estimate | float, covariance: float | None = 0.0) -> Estimate:
        """The quotient; the covariance is that of the two operands, None where it is unknown."""
        other = self._operand(other)
        if not other.value:
            raise ZeroDivisionError(f"{self!r} cannot be divided by {other!r}, whose value is 0; check for 0 first")
        covariance = _covariance(self, other, covariance)
        if _is_nothing(self):
            return self
        multiple, rest = 0.0, self
        if covariance and other.variance:
            multiple = covariance / other.variance
            variance = self.variance and max(self.variance - multiple * covariance, 0.0)
            rest = Estimate(self.value - multiple * other.value, self.origin, variance)
        reciprocal, growth = _reciprocal(other)
        variance = _variance(rest, reciprocal, None if covariance is None else 0.0)
        value = multiple + rest.value / other.value * growth
        return _result((self, other), value, variance, _quotients(self, other))

    def __add__(self, other: Estimate | float) -> Estimate:
        return self.plus(other)

    def __radd__(self, other: float) -> Estimate:
        return self.plus(other)

    def __neg__(self) -> Estimate:
        return replace(self, value=-self.value, low=-self.high, high=-self.low)

    def __sub__(self, other: Estimate | float) -> Estimate:
        return self.minus(other)

    def __rsub__(self, other: float) -> Estimate:
        return (-self).plus(other)

    def __mul__(self, other: Estimate | float) -> Estimate:
        return self.times(other)

    def __rmul__(self, other: float) -> Estimate:
        return self.times(other)

    def __truediv__(self, other: Estimate | float) -> Estimate:
        return self.over(other)

    def __rtruediv__(self, other: float) -> Estimate:
        return self._operand(other).over(self)

    def _operand(self, given: Estimate | float) -> Estimate:
        """A plain number is exact, and neither weakens the origin nor ages the result."""
        return given if isinstance(given, Estimate) else Estimate(given, self.origin, 0.0, given, given, self.as_of)


def _result(
    operands: tuple[Estimate, Estimate], value: float, variance: float | None, bounds: tuple[float, float]
) -> Estimate:
    """What is made from two: no better than either, and within what bounds them."""
    low, high = min(bounds[0], MOST), max(bounds[1], -MOST)
    value = min(max(value, -MOST), MOST)
    if low == high:
        variance = 0.0
    elif variance is not None:
        variance = max(variance, 0.0) if math.isfinite(variance) else None
    times = [operand.as_of for operand in operands if operand.as_of is not None]
    return Estimate(
        min(max(value, low), high), weakest(operand.origin for operand in operands), variance, low, high,
        min(times) if len(times) == len(operands) else None,
    )  # fmt: skip


def _is_nothing(factor: Estimate) -> bool:
    """Whether a product with it is zero, however little is known about the other factor."""
    return factor.low == factor.high == 0


def _variance(a: Estimate, b: Estimate, covariance: float | None) -> float | None:
    """Of the product."""
    if a.variance is None or b.variance is None or covariance is None:
        return None
    apart = a.value * a.value * b.variance + b.value * b.value * a.variance + a.variance * b.variance
    return apart + covariance * (2 * a.value * b.value + covariance)


def _reciprocal(of: Estimate) -> tuple[Estimate, float]:
    """One over it, as if it were log-normal, or minus it were, and how much larger that is than one over its value."""
    if of.variance is None or of.low < 0 < of.high:
        return Estimate(1 / of.value, of.origin), 1.0
    relative = of.variance / of.value / of.value
    value = (1 + relative) / of.value
    return Estimate(value, of.origin, relative * value * value), 1 + relative


def _products(a: Estimate, b: Estimate) -> tuple[float, float]:
    """The least and the largest product of values within the bounds."""
    ends = [x * y if x and y else 0.0 for x in (a.low, a.high) for y in (b.low, b.high)]  # 0 * inf is 0 here
    return min(ends), max(ends)


def _quotients(a: Estimate, b: Estimate) -> tuple[float, float]:
    """The least and the largest quotient of values within the bounds."""
    if b.low < 0 < b.high:
        return -math.inf, math.inf
    ends = []
    for x in (a.low, a.high):
        for y in (b.low, b.high):
            if not x or math.isinf(y):
                ends.append(0.0)
            else:  # next to an end of zero there are values of the sign that all have
                ends.append(x / y if y else math.copysign(math.inf, x) * math.copysign(1.0, b.value))
    return min(ends), max(ends)


def _covariance(a: Estimate, b: Estimate, given: float | None) -> float | None:
    """As given, if it is possible."""
    if given is not None and not math.isfinite(given):
        raise PlanError(f"covariance={given!r} must be finite, or None where it is unknown")
    if a.variance == 0 or b.variance == 0:
        given = given or 0.0  # what is exact varies with nothing
    if given and a.variance is not None and b.variance is not None:
        most = math.sqrt(a.variance) * math.sqrt(b.variance)
        if not abs(given) <= most * (1 + ROUNDING):
            raise PlanError(f"covariance={given!r} must be between {-most!r} and {most!r}, by the variances of both")
    return given


def _log_normal(mean: float, variance: float, deviations: float) -> tuple[float, float]:
    """The quantiles so many standard deviations of the logarithm below and above its mean."""
    square = math.log1p(variance / mean / mean)
    if math.isinf(square):  # the mean is next to nothing beside the deviation
        return 0.0, math.inf
    middle, error = mean * math.exp(-square / 2), deviations * math.sqrt(square)
    return middle * math.exp(-error), middle * math.exp(error)
