"""The predicates of a plan, and a policy of the user's own, as they travel to Spark's workers: pickled once, when they
are applied to a DataFrame.

The values that the user's functions capture are read at that moment, by classic Spark and by Connect alike. The digest
of the bytes tells a worker whether it holds these functions already. It does in nearly every task, which then unpickles
nothing; where a captured value has changed, so have the bytes, and the functions of this task are used.

>>> from thalweg.plan import predicate
>>> threshold = 5
>>> first = PickledPlan.of(FilterPlan((predicate(lambda x: x > threshold, "x", name="large"),)))
>>> first.open().predicates[0].func(7), first.names
(True, ('large',))
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark import cloudpickle

from thalweg.errors import PlanError
from thalweg.plan import FilterPlan, Predicate
from thalweg.runtime.settings import AdaptSettings


@dataclass(frozen=True, slots=True)
class PickledPlan:
    """Bytes, and what can be known of them without unpickling."""

    data: bytes
    digest: str
    setups: Mapping[str, str]
    """Digests of the `setup` functions, by predicate; those without one are missing."""
    names: tuple[str, ...]

    @classmethod
    def of(cls, plan: FilterPlan) -> PickledPlan:
        """Raise a PlanError that names the first predicate that cannot be pickled."""
        try:
            data = pickled(plan.predicates)
        except Exception:
            _refuse_unpicklable(plan.predicates)
            raise
        setups = {p.name: digest_of(pickled(p.setup)) for p in plan.predicates if p.setup is not None}
        return cls(data, digest_of(data), setups, plan.pipeline.names)

    def open(self) -> FilterPlan:
        """The plan with functions of its own: two calls share nothing."""
        return FilterPlan(cloudpickle.loads(self.data))


def pickled(value: object) -> bytes:
    """By value where no worker could import it."""
    made: bytes = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
    return made


def digest_of(data: bytes) -> str:
    """The same for the same bytes, in every process."""
    return hashlib.sha256(data).hexdigest()


def _refuse_unpicklable(predicates: tuple[Predicate, ...]) -> None:
    for each in predicates:
        parts: tuple[tuple[str, Any], ...] = (("", each.func), ("the setup of ", each.setup))
        for what, value in parts:
            try:
                pickled(value)
            except Exception as error:
                raise PlanError(
                    f"{what}predicate {each.name!r} cannot travel to Spark's workers: {type(error).__name__}: "
                    f"{error}. It, or something it refers to, holds what belongs to this process (a lock, an open "
                    "file, a connection, the SparkSession): make that in setup=, or import it in the function"
                ) from error


def policy_digest(settings: AdaptSettings) -> str:
    """What tells a worker whether a class and its settings are those of the task before: each task unpickles a class of
    its own. Empty for a policy of Thalweg's. Raise a PlanError if the class cannot travel."""
    if isinstance(settings.policy, str):
        return ""
    try:
        return digest_of(pickled((settings.policy, settings.profile)))
    except Exception as error:
        raise PlanError(
            f"policy {settings.policy_name!r} (class {settings.policy.__qualname__}) cannot travel to Spark's workers: "
            f"{type(error).__name__}: {error}. The class, its settings, or something they refer to, holds what belongs "
            "to this process (a lock, an open file, a connection, the SparkSession): make that in __init__, or put the "
            "class into a module that the workers can import"
        ) from error
