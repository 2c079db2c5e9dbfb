"""Parts of times and dates, truncation to the hour, week or year, and dates as text: in UTC, over the whole range.

Arrow computes years in 16 bits. A batch with a time that is farther away is computed with NumPy, which is slower.

>>> from thalweg.plan.expressions.expression import Ref, Value, call
>>> ts = Ref("s", "ts", pa.timestamp("us"))
>>> week = TIMES["date_trunc"](call("date_trunc", (Value("week", pa.string()), ts), ts.type))
>>> str(week([pa.scalar("week"), pa.array([-1], ts.type)], 1)[0])
'1969-12-29 00:00:00'
>>> date_texts(pa.array([0, 100_000_000, None], pa.date32())).to_pylist()
['1970-01-01', '+275760-09-13', None]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from thalweg.kernels.expressions.arithmetic import overflow
from thalweg.kernels.expressions.rows import Kernel, Maker, arrow_of, full, numpy_of
from thalweg.plan.expressions.expression import Call, Value

is_ = pa.types
TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""The number of ticks per second, by unit."""
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 7 * 86_400}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_MONDAY_DAYS = -3
"""The Monday before 1970-01-01, a Thursday, in days since then."""
_NEAR = 11_000_000
"""Arrow computes the right years of the days between minus this one and this one: 32086-12-23."""
_LAST_WITHOUT_SIGN = 2_932_896
"""9999-12-31."""
_DATE_PARTS = ("year", "month", "day")


def utc(times: pa.Array) -> pa.Array:
    """Return times without their time zone, which only affects how they are displayed."""
    return times.view(pa.timestamp(times.type.unit)) if is_.is_timestamp(times.type) and times.type.tz else times


def days_of(times: pa.Array) -> NDArray[np.int64]:
    """Return the days since 1970 of times or dates, with 0 for nulls."""
    if is_.is_date(times.type):
        return numpy_of(times.cast(pa.int32()), len(times)).astype(np.int64)
    ticks: NDArray[np.int64] = numpy_of(times.cast(pa.int64()), len(times))
    return ticks // (TICKS[times.type.unit] * 86_400)


def _within(times: pa.Array, first: int, last: int) -> bool:
    """Whether all times or dates are between these days."""
    kind, per_day = (pa.int32(), 1) if is_.is_date(times.type) else (pa.int64(), TICKS[times.type.unit] * 86_400)
    ends = pc.min_max(times.cast(kind))
    low, high = ends["min"].as_py(), ends["max"].as_py()
    return low is None or (first * per_day <= low and high < (last + 1) * per_day)


def _parts_of_days(days: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """Return the year, the month and the day of days since 1970."""
    dates = days.astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    count = months.astype(np.int64)
    day = (dates - months.astype("datetime64[D]")).astype(np.int64) + 1
    return {"year": count // 12 + 1970, "month": count % 12 + 1, "day": day}


def _part(name: str) -> Maker:
    near = getattr(pc, name)

    def make(call: Call) -> Kernel:
        def kernel(values: Sequence[Any], rows: int) -> pa.Array:
            times = utc(full(values[0], rows))
            if name in _DATE_PARTS and not _within(times, -_NEAR, _NEAR):
                return arrow_of(_parts_of_days(days_of(times))[name], pa.int32(), [times])
            return near(times).cast(pa.int32())

        return kernel

    return make


def date_texts(dates: pa.Array) -> pa.Array:
    """Return dates as text. As in Spark, years have at least four digits, and those after 9999 have a sign."""
    if _within(dates, -_NEAR, _LAST_WITHOUT_SIGN):
        return dates.cast(pa.string())
    year, month, day = _parts_of_days(days_of(dates)).values()
    sign = pa.array(np.where(year < 0, "-", np.where(year > 9999, "+", "")), pa.string())
    sign = pc.if_else(dates.is_valid(), sign, pa.scalar(None, pa.string()))
    digits = [pc.utf8_lpad(pa.array(np.abs(n)).cast(pa.string()), w, "0") for n, w in ((year, 4), (month, 2), (day, 2))]
    return pc.binary_join_element_wise(sign, pc.binary_join_element_wise(*digits, "-"), "")


def _date_trunc(call: Call) -> Kernel:
    assert isinstance(call.arguments[0], Value)
    word, kind = str(call.arguments[0].value), call.type
    ticks = TICKS[kind.unit]

    def kernel(values: Sequence[Any], rows: int) -> pa.Array:
        times = full(values[1], rows)
        numbers = numpy_of(times.cast(pa.int64()), rows)
        made = _floor(numbers, word, ticks)
        if (made > numbers).any():
            raise overflow(call)
        return arrow_of(made, pa.int64(), [times]).view(kind)

    return kernel


def _floor(numbers: NDArray[np.int64], word: str, ticks: int) -> NDArray[np.int64]:
    """Truncate ticks since 1970. What is before the first time that fits wraps, and is then greater than the number.

    Python's and NumPy's remainders round toward the floor, also below zero."""
    if word in _MONTHS:
        months = (numbers // (ticks * 86_400)).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
        months -= months % _MONTHS[word]
        days: NDArray[np.int64] = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
        return days * (ticks * 86_400)
    unit = max(ticks // 1000, 1) if word == "millisecond" else _SECONDS[word] * ticks
    rest = numbers % unit
    if word == "week":
        rest = (rest - _MONDAY_DAYS * 86_400 * ticks) % unit
    return numbers - rest


TIMES: dict[str, Maker] = {
    **{name: _part(name) for name in (*_DATE_PARTS, "hour", "minute", "second")},
    "date_trunc": _date_trunc,
}
