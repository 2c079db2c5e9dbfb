"""Declared intervals, pooling and fading of estimates, compared with seeded draws of the quantities."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.long_run import examples
from thalweg.errors import PlanError
from thalweg.plan.estimate import ORIGINS, WIDEST, Estimate

DRAWS = 400_000
Z = 1.6448536269514722
"""The 95 % quantile of the standard normal distribution, from a table."""


@pytest.mark.parametrize(("low", "high"), [(10, 90), (0.01, 0.02), (500, 501), (1, 3_000)])
def test_an_interval_is_that_of_log_normal_draws(low: float, high: float) -> None:
    made = Estimate.between(low, high)
    middle, spread = (math.log(low) + math.log(high)) / 2, (math.log(high) - math.log(low)) / 2 / Z
    drawn = np.random.default_rng(5).lognormal(middle, spread, DRAWS)
    assert np.mean(drawn < low) == pytest.approx(0.05, abs=0.002)
    assert np.mean(drawn > high) == pytest.approx(0.05, abs=0.002)
    # the mean of draws that spread over three orders of magnitude varies by percents itself
    assert made.value == pytest.approx(drawn.mean(), rel=0.01 if high / low < 100 else 0.06)
    assert made.variance is not None
    if high / low < 100:
        assert made.variance == pytest.approx(drawn.var(), rel=0.03)
    assert (made.origin, made.low, made.high, made.as_of) == ("declared", 0, math.inf, None)


@examples(200, long=5_000)
@given(low=st.floats(1e-60, 1e60), ratio=st.floats(1 + 1e-6, WIDEST))
def test_the_interval_of_an_interval_is_itself(low: float, ratio: float) -> None:
    high = low * ratio
    assume(high / low <= WIDEST)
    made = Estimate.between(low, high, "counted", as_of=3)
    assert made.interval(0.9) == pytest.approx((low, high), rel=1e-6)
    assert low < made.value < high
    assert (made.origin, made.as_of) == ("counted", 3)


def test_an_interval_of_one_value_is_exact() -> None:
    made = Estimate.between(7, 7)
    assert (made.value, made.variance, made.interval(0.9)) == (7, 0, (7, 7))


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (90, 10, "is above high=10.0; swap them"), (0, 5, "low=0 must be a finite number above 0"),
        (-1, 5, "low=-1 must be"), (math.nan, 5, "low=nan must be"), (1, math.inf, "high=inf must be"),
        (True, 5, "low=True must be"), ("1", 5, "low='1' must be"), (1, None, "high=None must be"),
        (1, 1e5, "at most 10,000 times low; give a narrower interval, or leave the number out"),
    ],
)  # fmt: skip
def test_wrong_ends_of_an_interval_are_refused(low: Any, high: Any, message: str) -> None:
    with pytest.raises(PlanError) as error:
        Estimate.between(low, high)
    assert message in str(error.value)


def test_the_variance_of_the_largest_interval_is_unknown() -> None:
    made = Estimate.between(1e300, 1e303)
    assert made.variance is None
    assert 1e300 < made.value < 1e303


@pytest.mark.parametrize(("one", "other"), [(4.0, 1.0), (2.0, 2.0), (0.01, 9.0)])
def test_pooled_estimates_have_the_variance_of_draws(one: float, other: float) -> None:
    rng = np.random.default_rng(7)
    x, y = rng.normal(10, math.sqrt(one), DRAWS), rng.normal(10, math.sqrt(other), DRAWS)
    pairs = zip(x[:2_000].tolist(), y[:2_000].tolist(), strict=True)
    made = [Estimate(a, "sampled", one).pooled(Estimate(b, "counted", other)) for a, b in pairs]
    values = np.array([each.value for each in made])
    weights = np.linspace(0, 1, 201)
    best = min(float(np.var(w * x + (1 - w) * y)) for w in weights)
    assert made[0].variance == pytest.approx(best, rel=0.02)
    assert values.var() == pytest.approx(best, rel=0.1)  # the variance of 2,000 draws varies by 3 %
    assert values.mean() == pytest.approx(10, abs=0.15)
    assert made[0].origin == "sampled"


def test_of_estimates_without_weights_one_is_kept() -> None:
    known, unknown = Estimate(3, "declared", 4, as_of=1), Estimate(5, "counted", None, as_of=9)
    assert known.pooled(unknown) is known
    assert unknown.pooled(known) is known
    exact = Estimate(2, "assumed", 0)
    assert exact.pooled(known) is exact
    assert known.pooled(exact) is exact
    for variance in (None, 0):
        declared, counted = Estimate(3, "declared", variance), Estimate(5, "counted", variance)
        assert declared.pooled(counted) is counted
        assert counted.pooled(declared) is counted
        older, newer = Estimate(1, "counted", variance, as_of=1), Estimate(2, "counted", variance, as_of=2)
        assert older.pooled(newer) is newer
        assert newer.pooled(older) is newer
        assert newer.pooled(counted) is newer
        again = Estimate(6, "counted", variance)
        assert counted.pooled(again) is again


def test_a_pooled_estimate_has_the_bounds_and_the_age_of_both() -> None:
    one, other = Estimate(4, "sampled", 1, 0, 9, as_of=5), Estimate(6, "declared", 1, 2, 20, as_of=3)
    assert one.pooled(other) == other.pooled(one) == Estimate(5, "declared", 0.5, 2, 9, 3)
    assert one.pooled(Estimate(6, "declared", 1)).as_of == 5
    apart = Estimate(1, "counted", 1, 0, 2).pooled(Estimate(7, "counted", 3, 6, 8))
    assert (apart.value, apart.low, apart.high) == (2.5, 0, 8)


estimates = st.builds(
    Estimate, st.floats(0, 1e6), st.sampled_from(ORIGINS), st.none() | st.floats(0, 1e9), low=st.just(0),
    as_of=st.none() | st.floats(0, 1e5),
)  # fmt: skip


@examples(300, long=5_000)
@given(one=estimates, other=estimates)
def test_a_pooled_estimate_is_between_the_two_and_surer(one: Estimate, other: Estimate) -> None:
    made = one.pooled(other)
    ends = sorted([one.value, other.value])
    assert ends[0] - 1e-9 * ends[1] <= made.value <= ends[1] * (1 + 1e-9)
    known = [each.variance for each in (one, other) if each.variance is not None]
    assert made.variance is None if not known else made.variance <= min(known)  # type: ignore[operator]


def test_a_faded_estimate_has_the_variance_of_a_random_walk() -> None:
    """Of draws of the quantity that are multiplied, step by step, with factors of mean 1."""
    rng = np.random.default_rng(11)
    lifetime, steps, step = 100.0, 40, 1.0
    drawn = rng.normal(50, 4, DRAWS)
    for _ in range(steps):
        drawn *= 1 + rng.choice([-1, 1], DRAWS) * math.sqrt(step / lifetime)
    faded = Estimate(50, "counted", 16, low=0, as_of=1_000)
    for now in np.arange(1_001, 1_001 + steps):
        faded = faded.faded(float(now), lifetime)
    assert faded.variance == pytest.approx(drawn.var(), rel=0.02)
    assert faded.value == 50
    assert drawn.mean() == pytest.approx(50, rel=0.005)
    at_once = Estimate(50, "counted", 16, low=0, as_of=1_000).faded(1_040, lifetime)
    assert at_once.variance == pytest.approx(16 + (2_500 + 16) * 0.4)


def test_a_fresh_estimate_outweighs_an_old_one() -> None:
    old, fresh = Estimate(100, "counted", 1, low=0, as_of=0), Estimate(10, "counted", 1, low=0, as_of=600)
    assert old.pooled(fresh).value == 55
    assert old.faded(600).pooled(fresh).value == pytest.approx(10, abs=0.1)
    ages = [old.faded(now).pooled(fresh).value for now in (0, 1, 10, 100, 1_000)]
    assert all(later < sooner for sooner, later in itertools.pairwise(ages))


def test_what_cannot_fade_stays_as_it_is() -> None:
    for still in (
        Estimate(5, "declared", 1),
        Estimate(5, "declared", None, as_of=3),
        Estimate(5, "counted", 1, as_of=99),
    ):
        assert still.faded(9) is still
    share = Estimate(0.9, "counted", 0.001, 0, 1, as_of=0).faded(1e9)
    assert share.variance == pytest.approx(0.09)  # a share varies no more than one that is always 0 or 1
    assert Estimate(1e200, "counted", 1, as_of=0).faded(10).variance is None
    for lifetime in (0, -1, math.nan):
        with pytest.raises(PlanError, match="must be a number of seconds above 0"):
            share.faded(1, lifetime)
