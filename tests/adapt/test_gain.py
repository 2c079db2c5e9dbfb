"""The gain of one order over another is what evaluating both, tuple by tuple, says."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from thalweg.adapt.gain import gain


def spent(row: np.ndarray, order: tuple[int, ...], costs: list[float]) -> float:
    total = 0.0
    for k in order:
        total += costs[k]
        if row[k]:
            break
    return total


@given(st.integers(2, 6), st.integers(2, 40), st.integers(0, 2**32))
def test_mean_share_and_error_are_those_of_the_differences(n: int, rows: int, seed: int):
    rng = np.random.default_rng(seed)
    bits = rng.random((rows, n)) < 0.5
    bits[np.arange(rows), rng.integers(0, n, rows)] = True  # a profile tuple is dropped by somebody
    costs = rng.uniform(1, 9, n).tolist()
    old, new = (tuple(int(k) for k in rng.permutation(n)) for _ in range(2))
    saved = [spent(row, old, costs) - spent(row, new, costs) for row in bits]
    found = gain(bits, old, new, np.array(costs), np.zeros(n))
    assert np.isclose(found.ns, np.mean(saved))
    assert np.isclose(found.error_ns, np.std(saved, ddof=1) / np.sqrt(rows))
    assert np.isclose(found.share, np.mean(saved) / np.mean([spent(row, old, costs) for row in bits]))


def test_what_is_not_known_of_the_costs_is_part_of_the_error():
    bits = np.array([[True, True]] * 10)
    certain = gain(bits, (0, 1), (1, 0), np.array([9.0, 1.0]), np.zeros(2))
    assert (certain.ns, certain.error_ns) == (8.0, 0.0)
    # each order runs one of the two on every row
    doubtful = gain(bits, (0, 1), (1, 0), np.array([9.0, 1.0]), np.array([3.0, 4.0]))
    assert (doubtful.ns, doubtful.error_ns) == (8.0, 5.0)
    assert certain.exceeds(2.0, 0.5)
    assert not doubtful.exceeds(2.0, 0.5)
