"""Pickles the predicates of a plan, and a policy class of the user, once, when they are applied to a DataFrame.

The values that the user's functions capture are read at that moment, on classic Spark and on Connect alike. A worker
compares the digest of the bytes to find out whether it already has these functions. In nearly every task it has, and
unpickles nothing. If a captured value has changed, the bytes have changed too, and the functions of this task are
used.

>>> from thalweg import predicate
>>> threshold = 5
>>> first = PickledPlan.of(FilterPlan((predicate(lambda x: x > threshold, "x", name="large"),)))
>>> first.open().predicates[0].func(7), first.names
(True, ('large',))
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark import cloudpickle

from thalweg.errors import PlanError
from thalweg.kernels.user_error import cause_of, error_text
from thalweg.plan import FilterPlan, Predicate
from thalweg.runtime.settings import AdaptSettings


@dataclass(frozen=True, slots=True)
class PickledPlan:
    """The pickled predicates, and what is known about them without unpickling."""

    data: bytes
    digest: str
    setups: Mapping[str, str]
    """The digests of the `setup` functions, by predicate; predicates without one are missing."""
    names: tuple[str, ...]
    of_query: bool = False
    classify_by: tuple[str, ...] | None = None

    @classmethod
    def of(cls, plan: FilterPlan) -> PickledPlan:
        """Pickle a plan. Raise a PlanError that names the first predicate that cannot be pickled."""
        try:
            data = pickled(plan.predicates)
        except Exception:
            _refuse_unpicklable(plan.predicates)
            raise
        setups = {p.name: digest_of(pickled(p.setup)) for p in plan.predicates if p.setup is not None}
        return cls(data, digest_of(data), setups, plan.pipeline.names, plan.of_query, plan.classify_by)

    def open(self) -> FilterPlan:
        """Return the plan with its own functions; two calls share nothing."""
        return FilterPlan(cloudpickle.loads(self.data), of_query=self.of_query, classify_by=self.classify_by)


def pickled(value: object) -> bytes:
    """Return the pickled value, by value if workers could not import it."""
    made: bytes = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
    return made


def digest_of(data: bytes) -> str:
    """Return a digest that is the same for the same bytes in every process."""
    return hashlib.sha256(data).hexdigest()


def _refuse_unpicklable(predicates: tuple[Predicate, ...]) -> None:
    for each in predicates:
        refuse_unpicklable(f"predicate {each.name!r}", each.func, "create it in setup=")
        refuse_unpicklable(f"the setup of predicate {each.name!r}", each.setup, "create it in setup=")


def refuse_unpicklable(what: str, value: object, remedy: str) -> None:
    """Raise a PlanError if a value cannot be pickled."""
    try:
        pickled(value)
    except Exception as error:
        raise PlanError(
            f"{what} cannot be sent to Spark's workers: {error_text(error)}. It, or something it refers to, holds an "
            "object of this process (a lock, an open file, a connection, the SparkSession); "
            f"{remedy}, or import it in the function"
        ) from cause_of(error)


def policy_digest(settings: AdaptSettings) -> str:
    """Return a digest of a policy class and its settings, which a worker compares with that of the previous task: each
    task unpickles its own class. Empty for a built-in policy. Raise a PlanError if the class cannot be pickled."""
    policy = settings.policy.kind
    if isinstance(policy, str):
        return ""
    try:
        return digest_of(pickled((policy, settings.profile)))
    except Exception as error:
        raise PlanError(
            f"policy {settings.policy_name!r} (class {policy.__qualname__}) cannot be sent to Spark's "
            f"workers: {error_text(error)}. The class, its settings, or something they refer to, holds an "
            "object of this process (a lock, an open file, a connection, the SparkSession); create it in __init__, or "
            "put the class into a module that the workers can import"
        ) from cause_of(error)
