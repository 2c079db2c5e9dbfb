"""Thalweg: an adaptive optimizer and execution layer for data streams on Apache Spark.

>>> import thalweg as tw
>>> keep = tw.filters(tw.predicate(str.isdigit, "code"))  # then: out = df.transform(keep)
>>> keep
tw.filters(isdigit)
"""

from thalweg.adaptive_filters import Filters, filters
from thalweg.adaptive_joins import Join, join
from thalweg.errors import FailedRowError, JoinLimitError, PlanError, PredicateError, ThalwegError, TimeLimitError
from thalweg.plan import NativePredicate, Predicate, predicate
from thalweg.report import JoinReport, Report

__version__ = "0.1.0"

__all__ = [
    "FailedRowError", "Filters", "Join", "JoinLimitError", "JoinReport", "NativePredicate", "PlanError", "Predicate",
    "PredicateError", "Report", "ThalwegError", "TimeLimitError", "filters", "join", "predicate",
]  # fmt: skip
