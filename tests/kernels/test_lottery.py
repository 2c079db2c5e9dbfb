"""The lottery of uncertain routes: slices, guards and the ends of sets."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.long_run import examples
from tests.plan.filters.pipelines import pipelines, valid_orders
from thalweg.kernels.lottery import LEAST, Lottery, wheel_of


@given(st.lists(st.floats(0.0, 1e300), min_size=1, max_size=8))
def test_no_slice_is_zero_whatever_is_passed_in(slices: list[float]) -> None:
    wheel = wheel_of(slices)
    assert len(wheel) == len(slices)
    assert min(wheel) / sum(wheel) >= 0.99 * LEAST / (1.0 + LEAST * len(slices))


def test_infinite_and_unknown_slices_make_an_equal_wheel() -> None:
    assert wheel_of([float("inf"), 1.0]) == wheel_of([float("nan"), 1.0]) == [1.0, 1.0]


def test_operators_are_drawn_as_often_as_their_slices_say() -> None:
    lottery = Lottery(np.random.default_rng(1), [[0.0, 1.0, 0.0, 3.0]], [[(1, 3)]], [()] * 4)
    firsts = []
    for _ in range(4_000):
        order = [2, 3, 1, 0]
        lottery.draw(0, order, passed=1)
        firsts.append(order[1])
        assert sorted(order[1:3]) == [1, 3], "only the set is open"
        assert (order[0], order[3]) == (2, 0)
    share = (3.0 + LEAST * 4.0) / (4.0 + 2 * LEAST * 4.0)
    assert abs(np.mean(np.array(firsts) == 3) - share) < 4 * (share * (1 - share) / 4_000) ** 0.5
    assert lottery.decisions == 4_000


def test_the_last_one_of_a_set_needs_no_decision() -> None:
    lottery = Lottery(np.random.default_rng(1), [[1.0] * 4], [[(0, 2), (2, 4)]], [()] * 4)
    order = [0, 1, 2, 3]
    for passed in range(4):
        lottery.draw(0, order, passed)
    assert lottery.decisions == 2
    assert (sorted(order[:2]), sorted(order[2:])) == ([0, 1], [2, 3])


@examples(60, long=2_000)
@given(st.data())
def test_any_set_of_a_valid_order_leads_to_valid_orders(data: st.DataObject) -> None:
    pipeline = data.draw(pipelines())
    start = data.draw(valid_orders(pipeline))
    n = len(start)
    cuts = sorted(data.draw(st.sets(st.integers(0, n), max_size=4)))
    sets = [pair for pair in itertools.pairwise(cuts) if data.draw(st.booleans())]
    slices = data.draw(st.lists(st.floats(0.0, 10.0), min_size=n, max_size=n))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    lottery = Lottery(rng, [slices], [sets], pipeline.guards)
    order = list(start)
    for passed in range(n):
        lottery.draw(0, order, passed)
    assert pipeline.respects(order)
    for place, k in enumerate(start):
        begin, end = next(((b, e) for b, e in sets if b <= place < e), (place, place + 1))
        assert k in order[begin:end], "no operator leaves its set"


def test_every_order_of_an_open_set_comes_up() -> None:
    lottery = Lottery(np.random.default_rng(2), [[9.0, 1.0, 0.0]], [[(0, 3)]], [()] * 3)
    found = set()
    for _ in range(3_000):
        order = [0, 1, 2]
        for passed in range(3):
            lottery.draw(0, order, passed)
        found.add(tuple(order))
    assert found == set(itertools.permutations(range(3)))
