"""The settings of a join, checked when made."""

from __future__ import annotations

import os
from dataclasses import dataclass

from thalweg.adapt import Settings, check_policy
from thalweg.errors import PlanError
from thalweg.runtime.join_loop import MOST_MATCHES
from thalweg.runtime.settings import DEFAULT_POLICY


@dataclass(frozen=True, slots=True)
class JoinSettings:
    """Few."""

    policy: str = DEFAULT_POLICY
    budget: float | None = None
    """For `auto`: the share of the time that adapting may take; None: 0.02."""
    max_matches: int = MOST_MATCHES
    """Results one row may have. Too few: a common key fails the query. Too many: memory and hours, before anybody sees
    that a key was too common."""
    slice_rows: int | None = None
    """Rows between two looks at the order; None: as the policy wants."""
    seed: int | None = None
    """For the sample of profiled rows; it never changes the answer. None: another one each time."""
    events: str | os.PathLike[str] | None = None
    """A file for event records (JSON lines)."""

    def __post_init__(self) -> None:
        _ = self.profile
        for name, least, value in (
            ("max_matches", 1, self.max_matches), ("slice_rows", 1, self.slice_rows), ("seed", 0, self.seed),
        ):  # fmt: skip
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                raise PlanError(f"{name}={value!r}: must be a whole number, {least} or more")
        if self.events is not None and not isinstance(self.events, (str, os.PathLike)):
            raise PlanError(f"events={self.events!r}: must be the path of a file")

    @property
    def profile(self) -> Settings | None:
        """What the policy runs with."""
        return check_policy(self.policy, p=None, window=None, alpha=None, budget=self.budget)
