"""The settings of a query: the same as those of filters and joins, from the same places, but for `on_error`.

SQL has no rows that are set aside, so a row that fails is always an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from thalweg.adapt import Chosen, policy_name
from thalweg.runtime.join_settings import JoinSettings
from thalweg.runtime.settings import FilterSettings


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """What applies to one run of a query, or to one explanation of it. Settings that are not given are read by the
    query's filters and joins when they are applied."""

    policy: Chosen
    redact: bool
    given: Mapping[str, Any]

    @classmethod
    def in_force(cls, given: Mapping[str, Any], spark: Any = None) -> QuerySettings:
        """As they are now; refuses what filters or joins of the query would refuse."""
        found = JoinSettings.in_force(_taken_by(JoinSettings, given), spark)
        FilterSettings.in_force(_taken_by(FilterSettings, given), spark, look=False)
        return cls(found.policy, found.redact, {**given, "policy": found.policy, "redact": found.redact})

    @property
    def policy_name(self) -> str:
        """The name under which plans, reports and `explain` know the policy."""
        return policy_name(self.policy)

    def of_filters(self) -> dict[str, Any]:
        """Arguments of `tw.filters`."""
        return {**_taken_by(FilterSettings, self.given), "on_error": "raise"}

    def of_join(self) -> dict[str, Any]:
        """Settings of a `Join`."""
        return _taken_by(JoinSettings, self.given)


def _taken_by(kind: type[FilterSettings] | type[JoinSettings], given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name in kind.names()}
