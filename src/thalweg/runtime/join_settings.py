"""The settings of a join, checked when made."""

from __future__ import annotations

import os
from dataclasses import dataclass

from thalweg.adapt import Settings, check_policy
from thalweg.errors import PlanError
from thalweg.plan.window_length import Length, length_of
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
    max_bytes: int | None = None
    """Of memory that windows may hold, on Spark those of a bucket; None: half of the machine's, shared by its cores.
    Too few: a busy hour fails the query. Too many: the machine fails it, without a word."""
    buckets: int | None = None
    """On Spark, the parts the windows are in; None: as many as tasks run at once. Fixed in the checkpoint."""
    max_ahead: Length | None = "1 day"
    """On Spark streams, how far a time may be ahead of the clock and still move the watermark; None: as far as it
    likes. Too short: clocks that are ahead hold the watermark back. Too long: one wrong row makes all others late."""
    idle_after: Length | None = None
    """On Spark streams, after how long without rows a stream is not waited for any more. It can change the answer: what
    comes after may be late. None: every stream is waited for."""
    slice_rows: int | None = None
    """Rows between two looks at the order; None: as the policy wants."""
    seed: int | None = None
    """For the sample of profiled rows; it never changes the answer. None: another one each time."""
    events: str | os.PathLike[str] | None = None
    """A file for event records (JSON lines)."""

    def __post_init__(self) -> None:
        _ = self.profile
        for name, least, value in (
            ("max_matches", 1, self.max_matches), ("max_bytes", 1, self.max_bytes), ("buckets", 1, self.buckets),
            ("slice_rows", 1, self.slice_rows), ("seed", 0, self.seed),
        ):  # fmt: skip
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                raise PlanError(f"{name}={value!r}: must be a whole number, {least} or more")
        for name, length in (("max_ahead", self.max_ahead), ("idle_after", self.idle_after)):
            if length is not None:
                length_of(length, "us", name)
        if self.events is not None and not isinstance(self.events, (str, os.PathLike)):
            raise PlanError(f"events={self.events!r}: must be the path of a file")

    @property
    def profile(self) -> Settings | None:
        """What the policy runs with."""
        return check_policy(self.policy, p=None, window=None, alpha=None, budget=self.budget)
