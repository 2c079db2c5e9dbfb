"""The operators of a plan: what each kind of node does with a batch, independent of what drives it.

`operator_of` creates them. Filters and joins are those of `filters.py` and `joins.py`, groups those of `aggregates.py`.
The others need only the node and the user's functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from thalweg.errors import ExpressionError, PlanError
from thalweg.kernels.columns import plain, plain_schema
from thalweg.kernels.expressions import Evaluation
from thalweg.plan.expressions.expression import Bound, Expression, Ref, text_of
from thalweg.plan.filters.filter_plan import FilterPlan
from thalweg.plan.joins.window import TICK_NS
from thalweg.plan.query.group_spec import grouped_columns, key_name, result_name
from thalweg.plan.query.nodes import (
    Aggregate,
    Compute,
    Fail,
    Filter,
    Node,
    Output,
    Scan,
    WindowJoin,
    column_of,
    join_of,
    sources_of,
    subject,
    walk,
)
from thalweg.plan.query.query import time_type
from thalweg.plan.query.query_plan import Branch, QueryPlan
from thalweg.plan.query.relation import UserFunction
from thalweg.runtime.filters.outcome import Wanted, WantedRows, passing, refuse_failed
from thalweg.runtime.local.aggregates import GroupingOperator
from thalweg.runtime.local.filters import Filtering
from thalweg.runtime.local.filters import MakeLoop as MakeFilterLoop
from thalweg.runtime.local.joins import Joining
from thalweg.runtime.local.joins import MakeLoop as MakeJoinLoop
from thalweg.runtime.local.operator import PORT, Operator

if TYPE_CHECKING:
    from thalweg.runtime.clock import Clock

Columns = tuple[tuple[str, Expression], ...]


@dataclass(frozen=True)
class OperatorContext:
    """What operators are created with, apart from their nodes."""

    plan: QueryPlan
    functions: Mapping[str, UserFunction]
    redact: bool = False
    filter_loops: Callable[[Filter], tuple[FilterPlan, MakeFilterLoop]] | None = None
    """A function that returns the predicates of a filter, and the function that creates its loop. None if the driver of
    the plan creates its adaptive parts. The same holds for `join_loops`."""
    join_loops: Callable[[WindowJoin], MakeJoinLoop] | None = None


def operator_of(node: Node, context: OperatorContext) -> Operator:
    """Return the operator of a node. It reads the operators of the nodes below."""
    match node:
        case Scan():
            return Scanning(Branch.of(node))
        case Filter() if subject(node) == "groups":
            return Having(node, context)
        case Filter():
            assert context.filter_loops is not None
            plan, make = context.filter_loops(node)
            wanted = WantedRows(Wanted.CARRIED, node.errors) if node.errors else WantedRows()
            return Filtering(plan, make, wanted, name=node.id, reads=name_of(node.input))
        case Compute():
            return Computing(node, context)
        case WindowJoin():
            assert context.join_loops is not None
            streams = {
                s.alias: name_of(child) for child in node.inputs for s in sources_of(child) if s.relation.is_stream
            }
            return Joining(context.join_loops(node), marked=True, name=node.id, reads=streams)
        case Fail():
            return Failing(node, context)
        case Aggregate():
            return _grouping(node, context)
        case Output():
            return Projecting(node, context)
    raise AssertionError(f"a {type(node).__name__} is not run in this process")


def name_of(node: Node) -> str:
    """Return the name of a node's operator. For a scan it is not just the alias, because the alias of a source may be
    the name of its stream, which sends the rows.

    >>> from thalweg.plan.query.query import QuerySource
    >>> from thalweg.plan.query.relation import Relation
    >>> scan = Scan(QuerySource("s", Relation("stock", pa.schema({"price": pa.int64()}))))
    >>> name_of(scan), name_of(Filter(scan, ()))
    ('scan of s', 'filter of s')
    """
    return f"scan of {node.alias}" if isinstance(node, Scan) else node.id


def through(operator: Operator, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pull batches through an operator with one port."""
    for batch in batches:
        yield from operator.serve(PORT, batch)


