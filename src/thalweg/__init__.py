"""Thalweg: an adaptive optimizer and execution layer for data streams on Apache Spark.

>>> import thalweg as tw
>>> keep = tw.filters(tw.predicate(str.isdigit, "code"))  # then: out = df.transform(keep)
>>> keep
tw.filters(isdigit)
"""

from thalweg.adapt.policy_choice import policy
from thalweg.adaptive_filters import Filters, filters
from thalweg.adaptive_joins import Join, join
from thalweg.errors import (
    CheckpointError,
    ExpressionError,
    FailedRowError,
    FunctionError,
    JoinLimitError,
    PlanError,
    PredicateError,
    QueryError,
    SqlError,
    SumOverflowError,
    ThalwegError,
    TimeLimitError,
    WorkerDiedError,
    WrongAnswerError,
)
from thalweg.given_predicate import predicate
from thalweg.plan import Estimate, NativePredicate, Predicate, objective
from thalweg.report import Explanation, JoinReport, Report
from thalweg.session import ContinuousQuery, Session, session
from thalweg.stats.recorded_statistics import statistics_from

__version__ = "0.1.0"

__all__ = [
    "CheckpointError", "ContinuousQuery", "Estimate", "Explanation", "ExpressionError", "FailedRowError", "Filters",
    "FunctionError", "Join", "JoinLimitError", "JoinReport", "NativePredicate", "PlanError", "Predicate",
    "PredicateError", "QueryError", "Report", "Session", "SqlError", "SumOverflowError", "ThalwegError",
    "TimeLimitError", "WorkerDiedError", "WrongAnswerError", "filters", "join", "objective", "policy", "predicate",
    "session", "statistics_from",
]  # fmt: skip
