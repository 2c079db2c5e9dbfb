"""Axes of pictures: marks at round numbers within the axis, units, and texts of times and counts."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.long_run import examples
from thalweg.draw.axis import Axis, Unit, byte_unit, count, count_unit, marked, moment, time_unit


@examples(100, long=5_000)
@given(
    st.floats(min_value=0.0, max_value=1.7e308, allow_nan=False),
    st.sampled_from([time_unit, count_unit, byte_unit, lambda _: None]),
)
def test_marks_are_few_even_and_within_the_axis(most: float, of: object) -> None:
    unit = of(most)  # type: ignore[operator]
    axis = Axis(400.0, 100.0, most)
    marks = axis.marks(unit)
    assert 2 <= len(marks) <= 7
    assert marks[0] == 0.0
    assert all(100.0 - 1e-3 <= axis.at(mark) <= 400.0 for mark in marks)
    gaps = [axis.at(one) - axis.at(two) for one, two in pairwise(marks)]
    assert all(math.isclose(gap, gaps[0], rel_tol=1e-6) for gap in gaps)
    texts = [marked(mark, unit or Unit("", 1.0)) for mark in marks]
    assert len(set(texts)) == len(texts)


def test_an_axis_without_values_above_0_has_a_length() -> None:
    axis = Axis(0.0, 100.0, 0.0)
    assert axis.at(0.0) == 0.0
    assert axis.marks()[-1] == 1.0


@pytest.mark.parametrize(
    ("longest", "unit", "texts"),
    [
        (0.0, "s", ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (0.02, "ms", ["0", "5", "10", "15", "20"]),
        (10.0, "s", ["0", "2", "4", "6", "8", "10"]),
        (3600.0, "min", ["0", "10", "20", "30", "40", "50", "60"]),
        (86_400.0, "h", ["0", "6", "12", "18", "24"]),
        (30 * 86_400.0, "d", ["0", "5", "10", "15", "20", "25", "30"]),
    ],
)
def test_times_have_the_unit_that_people_use(longest: float, unit: str, texts: list[str]) -> None:
    chosen = time_unit(longest)
    assert chosen.name == unit
    assert [marked(mark, chosen) for mark in Axis(0.0, 1.0, longest).marks(chosen)] == texts


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"), (0.25, "0.25"), (999.4, "999"), (999.7, "1,000"), (12_345.0, "12,345"), (999_999.0, "1 million"),
        (2.5e9, "2.5 billion"), (999_999_999.0, "1 billion"), (3e12, "3 trillion"), (1.7e308, "1.7e+308"),
    ],
)  # fmt: skip
def test_counts_are_short(number: float, text: str) -> None:
    assert count(number) == text


def test_moments_are_short() -> None:
    assert [moment(each) for each in (0.0, 0.0032, 10.0, 600.0, 90_000.0)] == [
        "0 s", "3.2 ms", "10 s", "10 min", "1 d 1 h",
    ]  # fmt: skip
    assert moment(1.7e308) == "1.7e+308 s"


def test_texts_that_would_touch_are_left_out() -> None:
    unit = Unit("", 1.0)
    wide, narrow = (Axis(0.0, end, 1e300).labels(unit, 10.0) for end in (1000.0, 100.0))
    assert [words for _, words in wide] == ["0", "2e+299", "4e+299", "6e+299", "8e+299", "1e+300"]
    assert [words for _, words in narrow] == ["0", "", "", "6e+299", "", ""]
    assert [value for value, _ in wide] == [value for value, _ in narrow]
