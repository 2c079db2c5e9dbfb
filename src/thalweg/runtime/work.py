"""What a filter loop did: counters by predicate, times and switches of the order."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Switch:
    """A verdict that was applied: after how many rows of this loop, the orders before and after, and the reason."""

    at: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    reason: str


@dataclass(slots=True)
class Work:
    """Counters by predicate and times. They are additive, so that workers and batches can be summed."""

    rows: int
    kept: int
    evaluated: list[int]
    passed: list[int]
    busy_ns: list[int]
    profiled: list[int]
    profile_busy_ns: list[int]
    profile_errors: list[int]
    profile_tuples: int = 0
    total_ns: int = 0
    profiling_ns: int = 0
    reoptimizing_ns: int = 0
    switches: list[Switch] = field(default_factory=list)
    failed: int = 0
    """Rows that were set aside because a predicate raised."""
    raised: list[int] = field(default_factory=list)
    """Rows on which a predicate raised in regular processing; other predicates may have dropped them."""
    trials: int = 0
    """Slices that were run in another order to measure it. `evaluated` and `passed` include their rows."""
    trial_rows: int = 0
    trial_ns: int = 0
    """Time of these slices; part of the processing time."""
    trial_loss_ns: int = 0
    """How much longer they took than the order in force would have; never negative."""
    compiling_ns: int = 0
    """Time in which numba compiled; no other time includes it."""
    rows_in_force: int = 0
    """Rows since the last switch or since the work was last taken, without rows of trials: this and the next two are
    counters of the order in force alone."""
    evaluated_in_force: list[int] = field(default_factory=list)
    passed_in_force: list[int] = field(default_factory=list)
    standing: str = ""
    """Why the order is kept, in one sentence; empty if the policy gives no reason."""

    @classmethod
    def none(cls, n: int) -> Work:
        """Counters at zero, for n predicates."""
        return cls(
            0, 0, [0] * n, [0] * n, [0] * n, [0] * n, [0] * n, [0] * n, raised=[0] * n,
            evaluated_in_force=[0] * n, passed_in_force=[0] * n,
        )  # fmt: skip

    def add_switch(self, switch: Switch) -> None:
        """Record a switch. The counters of the order in force start again at zero."""
        self.switches.append(switch)
        n = len(self.evaluated)
        self.rows_in_force, self.evaluated_in_force, self.passed_in_force = 0, [0] * n, [0] * n
