"""The policies by the names users write."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, get_type_hints

import numpy as np

from thalweg.adapt.a_greedy import AGreedy
from thalweg.adapt.auto import Auto
from thalweg.adapt.duckdb_swap import DuckdbSwap
from thalweg.adapt.independent import Independent
from thalweg.adapt.local_swaps import LocalSwaps
from thalweg.adapt.policy import Policy, Settings
from thalweg.adapt.static import Static
from thalweg.adapt.sweep import Sweep
from thalweg.adapt.velox_rank import VeloxRank
from thalweg.errors import PlanError, nearest
from thalweg.plan.pipeline import Pipeline

POLICIES: dict[str, type[Any]] = {
    policy.name: policy for policy in (Auto, AGreedy, Sweep, Independent, LocalSwaps, Static, DuckdbSwap, VeloxRank)
}


SETTINGS: dict[str, type[Any]] = {
    name: kind
    for policy in POLICIES.values()
    if policy.defaults is not None
    for name, kind in get_type_hints(type(policy.defaults)).items()
}
"""Settings of policies, by name, with the type of their values: the fields of what each policy has as `defaults`."""


def takes(name: str) -> tuple[str, ...]:
    """The settings a policy takes.

    >>> takes("auto"), takes("sweep"), takes("static")
    (('budget',), ('p', 'profile_window', 'alpha'), ())
    """
    defaults = POLICIES[name].defaults
    return tuple(field.name for field in fields(defaults)) if defaults is not None else ()


def check_policy(policy: str, **given: Any) -> Settings | None:
    """The settings a policy will run with: the user's where given (not None), else its own defaults; errors before
    anything runs.

    >>> check_policy("sweep", p=0.02)
    ProfileSettings(p=0.02, profile_window=500, alpha=0.9)
    """
    if not isinstance(policy, str) or policy not in POLICIES:
        raise PlanError(
            f"there is no policy {policy!r}{nearest(str(policy), POLICIES)}; choose one of {', '.join(POLICIES)}"
        )
    given = {key: value for key, value in given.items() if value is not None}
    unwanted = [key for key in given if key not in takes(policy)]
    if unwanted:
        what = f"takes {', '.join(takes(policy))}" if takes(policy) else "does not profile"
        raise PlanError(f"policy {policy!r} {what}: leave out {', '.join(unwanted)}, or choose a policy that takes it")
    defaults: Settings | None = POLICIES[policy].defaults
    return None if defaults is None else replace(defaults, **given)


def make_policy(name: str, pipeline: Pipeline, settings: Settings | None, rng: np.random.Generator) -> Policy:
    """A fresh policy for a pipeline."""
    policy: Policy = POLICIES[name](pipeline, settings, rng)
    return policy
