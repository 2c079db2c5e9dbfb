"""What the task of a join does with joined rows before it writes them: the nodes of a plan above the join.

These are a filter of joined rows, which is the same adaptive chain as elsewhere, rows that fail, and the columns of the
result. Expressions are evaluated by the kernels that also run without Spark. Other nodes need Spark: `obstacle` says
why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from thalweg.kernels.expressions import Evaluation
from thalweg.plan.expressions.expression import Bound, Expression, Ref
from thalweg.plan.query.nodes import Aggregate, Fail, Filter, TableJoin, WindowJoin, column_of, join_of, subject, walk
from thalweg.plan.query.query_plan import QueryPlan
from thalweg.plan.query.relation import UserFunction
from thalweg.runtime.filters.outcome import Wanted, passing, refuse_failed, rows_and_errors
from thalweg.runtime.spark.sql.columns import column
from thalweg.runtime.spark.worker import ChainRun, ChainTask, chain_run


@dataclass(frozen=True)
class JoinedFilter:
    """The filter of joined rows. It is sent to tasks."""

    task: ChainTask
    columns: tuple[str, ...]
    """The columns of joined rows that its conditions read."""
    errors: str = ""
    """The column for the errors of rows that a node above handles; empty if there is none."""

    def kept(self, run: ChainRun, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the joined rows that pass."""
        read = rows.select(list(self.columns)).rename_columns(list(run.plan.needed))
        return rows_and_errors(rows, *run.process(read), Wanted.CARRIED if self.errors else Wanted.KEPT, self.errors)


@dataclass(frozen=True)
class AfterJoin:
    """The nodes above a join, as a function of joined rows. It is sent to tasks."""

    columns: tuple[tuple[str, Expression], ...]
    """The name and the expression of each column of the result."""
    functions: Mapping[str, UserFunction]
    filter: JoinedFilter | None = None
    failed: tuple[str, ...] = ()
    """The columns with the errors of conditions on joined rows and before the join."""
    sets_aside: bool = False
    redact: bool = False

    @classmethod
    def of(
        cls, plan: QueryPlan, functions: Mapping[str, UserFunction], filter: JoinedFilter | None, *, redact: bool
    ) -> AfterJoin:
        """Return the nodes of a plan that has no `obstacle`, with the chain of its `joined_filter`."""
        root = plan.root
        failed = root.input.names if isinstance(root.input, Fail) else ()
        return cls(root.columns, functions, filter, failed, plan.sets_aside, redact)

    def schema(self, spark: SparkSession, joined: StructType) -> StructType:
        """Return the columns of the result, as Spark would write them."""
        rows = spark.createDataFrame([], joined)
        made = [
            column(expression, _name, self.functions, redact=self.redact).alias(name)
            for name, expression in self.columns
        ]
        return rows.select(*made).schema

    @contextmanager
    def __call__(self) -> Iterator[ResultsOfJoin]:
        """Open what computes the results of one bucket in one micro-batch."""
        if self.filter is None:
            yield ResultsOfJoin(self)
            return
        with chain_run(self.filter.task, "the joined rows of one task") as run:
            yield ResultsOfJoin(self, run)


class ResultsOfJoin:
    """Computes the results of joined rows."""

    def __init__(self, nodes: AfterJoin, run: ChainRun | None = None) -> None:
        """`run`: the chain that filters joined rows, if there is one."""
        self._nodes, self._run = nodes, run
        self._names = [name for name, _ in nodes.columns]
        self._evaluations = [Evaluation(expression, nodes.functions) for _, expression in nodes.columns]

    def __call__(self, joined: pa.RecordBatch) -> pa.RecordBatch:
        """Return the results of joined rows."""
        nodes, rows = self._nodes, joined
        if self._run is not None and rows.num_rows:
            assert nodes.filter is not None
            rows = nodes.filter.kept(self._run, rows)
        if nodes.failed:
            rows = passing(rows, nodes.failed) if nodes.sets_aside else refuse_failed(rows, nodes.failed, nodes.redact)
        columns = _columns(rows)
        arrays = [evaluation(columns, rows.num_rows) for evaluation in self._evaluations]
        return pa.RecordBatch.from_arrays(arrays, names=self._names)

    def take_work(self) -> str | None:
        """Return what the filter of joined rows did, as text; None if there is none."""
        return None if self._run is None else self._run.take_work()


def joined_filter(plan: QueryPlan) -> Filter | None:
    """Return the filter of joined rows of a plan; None if it has none."""
    return next((node for node in walk(plan.root) if isinstance(node, Filter) and subject(node) == "joined rows"), None)


def computed_in_tasks(plan: QueryPlan) -> QueryPlan:
    """Return a plan without an `obstacle` as the tasks of its join compute it: they evaluate all conditions on joined
    rows with Arrow, because these rows do not reach the JVM."""
    return plan.with_conditions(
        tuple(replace(each, where="arrow") if each.where == "jvm" else each for each in plan.conditions)
    )


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
    raise AssertionError("a join is below the output")


def _name(ref: Ref) -> str:
    return column_of(ref, joined=True)


def _columns(rows: pa.RecordBatch) -> Callable[[Ref | Bound], pa.Array]:
    return lambda ref: rows.column(_name(ref) if isinstance(ref, Ref) else ref.name)
