"""What filters cost after other filters: remembered by the set of these, for a while, and only if clearly more."""

from __future__ import annotations

import pytest

from thalweg.adapt.positional_costs import PositionalCosts

COSTS = [10.0, 10.0, 10.0]
ALL = [1.0, 1.0, 1.0]


def measured(order: tuple[int, ...], per_row: list[float], times: int = 5, rows_seen: int = 1_000) -> PositionalCosts:
    found = PositionalCosts()
    for _ in range(times):
        found.record(order, [1_000] * 3, [1_000 * ns for ns in per_row], rows_seen)
    return found


def extra(
    found: PositionalCosts, order: tuple[int, ...], rows_seen: int = 1_500, reach: list[float] | None = None
) -> float:
    return found.extra_ns(order, reach or ALL, COSTS, rows_seen)


def test_the_cost_depends_on_the_set_of_filters_before_it() -> None:
    """Filter 2 costs 500 ns per row after 0 and 1, and 10 elsewhere."""
    found = measured((0, 1, 2), [10.0, 10.0, 500.0])
    assert extra(found, (0, 1, 2)) == extra(found, (1, 0, 2)) == pytest.approx(490.0)
    assert extra(found, (2, 0, 1)) == extra(found, (0, 2, 1)) == extra(found, (1, 2, 0)) == 0.0


def test_it_costs_more_only_on_the_rows_that_get_there() -> None:
    found = measured((0, 1, 2), [10.0, 10.0, 500.0])
    assert extra(found, (0, 1, 2), reach=[1.0, 0.5, 0.1]) == pytest.approx(49.0)


@pytest.mark.parametrize("per_row", [5.0, 10.0, 20.0])
def test_costs_that_are_about_as_expected_or_lower_do_not_count(per_row: float) -> None:
    assert extra(measured((0, 1, 2), [10.0, 10.0, per_row]), (0, 1, 2)) == 0.0


def test_one_measurement_is_not_enough() -> None:
    assert extra(measured((0, 1, 2), [10.0, 10.0, 500.0], times=1), (0, 1, 2)) == 0.0


def test_an_interrupted_call_does_not_count() -> None:
    found = measured((0, 1, 2), [10.0, 10.0, 10_000.0], times=3)
    found.record((0, 1, 2), [1_000] * 3, [10_000] * 3, 1_000)
    assert extra(found, (0, 1, 2)) == 0.0


def test_a_handful_of_rows_does_not_count() -> None:
    found = PositionalCosts()
    for _ in range(5):
        found.record((0, 1, 2), [1_000, 1_000, 3], [10_000, 10_000, 100_000], 1_000)
    assert extra(found, (0, 1, 2)) == 0.0


def test_a_measurement_is_valid_only_for_a_while() -> None:
    found = measured((0, 1, 2), [10.0, 10.0, 500.0], rows_seen=1_000)
    assert extra(found, (0, 1, 2), rows_seen=2_000) > 0.0
    assert extra(found, (0, 1, 2), rows_seen=1_000_000) == 0.0


def test_after_a_new_measurement_only_the_new_cost_counts() -> None:
    """The filter has become cheaper in the meantime, or more expensive."""
    for ns, expected in ((10.0, 0.0), (5_000.0, 4_990.0)):
        found = measured((0, 1, 2), [10.0, 10.0, 500.0], rows_seen=1_000)
        for _ in range(3):
            found.record((0, 1, 2), [1_000] * 3, [10_000, 10_000, 1_000 * ns], 1_000_000)
        assert extra(found, (0, 1, 2), rows_seen=1_000_001) == pytest.approx(expected)


def test_when_the_data_moves_it_is_forgotten() -> None:
    found = measured((0, 1, 2), [10.0, 10.0, 500.0])
    found.clear()
    assert extra(found, (0, 1, 2)) == 0.0


def test_a_clock_that_goes_back_is_no_gain() -> None:
    found = measured((0, 1, 2), [10.0, 10.0, -500.0])
    assert extra(found, (0, 1, 2)) == 0.0


def test_memory_stops_growing() -> None:
    """Sixteen filters can come after half a million combinations of a filter and a set."""
    n = 16
    found = PositionalCosts()
    for i in range(2_000):
        order = tuple((k * 7 + i * (k + 1)) % n for k in range(n))
        found.record(order, [100] * n, [1_000.0] * n, i + 1)
        assert len(found._costs) <= 5_000
