"""The examples of sections 3.1 and 3.2, and the turns that the queries of section 5.4 take."""

from __future__ import annotations

import pytest

from thalweg.lab.om import section_3_1, section_3_2, section_5_4


def test_the_rounds_of_section_3_1() -> None:
    assert section_3_1.rounds() == [[10, 25, 10], [26, 11], [20]]
    assert [claim.judge([[10, 25], [26, 11], [20]]).holds for claim in section_3_1.CLAIMS] == [True, True]
    assert [claim.judge([[10], [26, 11], [20]]).holds for claim in section_3_1.CLAIMS] == [False, False]


def test_one_reading_gives_the_numbers_of_section_3_2() -> None:
    assert section_3_2.as_printed() == [section_3_2.Reading(True, False, "window", "first")]
    costs = [section_3_2.as_printed()[0].cost(plan) for plan in section_3_2.PLANS.values()]
    assert costs == [(5.0, 775.0), (2.5, 575.0)]


def test_the_simulated_plans_of_section_3_2() -> None:
    """50 of 250 rows per second pass the slow operator's queue in plan 1, 50 of 500 in plan 2."""
    one, two = (section_3_2.simulated(plan, 4.0) for plan in section_3_2.PLANS.values())
    assert one.rate == pytest.approx(5.0, abs=0.5)
    assert two.rate == pytest.approx(2.5, abs=0.5)
    assert one.memory == pytest.approx(200 * 4.0 / 2, rel=0.1)
    assert two.memory == pytest.approx(450 * 4.0 / 2, rel=0.1)


def test_queries_take_turns_until_their_rounds_end() -> None:
    queries = section_5_4.ready(quick=True)
    for number, query in enumerate(queries):
        query.rounds = query.rounds[: 3 + number % 2]
    section_5_4.in_turn(queries)
    assert [query.done for query in queries] == [3, 4] * 5
    assert [query.waited for query in queries] == [9] * 10
    assert [query.is_join for query in queries] == [False, True] * 5
