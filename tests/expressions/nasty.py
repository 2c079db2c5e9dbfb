"""A small table whose values break what is only almost right, and how Spark and Thalweg evaluate an expression on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from thalweg.errors import ExpressionError
from thalweg.kernels.expressions import evaluate
from thalweg.plan.expression import Bound, Expression, Ref
from thalweg.plan.expression_text import spark_text
from thalweg.plan.relation import Catalog, Relation
from thalweg.plan.sql.analysis import read_query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TIMES = [
    "1970-01-01 00:00:00", "1969-12-31 23:59:59.999999", "2024-02-29 12:34:56.789", "1900-01-01 00:00:01", None,
    "2026-12-31 23:59:59", "1582-10-15 00:00:00", "2000-01-03 00:00:00", "1969-12-28 12:00:00", "2038-01-19 03:14:08",
    "0001-01-01 00:00:00", None,
]  # fmt: skip
_NTZ = [t and datetime.fromisoformat(t) for t in _TIMES]
_D = Decimal
TABLE = pa.table({
    "id": pa.array(range(12), pa.int32()),
    "t": pa.array([0, 1, -1, 127, -128, None, 5, -5, 7, 100, -3, 2], pa.int8()),
    "h": pa.array([1, 0, 32767, -32768, None, 2, -7, 7, 10, 99, -10, 3], pa.int16()),
    "i": pa.array([0, 2, -2, 2**31 - 1, -(2**31), 15, None, 25, -25, 7, -7, 1], pa.int32()),
    "j": pa.array([3, 0, None, -1, -1, 10, 1, -10, 4, 2, 2, None], pa.int32()),
    "l": pa.array([0, -1, 2**63 - 1, -(2**63), None, 2**53 + 1, 149, -150, 10**18, 3, -3, 1], pa.int64()),
    "f": pa.array([0.0, -0.0, 1.5, -2.5, math.nan, math.inf, None, 3.4e38, 1e-40, 0.1, -math.inf, 16777216.0], pa.float32()),
    "d": pa.array([0.0, math.nan, -0.0, 2.5, -2.5, None, math.inf, -math.inf, 1e300, 1.005, -0.4, 9.3e18], pa.float64()),
    "e": pa.array([1.0, math.nan, 0.0, 0.5, -1.0, 2.0, math.nan, 1e-300, -1e300, 2.675, None, 1e9], pa.float64()),
    "n": pa.array([_D("0.00"), _D("1.50"), _D("-1.50"), _D("99999999.99"), _D("-99999999.99"), None, _D("0.05"),
                   _D("-0.05"), _D("2.45"), _D("127.50"), _D("12345.67"), _D("-0.01")], pa.decimal128(10, 2)),
    "m": pa.array([_D("0.0000"), None, _D("12.3456"), _D("-12.3455"), _D("1e13"), _D("0.9999"), _D("-0.9999"), _D(1),
                   _D("5.5"), _D("-5.5"), _D("12345678901234.5678"), _D("0.0001")], pa.decimal128(18, 4)),
    "s": pa.array(["", "a", None, "Straße", " ab ", "a%b_c", "line\nbreak", "日本語テキスト", "ΑΣΟΣ ς", "\\x", "aaa", "𝒳y𝒵"]),
    "u": pa.array(["", "", "a", "ß", "b", "%", "\n", "本", None, "\\", "aa", "y"]),
    "w": pa.array(["1", " 42 ", "-7", "+8", "abc", "", None, "3.5", "1e3", "true", " NO\t", "99999999999"]),
    "b": pa.array([True, False, None, True, False, None, True, False, None, True, True, False]),
    "c": pa.array([True, True, True, False, False, False, None, None, None, False, True, False]),
    "y": pa.array([None if t is None else t.date() for t in _NTZ], pa.date32()),
    "z": pa.array([t and t.replace(tzinfo=UTC) for t in _NTZ], pa.timestamp("us", "UTC")),
    "q": pa.array(_NTZ[3:] + _NTZ[:3], pa.timestamp("us")),
    "g": pa.array([timedelta(0), timedelta(days=-1), None, timedelta(microseconds=1), timedelta(hours=36), timedelta(-500),
                   timedelta(seconds=59), timedelta(days=1000), None, timedelta(1), timedelta(2), timedelta(3)],
                  pa.duration("us")),
})  # fmt: skip
COLUMNS = {name: Ref("r", name, kind) for name, kind in zip(TABLE.column_names, TABLE.schema.types, strict=True)}
_CATALOG = Catalog({"r": Relation("r", TABLE.schema, "z")})
RAISED = "raised"


def read(text: str) -> Expression:
    """As the analyser types it."""
    return read_query(f"SELECT {text} AS x FROM r", _CATALOG, {}).outputs[0].expression


def ours(expression: Expression, table: pa.Table = TABLE) -> pa.Array:
    """Of all rows at once."""

    def column(ref: Ref | Bound) -> pa.Array:
        assert isinstance(ref, Ref)
        return table[ref.column].combine_chunks()

    return evaluate(expression, column, table.num_rows, {})


def ours_by_row(expression: Expression) -> list[Any]:
    """One row at a time: its value, or that it raised."""
    made: list[Any] = []
    for row in range(TABLE.num_rows):
        try:
            made.append(ours(expression, TABLE.slice(row, 1))[0].as_py())
        except ExpressionError:
            made.append(RAISED)
    return made


class SparkSide:
    """The same expressions by Spark."""

    def __init__(self, session: SparkSession) -> None:
        # What is asked is what an expression means, not which of its parts an optimizer may drop unseen.
        rules = ["BooleanSimplification", "SimplifyConditionals", "NullPropagation", "ConstantFolding",
                 "SimplifyBinaryComparison", "PushFoldableIntoBranches", "OptimizeIn", "ReorderAssociativeOperator",
                 "ReplaceNullWithFalseInPredicate", "SimplifyCasts", "UnwrapCastInBinaryComparison", "LikeSimplification"]  # fmt: skip
        self._rules = ",".join(f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in rules)
        self.session = session
        self.frame: DataFrame = session.createDataFrame(TABLE)

    def values(self, expressions: Sequence[Expression], rows: Sequence[int] | None = None) -> list[pa.Array]:
        """On these rows; raises what Spark raises."""
        from pyspark.sql import functions as F  # noqa: N812

        frame = self.frame if rows is None else self.frame.where(F.col("id").isin(list(rows)))
        made = [F.expr(spark_text(e, lambda ref: f"`{ref.column}`")).alias(f"x{n}") for n, e in enumerate(expressions)]
        self.session.conf.set("spark.sql.optimizer.excludedRules", self._rules)
        try:
            table = frame.select("id", *made).toArrow()
        finally:
            self.session.conf.unset("spark.sql.optimizer.excludedRules")
        table = table.sort_by("id")
        return [table[f"x{n}"].combine_chunks() for n in range(len(expressions))]


def alike(one: Any, other: Any) -> bool:
    """Equal; of doubles that Java and C compute differently, the last digits are not compared."""
    if isinstance(one, float) and isinstance(other, float):
        return (math.isnan(one) and math.isnan(other)) or one == other or math.isclose(one, other, rel_tol=1e-13)
    return type(one) is type(other) and one == other


def check(spark_side: SparkSide, expressions: Sequence[Expression], raising: int = 2) -> None:
    """Every row has the same value on both sides, or raises on both; of the raising at most so many are asked."""
    outcomes = [ours_by_row(expression) for expression in expressions]
    clean = [n for n, outcome in enumerate(outcomes) if RAISED not in outcome]
    for n, theirs in zip(clean, _by_halves(spark_side, [expressions[n] for n in clean], None), strict=True):
        _compare(expressions[n], outcomes[n], theirs, range(TABLE.num_rows))
        whole = ours(expressions[n])
        _compare(expressions[n], whole.to_pylist(), theirs, range(TABLE.num_rows))
        assert whole.type == expressions[n].type == theirs.type or pa.types.is_null(whole.type), (whole.type, theirs.type)
    for n, outcome in enumerate(outcomes):
        if n in clean:
            continue
        fine = [row for row in range(TABLE.num_rows) if outcome[row] != RAISED]
        if fine:
            (theirs,) = _by_halves(spark_side, [expressions[n]], fine)
            _compare(expressions[n], [outcome[row] for row in fine], theirs, fine)
            whole = ours(expressions[n], TABLE.take(fine))
            _compare(expressions[n], whole.to_pylist(), theirs, fine)
        for row in [row for row in range(TABLE.num_rows) if outcome[row] == RAISED][:raising]:
            try:
                (value,) = spark_side.values([expressions[n]], [row])
            except Exception as error:
                assert _is_of_a_row(error), (_told(expressions[n]), row, str(error)[:300])
            else:
                raise AssertionError(f"{_told(expressions[n])} raised on row {row}; in Spark it is {value}: {_row(row)}")


def _by_halves(spark_side: SparkSide, expressions: list[Expression], rows: Sequence[int] | None) -> list[pa.Array]:
    if not expressions:
        return []
    try:
        return spark_side.values(expressions, rows)
    except Exception as error:
        if len(expressions) == 1:
            raise AssertionError(f"{_told(expressions[0])} has a value on {rows}; Spark says {str(error)[:600]}") from None
    half = len(expressions) // 2
    return _by_halves(spark_side, expressions[:half], rows) + _by_halves(spark_side, expressions[half:], rows)


def _is_of_a_row(error: Exception) -> bool:
    return any(word in str(error) for word in ("DIVIDE_BY_ZERO", "REMAINDER_BY_ZERO", "OVERFLOW", "CAST_INVALID_INPUT",
                                               "NUMERIC_VALUE_OUT_OF_RANGE", "overflow"))  # fmt: skip


def _told(expression: Expression) -> str:
    return spark_text(expression, lambda ref: ref.column)


def _row(row: int) -> dict[str, Any]:
    return {name: TABLE[name][row] for name in TABLE.column_names}


def _compare(expression: Expression, mine: list[Any], theirs: pa.Array, rows: Sequence[int]) -> None:
    for row, one, other in zip(rows, mine, theirs.to_pylist(), strict=True):
        assert alike(one, other), f"{_told(expression)} is {one!r}, in Spark {other!r}: {_row(row)}"


