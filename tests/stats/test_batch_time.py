"""The times of micro-batches: the line that is fitted to them, its variances, and when there is no answer."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from thalweg.stats import BatchTime
from thalweg.stats.batch_time import BatchTimes


def fitted(rows: list[int], seconds: list[float], starts: list[str] | None = None) -> BatchTimes:
    """The first two micro-batches of a start are left out; here they begin at once, so the rate is that of the rest."""
    times = BatchTimes()
    times.add("first", at=0.0, rows=5, seconds=100.0)
    times.add("first", at=0.0, rows=9_000, seconds=50.0)
    for n, (one, took) in enumerate(zip(rows, seconds, strict=True)):
        times.add("first" if starts is None else starts[n], at=10.0 * (n + 1), rows=one, seconds=took)
    return times


def test_a_line_is_found() -> None:
    rows = [100, 900, 300, 500]
    times = fitted(rows, [0.4 + 2e-3 * one for one in rows])
    assert times.fixed is not None
    assert times.per_row is not None
    assert times.fixed.value == pytest.approx(0.4)
    assert times.per_row.value == pytest.approx(2e-3)
    assert times.rate == pytest.approx(45.0, rel=0.05)
    assert times.known().about(BatchTime("fixed")) == times.fixed
    assert times.known().about(BatchTime("per row")) == times.per_row


def test_the_line_is_that_of_weighted_least_squares() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        n = int(rng.integers(3, 30))
        rows = rng.integers(100, 10_000, n)
        seconds = 0.5 + 1e-4 * rows + rng.uniform(0, 0.2, n)
        times = fitted(rows.tolist(), seconds.tolist())
        weights = np.exp(-0.02 * np.arange(n)[::-1])
        design = np.stack([np.ones(n), rows], axis=1) * np.sqrt(weights)[:, None]
        level, slope = np.linalg.lstsq(design, seconds * np.sqrt(weights), rcond=None)[0]
        if level < 0 or slope < 0:
            continue
        assert times.fixed is not None
        assert times.per_row is not None
        assert times.fixed.value == pytest.approx(level, rel=1e-6)
        assert times.per_row.value == pytest.approx(slope, rel=1e-6)


def test_the_variances_are_those_of_many_runs() -> None:
    rng = np.random.default_rng(2)
    rows = rng.integers(1_000, 9_000, 40)
    found, told = [], []
    for _ in range(400):
        times = fitted(rows.tolist(), (1.0 + 1e-4 * rows + rng.normal(0, 0.05, 40)).tolist())
        assert times.fixed is not None
        assert times.per_row is not None
        found.append((times.fixed.value, times.per_row.value))
        told.append((times.fixed.variance or 0.0, times.per_row.variance or 0.0))
    assert np.mean(told, axis=0) == pytest.approx(np.var(found, axis=0), rel=0.35)


def test_rows_add_only_what_is_certain() -> None:
    """Of 400 runs in which rows add nothing, few find that they certainly do; if they add much, all do."""
    rng = np.random.default_rng(3)
    rows = rng.integers(2_000, 4_000, 20)
    for per_row, least, most in ((0.0, 0.0, 0.05), (4e-4, 0.99, 1.0)):
        above = []
        for _ in range(400):
            times = fitted(rows.tolist(), (0.5 + per_row * rows + rng.normal(0, 0.1, 20)).tolist())
            assert times.fixed is not None
            assert times.per_row is not None
            found = times.certain()
            assert found is not None
            fixed, certain = found
            above.append(certain > 0)
            assert 0 <= certain <= times.per_row.value
            weights = np.exp(-0.02 * np.arange(20)[::-1])
            mean = float(weights @ rows / weights.sum())
            assert fixed + certain * mean == pytest.approx(times.fixed.value + times.per_row.value * mean)
        assert least <= np.mean(above) <= most


def test_the_mean_size_is_that_of_the_batches_that_are_timed() -> None:
    assert fitted([500] * 9, [1.0] * 9).mean_rows == pytest.approx(500)
    assert fitted([100, 300] * 10, [1.0] * 20).mean_rows == pytest.approx(200, rel=0.02)
    assert BatchTimes().mean_rows == 0.0


def test_without_noise_all_is_certain() -> None:
    rows = [100, 900, 300, 500]
    assert fitted(rows, [0.4 + 2e-3 * one for one in rows]).certain() == pytest.approx((0.4, 2e-3), rel=1e-3)
    assert fitted([500] * 9, [1.0] * 9).certain() == pytest.approx((1.0, 0.0))
    assert BatchTimes().certain() is None


def test_neither_number_is_negative() -> None:
    falling = fitted([100, 200, 300], [3.0, 2.0, 1.0])
    assert (falling.fixed, falling.per_row) != (None, None)
    assert falling.per_row is not None
    assert falling.fixed is not None
    assert falling.per_row.value == 0.0
    assert falling.fixed.value == pytest.approx(2.0, rel=0.05)
    steep = fitted([100, 200, 300], [0.1, 1.0, 2.0])
    assert steep.fixed is not None
    assert steep.fixed.value == pytest.approx(0.0, abs=1e-9)


def test_rounding_makes_no_number_negative() -> None:
    """Times in proportion to the rows, and steeper than that: nothing is left for what a micro-batch takes anyway."""
    r = np.random.default_rng(4)
    for _ in range(500):
        rows = r.integers(1, 10**6, 5).tolist()
        times = fitted(rows, [float(r.uniform(0.5, 1.5)) * 1e-7 * one**2 for one in rows])
        assert times.fixed is None or times.fixed.value >= 0


@pytest.mark.parametrize(("rows", "seconds"), [([], []), ([100, 200], [1.0, 2.0])])
def test_too_few_batches_have_no_answer(rows: list[int], seconds: list[float]) -> None:
    times = fitted(rows, seconds)
    assert times.fixed is None
    assert times.per_row is None
    assert not times.known().facts


def test_of_equal_batches_all_of_the_time_is_fixed() -> None:
    for rows, seconds in (([500] * 9, [1.0] * 9), ([500, 501, 499, 500], [1.0, 1.0, 1.0, 1.0])):
        times = fitted(rows, seconds)
        assert times.fixed is not None
        assert times.per_row is not None
        assert times.fixed.value == pytest.approx(1.0)
        assert (times.per_row.value, times.fixed.variance) == (0.0, None)


def test_a_line_is_remembered_while_batches_are_equal() -> None:
    """A steady stream has equal micro-batches after some time."""
    rows = [100, 900, 300, 500] + [400] * 300
    times = fitted(rows, [0.4 + 2e-3 * one for one in rows])
    assert times.fixed is not None
    assert times.per_row is not None
    assert times.fixed.value == pytest.approx(0.4)
    assert times.per_row.value == pytest.approx(2e-3)


def test_the_first_batches_of_every_start_are_left_out() -> None:
    times = fitted(
        [100, 9_000, 20_000, 200, 300, 400], [1.1, 500.0, 90.0, 1.2, 1.3, 1.4], ["first", "b", "b", "b", "b", "b"]
    )
    assert times.batches == 4
    assert times.fixed is not None
    assert times.fixed.value == pytest.approx(1.0)


@pytest.mark.parametrize("empty", [0, 1, 3])
def test_slow_first_batches_do_not_matter(empty: int) -> None:
    """A cold start at 1,000 rows per second: the first micro-batch takes 8 s instead of 0.5 s, the next one has the
    rows that arrived meanwhile and takes three times as long as it would later. `empty` micro-batches without rows come
    before them, as those of a source that has none at first."""
    rng = np.random.default_rng(5)
    times, at = BatchTimes(), 0.0
    for start in ("one", "two"):
        for _ in range(empty):
            times.add(start, at=at, rows=0, seconds=0.1)
            at += 0.1
        rows, took, slow = 100, 8.0, 3.0
        for _ in range(30):
            times.add(start, at=at, rows=rows, seconds=took)
            at += max(took, 1.0)
            rows = round(1_000 * max(took, 1.0))
            took = slow * (0.4 + 2e-4 * rows) + float(rng.uniform(0, 0.02))
            slow = 1.0
    assert times.batches == 56
    assert times.fixed is not None
    assert times.per_row is not None
    assert times.fixed.value == pytest.approx(0.4, rel=0.1)
    assert times.per_row.value == pytest.approx(2e-4, rel=0.1)
    assert times.rate == pytest.approx(1_000, rel=0.02)


def test_empty_batches_have_no_rows_to_time() -> None:
    times = fitted([0, 100, 0, 300, 200], [9.0, 1.1, 9.0, 1.3, 1.2])
    assert times.batches == 3
    assert times.fixed is not None
    assert times.fixed.value == pytest.approx(1.0)
    assert times.rate == pytest.approx(12.0, rel=0.1)


def test_sums_are_stored_and_continued() -> None:
    times = fitted([100, 300, 200], [1.1, 1.3, 1.2])
    again = BatchTimes.read(json.loads(json.dumps(times.to_dict())))
    assert (again.fixed, again.per_row, again.rate) == (times.fixed, times.per_row, times.rate)
    again.add("another start", at=1e9, rows=10**6, seconds=1e6)  # its first micro-batch
    assert (again.fixed, again.rate) == (times.fixed, times.rate)


@pytest.mark.parametrize("stored", [None, [], {}, {"sums": [1.0] * 6, "arrived": 1, "passed": 1, "batches": 1}])
def test_what_is_no_sum_is_refused(stored: Any) -> None:
    with pytest.raises(ValueError, match="sums"):
        BatchTimes.read(stored)
