"""Looks up policies by name, and checks policy classes that users pass."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from time import perf_counter_ns
from typing import Any, cast

import numpy as np

from thalweg.adapt.a_greedy import AGreedy
from thalweg.adapt.auto import Auto, BudgetSettings
from thalweg.adapt.chart import Chart
from thalweg.adapt.independent import Independent
from thalweg.adapt.local_swaps import LocalSwaps
from thalweg.adapt.mesh import MeshPolicy, MeshSettings
from thalweg.adapt.own_policy import OwnPolicy
from thalweg.adapt.peers.duckdb_swap import DuckdbSwap
from thalweg.adapt.peers.eddy import Eddy
from thalweg.adapt.peers.eddy_cbr import EddyCbr
from thalweg.adapt.peers.velox_rank import VeloxRank
from thalweg.adapt.policy import Policy, Settings
from thalweg.adapt.static import Static
from thalweg.adapt.sweep import Sweep
from thalweg.errors import PlanError, nearest
from thalweg.plan.filters.pipeline import Pipeline

POLICIES: dict[str, type[Any]] = {
    policy.name: policy
    for policy in (
        Auto, AGreedy, Sweep, Independent, LocalSwaps, Chart, MeshPolicy, Static, DuckdbSwap, VeloxRank, Eddy, EddyCbr,
    )
}  # fmt: skip
Chosen = str | type[Policy]
"""A policy: the name of one of Thalweg, or a user's own class."""
_METHODS = ("wants", "update", "begin", "snapshot", "restore")
_HOW = "docs/writing-a-policy.md has an example"


def policy_name(policy: Chosen) -> str:
    """Return the name that reports, event records and `explain` show: the class's `name`, or the name of the class.

    >>> policy_name("sweep"), policy_name(Sweep), policy_name(type("Mine", (), {}))
    ('sweep', 'sweep', 'Mine')
    """
    if isinstance(policy, str):
        return policy
    name = getattr(policy, "name", None)
    return name if isinstance(name, str) else policy.__name__


def policy_class(policy: Chosen) -> type[Any]:
    """Return the class of a policy. Raises a PlanError for an unknown name and for a class that cannot be a policy."""
    if isinstance(policy, str) and policy in POLICIES:
        return POLICIES[policy]
    if isinstance(policy, type):
        if policy not in POLICIES.values():
            _refuse_no_policy(policy)
        return policy
    if all(callable(getattr(policy, method, None)) for method in _METHODS):
        raise PlanError(
            f"policy={policy!r} is an object: pass its class, policy={type(policy).__name__}, because every loop makes "
            "its own policy object"
        )
    raise PlanError(
        f"there is no policy {policy!r}{nearest(str(policy), POLICIES)}; choose one of {', '.join(POLICIES)}, or pass "
        "your own class as policy= in code"
    )


def _refuse_no_policy(cls: type[Any]) -> None:
    """Raise a PlanError if a class cannot be a policy."""
    what, name = f"policy={cls.__name__}", policy_name(cls)
    missing = [m for m in _METHODS if not callable(getattr(cls, m, None)) or getattr(cls, m) is getattr(Policy, m)]
    if missing:
        raise PlanError(
            f"{what}: this class has no {', '.join(f'{m}()' for m in missing)}, which a policy needs; {_HOW}"
        )
    if name in POLICIES:
        raise PlanError(f"{what}: {name!r} is the name of a built-in policy; set the class attribute `name` to another")
    if not name.strip() or not name.isprintable():
        raise PlanError(
            f"{what}: its name is {name!r}, which reports cannot show; set the class attribute `name` to printable text"
        )
    if getattr(cls, "classifies", False):
        raise PlanError(
            f"{what}: its class attribute `classifies` is true, but a policy of your own has one order for all rows; "
            "set it to False, or use policy='mesh'"
        )
    defaults = getattr(cls, "defaults", None)
    if defaults is not None and (isinstance(defaults, type) or not is_dataclass(defaults)):
        raise PlanError(f"{what}: its defaults={defaults!r} must be a dataclass instance or None; {_HOW}")
    try:
        inspect.signature(cls).bind("pipeline", "settings", "rng")
    except TypeError as error:
        raise PlanError(f"{what}: {cls.__name__}(pipeline, settings, rng) is not possible: {error}; {_HOW}") from None


def setting_names(policy: Chosen) -> tuple[str, ...]:
    """Return the names of the settings of a policy: the fields of its `defaults`.

    >>> setting_names("auto"), setting_names("sweep"), setting_names("static")
    (('budget',), ('p', 'profile_window', 'alpha'), ())
    """
    defaults = getattr(policy_class(policy), "defaults", None)
    return () if defaults is None else tuple(each.name for each in fields(defaults) if each.init)


def classifies(policy: Chosen) -> bool:
    """Return whether rows of different classes can have different orders under a policy.

    >>> classifies("mesh"), classifies("auto")
    (True, False)
    """
    return bool(getattr(policy_class(policy), "classifies", False))


def check_classified(classify_by: Sequence[str] | None, policy: Chosen, *, of_filters: bool = False) -> None:
    """Raise a PlanError if rows are to be classified, and the policy does not do that. `auto` does it only for
    filters.

    >>> check_classified(["source"], "sweep")
    Traceback (most recent call last):
    thalweg.errors.PlanError: classify_by=['source']: policy 'sweep' does not classify rows; use policy='mesh', or leave classify_by out
    """  # noqa: E501
    may = classifies(policy) or (of_filters and policy_class(policy) is Auto)
    if classify_by is not None and not may:
        raise PlanError(
            f"classify_by={list(classify_by)!r}: policy {policy_name(policy)!r} does not classify rows; use "
            "policy='mesh', or leave classify_by out"
        )


def make_policy(
    policy: Chosen, pipeline: Pipeline, settings: Settings | None, rng: np.random.Generator, *,
    classified: bool = False, clock: Callable[[], int] = perf_counter_ns,
) -> Policy:  # fmt: skip
    """Return a new policy for a pipeline. If the class is the user's own, everything it returns is checked.
    `classified`: columns to classify rows by are given, so that `auto` may take a mesh. `clock`: measures in
    nanoseconds how long the training of a mesh takes."""
    cls = policy_class(policy)
    if cls is Auto and classified:
        budget = settings.budget if isinstance(settings, BudgetSettings) else BudgetSettings().budget
        cls, settings = MeshPolicy, MeshSettings(budget)
    made: Policy = cls(pipeline, settings, rng, clock) if cls is MeshPolicy else cls(pipeline, settings, rng)
    return made if cls in POLICIES.values() else cast(Policy, OwnPolicy(made, policy_name(cls), pipeline))
