"""Values of expressions over many rows, in this process and on Spark with all its optimizer rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from tests.kernels.expressions.nasty import python_values
from thalweg.errors import ExpressionError
from thalweg.kernels.expressions import Evaluation
from thalweg.plan.expressions.expression import Bound, Call, Expression, Ref, refs, text_of
from thalweg.plan.query.relation import Catalog, Relation
from thalweg.plan.sql.analysis import read_query
from thalweg.runtime.spark.sql.columns import built_in, spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

RAISED = "raised"
OVERFLOWS = "DIVIDE_BY_ZERO|REMAINDER_BY_ZERO|OVERFLOW|overflow|NUMERIC_VALUE_OUT_OF_RANGE|CAST_INVALID_INPUT"


@dataclass(frozen=True)
class Difference:
    """A row whose value differs."""

    row: int
    here: Any
    spark: Any


class BothRuntimes:
    """Evaluates expressions over the rows of a table."""

    def __init__(self, spark: SparkSession, table: pa.Table, folder: Path) -> None:
        """`folder`: an empty one for a Parquet file. Rows in a plan would be evaluated by Spark's optimizer instead."""
        ids = pa.array(range(table.num_rows), pa.int32())
        self.spark, self.table, self._folder = spark, table.append_column("id", ids).combine_chunks(), folder
        schema = table.schema.append(pa.field("time of row", pa.timestamp("us")))
        self._catalog = Catalog({"r": Relation("r", schema, "time of row")})

    def read(self, text: str) -> Expression:
        """Return an expression over the columns of the table."""
        return read_query(f"SELECT {text} AS x FROM r", self._catalog, {}).outputs[0].expression

    def here(self, expression: Expression) -> list[Any]:
        """Evaluate all rows; `RAISED` for those that raise."""
        evaluation = Evaluation(expression, {})

        def values(table: pa.Table) -> list[Any]:
            def column(ref: Ref | Bound) -> pa.Array:
                assert isinstance(ref, Ref)
                return table[ref.column].combine_chunks()

            try:
                return python_values(evaluation(column, table.num_rows))
            except ExpressionError:
                if table.num_rows == 1:
                    return [RAISED]
            half = table.num_rows // 2
            return values(table.slice(0, half)) + values(table.slice(half))

        return values(self.table)

    def differences(self, texts: Sequence[str]) -> dict[str, list[Difference]]:
        """Return the rows that have another value on Spark, by expression. A row on which this process raises must
        raise there too: a CAST is asked as `try_cast`, and of others the first such row is tried."""
        expressions = [self.read(text) for text in texts]
        here = [self.here(expression) for expression in expressions]
        spark = self._on_spark(expressions, here)
        found: dict[str, list[Difference]] = {}
        for text, expression, mine, theirs in zip(texts, expressions, here, spark, strict=True):
            if not _is_cast(expression) and RAISED in mine:
                self._check_raises(expression, mine.index(RAISED))
            either = zip(mine, theirs, strict=True)
            rows = [Difference(n, a, b) for n, (a, b) in enumerate(either) if not _same(None if a is RAISED else a, b)]
            if rows:
                found[text] = rows
        return found

    def _on_spark(self, expressions: Sequence[Expression], here: Sequence[list[Any]]) -> list[list[Any]]:
        """Evaluate all expressions in one query, with null where this process raises."""
        table, columns = self.table, []
        for n, (expression, values) in enumerate(zip(expressions, here, strict=True)):
            column = _column(expression)
            if not _is_cast(expression) and RAISED in values:
                raises = np.array([value is RAISED for value in values])
                table = table.append_column(f"raises {n}", pa.array(raises))
                column = F.when(~F.col(f"raises {n}"), column)
            columns.append(column.alias(f"x{n}"))
        pq.write_table(table, self._folder / "rows.parquet")
        made = (
            self.spark.read.parquet(str(self._folder)).select("id", *columns).toArrow().sort_by("id").combine_chunks()
        )
        for n, expression in enumerate(expressions):
            assert made[f"x{n}"].type == expression.type, (text_of(expression), made[f"x{n}"].type)
        return [python_values(made[f"x{n}"].combine_chunks()) for n in range(len(expressions))]

    def _check_raises(self, expression: Expression, row: int) -> None:
        """Check that Spark raises when it optimizes a plan with this row, which is faster than a job that fails."""
        kinds = {ref.column: spark_type(ref.type) for ref in refs(expression)}
        rows = self.spark.createDataFrame(self.table.slice(row, 1).select(list(kinds)))
        rows = rows.select(*(F.col(name).cast(kind).alias(name) for name, kind in kinds.items()))
        asked: Any = rows.select(_column(expression))
        with pytest.raises(Exception, match=OVERFLOWS):
            asked._jdf.queryExecution().optimizedPlan()


def _is_cast(expression: Expression) -> bool:
    return isinstance(expression, Call) and expression.function == "cast"


def _column(expression: Expression) -> Column:
    if _is_cast(expression):
        assert isinstance(expression, Call)
        return built_in(expression.arguments[0], lambda ref: ref.column).try_cast(spark_type(expression.type))
    return built_in(expression, lambda ref: ref.column)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return (math.isnan(one) and math.isnan(other)) or (
            one == other and math.copysign(1, one) == math.copysign(1, other)
        )
    return type(one) is type(other) and bool(one == other)
