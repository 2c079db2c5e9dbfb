"""The settings of a query: those of its filters and joins, read from the same places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from thalweg.adapt import classifies
from thalweg.plan.nodes import Filter, subject
from thalweg.plan.query_plan import QueryPlan
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.runtime.settings import DEAD_LETTER, FilterSettings
from thalweg.runtime.spark.session_settings import session_settings


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """The settings that apply to one run of a query, or to one explanation of it."""

    filters: FilterSettings
    join: JoinSettings
    given: Mapping[str, Any]
    """The arguments of the query. On Spark its filters and joins resolve them again, with the session of their data."""

    @classmethod
    def in_force(cls, given: Mapping[str, Any], spark: Any = None) -> QuerySettings:
        """Resolve the current settings. Raise a PlanError for what a filter or join of the query would refuse."""
        conf = session_settings(spark)
        join = JoinSettings.in_force(_taken_by(JoinSettings, given), conf)
        filters = FilterSettings.in_force(_taken_by(FilterSettings, given), conf, look=False)
        in_force = {"policy": join.policy, "budget": join.budget, "redact": join.redact}
        return cls(filters, join, {**given, **in_force})

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

    def of_filter(self, plan: QueryPlan, node: Filter) -> FilterSettings:
        """Return the settings of one filter of a plan. Rows that fail are passed on if the filter has a column for the
        errors. Before a join, no condition without such a column is expected to raise; if one does, the query fails."""
        before_join = plan.join is not None and subject(node) != "joined rows"
        sets_aside = bool(node.errors) or (self.sets_aside and not before_join)
        return replace(self.filters, on_error=DEAD_LETTER if sets_aside else "raise")

    def given_to_filter(self, plan: QueryPlan, node: Filter) -> dict[str, Any]:
        """Return the arguments of the `Filters` for one filter of a plan."""
        return {**_taken_by(FilterSettings, self.given), "on_error": self.of_filter(plan, node).on_error}

    def given_to_join(self) -> dict[str, Any]:
        """Return the arguments of the `Join` of a plan."""
        return _taken_by(JoinSettings, self.given)


def _taken_by(kind: type[FilterSettings] | type[JoinSettings], given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name in kind.names()}
