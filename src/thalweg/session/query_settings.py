"""The settings of a query: the same as those of filters and joins, from the same places, but for `on_error`.

SQL has no rows that are set aside, so a row that fails is an error whatever is set outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from thalweg.runtime.join_settings import JoinSettings
from thalweg.runtime.settings import FilterSettings


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """What applies to one run of a query, or to one explanation of it. Settings that are not here are read by the
    query's filters and joins when they are applied."""

    policy: str
    redact: bool

    @classmethod
    def in_force(cls, given: Mapping[str, Any], spark: Any = None) -> QuerySettings:
        """As they are now; refuses what filters or joins of the query would refuse."""
        found = JoinSettings.in_force(given, spark)
        FilterSettings.in_force({**given, "on_error": "raise"}, spark, look=False)
        return cls(found.policy, found.redact)

    def of_filters(self) -> dict[str, Any]:
        """Arguments of `tw.filters`."""
        return {"policy": self.policy, "redact": self.redact, "on_error": "raise"}

    def of_join(self) -> dict[str, Any]:
        """Arguments of `tw.join`."""
        return {"policy": self.policy, "redact": self.redact}
