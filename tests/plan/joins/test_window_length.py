"""Lengths of time as users write them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.long_run import examples
from thalweg.errors import PlanError
from thalweg.formatting import time_span
from thalweg.plan.joins.window import TICK_NS, UNITS_NS, length_of
from thalweg.plan.objective import most_results
from thalweg.printable import printable


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
        ("1500 ms", "s", 1),  # a fraction is dropped: times are whole seconds
        ("999 us", "ms", 0),
        ("0 seconds", "us", 0),
        (timedelta(minutes=1, microseconds=5), "us", 60_000_005),
        (timedelta(days=2), "s", 172_800),
        (timedelta(0), None, 0),
        ("0 seconds", None, 0),
        (7, None, 7),
        (7.0, None, 7),
        (0, None, 0),
        (np.timedelta64(10**11, "D"), "s", 86_400 * 10**11),
        (np.timedelta64(5, "D"), "us", 432_000_000_000),
        (np.timedelta64(3, ("s", 25)), "s", 75),
        (np.timedelta64(1500, "ps"), "ns", 1),
        (np.timedelta64(1, "Y"), "s", 31_556_952),
        (np.timedelta64(0, "h"), None, 0),
        (pd.Timedelta(5, "ns"), "ns", 5),
        (pd.Timedelta(days=2), "s", 172_800),
        (np.int8(7), None, 7),
        (np.float32(7), None, 7),
    ],
    ids=repr,
)
def test_lengths_in_ticks(length: object, unit: str | None, ticks: int) -> None:
    assert length_of(length, unit) == ticks  # type: ignore[arg-type]


@given(number=st.integers(0, 10_000), word=st.sampled_from(sorted(UNITS_NS)), unit=st.sampled_from(sorted(TICK_NS)))
def test_any_unit_converts_to_any_other(number: int, word: str, unit: str) -> None:
    ticks = number * UNITS_NS[word] // TICK_NS[unit]
    if ticks >= 2**61:  # some 73 years of nanoseconds
        assert "longer than the time column can represent" in str(ticks_or_error(f"{number} {word}", unit))
        return
    assert length_of(f"{number} {word}", unit) == ticks
    assert length_of(f"{number} {word}s", unit) == length_of(f"{number}{word.upper()}", unit)


_ONE_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9, "d": 86_400 * 10**9}


@given(ticks=st.integers(0, 10**4) | st.integers(0, 2**63), unit=st.sampled_from(sorted(TICK_NS)))
def test_a_shown_length_is_as_exact_as_its_last_unit(ticks: int, unit: str) -> None:
    """Parsed back in the test: exact to a tenth of a short unit, or to one of the smaller of two units."""
    ns, words = ticks * TICK_NS[unit], time_span(ticks, TICK_NS[unit]).replace("µ", "u").replace(",", "").split()
    back = sum(round(10 * float(number)) * _ONE_NS[name] // 10 for number, name in zip(*[iter(words)] * 2, strict=True))
    below = {"min": "s", "h": "min", "d": "h"}
    error = _ONE_NS[below[words[1]]] / 2 if words[1] in below else _ONE_NS[words[1]] / 20
    assert abs(back - ns) <= error
    assert len(words) in (2, 4)
    assert float(words[0]) < {"s": 120, "min": 60, "h": 24, "d": float("inf")}.get(words[1], 1000)


@pytest.mark.parametrize(
    ("ticks", "tick_ns", "words"),
    [
        (93_719_920_000, 1_000, "1 d 2 h"),
        (93_719, 1, "93.7 µs"),
        (10, 10**9, "10 s"),
        (120, 10**9, "2 min"),
        (123, 10**9, "2 min 3 s"),
        (3_599, 10**9, "59 min 59 s"),
        (3_600_000, 10**6, "1 h"),
        (1_000_000 * 86_400, 10**9, "1,000,000 d"),
        (1, 1, "1 ns"),
        (0, None, "0 ticks of time"),
        (6_541, None, "6,541 ticks of time"),
    ],
)
def test_lengths_in_words(ticks: int, tick_ns: int | None, words: str) -> None:
    assert time_span(ticks, tick_ns) == words


def ticks_or_error(length: object, unit: str | None) -> int | str:
    """Return the ticks, or the message of the error."""
    try:
        return length_of(length, unit)  # type: ignore[arg-type]
    except PlanError as error:
        return str(error)


@given(text=st.text(max_size=20), unit=st.sampled_from([None, *TICK_NS]))
def test_any_text_is_a_length_or_a_clear_error(text: str, unit: str | None) -> None:
    answer = ticks_or_error(text, unit)
    assert printable(repr(text)) in answer if isinstance(answer, str) else answer >= 0


@given(number=st.floats() | st.integers())
def test_any_number_is_a_length_or_a_clear_error(number: float) -> None:
    answer = ticks_or_error(number, None)
    assert repr(number) in answer if isinstance(answer, str) else answer == number >= 0
    assert all(repr(number) in str(ticks_or_error(number, unit)) for unit in TICK_NS)


_OF_NUMPY = {
    "W": 7 * 86_400 * 10**9, "D": 86_400 * 10**9, "h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6,
    "us": 1000, "ns": 1,
}  # fmt: skip


@examples(200, long=10_000)
@given(
    number=st.integers(-100, 10**4) | st.integers(-(2**63) + 1, 2**63 - 1),
    numpy_unit=st.sampled_from(sorted(_OF_NUMPY)),
    unit=st.sampled_from(sorted(TICK_NS)),
)
def test_a_length_of_numpy_is_exact_or_refused(number: int, numpy_unit: Any, unit: str) -> None:
    """NumPy's own conversion to nanoseconds wraps around."""
    length = np.timedelta64(number, numpy_unit)
    ticks = number * _OF_NUMPY[numpy_unit] // TICK_NS[unit]
    answer = ticks_or_error(length, unit)
    if number < 0:
        assert "must not be negative" in str(answer)
    elif ticks >= 2**61:
        assert "longer than the time column can represent" in str(answer)
    else:
        assert answer == ticks


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (np.timedelta64("NaT"), "a length of time with a unit"),
        (np.timedelta64("NaT", "s"), "a length of time with a unit"),
        (np.timedelta64(5), "a length of time with a unit"),
        (pd.NaT, "must be a length of time"),
        (np.complex128(3), "must be a length of time"),
        (np.longdouble(3), "must be a length of time"),
        (10**5000, "a number of too many digits"),
        (-(10**5000), "a number of too many digits"),
        ("9" * 5000 + " s", "5,000 digits"),
        ("0." + "1" * 5000 + " s", "5,002 digits"),
        (timedelta.max, "longer than the time column can represent"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_length_is_refused_in_a_sentence(length: object, words: str) -> None:
    assert words in str(ticks_or_error(length, "us"))
    with pytest.raises(PlanError, match=f"^by.*{words}") as caught:
        most_results(by=length)  # type: ignore[arg-type]
    assert len(str(caught.value)) < 200
