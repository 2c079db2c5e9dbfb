"""The decayed mean of OM 4.3 against its formula, and its variance against draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.long_run import examples
from thalweg.errors import PlanError
from thalweg.stats.decayed_mean import THRESHOLD, DecayedMean, differs


def mean_of(observed: list[float], rounds: int, decay: float) -> DecayedMean:
    made = DecayedMean(rounds, decay)
    for each in observed:
        made.add(each)
    return made


@examples(100, long=2_000)
@given(
    observed=st.lists(st.floats(0, 1e9), min_size=1, max_size=30), rounds=st.integers(1, 12), decay=st.floats(0, 3)
)  # fmt: skip
def test_the_mean_is_the_formula_of_the_paper(observed: list[float], rounds: int, decay: float) -> None:
    last = observed[::-1][:rounds]
    expected = np.average(last, weights=np.exp(-decay * np.arange(len(last))))
    made = mean_of(observed, rounds, decay).estimate("counted", low=0, as_of=4)
    assert made is not None
    assert made.value == pytest.approx(expected, rel=1e-9, abs=1e-300)
    assert min(last) <= made.value <= max(last)
    assert (made.origin, made.low, made.high, made.as_of) == ("counted", 0, math.inf, 4)
    assert (made.variance is None) == (len(last) == 1)


@pytest.mark.parametrize(("rounds", "decay"), [(10, 0.2), (10, 0.0), (3, 1.5), (2, 0.2)])
def test_the_variance_is_that_of_draws(rounds: int, decay: float) -> None:
    rng = np.random.default_rng(3)
    made = [mean_of(rng.gamma(4, 5, 12).tolist(), rounds, decay).estimate("sampled") for _ in range(20_000)]
    values = np.array([each.value for each in made if each is not None])
    variances = np.array([each.variance for each in made if each is not None])
    assert values.mean() == pytest.approx(20, rel=0.01)
    assert variances.mean() == pytest.approx(values.var(), rel=0.04)


def test_new_rounds_replace_the_old_ones() -> None:
    made = mean_of([1000.0] * 20 + [10.0] * 10, 10, 0.2).estimate("counted")
    assert made is not None
    assert (made.value, made.variance) == (10, 0)


def test_without_rounds_nothing_is_known() -> None:
    made = mean_of([5.0, 6.0], 10, 0.2)
    assert len(made) == 2
    made.clear()
    assert (len(made), made.estimate("counted")) == (0, None)


def test_a_selectivity_that_differs_is_estimated_anew() -> None:
    assert not differs(0.01, 0.01 * (1 + THRESHOLD) * 0.999)
    assert differs(0.01, 0.01 * (1 + THRESHOLD) * 1.001)
    assert differs(0.01, 0.01 * (1 - THRESHOLD) * 0.999)
    assert differs(0, 1e-9)
    assert not differs(0, 0)
    assert not differs(2, 3, threshold=0.5)


@pytest.mark.parametrize(("rounds", "decay"), [(0, 0.2), (3, -1), (3, math.nan), (3, math.inf)])
def test_settings_out_of_range_are_refused(rounds: int, decay: float) -> None:
    with pytest.raises(PlanError, match="must be at least 1, and decay="):
        DecayedMean(rounds, decay)


def test_the_newest_rounds_come_back_if_fewer_count() -> None:
    """As after a restart with a smaller d."""
    many, few = DecayedMean(rounds=10, decay=0.5), DecayedMean(rounds=2, decay=0.5)
    for observed in range(10):
        many.add(float(observed))
        few.add(float(observed))
    again = DecayedMean(rounds=2, decay=0.5)
    again.restore(many.rounds)
    assert again.rounds == few.rounds == [[9.0, 1.0], [8.0, 1.0]]
