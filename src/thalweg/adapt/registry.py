"""The policies by the names users write."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from thalweg.adapt.a_greedy import AGreedy
from thalweg.adapt.auto import Auto
from thalweg.adapt.duckdb_swap import DuckdbSwap
from thalweg.adapt.independent import Independent
from thalweg.adapt.local_swaps import LocalSwaps
from thalweg.adapt.policy import Policy, Settings
from thalweg.adapt.sweep import Sweep
from thalweg.adapt.velox_rank import VeloxRank
from thalweg.adapt.written import Written
from thalweg.errors import PlanError, nearest
from thalweg.plan.pipeline import Pipeline

POLICIES: dict[str, type[Any]] = {
    policy.name: policy for policy in (Auto, AGreedy, Sweep, Independent, LocalSwaps, Written, DuckdbSwap, VeloxRank)
}


def takes(name: str) -> tuple[str, ...]:
    """The settings a policy takes.

    >>> takes("auto"), takes("sweep"), takes("written")
    (('budget',), ('p', 'window', 'alpha'), ())
    """
    defaults = POLICIES[name].defaults
    return tuple(field.name for field in fields(defaults)) if defaults is not None else ()


def check_policy(name: str, **given: Any) -> Settings | None:
    """The settings a policy will run with: the user's where given (not None), else its own defaults; errors before
    anything runs.

    >>> check_policy("sweep", p=0.02)
    ProfileSettings(p=0.02, window=500, alpha=0.9)
    """
    if not isinstance(name, str) or name not in POLICIES:
        raise PlanError(
            f"there is no policy {name!r}{nearest(str(name), POLICIES)}; choose one of {', '.join(POLICIES)}"
        )
    given = {key: value for key, value in given.items() if value is not None}
    unwanted = [key for key in given if key not in takes(name)]
    if unwanted:
        what = f"takes {', '.join(takes(name))}" if takes(name) else "does not profile"
        raise PlanError(f"policy {name!r} {what}: leave out {', '.join(unwanted)}, or choose a policy that takes it")
    defaults: Settings | None = POLICIES[name].defaults
    return None if defaults is None else replace(defaults, **given)


def make_policy(name: str, pipeline: Pipeline, settings: Settings | None, rng: np.random.Generator) -> Policy:
    """A fresh policy for a pipeline."""
    policy: Policy = POLICIES[name](pipeline, settings, rng)
    return policy