class Scanning(Operator):
    """Returns the columns of a source that are read. Arrow cannot gather rows of view types, nor hash runs, so they are
    converted to plain types."""

    def __init__(self, branch: Branch) -> None:
        self.name, self.reads = f"scan of {branch.alias}", {PORT: branch.source.relation.name}
        self.branch = branch
        self._whole, self._columns = branch.source.relation.schema, list(branch.columns)
        self._read = pa.schema([self._whole.field(column) for column in self._columns])
        encoded = (pa.types.is_run_end_encoded, pa.types.is_string_view, pa.types.is_binary_view)
        self._views = any(of(kind) for kind in self._read.types for of in encoded)

    def set_up(
        self, schemas: Mapping[str, pa.Schema], clock: Clock | None = None, rng: np.random.Generator | None = None
    ) -> pa.Schema:
        """Check the columns, and return the schema of the output. Types must be those that were registered."""
        self._check(schemas[PORT])
        return plain_schema(self._read) if self._views else self._read

    def serve(self, port: str, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Return the columns that are read from one batch."""
        if not rows.schema.equals(self._whole):
            self._check(rows.schema)
        selected = rows.select(self._columns)
        yield plain(selected, plain_schema(self._read)) if self._views else selected

    def _check(self, schema: pa.Schema) -> None:
        """Raise `PlanError` if a column that is read is missing, or has another type than was registered."""
        for column in self._columns:
            if column not in schema.names or schema.field(column).type != self._whole.field(column).type:
                has = schema.field(column).type if column in schema.names else "missing"
                raise PlanError(
                    f"the batches of {self.branch.source.relation.name} differ in their columns: {column} is {has} "
                    f"after {self._whole.field(column).type}; cast them to one schema"
                )


def tick_ns_of(branch: Branch) -> int:
    """Return the length of a tick of a stream's times, in nanoseconds."""
    relation = branch.source.relation
    return TICK_NS[relation.schema.field(relation.time).type.unit]


def lateness_ticks(branch: Branch, tick_ns: int | None = None) -> int:
    """Return the lateness in ticks of the stream's times, or in ticks of `tick_ns`."""
    return branch.source.relation.lateness_us * 1000 // (tick_ns or tick_ns_of(branch))


def at_no_time(batch: pa.RecordBatch, column: str, time: str) -> pa.RecordBatch:
    """Add a column with the same time in all rows that have a time, for a join in which no row can be late."""
    missing = batch.column(time).is_null().to_numpy(zero_copy_only=False)
    return batch.append_column(column, pa.array(np.zeros(batch.num_rows, "datetime64[us]"), mask=missing))


class _Evaluating(Operator):
    """Evaluates expressions, and returns one batch per input batch. It has no state, and `serve` works without
    `set_up`."""

    def __init__(self, node: Compute | Filter | Fail | Output) -> None:
        self.name, self.reads = node.id, {PORT: name_of(node.input)}
        self._node, self._schema = node, node.schema

    def set_up(
        self, schemas: Mapping[str, pa.Schema], clock: Clock | None = None, rng: np.random.Generator | None = None
    ) -> pa.Schema:
        """Return the schema of the output. There is no state to set up."""
        return self._schema

    def _as_written(self, error: ExpressionError) -> ExpressionError:
        """Return an error that names aggregates and keys as the query does, not by the columns of groups."""
        names = {}
        for node in walk(self._node):
            if isinstance(node, Aggregate):
                names = {result_name(n): text_of(each) for n, each in enumerate(node.grouping.aggregates)}
                names |= {key_name(n): text_of(each) for n, each in enumerate(node.grouping.keys)}
        said = [str(error), error.redacted]
        for column, text in names.items():
            said = [each and each.replace(f"`{column}`", text) for each in said]
        if said[0] == str(error):
            return error
        made = type(error)(said[0])
        return made if said[1] is None else made.or_redacted(said[1])


class Computing(_Evaluating):
    """Adds computed columns to rows."""

    def __init__(self, node: Compute, context: OperatorContext) -> None:
        super().__init__(node)
        self._evaluations = _evaluations(node.columns, context)
        self._added = [pa.field(name, expression.type) for name, expression in node.columns]

    def set_up(
        self, schemas: Mapping[str, pa.Schema], clock: Clock | None = None, rng: np.random.Generator | None = None
    ) -> pa.Schema:
        """Return the schema of the output. Rows may have columns that the node does not know."""
        return pa.schema([*schemas[PORT], *self._added])

    def serve(self, port: str, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Return one batch with the computed columns."""
        for name, evaluation in self._evaluations:
            rows = rows.append_column(name, evaluation(_columns(rows, joined=False), rows.num_rows))
        yield rows


class Having(_Evaluating):
    """Returns the groups for which a condition is true."""

    def __init__(self, node: Filter, context: OperatorContext) -> None:
        super().__init__(node)
        (condition,) = node.conditions
        self._holds = Evaluation(condition.expression, context.functions)

    def serve(self, port: str, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Return the groups of one batch for which the condition is true."""
        try:
            holds = self._holds(_columns(rows, joined=False), rows.num_rows)
        except ExpressionError as error:
            raise self._as_written(error) from error.__cause__
        yield rows.filter(holds)


class Failing(_Evaluating):
    """Removes the columns of errors from joined rows. Rows with errors are left out if failed rows are set aside;
    otherwise they fail the query."""

    def __init__(self, node: Fail, context: OperatorContext) -> None:
        super().__init__(node)
        self._names, self._sets_aside, self._redact = node.names, context.plan.sets_aside, context.redact

    def serve(self, port: str, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Return one batch without the columns of errors."""
        yield passing(rows, self._names) if self._sets_aside else refuse_failed(rows, self._names, self._redact)


class Projecting(_Evaluating):
    """Computes the columns of the result."""

    def __init__(self, node: Output, context: OperatorContext) -> None:
        super().__init__(node)
        self._evaluations = _evaluations(node.columns, context)
        self._joined = join_of(node) is not None

    def serve(self, port: str, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Return the columns of the result for one batch."""
        columns = _columns(rows, self._joined)
        try:
            arrays = [evaluation(columns, rows.num_rows) for _, evaluation in self._evaluations]
        except ExpressionError as error:
            raise self._as_written(error) from error.__cause__
        yield pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def _grouping(node: Aggregate, context: OperatorContext) -> GroupingOperator:
    spec, computed = grouped_columns(node.grouping, node.time)
    evaluations = _evaluations(tuple(computed.items()), context)
    names, joined = [node.time, *(column for column, _ in evaluations)], join_of(node) is not None

    def prepared(batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = _columns(batch, joined)
        arrays = [evaluation(columns, batch.num_rows) for _, evaluation in evaluations]
        return pa.RecordBatch.from_arrays([batch.column(node.time), *arrays], names=names)

    time = time_type(sources_of(node))
    schema = pa.schema([(node.time, time), *((name, expression.type) for name, expression in computed.items())])
    return GroupingOperator(spec, (prepared, schema), name=node.id, reads=name_of(node.input))


def _evaluations(columns: Columns, context: OperatorContext) -> list[tuple[str, Evaluation]]:
    return [(name, Evaluation(expression, context.functions)) for name, expression in columns]


def _columns(batch: pa.RecordBatch, joined: bool) -> Callable[[Ref | Bound], pa.Array]:
    def column(ref: Ref | Bound) -> pa.Array:
        return batch.column(column_of(ref, joined) if isinstance(ref, Ref) else ref.name)

    return column
