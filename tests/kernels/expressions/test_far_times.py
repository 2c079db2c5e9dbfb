"""All functions of dates and times over the whole range of their types, compared with Spark."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from tests.kernels.expressions.both_runtimes import BothRuntimes
from thalweg.plan.expressions.functions import FUNCTIONS, TRUNCATED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = 86_400_000_000
FIRST_DAY, FIRST = -(2**31), -(2**63)
# years 0, 1, 9999 and 10000, the years in which 16 bits end, the first and the last day that times reach
DAYS = [-719_529, -719_528, -719_163, -719_162, 2_932_896, 2_932_897, 11_248_737, 11_248_738, -12_687_794,
        -106_751_992, -106_751_991, 106_751_991, 106_751_992, -1, 0, 1]  # fmt: skip
ENDS = (0, 1, 6, 7, 31, 92, 366)


def times(drawn: int) -> pa.Table:
    """Return dates and times: the ends of their ranges and of smaller ones, and drawn ones."""
    r = random.Random(7)
    days = [*DAYS, *(FIRST_DAY + n for n in ENDS), *(-FIRST_DAY - 1 - n for n in ENDS)]
    days += [r.randrange(FIRST_DAY, -FIRST_DAY) for _ in range(drawn)]
    moments = [day * DAY + n for day in DAYS for n in (-1, 0, 1) if FIRST <= day * DAY + n < -FIRST]
    moments += [FIRST + n * DAY + k for n in ENDS for k in (0, 1, 999, DAY - 1)]
    moments += [-FIRST - 1 - n * DAY - k for n in ENDS for k in (0, 1, 999, DAY - 1)]
    moments += [r.randrange(FIRST, -FIRST) for _ in range(drawn)]
    rows = max(len(days), len(moments)) + 1
    zoned, dates = (values + [None] * (rows - len(values)) for values in (moments, days))
    return pa.table({
        "y": pa.array(dates, pa.int32()).cast(pa.date32()),
        "z": pa.array(zoned, pa.int64()).cast(pa.timestamp("us", "UTC")),
        "q": pa.array(r.sample(zoned, rows), pa.int64()).cast(pa.timestamp("us")),
    })  # fmt: skip


def expressions() -> list[str]:
    """Return every function of a date or time, of every type that it takes."""
    of_dates = [name for name, function in FUNCTIONS.items() if function.takes == ("date",)]
    of_times = [name for name, function in FUNCTIONS.items() if function.takes == ("time",)]
    made = [f"{name}({column})" for name in of_dates for column in "yzq"]
    made += [f"{name}({column})" for name in of_times for column in "zq"]
    made += [f"date_trunc('{unit}', {column})" for unit in TRUNCATED for column in "zq"]
    for column, kind in (("z", "TIMESTAMP"), ("q", "TIMESTAMP_NTZ")):
        made += [
            f"CAST({column} AS DATE)", f"CAST(y AS {kind})", f"{column} + INTERVAL '90' MINUTES",
            f"{column} - INTERVAL '1' DAY", f"{column} - {kind} '2000-01-01 00:00:00'",
            f"{column} - y", f"y - {column}",
            f"{column} < y", f"{column} = y", f"{column} <=> y", f"greatest({column}, y)", f"coalesce({column}, y)",
            f"{column} BETWEEN '0001-01-01' AND '9999-12-31'", f"{column} IN ('2000-01-01', '9999-12-31')",
            f"CASE WHEN {column} IS NULL THEN y ELSE {column} END", f"year({column} - INTERVAL '1' DAY)",
            f"CAST(CAST({column} AS DATE) AS STRING)",
        ]  # fmt: skip
    return [*made, "CAST(y AS STRING)", "y BETWEEN '0001-01-01' AND '9999-12-31'", "y > DATE '2000-01-01'"]


@pytest.mark.parametrize("drawn", [50, pytest.param(20_000, marks=pytest.mark.long)])
def test_the_whole_range(spark: SparkSession, tmp_path: Path, drawn: int) -> None:
    both = BothRuntimes(spark, times(drawn), tmp_path)
    found = both.differences(expressions())
    assert not found, {text: (rows[0], both.table.slice(rows[0].row, 1)) for text, rows in found.items()}


def test_the_ends_of_16_bits() -> None:
    """Each day is alone in its batch: a batch with a time that is farther away is computed in another way."""
    from tests.kernels.expressions.nasty import COLUMNS, ours
    from thalweg.plan.expressions.expression import call

    for day in (*range(10_900_000, 11_800_000, 10_007), *range(-12_900_000, -10_900_000, 10_007)):
        dates = pa.table({"y": pa.array([day], pa.int32()).cast(pa.date32())})
        parts = [ours(call(part, (COLUMNS["y"],), pa.int32()), dates)[0].as_py() for part in ("year", "month", "day")]
        assert parts == [int(part) for part in str(np.datetime64(day, "D")).rsplit("-", 2)]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_units_agree_with_dates(unit: str) -> None:
    """Without Spark, which knows only microseconds."""
    from tests.kernels.expressions.nasty import COLUMNS, ours
    from thalweg.plan.expressions.expression import Ref, call

    ticks = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit] * 86_400
    days = [day for day in (*DAYS, FIRST_DAY, -FIRST_DAY - 1) if FIRST <= day * ticks < -FIRST]
    kind = pa.timestamp(unit, "UTC")
    table = pa.table({"z": pa.array(np.array(days) * ticks).cast(kind)})
    dates = pa.table({"y": pa.array(days, pa.int32()).cast(pa.date32())})
    for part in ("year", "month", "day"):
        of_times = ours(call(part, (Ref("r", "z", kind),), pa.int32()), table)
        assert of_times == ours(call(part, (COLUMNS["y"],), pa.int32()), dates), part
    assert ours(call("cast", (Ref("r", "z", kind),), pa.date32()), table) == dates["y"].combine_chunks()
