"""Runs a plan in this process: results are pulled through the operators of its nodes (`plan_operators.py`).

The caller creates the adaptive parts, filters and joins (`LocalAdaptiveOperators`), and reports their counters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from thalweg.errors import warn_user
from thalweg.formatting import time_span
from thalweg.plan.joins.join_plan import end_of, is_timeless, last_rows, no_time
from thalweg.plan.joins.select import LOST
from thalweg.plan.joins.window import TICK_NS
from thalweg.plan.query.nodes import (
    Aggregate,
    Compute,
    Fail,
    Filter,
    Node,
    Output,
    Scan,
    WindowJoin,
    join_of,
    sources_of,
    subject,
    walk,
)
from thalweg.plan.query.query import time_type
from thalweg.plan.query.query_plan import Branch, QueryPlan
from thalweg.plan.query.relation import UserFunction
from thalweg.plan.query.rows_left_out import failed_columns, late_column, late_schema
from thalweg.runtime.filters.outcome import ERRORS_COLUMN, ERRORS_TYPE, Wanted, failing
from thalweg.runtime.local.aggregates import GroupCounts, GroupingOperator, grouped_batches
from thalweg.runtime.local.joins import WORTH_A_WARNING
from thalweg.runtime.local.operator import PORT, empty_batch
from thalweg.runtime.local.plan_operators import (
    OperatorContext,
    Scanning,
    at_no_time,
    lateness_ticks,
    operator_of,
    through,
    tick_ns_of,
)
from thalweg.runtime.local.rounds import Rounds
from thalweg.runtime.local.row_windows import IN_SQL, with_ends
from thalweg.runtime.watermark import Watermarks

Batches = Iterator[pa.RecordBatch]
Passing = Callable[[Batches], Batches]
"""A function that returns one batch for each input batch."""


class LocalAdaptiveOperators(Protocol):
    """Creates the adaptive operators of a plan, and receives the counters of the others."""

    def filter(self, node: Filter, wanted: Wanted = Wanted.KEPT, column: str = ERRORS_COLUMN) -> Passing:
        """Return a function that returns the wanted rows. `column`: the column of errors, if failed rows are wanted."""
        ...

    def join(
        self,
        node: WindowJoin,
        rows: Mapping[str, Batches],
        watermark: Callable[[int | None], None],
        rounds: Mapping[str, Rounds] | None,
        *,
        late: bool = False,
    ) -> Batches:
        """Return the joined rows, or those that are too late to be joined. `watermark` is called with the watermark of
        the query."""
        ...

    def left_out(self, alias: str, rows: int) -> None:
        """Count further rows of a stream that came too late for its window of rows."""
        ...

    def grouped(self, counts: GroupCounts) -> None:
        """Receive the counters of the groups so far."""
        ...


class LocalPlan:
    """One pass of a plan over its data."""

    def __init__(
        self,
        plan: QueryPlan,
        functions: Mapping[str, UserFunction],
        data: Mapping[str, Callable[[], Iterable[pa.RecordBatch]]],
        adaptive: LocalAdaptiveOperators,
        *,
        redact: bool = False,
    ) -> None:
        """Create a pass. `data`: functions that return the batches of each source, by alias."""
        self._root, self._data, self._adaptive, self._plan = plan.root, data, adaptive, plan
        self._context = OperatorContext(plan, functions, redact)
        self._watermark = _Watermark()
        self._late: list[tuple[str, pa.RecordBatch]] | None = None
        """Rows that came too late for a window of rows, by stream; None if they are not requested."""

    def batches(self) -> Batches:
        """Return the results, which are computed on demand. There is at least one batch, for the columns."""
        return self._rows(self._root)

    def failed(self, column: str) -> Batches:
        """Return the rows that are set aside, with a column of errors. There is at least one batch."""
        node, columns = self._plan.result, list(failed_columns(self._plan))
        fields = [*(node.schema.field(name) for name in columns), pa.field(column, ERRORS_TYPE)]
        yield pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in fields], schema=pa.schema(fields))
        for batch in self._failed(node, column):
            if batch.num_rows:
                yield pa.RecordBatch.from_arrays(batch.select([*columns, column]).columns, schema=pa.schema(fields))

    def _failed(self, node: Node, column: str) -> Batches:
        match node:
            case Filter() if isinstance(node.input, Scan):
                wanted = self._adaptive.filter(node, Wanted.FAILED, column)
                return wanted(self._read(Branch.of(node)))
            case Filter():
                return self._adaptive.filter(node, Wanted.FAILED, column)(self._rows(node.input))
            case Fail():
                return (failing(batch, node.names, column) for batch in self._rows(node.input))
        return iter(())

    def late(self) -> Batches:
        """Return the rows that are too late to be joined or grouped, or have no time. There is at least one batch."""
        schema, join = late_schema(self._plan), join_of(self._root)
        empty = [pa.nulls(0, kind) for kind in schema.types]
        yield pa.RecordBatch.from_arrays(empty, schema=schema)
        if isinstance(join, WindowJoin):
            self._late = []
            for batch in self._joined_rows(join, late=True):
                yield from self._late_for_windows(schema)
                if batch.num_rows:
                    yield pa.RecordBatch.from_arrays(batch.select(schema.names).columns, schema=schema)
            yield from self._late_for_windows(schema)
        elif any(isinstance(node, Aggregate) for node in walk(self._root)):
            yield from self._late_for_groups(schema)

    def _late_for_windows(self, schema: pa.Schema) -> Batches:
        """Return the rows that came too late for windows of rows."""
        found, self._late = self._late or [], []
        for alias, batch in found:
            own = {late_column(self._plan, alias, name): batch.column(name) for name in batch.schema.names}
            own[LOST] = pa.repeat(pa.scalar(f"{alias}: late"), batch.num_rows)
            columns = [own.get(f.name, pa.nulls(batch.num_rows, f.type)) for f in schema]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def _late_for_groups(self, schema: pa.Schema) -> Batches:
        """Return the rows of one stream that are late for its groups: below the watermark at the start of their round.
        Rows without a time are also returned."""
        node = self._plan.result
        branch = Branch.of(node)
        time = branch.source.relation.time
        mark: int | None = None
        for batch in self._rows(node):
            ticks = batch.column(time).cast(pa.int64())
            late = None if mark is None else pc.fill_null(pc.less(ticks, mark), False)
            for rows, why in ((pc.is_null(ticks), "no time"), (late, "late")):
                lost = batch.slice(0, 0) if rows is None else batch.filter(rows)
                if lost.num_rows:
                    columns = [lost.column(name) for name in schema.names[:-1]]
                    reasons = pa.repeat(pa.scalar(f"{branch.alias}: {why}"), lost.num_rows)
                    yield pa.RecordBatch.from_arrays([*columns, reasons], schema=schema)
            mark = self._watermark.now()

    def _rows(self, node: Node) -> Batches:
        match node:
            case Output():
                return self._projected(node, self._rows(node.input))
            case Aggregate():
                return self._groups(node, self._rows(node.input))
            case WindowJoin():
                return self._joined_rows(node)
            case Filter() if subject(node) == "joined rows":
                return self._filter(node)(self._rows(node.input))
            case Filter() if subject(node) == "groups":
                return through(operator_of(node, self._context), self._rows(node.input))
            case Fail():
                return through(operator_of(node, self._context), self._rows(node.input))
            case Scan() | Filter() | Compute():
                rows, rounds = self._source(node)
                self._watermark.follow(Branch.of(node), rounds)
                return rows
        raise AssertionError(f"a {type(node).__name__} is not run in this process")

    def _source(self, node: Node) -> tuple[Batches, Rounds | None]:
        """Return the rows of one source that pass, and, if late rows are detected, the rounds they come from, with one
        batch per round."""
        branch = Branch.of(node)
        source, relation = branch.source, branch.source.relation
        found = self._read(branch)
        join = join_of(self._root)
        count = last_rows(join, source) if isinstance(join, WindowJoin) else None
        if count is not None:
            assert relation.time is not None

            def late(rows: pa.RecordBatch) -> None:
                self._adaptive.left_out(source.alias, rows.num_rows)
                if self._late is not None:
                    self._late.append((source.alias, rows))

            ticks = lateness_ticks(branch)
            found = with_ends(found, relation.time, count, ticks, end_of(source), late, source.alias)
        below = node.input if isinstance(node, Compute) else node
        kept: Passing = self._filter(below) if isinstance(below, Filter) else iter
        rounds = None
        if branch.judges_lateness:
            assert relation.time is not None
            rounds = Rounds(relation.time, relation.unused("round"))
            found = rounds.of(found, kept)
        else:
            found = kept(found)
        return (through(operator_of(node, self._context), found) if isinstance(node, Compute) else found), rounds

    def _read(self, branch: Branch) -> Batches:
        return through(Scanning(branch), self._data[branch.alias]())

    def _filter(self, node: Filter) -> Passing:
        """Return the filter of one source. Rows on which a condition raises pass if they will be joined."""
        if not node.errors:
            return self._adaptive.filter(node)
        return self._adaptive.filter(node, Wanted.CARRIED, node.errors)

    def _joined_rows(self, node: WindowJoin, *, late: bool = False) -> Batches:
        rows, rounds = {}, {}
        for child in node.inputs:
            alias = Branch.of(child).alias
            found, read_in = self._source(child)
            rows[alias] = self._joinable(node, child, found)
            if read_in is not None:
                rounds[alias] = read_in
        return self._adaptive.join(node, rows, self._watermark.set_joined, rounds or None, late=late)

    def _joinable(self, join: WindowJoin, node: Node, rows: Batches) -> Batches:
        """Return the rows of a join's input, with at least one batch, so that the columns are known."""
        source = Branch.of(node).source
        some, without_time = False, is_timeless(join) and source.relation.is_stream
        for batch in rows:
            some = True
            if without_time:
                assert source.relation.time is not None
                batch = at_no_time(batch, no_time(source), source.relation.time)
            yield batch
        if not some:
            branch = Branch.of(node)
            relation = source.relation
            fields = [relation.schema.field(name) for name in branch.columns]
            if last_rows(join, source) is not None:
                fields.append(pa.field(end_of(source), relation.schema.field(relation.time).type))
            fields += [pa.field(branch.errors, pa.string())] if branch.errors else []
            fields += [pa.field(name, expression.type) for name, expression in branch.computed]
            fields += [pa.field(no_time(source), pa.timestamp("us"))] if without_time else []
            yield empty_batch(pa.schema(fields))

    def _groups(self, node: Aggregate, rows: Batches) -> Batches:
        counted: list[GroupCounts] = []

        def count(counts: GroupCounts) -> None:
            counted[:] = [counts]
            self._adaptive.grouped(counts)

        operator = operator_of(node, self._context)
        assert isinstance(operator, GroupingOperator)
        operator.set_up({PORT: node.input.schema})
        marks = Watermarks({operator.spec.time: 0})
        yield from grouped_batches(rows, operator, marks, self._watermark.now, count)
        if counted and counted[0].late > WORTH_A_WARNING * counted[0].rows:
            sources = sources_of(node)
            aliases = [source.alias for source in sources if source.relation.is_stream]
            what = f"rows of {aliases[0]}" if len(aliases) == 1 else f"joined rows of {' and '.join(aliases)}"
            by = time_span(counted[0].most_late, TICK_NS[time_type(sources).unit])
            warn_user(
                f"{counted[0].late:,} of {counted[0].rows:,} {what} were late and are in no window, by up to {by}: "
                f"{IN_SQL}"
            )

    def _projected(self, node: Output, rows: Batches) -> Batches:
        operator, some = operator_of(node, self._context), False
        for batch in rows:
            if batch.num_rows or not some:
                some = True
                yield from operator.serve(PORT, batch)
        if not some:
            yield empty_batch(node.schema)


class _Watermark:
    """The watermark of all streams, in ticks. For one stream it is computed from its rounds; for joined rows the join
    reports it."""

    def __init__(self) -> None:
        self._joined: int | None = None
        self._marks: Watermarks | None = None

    def set_joined(self, ticks: int | None) -> None:
        """Set the watermark of a join, at the end of a round."""
        self._joined = ticks

    def follow(self, branch: Branch, rounds: Rounds | None) -> None:
        """Follow the rounds of the only stream."""
        if rounds is not None:
            self._stream, self._rounds, self._tick_ns = branch.alias, rounds, tick_ns_of(branch)
            self._marks = Watermarks({branch.alias: lateness_ticks(branch)})

    def now(self) -> int | None:
        """Return the watermark at the end of the round that was read last; None if it is unknown."""
        if self._marks is None:
            return self._joined
        if self._rounds.latest_ns is not None:
            self._marks.seen(self._stream, self._rounds.latest_ns // self._tick_ns)
        self._marks.end_round()
        return self._marks.query
