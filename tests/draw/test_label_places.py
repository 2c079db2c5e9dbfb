"""Places for labels: ordered, apart, within bounds, and as near as possible, by brute force over a grid."""

from __future__ import annotations

from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.long_run import examples
from thalweg.draw.label_places import label_places

APART, HIGH = 3, 14


def cost(places: list[float] | tuple[float, ...], wanted: list[float]) -> float:
    return sum((place - want) ** 2 for place, want in zip(places, wanted, strict=True))


@examples(60, long=2_000)
@given(st.lists(st.integers(-3, 18), min_size=1, max_size=4).map(sorted))
def test_no_places_on_a_grid_are_nearer(whole: list[int]) -> None:
    wanted = [float(each) for each in whole]
    found = label_places(wanted, apart=APART, low=0.0, high=HIGH)
    assert min(found) >= 0.0
    assert max(found) <= HIGH
    assert all(after - before >= APART - 1e-9 for before, after in pairwise(found))
    halves = [each / 2 for each in range(2 * HIGH + 1)]
    feasible = (
        places for places in combinations(halves, len(wanted)) if all(b - a >= APART for a, b in pairwise(places))
    )
    assert cost(found, wanted) <= min(cost(places, wanted) for places in feasible) + 1e-9


def test_labels_that_do_not_collide_stay_where_they_are() -> None:
    assert label_places([1.0, 5.5, 14.0], apart=3, low=0.0, high=14.0) == [1.0, 5.5, 14.0]


def test_labels_that_just_fit_fill_the_whole_column() -> None:
    assert label_places([7.0] * 5, apart=3.5, low=0.0, high=14.0) == [0.0, 3.5, 7.0, 10.5, 14.0]
