"""Columns of every Arrow type in SQL: Arrow's values, or a refusal with a position when the query is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import thalweg as tw
from tests.runtime.local.test_column_types import COLUMNS, ROWS
from thalweg.kernels.columns import can_be_gathered, gathered_type
from thalweg.plan.expressions.type_rules import plain_type

Values = list[Any]
DECIMALS = [pa.decimal32(5, 2), pa.decimal32(9, 9), pa.decimal64(12, 2), pa.decimal128(38, 38), pa.decimal256(20, 2),
            pa.decimal256(76, 2), pa.decimal128(5, -2), pa.decimal32(5, -2), pa.decimal128(38, -2)]  # fmt: skip
NUMBERS = [
    pa.int8(), pa.uint8(), pa.uint32(), pa.uint64(), pa.float32(), pa.float64(), pa.timestamp("s"),
    pa.timestamp("us", "Europe/Berlin"), pa.duration("s"), pa.time32("s"), pa.time64("us"), pa.date32(), pa.date64(),
]  # fmt: skip
SOME = [None if n % 5 == 3 else n % 4 for n in range(ROWS)]


def _number(n: int | None, kind: pa.DataType) -> int | None:
    return None if n is None else n * 86_400_000 if kind == pa.date64() else n


ALL = {
    **COLUMNS,
    **{str(kind): pa.array([_number(n, kind) for n in SOME], kind) for kind in NUMBERS},
    **{str(kind): pa.array([n and Decimal(n - 2).scaleb(-kind.scale) for n in SOME], kind) for kind in DECIMALS},
    "runs of decimals": pa.RunEndEncodedArray.from_arrays(
        pa.array(range(4, ROWS + 1, 4), pa.int32()), pa.array([Decimal(n) for n in range(6)], pa.decimal32(5, 2))
    ),
}  # fmt: skip
NO_BRANCHES = {name for name, x in ALL.items() if pa.types.is_union(x.type) or isinstance(x.type, pa.BaseExtensionType)}
NOT_GROUPED = NO_BRANCHES | {name for name, x in ALL.items() if pa.types.is_nested(plain_type(x.type))}
NOT_COMPARED = NOT_GROUPED | {"interval"}
NO_EXTREMES = NOT_COMPARED | {name for name, x in ALL.items() if plain_type(x.type) in (pa.binary(), pa.null())}
NO_KEY = NOT_COMPARED | {
    name for name, x in ALL.items() for kind in [plain_type(x.type)]
    if any(of(kind) for of in (pa.types.is_floating, pa.types.is_duration, pa.types.is_time, pa.types.is_null))
}  # fmt: skip


def shown(value: Any) -> str:
    """As a text that is the same for equal numbers and equal times, whatever their types."""
    if isinstance(value, Decimal):
        value = int(value) if value == value.to_integral_value() else value.normalize()
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC)
    return repr(value)


def _groups(values: Values) -> Values:
    return list(Counter(values).items())


ONCE = "FROM t [RANGE 1 MINUTE]"
TWICE = "FROM t [NOW] AS t, t [NOW] AS u WHERE t.id = u.id"
QUESTIONS: list[tuple[str, set[str], Callable[[Values], Values]]] = [
    ("SELECT c FROM t", set(), list),
    ("SELECT coalesce(c, c) AS y FROM t", NO_BRANCHES, list),
    ("SELECT CASE WHEN id > 5 THEN c END AS y FROM t", NO_BRANCHES, lambda v: [None] * 6 + v[6:]),
    ("SELECT c IS NULL AS y FROM t", set(), lambda v: [x is None for x in v]),
    ("SELECT nullif(c, c) AS y FROM t", NOT_COMPARED, lambda v: [None for _ in v]),
    ("SELECT c <=> c AS y FROM t", NOT_COMPARED, lambda v: [True for _ in v]),
    ("SELECT c FROM t WHERE c >= c", NOT_COMPARED, lambda v: [x for x in v if x is not None]),
    ("SELECT c IN (c, c) AS y FROM t", NOT_COMPARED, lambda v: [None if x is None else True for x in v]),
    ("SELECT greatest(c, c) AS y FROM t", NOT_COMPARED, list),
    (f"SELECT count(c) AS y {ONCE}", set(), lambda v: [sum(x is not None for x in v)]),
    (f"SELECT count(DISTINCT c) AS y {ONCE}", NOT_GROUPED, lambda v: [len({*v} - {None})]),
    (f"SELECT c, count(*) AS n {ONCE} GROUP BY c", NOT_GROUPED, _groups),
    (f"SELECT min(c) AS y {ONCE}", NO_EXTREMES, lambda v: [min(x for x in v if x is not None)]),
    (f"SELECT max(c) AS y {ONCE}", NO_EXTREMES, lambda v: [max(x for x in v if x is not None)]),
    (f"SELECT t.c {TWICE}", set(), list),
    (f"SELECT t.c {TWICE} AND t.c <= u.c", NOT_COMPARED, lambda v: [x for x in v if x is not None]),
]


def session_of(column: pa.Array) -> tw.Session:
    session = tw.session()
    times = pa.array([datetime(2026, 1, 1)] * ROWS, pa.timestamp("us"))
    session.stream("t", pa.table({"ts": times, "id": pa.array(range(ROWS)), "c": column}), time="ts")
    session.table("u", pa.table({"c": column}))
    return session


@pytest.mark.parametrize("name", ALL)
def test_every_type(name: str) -> None:
    session, values = session_of(ALL[name]), ALL[name].to_pylist()
    for text, refused, model in QUESTIONS:
        if name in refused:
            with pytest.raises(tw.SqlError, match="; "):
                session.query(text)
            continue
        if TWICE in text and not can_be_gathered(gathered_type(ALL[name].type)):
            with pytest.raises(tw.PlanError, match=r"t\.c is .*, whose rows Arrow cannot gather"):
                session.query(text).dataframe()
            continue
        found = session.query(text).dataframe()
        rows = zip(*(map(shown, column.to_pylist()) for column in found.columns), strict=True)
        expected = [x if " AS n" in text else (x,) for x in model(values)]
        assert Counter(rows) == Counter(tuple(map(shown, row)) for row in expected), text


@pytest.mark.parametrize("name", ALL)
def test_every_type_as_a_join_key(name: str) -> None:
    session, values = session_of(ALL[name]), ALL[name].to_pylist()
    for text in (
        "SELECT t.id FROM t [NOW] AS t, t [NOW] AS u WHERE t.c = u.c",
        "SELECT t.id FROM t, u WHERE t.c = u.c",
    ):
        if name in NO_KEY:
            with pytest.raises(
                tw.SqlError, match=r"t\.c = u\.c compares|t\.c is .* cannot be compared|= does not support"
            ):
                session.query(text)
            continue
        asked = session.query(text)
        expected = [n for n, x in enumerate(values) for y in values if x is not None and x == y]
        assert sorted(asked.dataframe()["id"].to_pylist()) == expected
