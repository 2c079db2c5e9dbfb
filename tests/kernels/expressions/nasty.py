"""A small table with values that break almost correct code, and expressions on it by Spark and by Thalweg."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F

from thalweg.errors import ExpressionError
from thalweg.kernels.expressions import evaluate
from thalweg.plan.expressions.expression import Bound, Expression, Ref, text_of
from thalweg.plan.query.relation import Catalog, Relation
from thalweg.plan.sql.analysis import read_query
from thalweg.runtime.spark.sql.columns import built_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TIMES = [
    "1970-01-01 00:00:00", "1969-12-31 23:59:59.999999", "2024-02-29 12:34:56.789", "1900-01-01 00:00:01", None,
    "2026-12-31 23:59:59", "1582-10-15 00:00:00", "2000-01-03 00:00:00", "1969-12-28 12:00:00", "2038-01-19 03:14:08",
    "0001-01-01 00:00:00", None,
]  # fmt: skip
_NTZ = [None if t is None else datetime.fromisoformat(t) for t in _TIMES]
_D = Decimal
TABLE = pa.table({
    "id": pa.array(range(12), pa.int32()),
    "t": pa.array([0, 1, -1, 127, -128, None, 5, -5, 7, 100, -3, 2], pa.int8()),
    "h": pa.array([1, 0, 32767, -32768, None, 2, -7, 7, 10, 99, -10, 3], pa.int16()),
    "i": pa.array([0, 2, -2, 2**31 - 1, -(2**31), 15, None, 25, -25, 7, -7, 1], pa.int32()),
    "j": pa.array([3, 0, None, -1, -1, 10, 1, -10, 4, 2, 2, None], pa.int32()),
    "l": pa.array([0, -1, 2**63 - 1, -(2**63), None, 2**53 + 1, 149, -150, 10**18, 3, -3, 1], pa.int64()),
    "f": pa.array([0.0, -0.0, 1.5, -2.5, math.nan, math.inf, None, 3.4e38, 1e-40, 0.1, -math.inf, 2.0**24],
                  pa.float32()),
    "d": pa.array([0.0, math.nan, -0.0, 2.5, -2.5, None, math.inf, -math.inf, 1e300, 1.005, -0.4, 9.3e18],
                  pa.float64()),
    "e": pa.array([1.0, math.nan, 0.0, 0.5, -1.0, 2.0, math.nan, 1e-300, -1e300, 2.675, None, 1e9], pa.float64()),
    "n": pa.array([_D("0.00"), _D("1.50"), _D("-1.50"), _D("99999999.99"), _D("-99999999.99"), None, _D("0.05"),
                   _D("-0.05"), _D("2.45"), _D("127.50"), _D("12345.67"), _D("-0.01")], pa.decimal128(10, 2)),
    "m": pa.array([_D("0.0000"), None, _D("12.3456"), _D("-12.3455"), _D("1e13"), _D("0.9999"), _D("-0.9999"), _D(1),
                   _D("5.5"), _D("-5.5"), _D("12345678901234.5678"), _D("0.0001")], pa.decimal128(18, 4)),
    "s": pa.array(["", "a", None, "Straße", " ab ", "a%b_c", "line\nbreak", "日本語テキスト", "ΑΣΟΣ ς", "\\x",
                   "aaa", "𝒳y𝒵"]),
    "u": pa.array(["", "", "a", "ß", "b", "%", "\n", "本", None, "\\", "aa", "y"]),
    "w": pa.array(["1", " 42 ", "-7", "+8", "abc", "", None, "3.5", "1e3", "true", " NO\t", "99999999999"]),
    "v": pa.array([" 1e3 ", "-0.005", "+.5", "1E-2", "99999999.995", "12.345678901234567890123456789012345678901234567",
                   "0e37", "-1.", "1e-50", "\t-2.675\n", None, "0000000000000000000000000000000000000000000000007.45"]),
    "o": pa.array(["x", "aa", "a", "aße", " ab ", "_c", "ab", "語テ", "ς", "", None, "𝒵"]),
    "a": pa.array([1.005, 2.675, 1e-7, 123456789.125, 0.5, -0.5, 1e22, 99999999.995, -0.005, None, 5e-324,
                   2251799813685249.5], pa.float64()),
    "b": pa.array([True, False, None, True, False, None, True, False, None, True, True, False]),
    "c": pa.array([True, True, True, False, False, False, None, None, None, False, True, False]),
    "y": pa.array([None if t is None else t.date() for t in _NTZ], pa.date32()),
    "z": pa.array([t and t.replace(tzinfo=UTC) for t in _NTZ], pa.timestamp("us", "UTC")),
    "q": pa.array(_NTZ[3:] + _NTZ[:3], pa.timestamp("us")),
    "g": pa.array([timedelta(0), timedelta(days=-1), None, timedelta(microseconds=1), timedelta(hours=36),
                   timedelta(-500), timedelta(seconds=59), timedelta(days=1000), None,
                    timedelta(1), timedelta(2), timedelta(3)],
                  pa.duration("us")),
})  # fmt: skip
COLUMNS = {name: Ref("r", name, kind) for name, kind in zip(TABLE.column_names, TABLE.schema.types, strict=True)}
_CATALOG = Catalog({"r": Relation("r", TABLE.schema, "z")})
RAISED = "raised"


@cache
def read(text: str) -> Expression:
    """Return an expression with the types that the analyser gives it."""
    return read_query(f"SELECT {text} AS x FROM r", _CATALOG, {}).outputs[0].expression


def ours(expression: Expression, table: pa.Table = TABLE) -> pa.Array:
    """Evaluate an expression on all rows at once."""

    def column(ref: Ref | Bound) -> pa.Array:
        assert isinstance(ref, Ref)
        return table[ref.column].combine_chunks()

    return evaluate(expression, column, table.num_rows, {})


def ours_by_row(expression: Expression) -> list[Any]:
    """Evaluate one row at a time; `RAISED` for rows that raise."""
    made: list[Any] = []
    for row in range(TABLE.num_rows):
        try:
            made.extend(python_values(ours(expression, TABLE.slice(row, 1))))
        except ExpressionError:
            made.append(RAISED)
    return made


class SparkSide:
    """Evaluates the same expressions with Spark."""

    def __init__(self, session: SparkSession) -> None:
        # The tests compare what an expression means, not which of its parts an optimizer may drop.
        rules = ["BooleanSimplification", "SimplifyConditionals", "NullPropagation", "ConstantFolding",
                 "SimplifyBinaryComparison", "PushFoldableIntoBranches", "OptimizeIn", "ReorderAssociativeOperator",
                 "ReplaceNullWithFalseInPredicate", "SimplifyCasts", "UnwrapCastInBinaryComparison",
                 "LikeSimplification"]  # fmt: skip
        self._rules = ",".join(f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in rules)
        self.session = session
        # without the cast, PySpark gives a time without a zone the session's zone
        self.frame: DataFrame = session.createDataFrame(TABLE).withColumn("q", F.col("q").cast("timestamp_ntz"))

    def values(self, expressions: Sequence[Expression], rows: Sequence[Sequence[int]]) -> list[pa.Array]:
        """Evaluate each expression on its rows, with null on the others. Raises what Spark raises."""
        with self._meant():
            table = self._asked(expressions, rows).toArrow()
        table = table.sort_by("id")
        return [table[f"x{n}"].combine_chunks() for n in range(len(expressions))]

    def failure(self, expression: Expression, row: int) -> str | None:
        """Return Spark's error on one row; None if it has a value.

        The rows are in the plan, and Spark evaluates the expression when it optimizes, in a tenth of the time of a
        failing query."""
        with self._meant():
            asked: Any = self._asked([expression], [[row]])
            try:
                asked._jdf.queryExecution().optimizedPlan()
            except Exception as error:
                return str(error)
        return None

    @contextmanager
    def _meant(self) -> Iterator[None]:
        self.session.conf.set("spark.sql.optimizer.excludedRules", self._rules)
        try:
            yield
        finally:
            self.session.conf.unset("spark.sql.optimizer.excludedRules")

    def _asked(self, expressions: Sequence[Expression], rows: Sequence[Sequence[int]]) -> DataFrame:
        made = []
        for n, (expression, reached) in enumerate(zip(expressions, rows, strict=True)):
            column = built_in(expression, lambda ref: ref.column)
            if len(reached) < TABLE.num_rows:
                column = F.when(F.col("id").isin(*reached), column)
            made.append(column.alias(f"x{n}"))
        return self.frame.select("id", *made)


def alike(one: Any, other: Any) -> bool:
    """Whether values are equal, except for the last digits of doubles that Java and C compute differently."""
    if isinstance(one, float) and isinstance(other, float):
        return (math.isnan(one) and math.isnan(other)) or one == other or math.isclose(one, other, rel_tol=1e-13)
    return type(one) is type(other) and one == other


def python_values(values: pa.Array) -> list[Any]:
    """Return Python values, with times as numbers, because Python's end with the year 1."""
    is_time = pa.types.is_timestamp(values.type) or pa.types.is_duration(values.type)
    found: list[Any] = (values.cast(pa.int64()) if is_time else _days(values)).to_pylist()
    return found


