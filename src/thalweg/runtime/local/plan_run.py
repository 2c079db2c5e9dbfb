"""A plan carried out in this process: each kind of node turns Arrow batches into Arrow batches.

What adapts, filters and joins, is made by whoever runs the plan (`Adaptive`), who also reports what it counts.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

import numpy as np
import pyarrow as pa

from thalweg.errors import PlanError
from thalweg.kernels.expressions import Evaluation
from thalweg.kernels.plain_columns import plain, plain_schema
from thalweg.plan.expression import Bound, Expression, Ref
from thalweg.plan.group_spec import grouped_columns
from thalweg.plan.nodes import (
    Aggregate,
    Compute,
    Filter,
    Node,
    Output,
    Scan,
    WindowJoin,
    column_of,
    join_of,
    sources_of,
    subject,
)
from thalweg.plan.query import time_type
from thalweg.plan.query_plan import Branch, QueryPlan
from thalweg.plan.relation import UserFunction
from thalweg.plan.window_join_plan import end_of, is_timeless, last_rows, no_time
from thalweg.plan.window_length import TICK_NS
from thalweg.runtime.local.aggregates import GroupCounts, aggregate_batches
from thalweg.runtime.local.joins import WORTH_A_WARNING
from thalweg.runtime.local.rounds import Rounds
from thalweg.runtime.local.row_windows import with_ends
from thalweg.runtime.watermark import Watermarks

Batches = Iterator[pa.RecordBatch]


class Adaptive(Protocol):
    """Makes the adaptive operators of a plan, and is given what the others count."""

    def filter(self, node: Filter) -> Callable[[Batches], Batches]:
        """The rows that pass."""
        ...

    def join(
        self,
        node: WindowJoin,
        rows: Mapping[str, Batches],
        watermark: Callable[[int | None], None],
        rounds: Mapping[str, Rounds] | None,
    ) -> Batches:
        """The joined rows; `watermark` hears how far all streams have come."""
        ...

    def left_out(self, alias: str, rows: int) -> None:
        """So many rows of a stream came too late for its window of rows."""
        ...

    def grouped(self, counts: GroupCounts) -> None:
        """What the groups have counted so far."""
        ...


class LocalPlan:
    """One pass of a plan over its data."""

    def __init__(
        self,
        plan: QueryPlan,
        functions: Mapping[str, UserFunction],
        data: Mapping[str, Callable[[], Iterable[pa.RecordBatch]]],
        adaptive: Adaptive,
    ) -> None:
        """`data`: by alias."""
        self._root, self._functions, self._data, self._adaptive = plan.root, functions, data, adaptive
        self._joined = join_of(plan.root) is not None
        self._watermark = _Watermark()

    def batches(self) -> Batches:
        """The results, as they are asked for; at least one batch, for the columns."""
        return self._rows(self._root)

    def _rows(self, node: Node) -> Batches:
        match node:
            case Output():
                return self._projected(node, self._rows(node.input))
            case Aggregate():
                return self._groups(node, self._rows(node.input))
            case WindowJoin():
                return self._join(node)
            case Filter() if subject(node) == "joined rows":
                return self._adaptive.filter(node)(self._rows(node.input))
            case Filter() if subject(node) == "groups":
                return self._having(node)
            case Scan() | Filter() | Compute():
                rows, rounds = self._source(node)
                self._watermark.follow(Branch.of(node), rounds)
                return rows
        raise AssertionError(f"a {type(node).__name__} is not carried out in this process")

    def _source(self, node: Node) -> tuple[Batches, Rounds | None]:
        """The rows of one source that pass, and, where late rows are judged, the rounds they come from, one batch for
        each."""
        branch = Branch.of(node)
        source, relation = branch.source, branch.source.relation
        found: Batches = _selected(self._data[source.alias](), branch)
        join = join_of(self._root)
        count = last_rows(join, source) if isinstance(join, WindowJoin) else None
        if count is not None:
            assert relation.time is not None

            def late(rows: int) -> None:
                self._adaptive.left_out(source.alias, rows)

            found = with_ends(found, relation.time, count, _lateness_ticks(branch), end_of(source), late)
        below = node.input if isinstance(node, Compute) else node
        passing: Callable[[Batches], Batches] = self._adaptive.filter(below) if isinstance(below, Filter) else iter
        rounds = None
        if branch.judges_lateness:
            assert relation.time is not None
            rounds = Rounds(relation.time, relation.unused("round"))
            found = rounds.of(found, passing)
        else:
            found = passing(found)
        return (self._computed(found, node) if isinstance(node, Compute) else found), rounds

    def _computed(self, rows: Batches, node: Compute) -> Batches:
        evaluations = self._evaluations(node.columns)
        for batch in rows:
            for name, evaluation in evaluations:
                batch = batch.append_column(name, evaluation(_columns(batch, joined=False), batch.num_rows))
            yield batch

    def _join(self, node: WindowJoin) -> Batches:
        rows, rounds = {}, {}
        for child in node.inputs:
            alias = Branch.of(child).alias
            found, read_in = self._source(child)
            rows[alias] = self._joinable(node, child, found)
            if read_in is not None:
                rounds[alias] = read_in
        return self._adaptive.join(node, rows, self._watermark.hear, rounds or None)

    def _joinable(self, join: WindowJoin, node: Node, rows: Batches) -> Batches:
        """With at least one batch, so that columns are known."""
        source = Branch.of(node).source
        some, without_time = False, is_timeless(join) and source.relation.is_stream
        for batch in rows:
            some = True
            if without_time:
                batch = batch.append_column(no_time(source), pa.array(np.zeros(batch.num_rows, "datetime64[us]")))
            yield batch
        if not some:
            branch = Branch.of(node)
            relation = source.relation
            fields = [relation.schema.field(name) for name in branch.columns]
            if last_rows(join, source) is not None:
                fields.append(pa.field(end_of(source), relation.schema.field(relation.time).type))
            fields += [pa.field(name, expression.type) for name, expression in branch.computed]
            fields += [pa.field(no_time(source), pa.timestamp("us"))] if without_time else []
            yield pa.RecordBatch.from_arrays([pa.array([], f.type) for f in fields], schema=pa.schema(fields))

    def _groups(self, node: Aggregate, rows: Batches) -> Batches:
        spec, computed = grouped_columns(node.grouping, node.time)
        evaluations = self._evaluations(tuple(computed.items()))
        names = [node.time, *(column for column, _ in evaluations)]
        counted: list[GroupCounts] = []

        def count(counts: GroupCounts) -> None:
            counted[:] = [counts]
            self._adaptive.grouped(counts)

        def prepared() -> Batches:
            for batch in rows:
                columns = _columns(batch, self._joined)
                arrays = [evaluation(columns, batch.num_rows) for _, evaluation in evaluations]
                yield pa.RecordBatch.from_arrays([batch.column(node.time), *arrays], names=names)

        schema = pa.schema(
            [(node.time, time_type(sources_of(node))), *((name, e.type) for name, e in computed.items())]
        )
        yield from aggregate_batches(prepared(), spec, 0, count, watermark=self._watermark.now, schema=schema)
        if counted and counted[0].late > WORTH_A_WARNING * counted[0].rows:
            warnings.warn(
                f"{counted[0].late:,} of {counted[0].rows:,} rows came after their windows were closed and are in "
                "none: the stream is not in order, raise its lateness=",
                stacklevel=2,
            )

    def _having(self, node: Filter) -> Batches:
        (condition,) = node.conditions
        having = Evaluation(condition.expression, self._functions)
        rows = self._rows(node.input)
        return (batch.filter(having(_columns(batch, joined=False), batch.num_rows)) for batch in rows)

    def _projected(self, node: Output, rows: Batches) -> Batches:
        evaluations = self._evaluations(node.columns)
        some = False
        for batch in rows:
            if not batch.num_rows and some:
                continue
            some = True
            columns = _columns(batch, self._joined)
            arrays = [evaluation(columns, batch.num_rows) for _, evaluation in evaluations]
            yield pa.RecordBatch.from_arrays(arrays, schema=node.schema)
        if not some:
            yield pa.RecordBatch.from_arrays([pa.array([], kind) for kind in node.schema.types], schema=node.schema)

    def _evaluations(self, columns: tuple[tuple[str, Expression], ...]) -> list[tuple[str, Evaluation]]:
        return [(name, Evaluation(expression, self._functions)) for name, expression in columns]


class _Watermark:
    """How far all streams have come, in ticks: of one stream found from its rounds, of joined rows reported by the
    join."""

    def __init__(self) -> None:
        self._joined: int | None = None
        self._marks: Watermarks | None = None

    def hear(self, ticks: int | None) -> None:
        """Of a join, at the end of a round."""
        self._joined = ticks

    def follow(self, branch: Branch, rounds: Rounds | None) -> None:
        """The rounds of the only stream."""
        if rounds is not None:
            self._stream, self._rounds, self._tick_ns = branch.alias, rounds, _tick_ns(branch)
            self._marks = Watermarks({branch.alias: _lateness_ticks(branch)})

    def now(self) -> int | None:
        """At the end of the round that was read last; None: nothing is known."""
        if self._marks is None:
            return self._joined
        if self._rounds.latest_ns is not None:
            self._marks.seen(self._stream, self._rounds.latest_ns // self._tick_ns)
        self._marks.end_round()
        return self._marks.query


def _tick_ns(branch: Branch) -> int:
    relation = branch.source.relation
    return TICK_NS[relation.schema.field(relation.time).type.unit]


def _lateness_ticks(branch: Branch) -> int:
    return branch.source.relation.lateness_us * 1000 // _tick_ns(branch)


def _selected(batches: Iterable[pa.RecordBatch], branch: Branch) -> Batches:
    """The columns that are read. Views, of which Arrow gathers nothing, become what they show."""
    whole = branch.source.relation.schema
    columns = list(branch.columns)
    read = pa.schema([whole.field(column) for column in columns])
    views = any(kind in (pa.string_view(), pa.binary_view()) for kind in read.types)
    for batch in batches:
        if not batch.schema.equals(whole):
            _refuse_other_columns(batch.schema, branch)
        selected = batch.select(columns)
        yield plain(selected, plain_schema(read)) if views else selected


def _refuse_other_columns(schema: pa.Schema, branch: Branch) -> None:
    """Those that are read are there, and of the types that were registered."""
    whole = branch.source.relation.schema
    for column in branch.columns:
        if column not in schema.names or schema.field(column).type != whole.field(column).type:
            has = schema.field(column).type if column in schema.names else "missing"
            raise PlanError(
                f"the batches of {branch.source.relation.name} differ in their columns: {column} is {has} after "
                f"{whole.field(column).type}; cast them to one schema"
            )


def _columns(batch: pa.RecordBatch, joined: bool) -> Callable[[Ref | Bound], pa.Array]:
    def column(ref: Ref | Bound) -> pa.Array:
        return batch.column(column_of(ref, joined) if isinstance(ref, Ref) else ref.name)

    return column
