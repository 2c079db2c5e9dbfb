"""Parts of times and dates, and truncation to the hour, week or year: in UTC, also before 1970.

>>> from thalweg.plan.expression import Ref, Value, call
>>> ts = Ref("s", "ts", pa.timestamp("us"))
>>> week = TIMES["date_trunc"](call("date_trunc", (Value("week", pa.string()), ts), ts.type))
>>> str(week([pa.scalar("week"), pa.array([-1], ts.type)], 1)[0])
'1969-12-29 00:00:00'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from thalweg.kernels.expressions.rows import Kernel, Maker, arrow_of, full
from thalweg.plan.expression import Call, Value

is_ = pa.types
TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""The number of ticks per second, by unit."""
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 7 * 86_400}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_MONDAY_DAYS = -3
"""The Monday before 1970-01-01, a Thursday, in days since then."""


def utc(times: pa.Array) -> pa.Array:
    """Return times without their time zone, which only affects how they are displayed."""
    return times.view(pa.timestamp(times.type.unit)) if is_.is_timestamp(times.type) and times.type.tz else times


def _part(function: Callable[[Any], pa.Array]) -> Maker:
    def kernel(values: Sequence[Any], rows: int) -> pa.Array:
        return function(utc(full(values[0], rows))).cast(pa.int32())

    return lambda call: kernel


def _date_trunc(call: Call) -> Kernel:
    assert isinstance(call.arguments[0], Value)
    word, kind = str(call.arguments[0].value), call.type
    ticks = TICKS[kind.unit]

    def kernel(values: Sequence[Any], rows: int) -> pa.Array:
        times = full(values[1], rows)
        numbers = np.asarray(times.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False))
        return arrow_of(_floor(numbers, word, ticks), pa.int64(), [times]).view(kind)

    return kernel


def _floor(numbers: NDArray[np.int64], word: str, ticks: int) -> NDArray[np.int64]:
    """Truncate ticks since 1970. Python's and NumPy's remainders round toward the floor, also below zero."""
    if word in _MONTHS:
        months = (numbers // (ticks * 86_400)).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
        months -= months % _MONTHS[word]
        days: NDArray[np.int64] = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
        return days * (ticks * 86_400)
    unit = max(ticks // 1000, 1) if word == "millisecond" else _SECONDS[word] * ticks
    origin = _MONDAY_DAYS * 86_400 * ticks if word == "week" else 0
    return numbers - (numbers - origin) % unit


TIMES: dict[str, Maker] = {
    **{name: _part(getattr(pc, name)) for name in ("year", "month", "day", "hour", "minute", "second")},
    "date_trunc": _date_trunc,
}
