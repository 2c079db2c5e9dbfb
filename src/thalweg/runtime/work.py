"""What a loop did: counters by predicate, times, switches."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Switch:
    """A verdict, applied at once: after how many rows of this loop, from which order to which, and why."""

    at: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    reason: str


@dataclass(slots=True)
class Work:
    """What was done: counters by predicate and times. Additive, so that workers and batches can be summed."""

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
    """Rows set aside."""
    raised: list[int] = field(default_factory=list)
    """Rows a predicate raised on, in ordinary work; others may have dropped them."""
    trials: int = 0
    """Slices that were run in another order to measure it. Their rows count in `evaluated` and `passed` like others."""
    trial_rows: int = 0
    trial_ns: int = 0
    """Time of those slices, a part of the processing time."""
    trial_loss_ns: int = 0
    """How much longer they took than the order in force would have."""
    compiling_ns: int = 0
    """Time that numba compiled in; no other time includes it."""
    rows_in_force: int = 0
    """Rows since the last switch, or since the work was last taken, without those of trials: these three are of the
    order in force alone."""
    evaluated_in_force: list[int] = field(default_factory=list)
    passed_in_force: list[int] = field(default_factory=list)
    standing: str = ""
    """Why the order has not changed lately, in one sentence; empty where the policy does not say."""

    @classmethod
    def none(cls, n: int) -> Work:
        """Nothing done yet, for n predicates."""
        return cls(
            0, 0, [0] * n, [0] * n, [0] * n, [0] * n, [0] * n, [0] * n, raised=[0] * n,
            evaluated_in_force=[0] * n, passed_in_force=[0] * n,
        )  # fmt: skip

    def add_switch(self, switch: Switch) -> None:
        """Another order is in force from here on."""
        self.switches.append(switch)
        n = len(self.evaluated)
        self.rows_in_force, self.evaluated_in_force, self.passed_in_force = 0, [0] * n, [0] * n