def _days(values: pa.Array) -> pa.Array:
    return values.cast(pa.int32()) if pa.types.is_date(values.type) else values


def check(spark_side: SparkSide, expressions: Sequence[Expression]) -> None:
    """Check that every row has the same value and type on both sides, and that Spark also raises if ours does.

    Spark is tried on one row that raises."""
    outcomes = [ours_by_row(expression) for expression in expressions]
    fine = [[row for row, value in enumerate(outcome) if value is not RAISED] for outcome in outcomes]
    some = [n for n, rows in enumerate(fine) if rows]
    theirs = _by_halves(spark_side, [expressions[n] for n in some], [fine[n] for n in some])
    for n, values in zip(some, theirs, strict=True):
        whole = ours(expressions[n], TABLE.take(fine[n]))
        same_type = whole.type == expressions[n].type and (whole.type == values.type or pa.types.is_null(whole.type))
        assert same_type, f"{_text(expressions[n])} is {whole.type}, in Spark {values.type}"
        for row, one, alone, other in zip(
            fine[n],
            python_values(whole),
            [outcomes[n][row] for row in fine[n]],
            python_values(values.take(fine[n])),
            strict=True,
        ):
            assert alike(one, other), f"{_text(expressions[n])} is {one!r}, in Spark {other!r}: {_row(row)}"
            assert alike(one, alone), f"{_text(expressions[n])} is {one!r}, of one row alone {alone!r}: {_row(row)}"
    for expression, outcome in zip(expressions, outcomes, strict=True):
        if RAISED in outcome:
            _check_raising(spark_side, expression, outcome.index(RAISED))


