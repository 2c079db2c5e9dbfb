"""Plans as frozen data: predicates and their precedence, queries, joins and estimates. Nothing runs here."""

from thalweg.plan.estimate import Estimate
from thalweg.plan.filters.filter_plan import FilterPlan, find_column
from thalweg.plan.filters.native_plan import NativePlan
from thalweg.plan.filters.pipeline import Pipeline
from thalweg.plan.filters.predicate import NativePredicate, Predicate

__all__ = [
    "Estimate", "FilterPlan", "NativePlan", "NativePredicate", "Pipeline", "Predicate", "find_column",
]  # fmt: skip
