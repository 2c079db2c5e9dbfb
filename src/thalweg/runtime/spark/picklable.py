"""Whether predicates can travel to the workers; if not, which one and why."""

from __future__ import annotations

from thalweg.errors import PlanError
from thalweg.plan import FilterPlan


def refuse_unpicklable(plan: FilterPlan) -> None:
    """Raise a PlanError that names the first predicate that cannot be pickled."""
    from pyspark import cloudpickle

    for predicate in plan.predicates:
        for what, value in (("", predicate.func), ("the setup of ", predicate.setup)):
            try:
                cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
            except Exception as error:
                raise PlanError(
                    f"{what}predicate {predicate.name!r} cannot travel to Spark's workers: {type(error).__name__}: "
                    f"{error}. It, or something it refers to, holds what belongs to this process (a lock, an open "
                    "file, a connection, the SparkSession): make that in setup=, or import it in the function"
                ) from error
