"""Generated rows, windows and aggregates."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from tests.kernels.aggregates_oracle import expected
from thalweg.plan.expressions.aggregates import AGGREGATES, aggregate
from thalweg.plan.expressions.expression import Ref
from thalweg.plan.expressions.type_rules import is_number
from thalweg.plan.joins.window import GroupWindow
from thalweg.plan.query.group_spec import AggregateColumn, GroupSpec

NAN, INF = float("nan"), float("inf")
VALUES: dict[pa.DataType, list[Any]] = {
    pa.int64(): [-(2**53) - 1, -3, 0, 7, 2**53 + 1], pa.int32(): [-(2**31), 0, 2**31 - 1], pa.int8(): [-128, 1, 127],
    pa.float64(): [NAN, -0.0, 0.0, 0.25, -7.5, INF, 1e300], pa.float32(): [NAN, -0.0, 0.0, 0.5, -2.25, INF],
    pa.decimal128(5, 2): [Decimal("-999.99"), Decimal("0.01"), Decimal("12.00")],
    pa.decimal128(30, 4): [Decimal("1" * 26 + ".0001"), Decimal("-2.5000")],
    pa.string(): ["", "a", "Z", "ä", "aa", "\U0001f600", "\uffff"], pa.binary(): [b"", b"\x00", b"\xff", b"a"],
    pa.bool_(): [True, False], pa.date32(): [date(1969, 12, 31), date(2024, 2, 29)],
    pa.timestamp("us"): [datetime(1969, 12, 31, 23), datetime(2024, 2, 29)],
    pa.timestamp("us", "UTC"): [datetime(1960, 1, 1, tzinfo=UTC), datetime(2024, 2, 29, tzinfo=UTC)],
}  # fmt: skip
TICKS_US = {None: 1, "s": 10**6, "ms": 10**3, "us": 1}
"""The number of microseconds per tick, by the unit of times; None: whole numbers."""


@dataclass(frozen=True)
class Case:
    """Rows with times `t`, and the query on them."""

    table: pa.Table
    ticks: list[int | None]
    spec: GroupSpec
    length: int
    slide: int
    lateness: int
    """The lateness with which no row is late, however the rows are cut into batches."""
    cuts: list[int]

    @property
    def batches(self) -> list[pa.RecordBatch]:
        """Return the rows in order, cut into batches."""
        edges = [0, *self.cuts, self.table.num_rows]
        pieces = [self.table.slice(a, b - a) for a, b in itertools.pairwise(edges)]
        return [pa.RecordBatch.from_arrays([c.combine_chunks() for c in p.columns], schema=p.schema) for p in pieces]

    def expected(self, in_it: list[bool] | None = None) -> list[tuple[str, ...]]:
        """Return DuckDB's result; `in_it`: of these rows only."""
        keep = [True] * self.table.num_rows if in_it is None else in_it
        ticks = [tick for tick, kept in zip(self.ticks, keep, strict=True) if kept]
        return expected(self.table.filter(pa.array(keep, pa.bool_())), ticks, self.spec, self.length, self.slide)


@st.composite
def cases(draw: st.DrawFn, *, ordered: bool = True, spark: bool = False, begin: int = 0) -> Case:
    """Generate a case. `ordered`: as far as the lateness requires. `spark`: only Spark's types, only microseconds."""
    r = random.Random(draw(st.integers(0, 2**32)))
    unit = "us" if spark else r.choice(list(TICKS_US))
    count = draw(st.integers(0, 40))
    jitter = r.choice([0, 3, 20])
    span = r.choice([5, 60, 2000])
    true = sorted(r.randint(-span if not begin else 0, span) for _ in range(count))
    ticks: list[int | None] = [tick + r.randint(-jitter, 0) for tick in true]
    if not ordered:
        r.shuffle(ticks)
    ticks = [None if r.random() < 0.05 else begin + tick for tick in ticks]  # type: ignore[operator]
    slide = r.choice([1, 3, 7, 10])
    length = r.choice([slide, slide, slide * r.randint(2, 5), slide + r.randint(0, 20)])
    columns: dict[str, pa.Array] = {"t": _times(ticks, unit, r)}
    keys = []
    for n in range(r.choice([0, 1, 1, 2, 3])):
        keys.append(f"key {n}")
        columns[keys[-1]] = _column(r, count, r.choice(list(VALUES)), dictionary=not spark)
    aggregates = [AggregateColumn("count", None, pa.int64())] if r.random() < 0.5 else []
    for n in range(r.randint(0 if aggregates else 1, 3)):
        kind = r.choice(list(VALUES))
        columns[f"arg {n}"] = _column(r, count, kind, dictionary=False)
        for function in r.sample(AGGREGATES, r.randint(1, 3)):
            takes = is_number(kind) or function not in ("sum", "avg")
            if (function == "avg" and pa.types.is_decimal(kind)) or not takes:
                continue
            if function in ("min", "max") and kind == pa.binary():
                continue  # SQL refuses them
            distinct = function == "count" and r.random() < 0.5
            made = aggregate(function, Ref("s", "x", kind), distinct, _refuse)
            aggregates.append(AggregateColumn(function, f"arg {n}", made.type, distinct))
    per_tick = TICKS_US[unit]
    spec = GroupSpec("t", GroupWindow(length * per_tick, slide * per_tick), tuple(keys), tuple(aggregates))
    cuts = sorted(r.randint(0, count) for _ in range(r.choice([0, 1, 3, 10])))
    return Case(pa.table(columns), ticks, spec, length, slide, jitter, cuts)


def _times(ticks: list[int | None], unit: str | None, r: random.Random) -> pa.Array:
    if unit is None:
        return pa.array(ticks, r.choice([pa.int64(), pa.int32()]))
    return pa.array(ticks, pa.int64()).cast(pa.timestamp(unit, r.choice([None, "UTC"])))


def _column(r: random.Random, count: int, kind: pa.DataType, *, dictionary: bool) -> pa.Array:
    values = r.sample(VALUES[kind], r.randint(1, len(VALUES[kind])))
    if r.random() < 0.5:
        values = [*values, None]
    array = pa.array([r.choice(values) for _ in range(count)], kind)
    return array.dictionary_encode() if dictionary and kind == pa.string() and r.random() < 0.3 else array


def _refuse(sentence: str) -> Any:
    raise AssertionError(sentence)
