"""Applies a plan to DataFrames: each node becomes Spark operators, or an adaptive filter or join.

The caller makes the adaptive operators (`SparkAdaptiveOperators`), and also reports what they count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from thalweg.errors import PlanError
from thalweg.plan.expressions.expression import Expression, Ref
from thalweg.plan.expressions.functions import can_raise
from thalweg.plan.joins.select import LOST
from thalweg.plan.query.group_spec import grouped_columns
from thalweg.plan.query.nodes import (
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
from thalweg.plan.query.query import Condition
from thalweg.plan.query.query_plan import Branch, QueryPlan
from thalweg.plan.query.relation import UserFunction
from thalweg.plan.query.rows_left_out import failed_columns, late_column, late_schema
from thalweg.runtime.filters.outcome import ERRORS_COLUMN, Wanted
from thalweg.runtime.spark.joins.stream_watermarks import has_watermark, quoted, with_watermark
from thalweg.runtime.spark.joins.task_sink import SinkFor
from thalweg.runtime.spark.sql.aggregates import aggregate
from thalweg.runtime.spark.sql.carried_errors import as_text, failing, passing, refuse_failed
from thalweg.runtime.spark.sql.columns import column
from thalweg.runtime.spark.sql.table_join import join_tables


class SparkAdaptiveOperators(Protocol):
    """Makes the adaptive operators of a plan."""

    def filter(
        self,
        node: Filter,
        df: DataFrame,
        native: Callable[[Condition], Column],
        wanted: Wanted = Wanted.KEPT,
        column: str = ERRORS_COLUMN,
    ) -> DataFrame:
        """Return the wanted rows. `native` makes a Column of a condition that Spark evaluates. `column` is the column
        of the errors, if rows that failed are wanted."""
        ...

    def join(
        self,
        node: WindowJoin,
        frames: Mapping[str, DataFrame],
        *,
        late: bool = False,
        sink_for: SinkFor | None = None,
    ) -> DataFrame:
        """Return the joined rows, or those that arrive too late to be joined, or the files that tasks write."""
        ...


class SparkPlan:
    """The DataFrame of a plan's results; nothing runs yet."""

    def __init__(
        self,
        plan: QueryPlan,
        functions: Mapping[str, UserFunction],
        data: Mapping[str, DataFrame],
        adaptive: SparkAdaptiveOperators,
        *,
        redact: bool,
    ) -> None:
        """Create it from a plan and its DataFrames by alias."""
        self._root, self._functions, self._data, self._adaptive = plan.root, functions, data, adaptive
        self._plan, self._redact = plan, redact
        self._joined = join_of(plan.root) is not None
        self._grouped_stream = plan.query.grouping is not None and len(plan.query.streams) == 1

    def dataframe(self) -> DataFrame:
        """Return the results. Errors of Spark are raised as they are."""
        return self._rows(self._root)

    def files(self, sink_for: SinkFor) -> DataFrame:
        """Return the files of the results, which the tasks of the join write. `sink_for` returns where, and what they
        do with joined rows."""
        join = join_of(self._root)
        assert isinstance(join, WindowJoin)
        return self._adaptive.join(join, self._frames(join), sink_for=sink_for)

    def failed(self, column: str) -> DataFrame:
        """Return the rows that are set aside, with a column of what was raised."""
        df = self._failed(column)
        return df.select(*(F.col(quoted(name)) for name in (*failed_columns(self._plan), column)))

    def late(self) -> DataFrame:
        """Return the rows that arrive too late to be joined, or have no time and would be joined or grouped."""
        schema, join = late_schema(self._plan), join_of(self._root)
        if isinstance(join, WindowJoin):
            df = self._adaptive.join(join, self._frames(join), late=True)
            return df.select(*(F.col(quoted(name)) for name in schema.names))
        if self._plan.query.grouping is not None and any(df.isStreaming for df in self._data.values()):
            raise PlanError(
                "late() returns only late rows of joins of streams; Spark itself drops those of grouped windows, and "
                "only counts them (numRowsDroppedByWatermark in lastProgress); raise lateness= of s.stream(...) to "
                "drop fewer"
            )
        (stream,) = self._plan.query.streams
        names = {late_column(self._plan, stream.alias, name): name for name in self._plan.scan(stream.alias).columns}
        columns = [F.col(quoted(name)).alias(late) for late, name in names.items()]
        if join is None and self._plan.query.grouping is None:
            lost = self._data[stream.alias].filter(F.lit(False))  # no row needs a time
        else:
            (branch,) = (node for node in self._plan.branches if Branch.of(node).alias == stream.alias)
            lost = self._rows(branch).filter(F.col(quoted(str(stream.relation.time))).isNull())
        return lost.select(*columns, F.lit(f"{stream.alias}: no time").alias(LOST))

    def _failed(self, column: str) -> DataFrame:
        node = self._plan.result
        match node:
            case Filter():
                return self._filtered(node, Wanted.FAILED, column)
            case Fail():
                return failing(pushdown_barrier(self._rows(node.input)), node.names, column)
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
                df = with_pushdown_barrier(self._rows(node.input), [condition.expression])
                return df.filter(self._column(condition.expression, joined=False))
            case Filter():
                return self._filtered(node)
            case Fail():
                df = pushdown_barrier(self._rows(node.input))
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
        raise AssertionError(f"Spark does not execute a {type(node).__name__}")

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
        """Whether the watermark of a grouped stream is set before the filters.

        It is, so that rows that Python filters drop also advance it; Spark pushes its own filters below it. Times
        without a time zone get their watermark when they are grouped. An existing watermark of a stream is kept.
        """
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
            df = with_pushdown_barrier(df, [condition.expression for condition in node.conditions])

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


def with_pushdown_barrier(df: DataFrame, conditions: Sequence[Expression]) -> DataFrame:
    """Return rows that will be filtered by these conditions. A condition that can raise must see these rows and no
    others, but Spark would evaluate it before the join or the grouping."""
    return pushdown_barrier(df) if any(map(can_raise, conditions)) else df


def pushdown_barrier(df: DataFrame) -> DataFrame:
    """Return the same rows, with a filter past which Spark moves nothing. Spark evaluates filters as early as it can,
    even if they raise, but it moves nothing past a condition on the partition of a row, and infers nothing from it."""
    return df.filter(F.spark_partition_id() >= 0)
