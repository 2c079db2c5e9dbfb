"""One run of a query: its plan and settings, and what its filters and joins are made from, wherever they run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from thalweg.adapt import classifies
from thalweg.events import Record
from thalweg.plan import FilterPlan
from thalweg.plan.joins.join_plan import JoinPlan, is_timeless, window_join_plan
from thalweg.plan.query.nodes import Filter, WindowJoin, subject
from thalweg.plan.query.query_plan import QueryPlan
from thalweg.plan.query.relation import UserFunction
from thalweg.report import JoinReport, Report
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.runtime.receiver import Fold, Receiver
from thalweg.runtime.settings import DEAD_LETTER, FilterSettings
from thalweg.runtime.spark.session_settings import session_settings
from thalweg.session.adaptive_parts import AdaptiveParts
from thalweg.session.conditions import Native, predicates

R = TypeVar("R", bound=Report | JoinReport)


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """The settings that apply to one run of a query, or to one explanation of it."""

    filters: FilterSettings
    join: JoinSettings

    @classmethod
    def in_force(cls, given: Mapping[str, Any], spark: Any = None) -> QuerySettings:
        """Resolve the current settings. Raise a PlanError for what a filter or join of the query would refuse."""
        conf = None if spark is None else session_settings(spark)
        join = JoinSettings.in_force(_taken_by(JoinSettings, given), conf)
        return cls(FilterSettings.in_force(_taken_by(FilterSettings, given), conf, look=False), join)

    @property
    def policy_name(self) -> str:
        """The name of the policy in plans, reports and `explain`."""
        return self.join.policy_name

    @property
    def classifies(self) -> bool:
        """Whether rows of different classes can have different orders."""
        return classifies(self.join.policy.kind)

    @property
    def redact(self) -> bool:
        """Whether errors and reports must not contain values of rows."""
        return self.join.redact

    @property
    def sets_aside(self) -> bool:
        """Whether rows on which a condition raises are set aside."""
        return self.filters.dead_letter


def _taken_by(kind: type[FilterSettings] | type[JoinSettings], given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name in kind.names()}


@dataclass
class QueryRun:
    """One run of a query; `parts` report what happens in it."""

    plan: QueryPlan
    functions: Mapping[str, UserFunction]
    settings: QuerySettings
    data: Mapping[str, Any]
    """On Spark, the DataFrames by alias; in this process, functions that read the data."""
    listener: Callable[[Record], None]
    """Called with every event record."""
    parts: AdaptiveParts = field(default_factory=AdaptiveParts)

    def filter_plan(self, node: Filter, native: Native | None = None) -> FilterPlan:
        """Return the plan of a filter. `native` makes the Columns of the conditions that run in the JVM."""
        named = self.plan.classify_by
        by = None if named is None else tuple(column for alias, column in named if alias == subject(node))
        if native is None:
            return FilterPlan(tuple(predicates(node, self.functions)), of_query=True, classify_by=by)
        plan = FilterPlan.of(tuple(predicates(node, self.functions, native)))
        return replace(plan, of_query=True, classify_by=by)

    def filter_settings(self, node: Filter) -> FilterSettings:
        """Return the settings of a filter. Rows that fail are passed on if the filter has a column for the errors.
        Before a join, no condition without such a column is expected to raise; if one does, the query fails."""
        before_join = self.plan.join is not None and subject(node) != "joined rows"
        sets_aside = bool(node.errors) or (self.settings.sets_aside and not before_join)
        return replace(self.settings.filters, on_error=DEAD_LETTER if sets_aside else "raise")

    def join_plan(self, node: WindowJoin) -> JoinPlan:
        """Return the plan of a join."""
        plan, named = window_join_plan(node, timeless=is_timeless(node)), self.plan.classify_by
        if named is None:
            return plan
        return replace(plan, classify_by=tuple(each for each in named if each[0] in plan.streams))

    def receiver(self, node: Filter | WindowJoin, fold: Fold[R]) -> Receiver[R]:
        """Return the receiver of the records of a filter or join, as a part of this run."""
        made = Receiver(fold, listener=lambda record: self.listener(record))
        self.parts.named[node.id] = made
        return made
