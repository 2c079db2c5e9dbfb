"""The policies by the names users write."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg.adapt.a_greedy import AGreedy
from thalweg.adapt.duckdb_swap import DuckdbSwap
from thalweg.adapt.independent import Independent
from thalweg.adapt.local_swaps import LocalSwaps
from thalweg.adapt.policy import Policy, ProfileSettings
from thalweg.adapt.sweep import Sweep
from thalweg.adapt.velox_rank import VeloxRank
from thalweg.adapt.written import Written
from thalweg.errors import PlanError, nearest
from thalweg.plan.pipeline import Pipeline

POLICIES: dict[str, type[Any]] = {
    policy.name: policy for policy in (AGreedy, Sweep, Independent, LocalSwaps, Written, DuckdbSwap, VeloxRank)
}


def check_policy(
    name: str, p: float | None = None, window: int | None = None, alpha: float | None = None
) -> ProfileSettings | None:
    """The settings a policy will run with: the user's where given, else its own defaults; errors before anything runs.

    >>> check_policy("sweep", p=0.02)
    ProfileSettings(p=0.02, window=500, alpha=0.9)
    """
    if not isinstance(name, str) or name not in POLICIES:
        raise PlanError(
            f"there is no policy {name!r}{nearest(str(name), POLICIES)}; choose one of {', '.join(POLICIES)}"
        )
    defaults: ProfileSettings | None = POLICIES[name].defaults
    given = {"p": p, "window": window, "alpha": alpha}
    if defaults is None:
        asked = [key for key, value in given.items() if value is not None]
        if asked:
            raise PlanError(f"policy {name!r} does not profile: leave out {', '.join(asked)}")
        return None
    return ProfileSettings(
        p=defaults.p if p is None else p,
        window=defaults.window if window is None else window,
        alpha=defaults.alpha if alpha is None else alpha,
    )


def make_policy(name: str, pipeline: Pipeline, settings: ProfileSettings | None, rng: np.random.Generator) -> Policy:
    """A fresh policy for a pipeline."""
    policy: Policy = POLICIES[name](pipeline, settings, rng)
    return policy
