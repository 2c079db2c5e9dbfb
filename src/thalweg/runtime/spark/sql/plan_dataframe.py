"""A plan put on DataFrames: each kind of node adds Spark's own operators, or an adaptive filter or join.

What adapts is made by whoever runs the plan (`Adaptive`), who also reports what it counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from thalweg.errors import PlanError
from thalweg.plan.expression import Expression, Ref
from thalweg.plan.functions import can_raise
from thalweg.plan.group_spec import grouped_columns
from thalweg.plan.join_select import LOST
from thalweg.plan.nodes import (
    Aggregate,
    Compute,
    Fail,
    Filter,
    Node,
    Output,
    Scan,
    TableJoin,
    WindowJoin,
    column_of,
    join_of,
    sources_of,
    subject,
)
from thalweg.plan.query import Condition
from thalweg.plan.query_plan import Branch, QueryPlan
from thalweg.plan.relation import UserFunction
from thalweg.plan.rows_left_out import failed_columns, late_column, late_schema
from thalweg.runtime.filters.outcome import ERRORS_COLUMN, Wanted
from thalweg.runtime.spark.joins.marked import has_watermark, quoted, with_watermark
from thalweg.runtime.spark.sql.aggregates import aggregate
from thalweg.runtime.spark.sql.carried_errors import as_text, failing, passing, refuse_failed
from thalweg.runtime.spark.sql.columns import column
from thalweg.runtime.spark.sql.table_join import join_tables


class Adaptive(Protocol):
    """Makes the adaptive operators of a plan."""

    def filter(
        self,
        node: Filter,
        df: DataFrame,
        native: Callable[[Condition], Column],
        wanted: Wanted = Wanted.KEPT,
        column: str = ERRORS_COLUMN,
    ) -> DataFrame:
        """The wanted rows; `native` makes a Column of a condition that Spark evaluates, `column` is that of the errors,
        where rows that failed are wanted."""
        ...

    def join(self, node: WindowJoin, frames: Mapping[str, DataFrame], *, late: bool = False) -> DataFrame:
        """The joined rows, or those that come too late to be joined."""
        ...


class SparkPlan:
    """The DataFrame of a plan's results; nothing runs yet."""

    def __init__(
        self,
        plan: QueryPlan,
        functions: Mapping[str, UserFunction],
        data: Mapping[str, DataFrame],
        adaptive: Adaptive,
        *,
        redact: bool,
    ) -> None:
        """`data`: by alias."""
        self._root, self._functions, self._data, self._adaptive = plan.root, functions, data, adaptive
        self._plan, self._redact = plan, redact
        self._joined = join_of(plan.root) is not None
        self._grouped_stream = plan.query.grouping is not None and len(plan.query.streams) == 1

    def dataframe(self) -> DataFrame:
        """With Spark's own errors."""
        return self._rows(self._root)

    def failed(self, column: str) -> DataFrame:
        """The rows that are set aside, with a column of what was raised."""
        df = self._failed(column)
        return df.select(*(F.col(quoted(name)) for name in (*failed_columns(self._plan), column)))

    def late(self) -> DataFrame:
        """The rows that come too late to be joined, or have no time."""
        schema, join = late_schema(self._plan), join_of(self._root)
        if isinstance(join, WindowJoin):
            df = self._adaptive.join(join, self._frames(join), late=True)
            return df.select(*(F.col(quoted(name)) for name in schema.names))
        if self._plan.query.grouping is not None and any(df.isStreaming for df in self._data.values()):
            raise PlanError(
                "Spark itself drops the late rows of windows that are grouped, and only counts them "
                "(numRowsDroppedByWatermark in lastProgress): late() gives those of joins of streams"
            )
        (stream,) = self._plan.query.streams
        names = {late_column(self._plan, stream.alias, name): name for name in self._plan.scan(stream.alias).columns}
        columns = [F.col(quoted(name)).alias(late) for late, name in names.items()]
        none = self._data[stream.alias].select(*columns, F.lit(None).cast("string").alias(LOST))
        return none.filter(F.lit(False))  # nothing is kept, so nothing is late

    def _failed(self, column: str) -> DataFrame:
        node = self._plan.result
        match node:
            case Filter():
                return self._filtered(node, Wanted.FAILED, column)
            case Fail():
                return failing(kept_in_place(self._rows(node.input)), node.names, column)
        return failing(self._rows(node), (), column)

    def _rows(self, node: Node) -> DataFrame:
        match node:
            case Output():
                df = self._rows(node.input)
                return df.select(*(self._column(e, self._joined).alias(name) for name, e in node.columns))
            case Aggregate():
                return self._groups(node)
            case WindowJoin():
                return self._adaptive.join(node, self._frames(node))
            case TableJoin():
                return join_tables(self._frames(node), node)
            case Filter() if subject(node) == "groups":
                (condition,) = node.conditions
                df = staying(self._rows(node.input), [condition.expression])
                return df.filter(self._column(condition.expression, joined=False))
            case Filter():
                return self._filtered(node)
            case Fail():
                df = kept_in_place(self._rows(node.input))
                if self._plan.sets_aside:
                    return passing(df, node.names)
                return refuse_failed(df, node.names, self._redact)
            case Scan():
                return self._scanned(node)
            case Compute():
                df = self._rows(node.input)
                for name, expression in node.columns:
                    df = df.withColumn(name, self._column(expression, joined=False))
                return df
        raise AssertionError(f"a {type(node).__name__} is not carried out by Spark")

    def _frames(self, node: WindowJoin | TableJoin) -> dict[str, DataFrame]:
        return {Branch.of(child).alias: self._rows(child) for child in node.inputs}

    def _column(self, expression: Expression, joined: bool) -> Column:
        made: Column = column(expression, lambda ref: column_of(ref, joined), self._functions, redact=self._redact)
        return made

    def _scanned(self, node: Scan) -> DataFrame:
        df, relation = self._data[node.alias], node.source.relation
        if node.columns != tuple(df.columns):
            refs = (Ref("", name, relation.schema.field(name).type) for name in node.columns)
            df = df.select(*(self._column(ref, joined=False) for ref in refs))
        if self._marks_early(node):
            assert relation.time is not None
            df = with_watermark(df, relation.time, relation.lateness_us)
        return df

    def _marks_early(self, node: Scan) -> bool:
        """The watermark of a stream that is grouped is declared before filters in Python, so that rows they drop move
        it too; filters of Spark's own it pushes below. Times without a zone are marked when they are grouped; a
        stream's own watermark is kept."""
        relation, df = node.source.relation, self._data[node.alias]
        if not self._grouped_stream or relation.time is None:
            return False
        kind = relation.schema.field(relation.time).type
        return bool(df.isStreaming and kind.tz is not None and pa.types.is_timestamp(kind)) and not has_watermark(
            node.alias, df, relation.time
        )

    def _filtered(self, node: Filter, wanted: Wanted = Wanted.KEPT, errors: str = ERRORS_COLUMN) -> DataFrame:
        df, joined = self._rows(node.input), subject(node) == "joined rows"
        if isinstance(node.input, TableJoin):
            df = staying(df, [condition.expression for condition in node.conditions])

        def native(condition: Condition) -> Column:
            return self._column(condition.expression, joined)

        if node.errors:
            return as_text(self._adaptive.filter(node, df, native, Wanted.TAGGED, node.errors), node.errors)
        return self._adaptive.filter(node, df, native, wanted, errors)

    def _groups(self, node: Aggregate) -> DataFrame:
        df = self._rows(node.input)
        stream = next(source for source in sources_of(node) if source.relation.is_stream)
        spec, computed = grouped_columns(node.grouping, node.time)
        columns = [self._column(e, self._joined).alias(name) for name, e in computed.items()]
        time: Any = Ref("", node.time, None)
        df = df.select(self._column(time, joined=False), *columns)
        marked = df.isStreaming and has_watermark(stream.alias, df, node.time)
        return aggregate(df, spec, stream.relation.lateness_us, watermarked=marked)


def staying(df: DataFrame, conditions: Sequence[Expression]) -> DataFrame:
    """Rows that are to be filtered by these conditions. One that can raise must see these rows and no others; Spark
    would evaluate it before the join or the groups."""
    return kept_in_place(df) if any(map(can_raise, conditions)) else df


def kept_in_place(df: DataFrame) -> DataFrame:
    """The same rows; what is done with them is not done earlier. Spark evaluates filters as early as it can, also those
    that raise, but moves nothing past what depends on the place of a row, and concludes nothing from it."""
    return df.filter(F.spark_partition_id() >= 0)
