"""Expressions of SQL over Arrow arrays, as Spark's ANSI mode evaluates them: three-valued, checked, lazy."""

from thalweg.kernels.expressions.evaluation import Condition, Evaluation, evaluate

__all__ = ["Condition", "Evaluation", "evaluate"]
