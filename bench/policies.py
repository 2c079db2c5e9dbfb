"""The policies that are measured, each with a name that includes its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import thalweg as tw
from bench.check import Check
from bench.scenario import BATCH_ROWS


@dataclass(frozen=True, slots=True)
class Setting:
    """A policy and the settings that differ from its own defaults (a-greedy, table 1)."""

    policy: str
    given: Mapping[str, float] = field(default_factory=dict)
    slice_rows: int | None = None

    @property
    def name(self) -> str:
        """The name, such as `a-greedy(p=0.002, profile_window=500)`."""
        slices = "" if self.slice_rows is None else f" slice_rows={self.slice_rows}"
        return tw.policy(self.policy, **self.given).text + slices

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that apply, including defaults."""
        profile: Any = tw.policy(self.policy, **self.given).settings
        filled = asdict(profile) if profile is not None else {}
        return {"policy": self.policy, **filled, "slice_rows": self.slice_rows}

    def filters(self, checks: tuple[Check, ...], seed: int) -> tw.Filters:
        """Return filters of these checks with this policy. A name alone is understood by earlier checkouts too."""
        policy = tw.policy(self.policy, **self.given) if self.given else self.policy
        return tw.filters(
            *(check.predicate() for check in checks), policy=policy, slice_rows=self.slice_rows, seed=seed
        )  # fmt: skip


WHOLE = BATCH_ROWS
"""The `slice_rows` that makes slices whole batches."""

DEFAULTS = tuple(Setting(policy) for policy in ("a-greedy", "sweep", "independent", "local-swaps"))
"""The paper's policies with the paper's settings (table 1)."""
AUTO = Setting("auto")
OURS = (
    AUTO,
    *DEFAULTS,
    Setting("a-greedy", {"p": 0.002, "profile_window": 500}),
    Setting("a-greedy", {"p": 0.001, "profile_window": 200}),
    Setting("sweep", {"p": 0.002, "profile_window": 200}),
    Setting("local-swaps", {"p": 0.002, "profile_window": 500}),
)
"""The policies from which the best is named for each target."""
ON_SPARK = OURS[:7]
"""Fewer policies, because an action on Spark takes seconds."""
CALM_ON_SPARK = (AUTO, *DEFAULTS, *OURS[6:])
DRIFTING = (
    AUTO,
    *DEFAULTS,
    Setting("a-greedy", {"p": 0.005, "profile_window": 300}),
    Setting("a-greedy", {"p": 0.002, "profile_window": 200}),
    Setting("independent", {"p": 0.002, "profile_window": 200}),
)
"""Under drift a window must turn over well within a phase: it spans about profile_window / p dropped rows."""
DRIFTING_ON_SPARK = (AUTO, *DEFAULTS[:1], *DRIFTING[5:7])
OTHERS = (Setting("duckdb-swap"), Setting("velox-rank"))
"""Policies that do what other engines do."""
STATIC = Setting("static")
KNOWN = Setting("static", slice_rows=WHOLE)
"""For hindsight: if the order is known, there is no reason to cut a batch into slices."""
