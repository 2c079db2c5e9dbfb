"""A policy of the user's own as it travels to Spark's workers: pickled as the predicates are (`pickled_plan`).

A class that workers can import travels by its name; one of a notebook or a script, by value.
"""

from __future__ import annotations

from thalweg.errors import PlanError
from thalweg.runtime.settings import AdaptSettings
from thalweg.runtime.spark.pickled_plan import digest_of, pickled


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
