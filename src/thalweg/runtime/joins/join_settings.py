"""The settings of a join, checked when made."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.errors import PlanError
from thalweg.plan.window import Length, length_of
from thalweg.runtime.joins.join_options import MOST_MATCHES, JoinLimits, JoinOptions
from thalweg.runtime.settings import AdaptSettings


@dataclass(frozen=True, slots=True)
class JoinSettings(AdaptSettings):
    """Settings of a join."""

    max_matches: int = MOST_MATCHES
    """Results one row may have. Too few: a common key fails the query. Too many: memory and hours, before anybody sees
    that a key was too common."""
    max_bytes: int | None = None
    """Memory that the windows may hold: in this process those of the join, on Spark those of one bucket. None: half of
    the machine's, on Spark shared by its cores. Too low: a busy hour fails the query. Too high: the machine fails it,
    without a message."""
    buckets: int | None = None
    """On Spark, the parts the windows are in; None: as many as tasks run at once. Fixed in the checkpoint."""
    max_ahead: Length | None = "1 day"
    """On Spark streams, how far a time may be ahead of the clock and still move the watermark; None: as far as it
    likes. Too short: clocks that are ahead hold the watermark back. Too long: one wrong row makes all others late."""
    idle_after: Length | None = None
    """On Spark streams, after how long without rows a stream is not waited for any more. It can change the answer: what
    comes after may be late. None: every stream is waited for."""

    def __post_init__(self) -> None:
        AdaptSettings.__post_init__(self)  # super() does not know classes with slots
        for name, value in (
            ("max_matches", self.max_matches), ("max_bytes", self.max_bytes), ("buckets", self.buckets),
        ):  # fmt: skip
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise PlanError(f"{name}={value!r}: must be a whole number, 1 or more")
        for name, length in (("max_ahead", self.max_ahead), ("idle_after", self.idle_after)):
            if length is not None:
                length_of(length, "us", name)

    def options(self, max_bytes: int, *, in_buckets: bool = False, snapshots: bool = False) -> JoinOptions:
        """For a loop of the join. `max_bytes`: where these settings do not say it."""
        limits = JoinLimits(self.max_matches, self.max_bytes or max_bytes, in_buckets)
        return JoinOptions(self.policy, self.profile, self.slice_rows, limits, self.redact, snapshots)