def _check_raising(spark_side: SparkSide, expression: Expression, row: int) -> None:
    failure = spark_side.failure(expression, row)
    assert failure is not None, f"{_text(expression)} raised; in Spark it has a value: {_row(row)}"
    assert _is_of_a_row(failure), failure


def _by_halves(spark_side: SparkSide, expressions: list[Expression], rows: list[list[int]]) -> list[pa.Array]:
    """Evaluate all in one query; if that raises, find the expression that causes it."""
    if not expressions:
        return []
    try:
        return spark_side.values(expressions, rows)
    except Exception as error:
        if len(expressions) == 1:
            raise AssertionError(f"{_text(expressions[0])} has values on {rows}; Spark: {str(error)[:600]}") from None
    half = len(expressions) // 2
    return _by_halves(spark_side, expressions[:half], rows[:half]) + _by_halves(
        spark_side, expressions[half:], rows[half:]
    )


def _is_of_a_row(error: str) -> bool:
    return any(word in error for word in ("DIVIDE_BY_ZERO", "REMAINDER_BY_ZERO", "OVERFLOW", "CAST_INVALID_INPUT",
                                               "NUMERIC_VALUE_OUT_OF_RANGE", "NUMERIC_OUT_OF_SUPPORTED_RANGE",
                                               "overflow"))  # fmt: skip


def _text(expression: Expression) -> str:
    return text_of(expression)


def _row(row: int) -> dict[str, Any]:
    return {name: str(TABLE[name][row]) for name in TABLE.column_names}
