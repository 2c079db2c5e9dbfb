"""Expressions of a query as Columns: built-in ones in Spark's words, those with the user's functions as Arrow UDFs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from thalweg.kernels.expressions import Evaluation
from thalweg.plan.expression import Bound, Expression, Ref, refs, user_functions
from thalweg.plan.expression_text import spark_text
from thalweg.plan.relation import UserFunction
from thalweg.plan.type_rules import sql_name
from thalweg.runtime.spark.joins.marked import quoted

NameOf = Callable[[Ref], str]


def column(expression: Expression, name_of: NameOf, functions: Mapping[str, UserFunction]) -> Column:
    """Of a DataFrame whose columns `name_of` names."""
    if isinstance(expression, Ref):
        return F.col(quoted(name_of(expression)))
    if not user_functions(expression):
        return F.expr(spark_text(expression, lambda ref: quoted(name_of(ref))))
    read = refs(expression)
    evaluation = Evaluation(expression, functions)
    place: dict[Ref | Bound, int] = {ref: n for n, ref in enumerate(read)}

    def evaluate(*arrays: pa.Array) -> pa.Array:
        return evaluation(lambda ref: arrays[place[ref]], len(arrays[0]))

    # the annotations of a closure are text here, and PySpark wants the types
    evaluate.__annotations__ = {"arrays": pa.Array, "return": pa.Array}
    evaluate.__name__ = "_".join(user_functions(expression))
    functions_of_spark: Any = F
    udf = functions_of_spark.arrow_udf(evaluate, sql_name(expression.type).lower())
    # of literals alone it still needs to know how many rows there are
    made: Column = udf(*([F.col(quoted(name_of(ref))) for ref in read] or [F.lit(0)]))
    return made
