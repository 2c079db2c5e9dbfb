"""Lengths of time as people write them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.errors import PlanError
from thalweg.plan.window_length import TICK_NS, UNITS_NS, length_of


@pytest.mark.parametrize(
    ("length", "unit", "ticks"),
    [
        ("10 seconds", "s", 10),
        ("10 SECONDS", "ms", 10_000),
        ("10s", "us", 10_000_000),
        ("1 minute 30 seconds", "s", 90),
        ("1 hour 5 minutes", "ms", 3_900_000),
        ("1.5 hours", "s", 5400),
        ("0.1 seconds", "ns", 100_000_000),  # exactly, which no float is
        ("2 days", "s", 172_800),
        ("1 week", "s", 604_800),
        ("1500 ms", "s", 1),  # what is left over can hold nothing: times are whole seconds
        ("999 us", "ms", 0),
        ("0 seconds", "us", 0),
        (timedelta(minutes=1, microseconds=5), "us", 60_000_005),
        (timedelta(days=2), "s", 172_800),
        (timedelta(0), None, 0),
        ("0 seconds", None, 0),
        (7, None, 7),
        (7.0, None, 7),
        (0, None, 0),
    ],
)
def test_in_ticks(length: object, unit: str | None, ticks: int):
    assert length_of(length, unit) == ticks  # type: ignore[arg-type]


@given(number=st.integers(0, 10_000), word=st.sampled_from(sorted(UNITS_NS)), unit=st.sampled_from(sorted(TICK_NS)))
def test_any_unit_in_any_other(number: int, word: str, unit: str):
    ticks = number * UNITS_NS[word] // TICK_NS[unit]
    if ticks >= 2**61:  # some 73 years of nanoseconds
        assert "longer than the time column can tell" in str(told(f"{number} {word}", unit))
        return
    assert length_of(f"{number} {word}", unit) == ticks
    assert length_of(f"{number} {word}s", unit) == length_of(f"{number}{word.upper()}", unit)


def told(length: object, unit: str | None) -> int | str:
    """Ticks, or what the error says."""
    try:
        return length_of(length, unit)  # type: ignore[arg-type]
    except PlanError as error:
        return str(error)


@given(text=st.text(max_size=20), unit=st.sampled_from([None, *TICK_NS]))
def test_any_text_is_a_length_or_a_clear_error(text: str, unit: str | None):
    answer = told(text, unit)
    assert repr(text) in answer if isinstance(answer, str) else answer >= 0


@given(number=st.floats() | st.integers())
def test_any_number_is_a_length_or_a_clear_error(number: float):
    answer = told(number, None)
    assert repr(number) in answer if isinstance(answer, str) else answer == number >= 0
    assert all(repr(number) in str(told(number, unit)) for unit in TICK_NS)
