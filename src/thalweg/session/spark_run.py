"""A plan put on DataFrames: Spark's own operators, with the adaptive filters and joins among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from thalweg.adaptive_filters import filters
from thalweg.events import Record
from thalweg.plan.expression import Expression, Ref
from thalweg.plan.group_spec import grouped_columns
from thalweg.plan.join_select import EVENT_TIME
from thalweg.plan.query import Condition
from thalweg.plan.query_plan import QueryPlan, Scan, column_of, group_outputs, of_groups
from thalweg.plan.relation import UserFunction
from thalweg.session.conditions import predicates
from thalweg.session.join_of_plan import join_of
from thalweg.session.parts import Parts
from thalweg.session.query_settings import QuerySettings


@dataclass
class SparkRun:
    """One DataFrame of the query's results; what happens in it is told by `parts`."""

    plan: QueryPlan
    functions: Mapping[str, UserFunction]
    settings: QuerySettings
    data: Mapping[str, Any]
    """DataFrames by alias."""
    listener: Callable[[Record], None]
    buckets: int | None = None
    parts: Parts = field(default_factory=Parts)

    def check(self) -> None:
        """Refuse what this session of Spark cannot do, or would do otherwise."""
        from thalweg.runtime.spark.sql.requirements import demand

        spark = next(iter(self.data.values())).sparkSession
        demand(spark, self.plan, [alias for alias, df in self.data.items() if df.isStreaming])

    def dataframe(self) -> Any:
        """Nothing runs yet."""
        from thalweg.runtime.spark.sql.requirements import spark_errors

        self.check()
        with spark_errors():
            return self._made()

    def _made(self) -> Any:
        plan, grouping = self.plan, self.plan.query.grouping
        joined = plan.join is not None
        frames = {scan.alias: self._scanned(scan) for scan in plan.scans}
        df = self._joined(frames) if joined else next(iter(frames.values()))
        if plan.conditions:
            df = self._filtered(
                df, plan.conditions, joined, Ref("", df.columns[0], plan.query.schema[0].type), "joined rows"
            )

        def name(ref: Ref) -> str:
            return column_of(ref, joined)

        outputs = plan.query.outputs
        if grouping is not None:
            df = self._grouped(df, name)
            outputs, name = group_outputs(plan), _plain
            if grouping.having is not None:
                from thalweg.runtime.spark.sql.staying import staying

                df = staying(df, [grouping.having]).filter(self._column(of_groups(grouping.having, plan), name))
        return df.select(*(self._column(o.expression, name).alias(o.name) for o in outputs))

    def _column(self, expression: Expression, name: Callable[[Ref], str]) -> Any:
        from thalweg.runtime.spark.sql.columns import column

        return column(expression, name, self.functions, redact=self.settings.redact)

    def _scanned(self, scan: Scan) -> Any:
        df = self.data[scan.alias]
        relation = scan.source.relation
        if scan.columns != tuple(df.columns):
            df = df.select(
                *(self._column(Ref("", column, relation.schema.field(column).type), _plain) for column in scan.columns)
            )
        if self._marks_early(scan):
            from thalweg.runtime.spark.joins.marked import with_watermark

            assert relation.time is not None
            df = with_watermark(df, relation.time, relation.lateness_us)
        if scan.conditions:
            first = Ref("", scan.columns[0], relation.schema.field(scan.columns[0]).type)
            df = self._filtered(df, scan.conditions, False, first, scan.alias)
        for column, expression in scan.computed:
            df = df.withColumn(column, self._column(expression, _plain))
        return df

    def _marks_early(self, scan: Scan) -> bool:
        """The watermark of a stream that is grouped is declared before filters in Python, so that rows they drop move
        it too; filters of Spark's own it pushes below. Times without a zone are marked when they are grouped; a
        stream's own watermark is kept."""
        import pyarrow as pa

        from thalweg.runtime.spark.joins.marked import has_watermark

        relation, df = scan.source.relation, self.data[scan.alias]
        if self.plan.query.grouping is None or len(self.plan.query.streams) > 1 or relation.time is None:
            return False
        kind = relation.schema.field(relation.time).type
        return bool(df.isStreaming and kind.tz is not None and pa.types.is_timestamp(kind)) and not has_watermark(
            scan.alias, df, relation.time
        )

    def _filtered(self, df: Any, conditions: tuple[Condition, ...], joined: bool, anything: Ref, where: str) -> Any:
        def native(condition: Condition) -> Any:
            return self._column(condition.expression, lambda ref: column_of(ref, joined))

        made = filters(*predicates(conditions, self.functions, joined, anything, native), **self.settings.of_filters())
        made.listeners.append(self.listener)
        self.parts.add(f"filter of {where}", made)
        return made(df)

    def _joined(self, frames: Mapping[str, Any]) -> Any:
        plan = self.plan
        assert plan.join is not None
        if plan.join.operator == "spark":
            from thalweg.runtime.spark.sql.table_join import join_tables

            return join_tables(frames, plan)
        join = join_of(plan, {**self.settings.of_join(), "buckets": self.buckets})
        join.listeners.append(self.listener)
        self.parts.add("join", join)
        return join(**frames)

    def _grouped(self, df: Any, name: Callable[[Ref], str]) -> Any:
        from thalweg.runtime.spark.joins.marked import has_watermark
        from thalweg.runtime.spark.sql.aggregates import aggregate

        plan, grouping = self.plan, self.plan.query.grouping
        assert grouping is not None
        stream = plan.query.streams[0]
        time = EVENT_TIME if len(plan.query.streams) > 1 else name(Ref(stream.alias, stream.relation.time or "", None))
        spec, computed = grouped_columns(grouping, time)
        columns = [self._column(e, name).alias(column) for column, e in computed.items()]
        df = df.select(self._column(Ref("", time, None), _plain), *columns)
        marked = df.isStreaming and has_watermark(stream.alias, df, time)
        return aggregate(df, spec, stream.relation.lateness_us, watermarked=marked)


def _plain(ref: Ref) -> str:
    return ref.column
