"""What the task of a join does with joined rows before it writes them: the nodes of a plan above the join.

Only rows that fail and the columns of the result are handled here; the expressions are evaluated by the kernels that
also run without Spark. Other nodes need Spark: `obstacle` says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from thalweg.kernels.expressions import Evaluation
from thalweg.plan.expression import Bound, Expression, Ref
from thalweg.plan.nodes import Aggregate, Fail, Filter, Output, TableJoin, WindowJoin, column_of, join_of, subject, walk
from thalweg.plan.query_plan import QueryPlan
from thalweg.plan.relation import UserFunction
from thalweg.runtime.filters.outcome import passing, refuse_failed
from thalweg.runtime.spark.sql.columns import column


@dataclass(frozen=True)
class AfterJoin:
    """The nodes above a join, as a function of joined rows. It is sent to tasks."""

    columns: tuple[tuple[str, Expression], ...]
    """The name and the expression of each column of the result."""
    functions: Mapping[str, UserFunction]
    failed: tuple[str, ...] = ()
    """The columns with the errors of conditions that were evaluated before the join."""
    sets_aside: bool = False
    redact: bool = False

    @classmethod
    def of(cls, plan: QueryPlan, functions: Mapping[str, UserFunction], *, redact: bool) -> AfterJoin:
        """Return the nodes of a plan that has no `obstacle`."""
        root = plan.root
        assert isinstance(root, Output)
        failed = root.input.names if isinstance(root.input, Fail) else ()
        return cls(root.columns, functions, failed, plan.sets_aside, redact)

    def schema(self, spark: SparkSession, joined: StructType) -> StructType:
        """Return the columns of the result, as Spark would write them."""
        rows = spark.createDataFrame([], joined)
        made = [
            column(expression, _name, self.functions, redact=self.redact).alias(name)
            for name, expression in self.columns
        ]
        return rows.select(*made).schema

    @cached_property
    def _evaluations(self) -> list[Evaluation]:
        return [Evaluation(expression, self.functions) for _, expression in self.columns]

    def __call__(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the results of joined rows."""
        if self.failed:
            rows = passing(rows, self.failed) if self.sets_aside else refuse_failed(rows, self.failed, self.redact)
        columns = _columns(rows)
        arrays = [evaluation(columns, rows.num_rows) for evaluation in self._evaluations]
        return pa.RecordBatch.from_arrays(arrays, names=[name for name, _ in self.columns])


def obstacle(plan: QueryPlan) -> str | None:
    """Return why the tasks of a join cannot compute the results of a plan; None if they can."""
    join = join_of(plan.root)
    if join is None:
        return "the query has no join"
    if isinstance(join, TableJoin):
        return "Spark joins the stream with the tables"
    for node in walk(plan.root):
        if isinstance(node, WindowJoin):
            return None
        if isinstance(node, Aggregate):
            return "groups are computed by Spark's window aggregate"
        if isinstance(node, Filter) and subject(node) == "joined rows":
            texts = " AND ".join(condition.text for condition in node.conditions)
            return f"joined rows are filtered by a chain of conditions of their own ({texts})"
    raise AssertionError("a join is below the output")


def _name(ref: Ref) -> str:
    return column_of(ref, joined=True)


def _columns(rows: pa.RecordBatch) -> Callable[[Ref | Bound], pa.Array]:
    return lambda ref: rows.column(_name(ref) if isinstance(ref, Ref) else ref.name)
