"""The correlated outcomes, counted by brute force."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import pytest

from thalweg.lab.a_greedy.filter_groups import FilterGroups, patterns, permuted

ROWS = 40_000


def outcomes(groups: FilterGroups, seed: int = 1) -> list[list[bool]]:
    """Return one list per filter, taken bit by bit."""
    codes = groups.draw(np.random.default_rng(seed), ROWS).tolist()
    return [[code >> k & 1 == 1 for code in codes] for k in range(groups.n)]


def share(bits: Iterable[bool]) -> float:
    return sum(bits) / ROWS


@pytest.mark.parametrize(
    ("n", "gamma", "selectivity"), [(8, 2, 0.5), (8, 3, 0.5), (6, 6, 0.3), (5, 2, 0.8), (4, 1, 0.1)]
)
def test_selectivity_agreement_and_independence(n: int, gamma: int, selectivity: float) -> None:
    groups = FilterGroups.of(n, gamma, selectivity)
    bits = outcomes(groups)
    for column in bits:
        assert share(column) == pytest.approx(selectivity, abs=0.015)
    for i, j in itertools.combinations(range(n), 2):
        agree = share(a == b for a, b in zip(bits[i], bits[j], strict=True))
        both = share(a and b for a, b in zip(bits[i], bits[j], strict=True))
        if i // gamma == j // gamma:
            assert agree == pytest.approx(0.8, abs=0.015)
        else:
            assert both == pytest.approx(selectivity**2, abs=0.015)


def test_groups_of_their_own_selectivity() -> None:
    bits = outcomes(FilterGroups((2, 2), (0.2, 0.7)))
    assert [round(share(column), 1) for column in bits] == [0.2, 0.2, 0.7, 0.7]


def test_the_joint_distribution_is_that_of_the_draws() -> None:
    groups = FilterGroups((2, 1), (0.4, 0.7))
    dropped, probability = groups.joint()
    assert probability.sum() == pytest.approx(1)
    drawn = groups.draw(np.random.default_rng(3), ROWS).tolist()
    for code in range(8):
        assert drawn.count(code) / ROWS == pytest.approx(probability[code], abs=0.015)
        assert dropped[code].tolist() == [code >> k & 1 == 0 for k in range(3)]


def test_an_impossible_correlation_is_refused() -> None:
    with pytest.raises(ValueError, match="agree on more"):
        patterns(2, 0.05)


def test_every_change_changes_every_group() -> None:
    made = permuted(np.random.default_rng(0), (0.2, 0.4, 0.6, 0.8), 20)
    assert len(made) == 21
    for before, after in itertools.pairwise(made):
        assert all(a != b for a, b in zip(before, after, strict=True))
        assert sorted(after) == [0.2, 0.4, 0.6, 0.8]
