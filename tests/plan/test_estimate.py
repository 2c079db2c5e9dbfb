"""The arithmetic and the intervals of estimates, compared with seeded draws of the quantities."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import thalweg as tw
from thalweg.plan.estimate import ORIGINS, Estimate

DRAWS = 400_000
INF = math.inf
UNBOUNDED = (-INF, INF)

Draw = Callable[[np.random.Generator], np.ndarray]


def normal(mean: float, deviation: float) -> tuple[Estimate, Draw]:
    return Estimate(mean, "sampled", deviation**2), lambda rng: rng.normal(mean, deviation, DRAWS)


def log_normal(mean: float, relative: float) -> tuple[Estimate, Draw]:
    square = math.log1p(relative**2)
    estimate = Estimate(mean, "sampled", (relative * mean) ** 2, low=0)
    return estimate, lambda rng: rng.lognormal(math.log(mean) - square / 2, math.sqrt(square), DRAWS)


def gamma(mean: float, relative: float) -> tuple[Estimate, Draw]:
    estimate = Estimate(mean, "sampled", (relative * mean) ** 2, low=0)
    return estimate, lambda rng: rng.gamma(relative**-2, mean * relative**2, DRAWS)


def share(kept: float, dropped: float) -> tuple[Estimate, Draw]:
    n = kept + dropped
    estimate = Estimate(kept / n, "sampled", kept * dropped / n**2 / (n + 1), 0, 1)
    return estimate, lambda rng: rng.beta(kept, dropped, DRAWS)


def agrees(
    found: Estimate, drawn: np.ndarray, mean: float = 0.006, variance: float = 0.02, cover: float = 0.02
) -> None:
    """Check the mean and the variance, up to a share of the deviation and of the variance, and the coverage of a 90 %
    interval. The mean of this many draws has a standard error of 0.0016 deviations."""
    assert found.variance is not None
    assert abs(found.value - drawn.mean()) < mean * drawn.std()
    assert found.variance == pytest.approx(drawn.var(), rel=variance)
    least, most = found.interval(0.9)
    assert np.mean((least <= drawn) & (drawn <= most)) == pytest.approx(0.9, abs=cover)
    assert np.all((found.low <= drawn) & (drawn <= found.high))


PAIRS = [
    (normal(5, 2), normal(-3, 1)), (log_normal(40, 0.4), log_normal(7, 0.2)), (share(20, 80), share(300, 100)),
    (gamma(9, 0.2), share(60, 40)),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_sums_and_complements_match_draws(a: tuple[Estimate, Draw], b: tuple[Estimate, Draw]) -> None:
    rng = np.random.default_rng(1)
    x, y = a[1](rng), b[1](rng)
    agrees(a[0] + b[0], x + y)
    agrees(a[0] - b[0], x - y, cover=0.03)  # of skewed operands it is skewed, and taken to be normal
    agrees(a[0].complement, 1 - x)
    agrees(2 - 3 * a[0] / 4, 2 - 3 * x / 4)


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_products_match_draws(a: tuple[Estimate, Draw], b: tuple[Estimate, Draw]) -> None:
    rng = np.random.default_rng(2)
    agrees(a[0] * b[0], a[1](rng) * b[1](rng), cover=0.03)


@pytest.mark.parametrize(
    ("a", "b"),
    [(log_normal(40, 0.3), log_normal(7, 0.5)), (gamma(9, 0.2), gamma(4, 0.1)), (share(20, 80), gamma(9, 0.1)),
     (normal(5, 0.2), log_normal(2, 0.2)), (log_normal(3, 0.1), share(300, 100))],
)  # fmt: skip
def test_quotients_match_draws(a: tuple[Estimate, Draw], b: tuple[Estimate, Draw]) -> None:
    rng = np.random.default_rng(3)
    agrees(a[0] / b[0], a[1](rng) / b[1](rng), mean=0.01, variance=0.05, cover=0.03)


@pytest.mark.parametrize("correlation", [-0.9, -0.3, 0.5, 1.0])
def test_a_covariance_has_the_same_effect_as_in_draws(correlation: float) -> None:
    rng = np.random.default_rng(4)
    one, other = rng.standard_normal((2, DRAWS))
    x, y = 30 + 2 * one, 20 + (correlation * one + math.sqrt(1 - correlation**2) * other)
    a, b, covariance = Estimate(30, "sampled", 4), Estimate(20, "sampled", 1, low=1), 2 * correlation
    agrees(a.plus(b, covariance), x + y)
    agrees(a.minus(b, covariance), x - y)
    agrees(a.times(b, covariance), x * y)
    agrees(a.over(b, covariance), x / y, mean=0.01, variance=0.05)
    # what is said to be independent is not the same
    assert a.plus(b, covariance).variance != a.plus(b).variance
    assert a.times(b, covariance).value == 600 + covariance


def test_an_estimate_minus_itself_is_zero_given_the_covariance() -> None:
    a = Estimate(30, "sampled", 4)
    assert a.minus(a, covariance=4) == Estimate(0, "sampled", 0)
    assert (a - a).variance == 8  # two quantities with the same distribution
    assert a.within(0, 90).over(a.within(0, 90), covariance=4) == Estimate(1, "sampled", 0, low=0)


def test_mean_and_variance_of_the_square_of_a_normal_quantity() -> None:
    """Also if the variance is not small compared with the mean. A square is skewed, so the interval is not checked."""
    a, draw = normal(2, 1)
    squares, found = draw(np.random.default_rng(6)) ** 2, a.times(a, covariance=1)
    assert (found.value, found.variance) == (5, 18)
    assert (squares.mean(), squares.var()) == (pytest.approx(5, rel=0.01), pytest.approx(18, rel=0.02))


@pytest.mark.parametrize("relative", [0.05, 0.5, 2])
@pytest.mark.parametrize("low", [0, 1, -7])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_an_interval_with_one_bound_is_log_normal(relative: float, low: float, level: float) -> None:
    rng = np.random.default_rng(5)
    of_zero, draw = log_normal(10, relative)
    drawn, variance = draw(rng), of_zero.variance
    least, most = Estimate(10 + low, "sampled", variance, low=low).interval(level)
    assert np.mean((least <= drawn + low) & (drawn + low <= most)) == pytest.approx(level, abs=0.003)
    least, most = Estimate(-10 - low, "sampled", variance, high=-low).interval(level)
    assert np.mean((least <= -drawn - low) & (-drawn - low <= most)) == pytest.approx(level, abs=0.003)


def test_an_interval_without_bounds_is_normal() -> None:
    assert Estimate(5, "sampled", 4).interval(0.9) == pytest.approx((5 - 2 * 1.6448536, 5 + 2 * 1.6448536))
    low, high = Estimate(0.97, "sampled", 0.01, 0, 1).interval(0.9)
    assert low == pytest.approx(0.8055146)
    assert high == 1


# what is not known


def test_with_unknown_variance_the_interval_is_the_bounds() -> None:
    a, b = Estimate(4, "declared", low=1, high=8), Estimate(2, "sampled", 0.1, low=1, high=4)
    assert a.interval(0.9) == (1, 8)
    for made, bounds in ((a + b, (2, 12)), (a - b, (-3, 7)), (a * b, (1, 32)), (a / b, (0.25, 8)),
                         (a.complement, (-7, 0)), (b / a, (0.125, 4))):  # fmt: skip
        assert made.variance is None
        assert made.interval(0.5) == bounds


def test_an_unknown_covariance_makes_the_variance_unknown() -> None:
    a, b = Estimate(4, "sampled", 1), Estimate(2, "sampled", 1, low=1)
    assert [getattr(a, name)(b, covariance=None).variance for name in ("plus", "minus", "times", "over")] == [None] * 4
    assert a.plus(Estimate(2, "counted", 0), covariance=None).variance == 1  # an exact value has no covariance


def test_a_result_has_the_weakest_origin_and_the_oldest_time() -> None:
    ranks = {origin: rank for rank, origin in enumerate(("counted", "sampled", "learned", "declared", "assumed"))}
    assert tuple(ranks) == ORIGINS
    for one in ORIGINS:
        for other in ORIGINS:
            a, b = Estimate(4, one, as_of=7), Estimate(2, other, as_of=5)
            for made in (a + b, a - b, a * b, a / b):
                assert ranks[made.origin] == max(ranks[one], ranks[other])
                assert made.as_of == 5
    unknown = Estimate(4, "counted")
    assert (unknown + Estimate(1, "counted", as_of=5)).as_of is None
    assert (3 * Estimate(4, "counted", as_of=5) + 1) == Estimate(13, "counted", as_of=5)  # numbers do not age


def test_a_factor_of_zero_makes_the_product_zero() -> None:
    nothing = Estimate(0, "declared", 0, 0, 0)
    assert nothing * Estimate(0.3, "assumed", low=0, high=1) == nothing
    assert Estimate(3, "assumed") * nothing == nothing
    assert nothing / Estimate(3, "assumed") == nothing
    maybe = Estimate(0, "declared", None, 0, 1) * Estimate(0.3, "assumed", low=0, high=1)
    assert maybe == Estimate(0, "assumed", None, 0, 1)


# edges


def test_exact_values_stay_exact() -> None:
    a, b = Estimate(6, "counted", 0, 6, 6), Estimate(2, "counted", 0, 2, 2)
    for made, value in ((a + b, 8), (a - b, 4), (a * b, 12), (a / b, 3), (1 / b, 0.5), (a.complement, -5)):
        assert made == Estimate(value, "counted", 0, value, value)
        assert made.interval(0.9) == (value, value)
    assert Estimate(6, "counted", 0).interval(0.9) == (6, 6)
    assert Estimate(6, "declared", None, 6, 6) + b == Estimate(8, "declared", 0, 8, 8)  # the bounds leave no doubt
    # no variance, and bounds that say less
    assert Estimate(6, "counted", 0, low=0) / Estimate(2, "counted", 0, low=0) == Estimate(3, "counted", 0, low=0)


def test_a_quotient_by_nearly_zero_has_no_upper_bound() -> None:
    rows = Estimate(10, "sampled", 1, low=0, high=20)
    assert (rows / Estimate(2, "sampled", 0.04, low=0, high=4)).interval(0.9)[1] < 8
    found = rows / Estimate(2, "declared", low=0, high=4)
    assert (found.value, found.low, found.high) == (5, 0, INF)
    found = rows / Estimate(-2, "declared", low=-4, high=0)
    assert (found.value, found.low, found.high) == (-5, -INF, 0)
    found = Estimate(-1, "sampled", 1, -3, 2) / Estimate(2, "declared", low=0)
    assert (found.low, found.high) == UNBOUNDED


def test_a_quotient_by_either_sign_is_unbounded() -> None:
    found = Estimate(10, "sampled", 1, 8, 12, as_of=3) / Estimate(2, "sampled", 0.01, low=-1, high=4, as_of=2)
    assert found == Estimate(5, "sampled", None, as_of=2)
    assert found.interval(0.9) == UNBOUNDED


def test_division_by_zero_is_refused() -> None:
    for nothing in (0, Estimate(0, "counted", 0, 0, 0), Estimate(0, "sampled", 1, 0, 1), Estimate(0, "assumed")):
        with pytest.raises(ZeroDivisionError, match="whose value is 0"):
            Estimate(1, "counted") / nothing


def test_a_value_on_its_bound_has_an_interval() -> None:
    low, high = Estimate(0, "sampled", 4, low=0).interval(0.9)
    assert low == 0
    assert high == pytest.approx(2 * 1.6448536)
    low, high = Estimate(1, "sampled", 0.01, 0, 1).interval(0.9)
    assert low == pytest.approx(0.8355146)
    assert high == 1
    assert Estimate(1e-300, "sampled", 4, low=0).interval(0.9) == (0, INF)


def test_a_result_that_is_too_large_is_the_largest_float() -> None:
    huge = Estimate(1e300, "declared", 1, low=1e300)
    most = np.finfo(float).max
    assert huge * huge == Estimate(most, "declared", None, low=most)
    assert (-huge * huge).value == -most
    assert (1e300 / Estimate(1e-300, "declared", low=0)).value == most


def test_bounds_can_be_tightened() -> None:
    a = Estimate(4, "sampled", 2, low=0, as_of=3)
    assert a.within(-3, 3) == Estimate(3, "sampled", 2, 0, 3, as_of=3)
    with pytest.raises(tw.PlanError, match="no value is between the bounds 5 and 3"):
        a.within(5, 3)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"value": math.nan}, "value=nan must be a number"),
    ({"value": INF}, "value=inf must be finite"),
    ({"value": "3"}, "value='3' must be a number"),
    ({"value": True}, "value=True must be a number"),
    ({"value": None}, "value=None must be a number"),
    ({"variance": -1}, "variance=-1.0 must be at least 0, or None if it is unknown"),
    ({"variance": INF}, "variance=inf must be finite"),
    ({"origin": "guessed"}, "origin='guessed' must be one of counted, sampled, learned, declared, assumed"),
    ({"low": 4}, "value=3.0 must be between low=4.0 and high=inf"),
    ({"high": 2}, "value=3.0 must be between low=-inf and high=2.0"),
    ({"low": math.nan}, "low=nan must be a number"),
    ({"as_of": INF}, "as_of=inf must be finite"),
]


@pytest.mark.parametrize(("given", "sentence"), WRONG)
def test_invalid_estimates_are_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(tw.PlanError) as error:
        tw.Estimate(**{"value": 3, "origin": "counted", **given})
    assert str(error.value) == f"Estimate: {sentence}"


@pytest.mark.parametrize("level", [0, 1, -0.5, 90])
def test_a_level_must_be_a_probability(level: float) -> None:
    with pytest.raises(tw.PlanError, match="must be above 0 and below 1"):
        Estimate(1, "counted").interval(level)


@pytest.mark.parametrize("covariance", [2.1, -2.1, math.nan, INF])
def test_an_impossible_covariance_is_refused(covariance: float) -> None:
    with pytest.raises(tw.PlanError, match=r"covariance=.* must be"):
        Estimate(1, "sampled", 4).plus(Estimate(1, "sampled", 1), covariance)


def test_numpy_numbers_become_plain_numbers() -> None:
    variance: Any = np.int64(0)
    low: Any = np.float32(1)
    made = Estimate(np.float64(3), "counted", variance, low, 4, np.float64(9))
    assert repr(made) == "Estimate(value=3.0, origin='counted', variance=0.0, low=1.0, high=4.0, as_of=9.0)"
    assert np.float64(2) * made == 2 * made


# whatever is drawn

ends = st.sampled_from([-INF, INF]) | st.floats(-1e6, 1e6)


@st.composite
def estimates(draw: st.DrawFn) -> tuple[Estimate, list[float]]:
    """Draw an estimate and values that the quantity may have."""
    low, high = sorted((draw(ends) + 0.0, draw(ends) + 0.0))  # no -0.0
    assume(low < INF and high > -INF)
    inside = st.floats(max(low, -1e7), min(high, 1e7))
    variance = draw(st.none() | st.just(0.0) | st.floats(1e-9, 1e9))
    made = Estimate(draw(inside), draw(st.sampled_from(ORIGINS)), variance, low, high, draw(st.none() | st.just(1.0)))
    return made, [draw(inside) for _ in range(3)]


@given(estimates(), estimates())
def test_results_stay_in_bounds_and_bounds_contain_every_result(one: tuple[Any, Any], other: tuple[Any, Any]) -> None:
    (a, xs), (b, ys) = one, other
    results = [(a + b, [x + y for x in xs for y in ys]), (a - b, [x - y for x in xs for y in ys]),
               (a * b, [x * y for x in xs for y in ys]), (a.complement, [1 - x for x in xs])]  # fmt: skip
    if abs(b.value) > 1e-6:
        results.append((a / b, [x / y for x in xs for y in ys if y and abs(y) > 1e-6]))
    for made, possible in results:
        assert all(made.low <= each <= made.high for each in possible)
        if made.low < made.high and a.variance is None:
            assert made.variance is None
        for level in (0.01, 0.9, 1 - 1e-15):
            least, most = made.interval(level)
            assert made.low <= least <= made.value <= most <= made.high
