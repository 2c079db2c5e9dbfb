"""One run of a query on Spark: the DataFrame of its plan, with adaptive filters and joins that report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from thalweg.adaptive_filters import Filters
from thalweg.adaptive_joins import Join
from thalweg.events import Record
from thalweg.optimizer.joins.start_plan import StartPlan, start_of
from thalweg.plan import FilterPlan
from thalweg.plan.join_plan import window_join_plan
from thalweg.plan.nodes import Filter, WindowJoin
from thalweg.plan.query import Condition
from thalweg.plan.query_plan import QueryPlan
from thalweg.plan.relation import UserFunction
from thalweg.runtime.filters.outcome import ERRORS_COLUMN, Wanted
from thalweg.runtime.joins.join_outcome import JoinRows
from thalweg.session.adaptive_parts import AdaptiveParts
from thalweg.session.conditions import predicates
from thalweg.session.query_classifiers import classifiers_of_filter, classifiers_of_join
from thalweg.session.query_settings import QuerySettings

if TYPE_CHECKING:
    from thalweg.runtime.spark.filters import ChainInTask
    from thalweg.runtime.spark.joins.attach import SparkJoinLayout
    from thalweg.runtime.spark.joins.task_sink import TaskSink
    from thalweg.runtime.spark.sql.after_join import AfterJoin
    from thalweg.runtime.spark.sql.plan_dataframe import SparkPlan


@dataclass
class SparkRun:
    """One DataFrame of the results of a query; `parts` report what happens in it."""

    plan: QueryPlan
    functions: Mapping[str, UserFunction]
    settings: QuerySettings
    data: Mapping[str, Any]
    """The DataFrames by alias."""
    listener: Callable[[Record], None]
    parts: AdaptiveParts = field(default_factory=AdaptiveParts)
    _joined_chain: ChainInTask | None = None
    """The filter of joined rows, if the tasks of the join write the results."""

    def check(self) -> None:
        """Raise a PlanError for what this Spark session cannot do, or would do differently."""
        from thalweg.runtime.spark.sql.requirements import demand, refuse_collations

        spark = next(iter(self.data.values())).sparkSession
        demand(spark.conf.get, self.plan, [alias for alias, df in self.data.items() if df.isStreaming])
        refuse_collations(self.plan, self.data)

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
        from thalweg.runtime.spark.sql.after_join import AfterJoin, JoinedFilter, joined_filter

        node, made = joined_filter(plan), None
        if node is not None:
            stream = next(df for df in self.data.values() if df.isStreaming)
            chain = self._joined_chain = self._filters(node).in_tasks(stream, joined)
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

        self.check()
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
        return self._filters(node, native).attached(df, wanted, column)

    def _filters(self, node: Filter, native: Callable[[Condition], Any] | None = None) -> Filters:
        """Return a filter of the plan, as a part of this run."""
        made_of = predicates(node, self.functions) if native is None else predicates(node, self.functions, native)
        plan = replace(
            FilterPlan.of(tuple(made_of)), of_query=True, classify_by=classifiers_of_filter(self.plan, node)
        )  # fmt: skip
        made = Filters(plan, self.settings.given_to_filter(self.plan, node))
        made.listeners.append(self.listener)
        self.parts.add(node.id, made)
        return made

    def join(
        self,
        node: WindowJoin,
        frames: Mapping[str, Any],
        *,
        late: bool = False,
        sink_for: Callable[[Any], TaskSink] | None = None,
    ) -> Any:
        """Apply the join of the plan as an adaptive join. `sink_for`: returns where its tasks write the results."""
        plan = window_join_plan(node)
        plan = replace(plan, classify_by=classifiers_of_join(self.plan, plan))
        planned = start_of(node)

        def start(layout: SparkJoinLayout) -> StartPlan:
            # Spark estimates the sizes of finished data, which may spread rows in another way than was planned
            begun = planned.spread(layout.partitioning, layout.limits.buckets)
            if begun is not planned:
                self.plan = self.plan.with_join(replace(node, kept=begun))
            return begun

        made = Join(plan, {**self.settings.given_to_join(), "buckets": planned.limits.buckets})
        made.listeners.append(self.listener)
        self.parts.add(node.id, made)
        return made.attached(frames, JoinRows.LATE if late else JoinRows.RESULTS, sink_for, start)
