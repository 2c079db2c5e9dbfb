"""SQL expressions over Arrow arrays, evaluated as in Spark's ANSI mode: three-valued, checked and lazy."""

from thalweg.kernels.expressions.evaluation import Evaluation, VectorizedCondition, evaluate

__all__ = ["Evaluation", "VectorizedCondition", "evaluate"]
