"""The streams, tables and functions of the corpus: small, always the same, full of values that are easily missed."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

BEGIN_US = int(datetime.fromisoformat("2026-01-01T00:00:00+00:00").timestamp()) * 10**6
FAR_US = BEGIN_US + 20 * 24 * 3600 * 10**6
"""Twenty days later: no window of the corpus reaches it. It is in the past, so that no clock finds it too far ahead."""
UTC, NTZ = pa.timestamp("us", "UTC"), pa.timestamp("us")


@dataclass(frozen=True)
class Stream:
    """A table in the order of arrival. It is in order up to `lateness`, so that no row is late however it is cut."""

    table: pa.Table
    lateness: str = "0 seconds"

    def with_last(self) -> Stream:
        """And a few more rows, all of one time far ahead, which closes the windows of all others; their windows stay
        open themselves. They are copies of rows without nulls, so that the filters of a query let some of them through:
        Spark filters before it looks how far time has come, also where the watermark is declared before the filter."""
        whole = [n for n, row in enumerate(self.table.to_pylist()) if None not in row.values()]
        last = self.table.take(whole[:8])
        times = pa.array([FAR_US] * len(last), pa.int64()).cast(self.table.schema.field("ts").type)
        last = last.set_column(0, self.table.schema.field("ts"), times)
        return Stream(pa.concat_tables([self.table, last]), self.lateness)


def _times(r: random.Random, rows: int, span_us: int, *, grid_us: int, jitter_us: int = 0) -> list[int]:
    """Half of them on a grid, so that times are equal and windows are met exactly at their ends."""
    found = sorted(r.randrange(0, span_us, grid_us) if r.random() < 0.5 else r.randrange(span_us) for _ in range(rows))
    return [BEGIN_US + at - (r.randrange(jitter_us + 1) if jitter_us and at > jitter_us else 0) for at in found]


def _some(r: random.Random, rows: int, values: list[Any], kind: pa.DataType) -> pa.Array:
    return pa.array([r.choice(values) for _ in range(rows)], kind)


def _stream(
    seed: int, rows: int, span_s: float, kind: pa.DataType, grid_us: int, **columns: tuple[list[Any], Any]
) -> Stream:
    r = random.Random(seed)
    times = pa.array(_times(r, rows, int(span_s * 1e6), grid_us=grid_us), pa.int64()).cast(kind)
    return Stream(pa.table({"ts": times, **{name: _some(r, rows, *column) for name, column in columns.items()}}))


_SECTORS = ["tech", "TECH", "food", "rail", "", None, "bank", "wood", "oil"]
_COMPANIES = ["Alpha", "Beta", "gamma", "Delta & Söhne", None, "Epsilon", "", "Zeta"]
_NAMES = [
    "",
    "a",
    "B",
    "a%b_c",
    "Straße",
    " ab ",
    None,
    "42",
    "7",
    "line\nbreak",
    "日本語",
    "robot",
    "Robot 9",
    "\\x",
    "10%",
]
_REALS = [0.0, -0.0, math.nan, math.inf, -math.inf, None, 1.5, -2.5, 0.1, 1e-12, 123456.789, 3.0]
_AMOUNTS = [Decimal("0.00"), Decimal("-1.50"), Decimal("99999.99"), None, Decimal("0.05"), Decimal("12.45")]
_DAYS = [date(2026, 1, 1), date(1969, 12, 31), date(2024, 2, 29), None]
_MOMENTS = [datetime(2026, 1, 1, 0, 30), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2024, 2, 29, 12), None]
_HOSTS = [0, 1, 2, 3, 4, None, -1]


def _logs() -> Stream:
    """Out of order by up to five seconds; a few rows have no time."""
    r, rows = random.Random(5), 300
    times: list[int | None] = list(_times(r, rows, 3600 * 10**6, grid_us=10**7, jitter_us=5 * 10**6))
    times = [None if r.random() < 0.03 else time for time in times]
    return Stream(
        pa.table({
            "ts": pa.array(times, pa.int64()).cast(UTC),
            "id": pa.array(range(rows), pa.int64()),
            "host": _some(r, rows, _HOSTS, pa.int32()),
            "Name": _some(r, rows, _NAMES, pa.string()),
            "isRobot": _some(r, rows, [True, False, None], pa.bool_()),
            "x": _some(r, rows, _REALS, pa.float64()),
            "n": _some(r, rows, [0, 1, 2, 3, 5, 7, 9, 10, -1, -7, 100, None], pa.int32()),
            "big": _some(r, rows, [0, 2**53 + 1, -(2**53) - 1, 5, -3, None], pa.int64()),
            "amount": _some(r, rows, _AMOUNTS, pa.decimal128(10, 2)),
            "day": _some(r, rows, _DAYS, pa.date32()),
            "moment": _some(r, rows, _MOMENTS, NTZ),
        }),
        "5 seconds",
    )  # fmt: skip


@cache
def streams() -> dict[str, Stream]:
    """By name; the time is `ts` everywhere."""
    texts, whole, long = pa.string(), pa.int32(), pa.int64()
    minute, fifth = 60 * 10**6, 2 * 10**5
    made = {
        "stock": _stream(
            1, 220, 5 * 3600, UTC, minute, company_name=(_COMPANIES, texts), symbol=(["A", "B", "C", "d"], texts),
            price=([0.5, 10.0, 99.25, math.nan, None, -0.0, 0.1, 1e6], pa.float64()),
            data=(["bull", "bear", "bullish", None, ""], texts), sector=(_SECTORS, texts),
            volume=([0, 1, 100, 10**10], long),
        ),
        "news": _stream(
            2, 110, 5 * 3600, UTC, minute, sector=(_SECTORS, texts), headline=(["up", "down", None, "UP 10%"], texts)
        ),
        "research": _stream(
            3, 70, 5 * 3600, UTC, minute, company_name=(_COMPANIES, texts), score=([1, 2, 3, None], whole)
        ),
        "tcp": _stream(
            11, 200, 120, NTZ, fifth, src_host=(_HOSTS, whole), dest_host=(_HOSTS, whole),
            bytes=([0, 40, 1500, 10**9], long),
        ),
        "udp": _stream(
            12, 160, 120, NTZ, fifth, src_host=(_HOSTS, long), dest_host=(_HOSTS, long), bytes=([8, 512], long)
        ),
        "sf": _stream(13, 120, 120, NTZ, fifth, dest_host=(_HOSTS, whole), flag=(["syn", "fin", None], texts)),
        "logs": _logs(),
    }  # fmt: skip
    for n in range(1, 5):
        pids = [*range(25), None]
        made[f"r{n}"] = _stream(20 + n, 90, 2400, UTC, minute, pid=(pids, long), size=([0, 40, 576, 1500], whole))
    return made


@cache
def tables() -> dict[str, pa.Table]:
    """Return the tables by name."""
    return {
        "sites": pa.table({
            "host": pa.array([0, 1, 1, 2, 3, None, 9], pa.int32()),
            "place": pa.array(["north", "south", "SOUTH", None, "east", "nowhere", "west"]),
            "weight": pa.array([1.0, 0.5, math.nan, 2.0, None, 7.0, 9.0]),
        }),
        "patterns": pa.table({
            "p": pa.array(["bull", "bear", "robot", "a", None]), "w": pa.array([1, 2, 3, 4, 5], pa.int32()),
        }),
    }  # fmt: skip


def matches(data: str | None) -> bool | None:
    """In SQL: data LIKE 'bull%'."""
    return None if data is None else data.startswith("bull")


def robotic(name: pa.Array, marked: pa.Array) -> pa.Array:
    """In SQL: coalesce(marked, FALSE) OR coalesce(lower(name) LIKE 'robot%', FALSE)."""
    named = pc.starts_with(pc.utf8_lower(name), "robot")
    return pc.or_(pc.fill_null(marked, False), pc.fill_null(named, False))


def bucket(value: int | None) -> str | None:
    """In SQL: CASE WHEN value IS NULL THEN NULL WHEN value < 5 THEN 'few' ELSE 'many' END."""
    return None if value is None else "few" if value < 5 else "many"


def twice(values: pa.Array) -> pa.Array:
    """In SQL: 2 * value."""
    return pc.multiply(values, 2.0)


def reciprocal(value: int | None) -> float | None:
    """In SQL: 1 / value; it raises for 0."""
    return None if value is None else 1 / value


def register(session: Any, stream: Callable[[str, Stream], Any], table: Callable[[pa.Table], Any]) -> Any:
    """The session with all of them; `stream` and `table` make of them what it takes."""
    for name, each in streams().items():
        session.stream(name, stream(name, each), time="ts", lateness=each.lateness)
    for name, rows in tables().items():
        session.table(name, table(rows))
    session.function("matches", matches, "boolean")
    session.function("robotic", robotic, "boolean", vectorized=True, safe=True)
    session.function("bucket", bucket, "string", safe=True)
    session.function("twice", twice, "double", vectorized=True, safe=True)
    session.function("reciprocal", reciprocal, "double")
    return session
