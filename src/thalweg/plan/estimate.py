"""A number that is not known exactly: its value, where it comes from, how far it may be wrong, and how old it is.

Answers: arithmetic that propagates the uncertainty, and `interval(level)`, which contains the quantity with that
probability.
Guarantee: values and intervals stay within the bounds of the quantity. A result is no better than its operands: it has
the weakest origin and the oldest `as_of`, and its variance is unknown if it depends on an unknown variance.

An estimate is a random quantity with the mean `value` and the variance `variance`. Operands are independent unless a
covariance is given; None is an unknown covariance. An estimate is not independent of itself.

| result | mean and variance |
|---|---|
| sum, difference, complement | exact |
| product | exact for independent operands, and for correlated ones that are normal |
| quotient | exact for a log-normal denominator; otherwise to second order, as in the delta method |

A numerator that has a covariance with its denominator is the sum of a multiple of the denominator and an independent
rest. A denominator is assumed to have one sign; if zero is between its bounds, the quotient has no mean, and its
variance is unknown.

Several estimates of one quantity are combined with `pooled`, and `faded` makes an old one weaker:

- `pooled` weights two independent estimates by the inverse of their variances, which has the least variance of all
  weighted means. A known variance wins over an unknown one, because nothing is known about the weight of the other.
- `faded` lets the quantity drift since `as_of`, like a geometric random walk: after one lifetime its relative variance
  has grown by 1, so that the value may be wrong by its own size. A fresh estimate then outweighs it.

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
>>> rate = Estimate.between(50, 200)
>>> round(rate.value, 1), [round(end, 6) for end in rate.interval(0.9)]
(109.3, [50.0, 200.0])
>>> old, fresh = Estimate(100, "counted", 25, low=0, as_of=0), Estimate(140, "counted", 100, low=0, as_of=300)
>>> round(old.pooled(fresh).value), round(old.faded(now=300, lifetime=600).pooled(fresh).value)
(108, 139)

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
from typing import Any, Literal, get_args

import numpy as np

from thalweg.errors import PlanError

Origin = Literal["counted", "sampled", "learned", "declared", "assumed"]
"""Where a number comes from, strongest first: all rows were counted; a sample of rows was; a model predicts it from
past rows; the user declares it; it is a default, because nothing is known."""
ORIGINS: tuple[Origin, ...] = get_args(Origin)
MOST = sys.float_info.max
"""The value of a result that is too large for a float."""
ROUNDING = 1e-9
"""A covariance may exceed what the variances allow by this share, because all three are rounded."""
DECLARED_LEVEL = 0.9
"""The probability with which a quantity is within the interval that a user declares."""
WIDEST = 10_000.0
"""The most times that the upper end of a declared interval may exceed the lower one. Above about 50,000, the mean of
the log-normal distribution would exceed its 95 % quantile, so that it would not be a usual value."""
LIFETIME_S = 600.0
"""The age at which the relative variance of an estimate has grown by 1, in seconds. It is not measured."""


def weakest(origins: Iterable[Origin]) -> Origin:
    """Return the origin that is trusted least.

    >>> weakest(["declared", "counted", "sampled"])
    'declared'
    """
    return max(origins, key=ORIGINS.index)


def is_real(value: object) -> bool:
    """Whether a value is a number, and neither a truth value nor a length of time, which NumPy counts as numbers."""
    return isinstance(value, Real) and not isinstance(value, bool | np.timedelta64)


@dataclass(frozen=True)
class Estimate:
    """A number that is not known exactly. A number that is completely unknown is None, not an estimate.

    Parameters
    ----------
    value
        The expected value. It must be finite.
    origin
        "counted", "sampled", "learned", "declared" or "assumed".
    variance
        The variance of the quantity around `value`; 0: the value is exact; None: the variance is unknown.
    low, high
        Bounds of the quantity, such as 0 and 1 for a share.
    as_of
        The time at which the value was true, in seconds on the caller's clock; None: unknown.

    Raises
    ------
    PlanError
        If an argument is invalid.

    Examples
    --------
    >>> from thalweg import Estimate
    >>> rate = Estimate(1000, "declared", low=0) * Estimate(0.2, "sampled", variance=0.0004, low=0, high=1)
    >>> rate.value, rate.origin
    (200.0, 'declared')
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
            if not is_real(given) or given != given:
                raise PlanError(f"Estimate: {name}={given!r} must be a number")
            try:
                given = float(given)
            except OverflowError:
                raise PlanError(f"Estimate: {name} has too many digits; give a smaller number") from None
            if not math.isfinite(given) and name not in ("low", "high"):
                raise PlanError(f"Estimate: {name}={given!r} must be finite")
            object.__setattr__(self, name, given + 0.0)  # so that reprs show no NumPy scalars and no -0.0
        if self.origin not in ORIGINS:
            raise PlanError(f"Estimate: origin={self.origin!r} must be one of {', '.join(ORIGINS)}")
        if self.variance is not None and self.variance < 0:
            raise PlanError(f"Estimate: variance={self.variance!r} must be at least 0, or None if it is unknown")
        if not self.low <= self.value <= self.high:
            raise PlanError(f"Estimate: value={self.value!r} must be between low={self.low!r} and high={self.high!r}")

    @classmethod
    def between(cls, low: float, high: float, origin: Origin = "declared", as_of: float | None = None) -> Estimate:
        """Return the estimate of a quantity that is within an interval with a probability of 90 %.

        The quantity is assumed to be log-normal: `low` and `high` are its quantiles of 5 % and 95 %, and it is at least
        0. The value is its mean, which is above the geometric mean of the ends.

        Parameters
        ----------
        low, high
            The ends of the interval, above 0. If they are equal, the value is exact. `high` is at most 10,000 times
            `low`.
        origin
            Where the interval comes from.
        as_of
            The time at which it was true, in seconds on the caller's clock; None: unknown.

        Returns
        -------
        Estimate

        Raises
        ------
        PlanError
            If the ends are not such numbers.

        Examples
        --------
        >>> from thalweg import Estimate
        >>> partners = Estimate.between(10, 90)
        >>> round(partners.value, 1), [round(end, 6) for end in partners.interval(0.9)]
        (37.5, [10.0, 90.0])
        """
        ends: dict[str, Any] = {"low": low, "high": high}
        for name, end in ends.items():
            if not is_real(end) or not 0 < end < 2.0**1023:
                raise PlanError(f"{name}={end!r} must be a finite number above 0")
        low, high = float(low), float(high)
        if low > high:
            raise PlanError(f"low={low!r} is above high={high!r}; swap them")
        if high / low > WIDEST:
            raise PlanError(
                f"low={low!r} and high={high!r} are too far apart: high may be at most {WIDEST:,.0f} times low; give "
                "a narrower interval, or leave the number out"
            )
        if low == high:
            return cls(low, origin, 0.0, 0.0, as_of=as_of)
        deviations = 2 * NormalDist().inv_cdf((1 + DECLARED_LEVEL) / 2)
        square = ((math.log(high) - math.log(low)) / deviations) ** 2
        mean = math.sqrt(low) * math.sqrt(high) * math.exp(square / 2)
        variance = mean * mean * math.expm1(square)
        return cls(min(mean, MOST), origin, variance if math.isfinite(variance) else None, 0.0, as_of=as_of)

    def pooled(self, other: Estimate) -> Estimate:
        """Return the estimate of a quantity from two independent estimates of it, weighted by inverse variance.

        An exact value, or the only one with a known variance, is returned as it is. If both are exact but different, or
        both variances are unknown, there is no weight: the one with the stronger origin is returned, of the same origin
        the newer one, else `other`.

        Parameters
        ----------
        other
            Another estimate of the same quantity.

        Returns
        -------
        Estimate
            Its origin is the weaker of the two, its `as_of` the older one that is known, and its bounds are those of
            both. Its variance is at most that of either.

        Examples
        --------
        >>> from thalweg import Estimate
        >>> both = Estimate(10, "sampled", variance=4).pooled(Estimate(15, "declared", variance=1))
        >>> both.value, both.variance, both.origin
        (14.0, 0.8, 'declared')
        """
        if self.variance is None or other.variance is None:
            if (self.variance is None) != (other.variance is None):
                return other if self.variance is None else self
            return self if self.is_better_than(other) else other
        if not self.variance and not other.variance:
            return self if self.is_better_than(other) else other
        if not self.variance or not other.variance:
            return other if self.variance else self
        weight = other.variance / (self.variance + other.variance)  # of this estimate
        value = other.value + weight * (self.value - other.value)
        low, high = max(self.low, other.low), min(self.high, other.high)
        bounds = (low, high) if low <= high else (min(self.low, other.low), max(self.high, other.high))
        known = [each.as_of for each in (self, other) if each.as_of is not None]
        variance = min(self.variance * weight, self.variance, other.variance)  # rounded, it may be above
        made = _result((self, other), value, variance, bounds)
        return replace(made, as_of=min(known, default=None))  # so that it fades, even if one age is unknown

    def faded(self, now: float, lifetime: float = LIFETIME_S) -> Estimate:
        """Return the same estimate for a later time: its variance grows with its age.

        The quantity is assumed to drift like a geometric random walk without a trend, whose relative variance grows by
        1 in each `lifetime`. An estimate of unknown age or unknown variance is returned as it is.

        Parameters
        ----------
        now
            The time for which the estimate is wanted, in seconds on the clock of `as_of`. A time before `as_of` adds
            no variance.
        lifetime
            The age at which the value may be wrong by its own size, in seconds.

        Returns
        -------
        Estimate
            Its `as_of` is `now`, unless it was newer.

        Raises
        ------
        PlanError
            If `lifetime` is not above 0.

        Examples
        --------
        >>> from thalweg import Estimate
        >>> Estimate(10, "counted", variance=0, low=0, as_of=100).faded(now=160, lifetime=600).variance
        10.0
        """
        if not lifetime > 0:
            raise PlanError(f"faded: lifetime={lifetime!r} must be a number of seconds above 0")
        if self.as_of is None or self.variance is None or now <= self.as_of:
            return self
        grown = (now - self.as_of) / lifetime
        variance = self.variance + (self.value * self.value + self.variance) * grown
        if math.isfinite(self.low) and math.isfinite(self.high):  # no bounded quantity varies more
            variance = min(variance, (self.value - self.low) * (self.high - self.value))
        return replace(self, variance=variance if math.isfinite(variance) else None, as_of=now)

    def is_better_than(self, other: Estimate) -> bool:
        """Return whether this estimate is kept if only one of two can be: it has the stronger origin or, of the same
        origin, it is newer. An unknown age counts as older than any other.

        Parameters
        ----------
        other
            Another estimate of the same quantity.

        Returns
        -------
        bool

        Examples
        --------
        >>> from thalweg import Estimate
        >>> Estimate(3, "counted").is_better_than(Estimate(5, "declared", as_of=100))
        True
        """
        if self.origin != other.origin:
            return ORIGINS.index(self.origin) < ORIGINS.index(other.origin)
        return self.as_of is not None and (other.as_of is None or self.as_of > other.as_of)

    def interval(self, level: float) -> tuple[float, float]:
        """Return the interval that contains the quantity with a given probability. It also contains `value`.

        A quantity with one finite bound, such as a rate, which is at least 0, is assumed to be log-normal, starting at
        that bound. Any other quantity is assumed to be normal, cut off at the bounds. If the variance is unknown, the
        interval is the bounds.

        Parameters
        ----------
        level
            The probability, above 0 and below 1, such as 0.9.

        Returns
        -------
        tuple of float
            The lower and the upper end.

        Raises
        ------
        PlanError
            If `level` is out of range.

        Examples
        --------
        >>> from thalweg import Estimate
        >>> low, high = Estimate(0.2, "sampled", variance=0.0004, low=0, high=1).interval(0.9)
        >>> round(low, 3), round(high, 3)
        (0.167, 0.233)
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
        """Return the same quantity with tighter bounds. A value outside of them moves to the nearer bound.

        Parameters
        ----------
        low, high
            The new bounds. A bound that is wider than the present one has no effect.

        Returns
        -------
        Estimate

        Raises
        ------
        PlanError
            If no value is within both the new and the present bounds.

        Examples
        --------
        >>> from thalweg import Estimate
        >>> (Estimate(0.7, "sampled", 0.01, 0, 1) + Estimate(0.4, "sampled", 0.01, 0, 1)).within(0, 1).value
        1.0
        """
        low, high = max(low, self.low), min(high, self.high)
        if not low <= high:
            raise PlanError(f"Estimate: no value is between the bounds {low!r} and {high!r}")
        return replace(self, value=min(max(self.value, low), high), low=low, high=high)

    @property
    def complement(self) -> Estimate:
        """One minus the estimate: for a share of rows, the share of the other rows."""
        return 1 - self

    def plus(self, other: Estimate | float, covariance: float | None = 0.0) -> Estimate:
        """Return the sum of this estimate and another one.

        Parameters
        ----------
        other
            The other summand: an estimate, or a number that is known exactly.
        covariance
            The covariance of the two; 0 if they are independent, None if it is unknown.

        Returns
        -------
        Estimate

        Raises
        ------
        PlanError
            If the variances do not allow this covariance.

        Examples
        --------
        >>> from thalweg import Estimate
        >>> total = Estimate(10, "sampled", variance=4).plus(Estimate(2, "sampled", variance=1))
        >>> total.value, total.variance
        (12.0, 5.0)
        """
        other = self._operand(other)
        covariance = _covariance(self, other, covariance)
        variance = None
        if self.variance is not None and other.variance is not None and covariance is not None:
            variance = self.variance + other.variance + 2 * covariance
        bounds = self.low + other.low, self.high + other.high
        return _result((self, other), self.value + other.value, variance, bounds)

    def minus(self, other: Estimate | float, covariance: float | None = 0.0) -> Estimate:
        """Return the difference of this estimate and another one.

        Parameters
        ----------
        other
            What is subtracted: an estimate, or a number that is known exactly.
        covariance
            The covariance of the two; 0 if they are independent, None if it is unknown.

        Returns
        -------
        Estimate

        Raises
        ------
        PlanError
            If the variances do not allow this covariance.

        Examples
        --------
        >>> from thalweg import Estimate
        >>> rest = Estimate(10, "sampled", variance=4).minus(Estimate(2, "sampled", variance=1), covariance=1.5)
        >>> rest.value, rest.variance
        (8.0, 2.0)
        """
        return self.plus(-self._operand(other), None if covariance is None else -covariance)

    def times(self, other: Estimate | float, covariance: float | None = 0.0) -> Estimate:
        """Return the product of this estimate and another one.

        Parameters
        ----------
        other
            The other factor: an estimate, or a number that is known exactly.
        covariance
            The covariance of the two; 0 if they are independent, None if it is unknown.

        Returns
        -------
        Estimate

        Raises
        ------
        PlanError
            If the variances do not allow this covariance.

        Examples
        --------
        >>> from thalweg import Estimate
        >>> product = Estimate(10, "sampled", variance=4).times(Estimate(2, "sampled", variance=1))
        >>> product.value, product.variance
        (20.0, 120.0)
        """
        other = self._operand(other)
        covariance = _covariance(self, other, covariance)
        if _is_nothing(self) or _is_nothing(other):
            return self if _is_nothing(self) else other
        variance = _variance(self, other, covariance)
        return _result((self, other), self.value * other.value + (covariance or 0.0), variance, _products(self, other))

    def over(self, other: Estimate | float, covariance: float | None = 0.0) -> Estimate:
        """Return the quotient of this estimate and another one.

        Parameters
        ----------
        other
            The denominator: an estimate, or a number that is known exactly.
        covariance
            The covariance of the two; 0 if they are independent, None if it is unknown.

        Returns
        -------
        Estimate

        Raises
        ------
        PlanError
            If the variances do not allow this covariance.
        ZeroDivisionError
            If the value of the denominator is 0.

        Examples
        --------
        >>> from thalweg import Estimate
        >>> quotient = Estimate(10, "sampled", variance=4).over(2)
        >>> quotient.value, quotient.variance
        (5.0, 1.0)
        """
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
        """Return an operand as an estimate. A plain number is exact, and changes neither the origin nor the age of the
        result."""
        return given if isinstance(given, Estimate) else Estimate(given, self.origin, 0.0, given, given, self.as_of)


def _result(
    operands: tuple[Estimate, Estimate], value: float, variance: float | None, bounds: tuple[float, float]
) -> Estimate:
    """Return the estimate that an operation on two estimates gives: no better than either, and within the bounds."""
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
    """Whether a factor is exactly zero, so that any product with it is zero."""
    return factor.low == factor.high == 0


def _variance(a: Estimate, b: Estimate, covariance: float | None) -> float | None:
    """Return the variance of the product."""
    if a.variance is None or b.variance is None or covariance is None:
        return None
    independent_part = a.value * a.value * b.variance + b.value * b.value * a.variance + a.variance * b.variance
    return independent_part + covariance * (2 * a.value * b.value + covariance)


def _reciprocal(of: Estimate) -> tuple[Estimate, float]:
    """Return the reciprocal of an estimate, assuming that it or its negative is log-normal, and the factor by which its
    mean exceeds one over the value."""
    if of.variance is None or of.low < 0 < of.high:
        return Estimate(1 / of.value, of.origin), 1.0
    relative = of.variance / of.value / of.value
    value = (1 + relative) / of.value
    return Estimate(value, of.origin, relative * value * value), 1 + relative


def _products(a: Estimate, b: Estimate) -> tuple[float, float]:
    """Return the least and the largest product of values within the bounds."""
    ends = [x * y if x and y else 0.0 for x in (a.low, a.high) for y in (b.low, b.high)]  # 0 * inf is 0 here
    return min(ends), max(ends)


def _quotients(a: Estimate, b: Estimate) -> tuple[float, float]:
    """Return the least and the largest quotient of values within the bounds."""
    if b.low < 0 < b.high:
        return -math.inf, math.inf
    ends = []
    for x in (a.low, a.high):
        for y in (b.low, b.high):
            if not x or math.isinf(y):
                ends.append(0.0)
            else:  # near a bound of zero, the values have the same sign as all others
                ends.append(x / y if y else math.copysign(math.inf, x) * math.copysign(1.0, b.value))
    return min(ends), max(ends)


def _covariance(a: Estimate, b: Estimate, given: float | None) -> float | None:
    """Return the covariance as given, or raise an error if it is impossible."""
    if given is not None and not math.isfinite(given):
        raise PlanError(f"covariance={given!r} must be finite, or None if it is unknown")
    if a.variance == 0 or b.variance == 0:
        given = given or 0.0  # an exact value has no covariance
    if given and a.variance is not None and b.variance is not None:
        most = math.sqrt(a.variance) * math.sqrt(b.variance)
        if not abs(given) <= most * (1 + ROUNDING):
            raise PlanError(f"covariance={given!r} must be between {-most!r} and {most!r}, given both variances")
    return given


def _log_normal(mean: float, variance: float, deviations: float) -> tuple[float, float]:
    """Return the quantiles that are this many standard deviations of the logarithm below and above its mean."""
    square = math.log1p(variance / mean / mean)
    if math.isinf(square):  # the mean is negligible compared with the deviation
        return 0.0, math.inf
    middle, error = mean * math.exp(-square / 2), deviations * math.sqrt(square)
    return middle * math.exp(-error), middle * math.exp(error)
