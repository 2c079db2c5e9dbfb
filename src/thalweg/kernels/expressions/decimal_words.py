"""Compiled loops that parse numbers in text digit by digit. They need numba, so import this module late.

A decimal is an integer of 128 bits, stored here as two words of 64 bits. Rounding is half up, so only the first digit
that is cut off matters, and texts of any length are parsed exactly. A text is a number if Java's BigDecimal accepts it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.kernels.compiled import compiled

Offsets = NDArray[np.int32]
Bytes = NDArray[np.uint8]
_BLANK, _PLUS, _MINUS, _POINT, _ZERO, _NINE, _SMALL_E = 32, 43, 45, 46, 48, 57, 101
_HALF = np.uint64(32)
_LOW = np.uint64(2**32 - 1)
_TEN = np.uint64(10)
_ONE = np.uint64(1)
_FIVE = np.uint64(5)
_NONE = np.uint64(0)
_MOST_EXPONENT = 2**31 - 1
_SHORT = 18
"""One more than the digits in the shortest text of a double; ten to this power fits in a word."""


@compiled()
def _digits_end(data: Bytes, at: int, end: int) -> int:
    while at < end and _ZERO <= data[at] <= _NINE:
        at += 1
    return at


@compiled()
def _parts(data: Bytes, at: int, end: int) -> tuple[int, int, int, int, int, bool]:
    """Return where the parts of a number are, its exponent, and whether it is a number at all.

    The parts are: the start of the digits, the end of the integer digits, and the start and end of the fractional ones.
    """
    if at < end and (data[at] == _PLUS or data[at] == _MINUS):
        at += 1
    first = at
    whole_end = behind = last = _digits_end(data, at, end)
    at = whole_end
    if at < end and data[at] == _POINT:
        behind = at + 1
        at = last = _digits_end(data, behind, end)
    fine = whole_end - first + last - behind > 0
    exponent = 0
    if fine and at < end and data[at] | 0x20 == _SMALL_E:
        at += 1
        negative = at < end and data[at] == _MINUS
        if at < end and (data[at] == _PLUS or data[at] == _MINUS):
            at += 1
        fine = at < end
        while at < end and _ZERO <= data[at] <= _NINE:
            exponent = min(exponent * 10 + data[at] - _ZERO, _MOST_EXPONENT + 2)
            at += 1
        if negative:
            exponent = -exponent
    places = last - behind - exponent
    fine = fine and at == end and -_MOST_EXPONENT <= places <= _MOST_EXPONENT and abs(exponent) <= _MOST_EXPONENT
    return first, whole_end, behind, last, exponent, fine


@compiled()
def _ten_times(high: Any, low: Any, digit: Any) -> tuple[Any, Any]:
    """Return ten times a number, plus a digit."""
    right = (low & _LOW) * _TEN + digit
    left = (low >> _HALF) * _TEN + (right >> _HALF)
    return high * _TEN + (left >> _HALF), (left << _HALF) | (right & _LOW)


@compiled()
def read_decimals(
    made: NDArray[np.uint64], offsets: Offsets, data: Bytes, valid: NDArray[np.bool_], precision: int, scale: int
) -> int:
    """Write the low and high word of every number. Return the first row not of this precision, or -1."""
    most_high, most_low = _NONE, _ONE
    for _ in range(precision):
        most_high, most_low = _ten_times(most_high, most_low, _NONE)
    for row in range(len(offsets) - 1):
        made[row, 0] = made[row, 1] = _NONE
        if not valid[row]:
            continue
        at, end = offsets[row], offsets[row + 1]
        while at < end and data[at] <= _BLANK:
            at += 1
        while at < end and data[end - 1] <= _BLANK:
            end -= 1
        first, whole_end, behind, last, exponent, fine = _parts(data, at, end)
        if not fine:
            return row
        whole = whole_end - first
        count = whole + last - behind
        kept = whole + exponent + scale
        high, low = _NONE, _NONE
        digits = 0  # counted from the first that is not 0
        nothing = True
        for k in range(count):
            digit = np.uint64(data[first + k if k < whole else behind + k - whole] - _ZERO)
            nothing = nothing and digit == _NONE
            if k > kept:
                if not nothing:
                    break
            elif k < kept:
                digits += not nothing
                if digits > precision:
                    return row
                high, low = _ten_times(high, low, digit)
            elif digit >= _FIVE:
                low += _ONE
                if low == _NONE:
                    high += _ONE
        if nothing:
            continue  # it is 0, whatever its exponent
        if kept > count:
            if digits + kept - count > precision:
                return row
            for _ in range(kept - count):
                high, low = _ten_times(high, low, _NONE)
        if high > most_high or (high == most_high and low >= most_low):
            return row  # rounding added a digit, as from 99.9 to 100.0
        if data[at] == _MINUS:
            low = ~low + _ONE
            high = ~high + (_ONE if low == _NONE else _NONE)
        made[row, 0], made[row, 1] = low, high
    return -1


@compiled()
def round_written(made: NDArray[np.int64], offsets: Offsets, data: Bytes, digits: int) -> NDArray[np.bool_]:
    """Round doubles, given as their shortest text, to units of the last digit kept; True if no digit is cut off."""
    rows = len(offsets) - 1
    whole_already = np.zeros(rows, np.bool_)
    for row in range(rows):
        first, whole_end, _, last, exponent, _ = _parts(data, offsets[row], offsets[row + 1])
        number, zeros, place = 0, 0, whole_end - first + exponent
        for at in range(first, last):
            if data[at] == _POINT:
                continue
            place -= 1
            zeros += 1
            if data[at] != _ZERO:
                for _ in range(zeros):
                    number *= 10
                number += data[at] - _ZERO
                zeros = 0
        # the number's last digit is not 0; its place value is ten to the power place + zeros
        cut = -digits - place - zeros
        if cut <= 0:
            whole_already[row] = True
            continue
        power = 1
        for _ in range(min(cut, _SHORT)):
            power *= 10
        kept = 0 if cut > _SHORT else number // power + (number % power * 2 >= power)
        made[row] = -kept if data[offsets[row]] == _MINUS else kept
    return whole_already
