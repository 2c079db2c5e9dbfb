"""The settings of a join. They are checked on construction."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.adapt.chart import ChartSettings
from thalweg.errors import PlanError
from thalweg.plan.joins.shape import of_text
from thalweg.plan.joins.wanted_plan import MULTIWAY, WantedPlan
from thalweg.plan.joins.window import Length, length_of
from thalweg.plan.objective import Objective, objective_of
from thalweg.runtime.joins.join_options import MOST_MATCHES, JoinLimits, JoinOptions
from thalweg.runtime.settings import AdaptSettings

CHART = "chart"
"""The policy that looks plans up in a chart."""


@dataclass(frozen=True, slots=True)
class JoinSettings(AdaptSettings):
    """The settings of a join."""

    max_matches: int = MOST_MATCHES
    """The most results one row may have. If it is too low, a common key fails the query. If it is too high, a key that
    is too common takes hours and much memory before it is noticed."""
    max_bytes: int | None = None
    """The memory that the windows may use: those of the join in this process, those of one bucket on Spark. If None,
    half of the machine's memory, on Spark divided by its cores. If it is too low, a busy hour fails the query. If it is
    too high, the machine runs out of memory, and the query fails without a message."""
    buckets: int | None = None
    """On Spark, the number of parts of the windows; None for as many as tasks run at once. Fixed in the checkpoint."""
    plan: str | None = None
    """Which sub-joins are kept, such as "((b c) a)"; None or "multiway" for none. It never changes the result. If it
    keeps a large sub-join, the join needs much memory."""
    objective: Objective | str | None = None
    """What the plan should be best at, if `plan` does not set it; None for the least CPU time within `max_bytes`. It
    never changes the result."""
    max_ahead: Length | None = "1 day"
    """On Spark streams, how far a time may be ahead of the clock and still move the watermark; None for any time. If it
    is too short, rows from clocks that are ahead do not move the watermark. If it is too long, one wrong row makes all
    others late."""
    idle_after: Length | None = None
    """On Spark streams, the time without rows after which a stream no longer holds back the watermark. It can change
    the result: later rows of that stream may be late. If None, every stream holds back the watermark."""

    def __post_init__(self) -> None:
        AdaptSettings.__post_init__(self)  # super() without arguments fails in dataclasses with slots
        for name, value in (
            ("max_matches", self.max_matches), ("max_bytes", self.max_bytes), ("buckets", self.buckets),
        ):  # fmt: skip
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**63):
                raise PlanError(f"{name}={value!r}: must be a whole number, 1 or more and less than 2^63")
        if self.plan is not None and not isinstance(self.plan, str):
            raise PlanError(f"plan={self.plan!r}: must be text, 'multiway' or one such as '((b c) a)'")
        if self.plan is not None and self.plan != MULTIWAY:
            of_text(self.plan)
        objective_of(self.objective)
        for name, length in (("max_ahead", self.max_ahead), ("idle_after", self.idle_after)):
            if length is not None:
                length_of(length, "us", name)

    @property
    def wanted(self) -> WantedPlan:
        """What the plan of the join depends on."""
        profile, parts = self.profile, None
        if self.policy_name == CHART and isinstance(profile, ChartSettings):
            parts = profile.parts
        return WantedPlan(self.plan, objective_of(self.objective), self.policy_name != "static", parts)

    def options(
        self, memory: int, *, in_buckets: bool = False, snapshots: bool = False, may_change: bool = False
    ) -> JoinOptions:  # fmt: skip
        """Return the options for a loop of the join. `memory`: the bytes that the loop may use. `may_change`: whether
        the plan can change, and is changed when kept sub-joins need too much memory."""
        limits = JoinLimits(self.max_matches, memory, in_buckets, inner=not may_change)
        return JoinOptions(self.policy.kind, self.profile, self.slice_rows, limits, self.redact, snapshots)
