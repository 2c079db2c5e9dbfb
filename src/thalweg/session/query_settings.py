"""The settings of a query: the same as those of filters and joins, from the same places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from thalweg.adapt import SETTINGS
from thalweg.plan.nodes import Filter, subject
from thalweg.plan.query_plan import QueryPlan
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.runtime.settings import DEAD_LETTER, FilterSettings


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """What applies to one run of a query, or to one explanation of it."""

    filters: FilterSettings
    join: JoinSettings
    given: Mapping[str, Any]
    """The arguments of the query. On Spark its filters and joins resolve them again, with the session of their data."""

    @classmethod
    def in_force(cls, given: Mapping[str, Any], spark: Any = None) -> QuerySettings:
        """As they are now; refuses what filters or joins of the query would refuse."""
        join = JoinSettings.in_force(_taken_by(JoinSettings, given), spark)
        filters = FilterSettings.in_force(_taken_by(FilterSettings, given), spark, look=False)
        # a policy named outside need not take what the query says about profiling, which is then left out
        of_policy = {name: join.of_policy.get(name) for name in SETTINGS if name in given}
        return cls(filters, join, {**given, **of_policy, "policy": join.policy, "redact": join.redact})

    @property
    def policy_name(self) -> str:
        """The name under which plans, reports and `explain` know the policy."""
        return self.join.policy_name

    @property
    def redact(self) -> bool:
        """Whether errors and reports hold no value of a row."""
        return self.join.redact

    @property
    def sets_aside(self) -> bool:
        """Whether rows on which a condition raises are set aside."""
        return self.filters.dead_letter

    def of_filter(self, plan: QueryPlan, node: Filter) -> FilterSettings:
        """Of a filter of a plan. Rows that fail travel on if the filter has a column for what was raised. Before a
        join, nothing is expected to raise without one, and what does fails the query."""
        before_join = plan.join is not None and subject(node) != "joined rows"
        sets_aside = bool(node.errors) or (self.sets_aside and not before_join)
        return replace(self.filters, on_error=DEAD_LETTER if sets_aside else "raise")

    def given_to_filter(self, plan: QueryPlan, node: Filter) -> dict[str, Any]:
        """Arguments of a `Filters` for a filter of a plan."""
        return {**_taken_by(FilterSettings, self.given), "on_error": self.of_filter(plan, node).on_error}

    def given_to_join(self) -> dict[str, Any]:
        """Arguments of a `Join`."""
        return _taken_by(JoinSettings, self.given)


def _taken_by(kind: type[FilterSettings] | type[JoinSettings], given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name in kind.names()}
