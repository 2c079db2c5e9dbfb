"""The policies by the names users write, and classes of the users' own."""

from __future__ import annotations

import inspect
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast, get_type_hints

import numpy as np

from thalweg.adapt.a_greedy import AGreedy
from thalweg.adapt.auto import Auto
from thalweg.adapt.duckdb_swap import DuckdbSwap
from thalweg.adapt.independent import Independent
from thalweg.adapt.local_swaps import LocalSwaps
from thalweg.adapt.own_policy import OwnPolicy
from thalweg.adapt.policy import Policy, Settings
from thalweg.adapt.static import Static
from thalweg.adapt.sweep import Sweep
from thalweg.adapt.velox_rank import VeloxRank
from thalweg.deprecated import current_name
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
Chosen = str | type[Policy]
"""What users give as `policy=`: a name, or a class of their own."""
_METHODS = ("wants", "update", "begin", "snapshot", "restore")
_HOW = 'docs/filters.md, "A policy of your own", has an example'


def policy_name(policy: Chosen) -> str:
    """What reports, event records and `explain` show: the class's `name`, or the name of the class.

    >>> policy_name("sweep"), policy_name(Sweep), policy_name(type("Mine", (), {}))
    ('sweep', 'sweep', 'Mine')
    """
    if isinstance(policy, str):
        return policy
    name = getattr(policy, "name", None)
    return name if isinstance(name, str) else policy.__name__


def policy_class(policy: Chosen) -> type[Any]:
    """The class of a policy; what is neither the name of one nor a class that can be one is refused."""
    if isinstance(policy, str) and policy in POLICIES:
        return POLICIES[policy]
    if isinstance(policy, type):
        if policy not in POLICIES.values():
            _refuse_no_policy(policy)
        return policy
    if all(callable(getattr(policy, method, None)) for method in _METHODS):
        raise PlanError(
            f"policy={policy!r} is an object: give its class, policy={type(policy).__name__}, since every loop makes "
            "a policy of its own"
        )
    raise PlanError(
        f"there is no policy {policy!r}{nearest(str(policy), POLICIES)}; choose one of {', '.join(POLICIES)}, or give "
        "policy= a class of your own in code"
    )


def _refuse_no_policy(cls: type[Any]) -> None:
    """Say what a class lacks to be a policy."""
    what, name = f"policy={cls.__name__}", policy_name(cls)
    missing = [m for m in _METHODS if not callable(getattr(cls, m, None)) or getattr(cls, m) is getattr(Policy, m)]
    if missing:
        raise PlanError(f"{what}: this class has no {', '.join(f'{m}()' for m in missing)}, as a policy must; {_HOW}")
    if current_name("policy", name) in POLICIES:
        raise PlanError(f"{what}: {name!r} is the name of a policy of Thalweg; give the class another name=")
    if not name.strip() or not name.isprintable():
        raise PlanError(f"{what}: its name is {name!r}, and reports show it; give the class a name= in printable text")
    defaults = getattr(cls, "defaults", None)
    if defaults is not None and (isinstance(defaults, type) or not is_dataclass(defaults)):
        raise PlanError(f"{what}: its defaults={defaults!r} must be an object of a dataclass, or None; {_HOW}")
    try:
        inspect.signature(cls).bind("pipeline", "settings", "rng")
    except TypeError as error:
        raise PlanError(f"{what}: it is made as {cls.__name__}(pipeline, settings, rng), but {error}; {_HOW}") from None


def takes(policy: Chosen) -> tuple[str, ...]:
    """The settings a policy takes.

    >>> takes("auto"), takes("sweep"), takes("static")
    (('budget',), ('p', 'profile_window', 'alpha'), ())
    """
    defaults = getattr(policy_class(policy), "defaults", None)
    return tuple(field.name for field in fields(defaults)) if defaults is not None else ()


def check_policy(policy: Chosen, **given: Any) -> Settings | None:
    """The settings a policy will run with: the user's where given (not None), else its own defaults; errors before
    anything runs.

    >>> check_policy("sweep", p=0.02)
    ProfileSettings(p=0.02, profile_window=500, alpha=0.9)
    """
    taken = takes(policy)
    given = {key: value for key, value in given.items() if value is not None}
    unwanted = [key for key in given if key not in taken]
    if unwanted:
        what = (
            f"takes {', '.join(taken)}" if taken else "does not profile" if policy in POLICIES else "takes no settings"
        )
        raise PlanError(
            f"policy {policy_name(policy)!r} {what}: leave out {', '.join(unwanted)}, or choose a policy that takes it"
        )
    defaults: Settings | None = getattr(policy_class(policy), "defaults", None)
    return None if defaults is None else replace(defaults, **given)


def make_policy(policy: Chosen, pipeline: Pipeline, settings: Settings | None, rng: np.random.Generator) -> Policy:
    """A fresh policy for a pipeline. What one of the user's own answers is checked."""
    cls = policy_class(policy)
    made: Policy = cls(pipeline, settings, rng)
    return made if cls in POLICIES.values() else cast(Policy, OwnPolicy(made, policy_name(cls), pipeline))
