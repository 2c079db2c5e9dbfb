"""A plan put on DataFrames: each kind of node adds Spark's own operators, or an adaptive filter or join.

What adapts is made by whoever runs the plan (`Adaptive`), who also reports what it counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import Column, DataFrame

from thalweg.plan.expression import Expression, Ref
from thalweg.plan.group_spec import grouped_columns
from thalweg.plan.nodes import (
    Aggregate,
    Compute,
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
from thalweg.runtime.spark.joins.marked import has_watermark, with_watermark
from thalweg.runtime.spark.sql.aggregates import aggregate
from thalweg.runtime.spark.sql.columns import column
from thalweg.runtime.spark.sql.staying import staying
from thalweg.runtime.spark.sql.table_join import join_tables


class Adaptive(Protocol):
    """Makes the adaptive operators of a plan."""

    def filter(self, node: Filter, df: DataFrame, native: Callable[[Condition], Column]) -> DataFrame:
        """The rows that pass; `native` makes a Column of a condition that Spark evaluates."""
        ...

    def join(self, node: WindowJoin, frames: Mapping[str, DataFrame]) -> DataFrame:
        """The joined rows."""
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
        self._redact = redact
        self._joined = join_of(plan.root) is not None
        self._grouped_stream = plan.query.grouping is not None and len(plan.query.streams) == 1

    def dataframe(self) -> DataFrame:
        """With Spark's own errors."""
        return self._rows(self._root)

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

    def _filtered(self, node: Filter) -> DataFrame:
        df, joined = self._rows(node.input), subject(node) == "joined rows"
        if isinstance(node.input, TableJoin):
            df = staying(df, [condition.expression for condition in node.conditions])
        return self._adaptive.filter(node, df, lambda condition: self._column(condition.expression, joined))

    def _groups(self, node: Aggregate) -> DataFrame:
        df = self._rows(node.input)
        stream = next(source for source in sources_of(node) if source.relation.is_stream)
        spec, computed = grouped_columns(node.grouping, node.time)
        columns = [self._column(e, self._joined).alias(name) for name, e in computed.items()]
        time: Any = Ref("", node.time, None)
        df = df.select(self._column(time, joined=False), *columns)
        marked = df.isStreaming and has_watermark(stream.alias, df, node.time)
        return aggregate(df, spec, stream.relation.lateness_us, watermarked=marked)
