"""One run of a query on Spark: the DataFrame of its plan, with adaptive filters and joins that are reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from thalweg.adaptive_filters import filters
from thalweg.adaptive_joins import Join
from thalweg.events import Record
from thalweg.plan.nodes import Filter, WindowJoin
from thalweg.plan.query import Condition
from thalweg.plan.query_plan import QueryPlan
from thalweg.plan.relation import UserFunction
from thalweg.plan.window_join_plan import window_join_plan
from thalweg.session.conditions import predicates
from thalweg.session.parts import Parts
from thalweg.session.query_settings import QuerySettings


@dataclass
class SparkRun:
    """One DataFrame of the query's results; `parts` report what happens in it."""

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
        from thalweg.runtime.spark.sql.plan_dataframe import SparkPlan
        from thalweg.runtime.spark.sql.requirements import spark_errors

        self.check()
        with spark_errors():
            return SparkPlan(self.plan, self.functions, self.data, self, redact=self.settings.redact).dataframe()

    def filter(self, node: Filter, df: Any, native: Callable[[Condition], Any]) -> Any:
        """An adaptive chain."""
        made = filters(*predicates(node, self.functions, native), **self.settings.of_filters())
        made.listeners.append(self.listener)
        self.parts.add(node.id, made)
        return made(df)

    def join(self, node: WindowJoin, frames: Mapping[str, Any]) -> Any:
        """An adaptive join."""
        made = Join(window_join_plan(node), {**self.settings.of_join(), "buckets": self.buckets})
        made.listeners.append(self.listener)
        self.parts.add(node.id, made)
        return made(**frames)
