"""What filters cost after which others: remembered for the set before them, not for long, and only if clearly more."""

from __future__ import annotations

import pytest

from thalweg.adapt.met_costs import MetCosts

COSTS = [10.0, 10.0, 10.0]
ALL = [1.0, 1.0, 1.0]


def met(order: tuple[int, ...], per_row: list[float], times: int = 5, rows_seen: int = 1_000) -> MetCosts:
    found = MetCosts()
    for _ in range(times):
        found.record(order, [1_000] * 3, [1_000 * ns for ns in per_row], rows_seen)
    return found


def extra(found: MetCosts, order: tuple[int, ...], rows_seen: int = 1_500, reach: list[float] | None = None) -> float:
    return found.extra_ns(order, reach or ALL, COSTS, rows_seen)


def test_what_counts_is_which_filters_stand_before_not_in_which_order():
    """Filter 2 costs 500 ns per row after 0 and 1, and 10 elsewhere."""
    found = met((0, 1, 2), [10.0, 10.0, 500.0])
    assert extra(found, (0, 1, 2)) == extra(found, (1, 0, 2)) == pytest.approx(490.0)
    assert extra(found, (2, 0, 1)) == extra(found, (0, 2, 1)) == extra(found, (1, 2, 0)) == 0.0


def test_it_costs_more_only_on_the_rows_that_get_there():
    found = met((0, 1, 2), [10.0, 10.0, 500.0])
    assert extra(found, (0, 1, 2), reach=[1.0, 0.5, 0.1]) == pytest.approx(49.0)


@pytest.mark.parametrize("per_row", [5.0, 10.0, 20.0])
def test_what_is_about_as_expected_or_less_does_not_count(per_row: float):
    assert extra(met((0, 1, 2), [10.0, 10.0, per_row]), (0, 1, 2)) == 0.0


def test_one_time_says_nothing():
    assert extra(met((0, 1, 2), [10.0, 10.0, 500.0], times=1), (0, 1, 2)) == 0.0


def test_a_call_that_was_interrupted_says_nothing():
    found = met((0, 1, 2), [10.0, 10.0, 10_000.0], times=3)
    found.record((0, 1, 2), [1_000] * 3, [10_000] * 3, 1_000)
    assert extra(found, (0, 1, 2)) == 0.0


def test_a_handful_of_rows_says_nothing():
    found = MetCosts()
    for _ in range(5):
        found.record((0, 1, 2), [1_000, 1_000, 3], [10_000, 10_000, 100_000], 1_000)
    assert extra(found, (0, 1, 2)) == 0.0


def test_it_is_believed_for_a_while_and_then_looked_at_again():
    found = met((0, 1, 2), [10.0, 10.0, 500.0], rows_seen=1_000)
    assert extra(found, (0, 1, 2), rows_seen=2_000) > 0.0
    assert extra(found, (0, 1, 2), rows_seen=1_000_000) == 0.0


def test_when_it_is_met_again_after_that_only_the_new_counts():
    """It has become cheap meanwhile, or more expensive."""
    for ns, expected in ((10.0, 0.0), (5_000.0, 4_990.0)):
        found = met((0, 1, 2), [10.0, 10.0, 500.0], rows_seen=1_000)
        for _ in range(3):
            found.record((0, 1, 2), [1_000] * 3, [10_000, 10_000, 1_000 * ns], 1_000_000)
        assert extra(found, (0, 1, 2), rows_seen=1_000_001) == pytest.approx(expected)


def test_when_the_data_moves_it_is_forgotten():
    found = met((0, 1, 2), [10.0, 10.0, 500.0])
    found.clear()
    assert extra(found, (0, 1, 2)) == 0.0


def test_a_clock_that_goes_back_is_no_gain():
    found = met((0, 1, 2), [10.0, 10.0, -500.0])
    assert extra(found, (0, 1, 2)) == 0.0


def test_memory_stops_growing():
    """Sixteen filters have a million places to stand at."""
    n = 16
    found = MetCosts()
    for i in range(2_000):
        order = tuple((k * 7 + i * (k + 1)) % n for k in range(n))
        found.record(order, [100] * n, [1_000.0] * n, i + 1)
        assert len(found._met) <= 5_000
