"""What is asked: predicates and their precedence, as frozen data. Nothing runs here."""

from thalweg.plan.column_name import find_column
from thalweg.plan.estimate import Estimate
from thalweg.plan.filter_plan import FilterPlan
from thalweg.plan.native_plan import NativePlan
from thalweg.plan.native_predicate import NativePredicate
from thalweg.plan.pipeline import Pipeline
from thalweg.plan.predicate import Predicate, predicate

__all__ = [
    "Estimate", "FilterPlan", "NativePlan", "NativePredicate", "Pipeline", "Predicate", "find_column", "predicate",
]  # fmt: skip
