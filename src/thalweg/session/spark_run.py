"""One run of a query on Spark: the DataFrame of its plan, with adaptive filters and joins that report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from thalweg.optimizer.joins.start_plan import start_of
from thalweg.plan.query.nodes import Filter, WindowJoin
from thalweg.plan.query.query import Condition
from thalweg.plan.query.query_plan import QueryPlan
from thalweg.report import JoinTally, Tally
from thalweg.runtime.filters.outcome import ERRORS_COLUMN, Wanted, WantedRows
from thalweg.runtime.joins.join_outcome import JoinRows
from thalweg.session.query_run import QueryRun

if TYPE_CHECKING:
    from thalweg.runtime.spark.filters import ChainInTask
    from thalweg.runtime.spark.joins.task_sink import TaskSink
    from thalweg.runtime.spark.sql.after_join import AfterJoin
    from thalweg.runtime.spark.sql.plan_dataframe import SparkPlan


@dataclass
class SparkRun(QueryRun):
    """One DataFrame of the results of a query."""

    _joined_chain: ChainInTask | None = None
    """The filter of joined rows, if the tasks of the join write the results."""

    def dataframe(self) -> Any:
        """Return the DataFrame of the results; nothing runs yet."""
        return self._made(lambda plan: plan.dataframe())

    def files(self, sink_for: Callable[[Any], TaskSink]) -> Any:
        """Return a DataFrame of the files of the results, which tasks write; nothing runs yet."""
        made = self._made(lambda plan: plan.files(sink_for))
        if self._joined_chain is None:
            return made
        from thalweg.runtime.spark.joins.task_sink import FILTER_WORK

        return self._joined_chain.observed(made, FILTER_WORK)

    def after_join(self, plan: QueryPlan, joined: Any) -> AfterJoin:
        """Return what tasks do with joined rows before they write them. `joined`: the columns of these rows."""
        from thalweg.runtime.spark.filters import in_tasks
        from thalweg.runtime.spark.sql.after_join import AfterJoin, JoinedFilter, joined_filter

        node, made = joined_filter(plan), None
        if node is not None:
            stream = next(df for df in self.data.values() if df.isStreaming)
            receiver = self.receiver(node, Tally())
            chain = in_tasks(stream, joined, self.filter_plan(node), self.filter_settings(node), receiver)
            self._joined_chain = chain
            made = JoinedFilter(chain.task, chain.columns, node.errors)
        return AfterJoin.of(plan, self.functions, made, redact=self.settings.redact)

    def failed(self, column: str) -> Any:
        """Return a DataFrame of the rows that are set aside, with a column of what was raised; nothing runs yet."""
        return self._made(lambda plan: plan.failed(column))

    def late(self) -> Any:
        """Return a DataFrame of the rows that arrive too late to be joined; nothing runs yet."""
        return self._made(lambda plan: plan.late())

    def _made(self, make: Callable[[SparkPlan], Any]) -> Any:
        from thalweg.runtime.spark.sql.plan_dataframe import SparkPlan
        from thalweg.runtime.spark.sql.requirements import spark_errors

        check(self.plan, self.data)
        with spark_errors():
            return make(SparkPlan(self.plan, self.functions, self.data, self, redact=self.settings.redact))

    def filter(
        self,
        node: Filter,
        df: Any,
        native: Callable[[Condition], Any],
        wanted: Wanted = Wanted.KEPT,
        column: str = ERRORS_COLUMN,
    ) -> Any:
        """Apply a filter of the plan as an adaptive chain."""
        from thalweg.runtime.spark.filters import attach

        plan, receiver = self.filter_plan(node, native), self.receiver(node, Tally())
        return attach(df, plan, self.filter_settings(node), receiver, WantedRows(wanted, column))

    def join(
        self,
        node: WindowJoin,
        frames: Mapping[str, Any],
        *,
        late: bool = False,
        sink_for: Callable[[Any], TaskSink] | None = None,
    ) -> Any:
        """Apply the join of the plan as an adaptive join. `sink_for`: returns where its tasks write the results."""
        from thalweg.runtime.spark.joins.attach import attach, lay_out

        planned = start_of(node)
        settings = replace(self.settings.join, buckets=planned.limits.buckets)
        layout = lay_out(self.join_plan(node), settings, frames)
        # Spark estimates the sizes of finished data, which may spread rows in another way than was planned
        start = planned.spread(layout.partitioning, layout.limits.buckets)
        if start is not planned:
            self.plan = self.plan.with_join(replace(node, kept=start))
        wanted = JoinRows.LATE if late else JoinRows.RESULTS
        return attach(layout, start, settings, frames, self.receiver(node, JoinTally()), wanted, sink_for)


def check(plan: QueryPlan, data: Mapping[str, Any]) -> None:
    """Raise a PlanError for what this Spark session cannot do, or would do differently. `data`: DataFrames by alias."""
    from thalweg.runtime.spark.sql.requirements import demand, refuse_collations

    spark = next(iter(data.values())).sparkSession
    demand(spark.conf.get, plan, [alias for alias, df in data.items() if df.isStreaming])
    refuse_collations(plan, data)
