"""A plan carried out in this process: Arrow batches in, Arrow batches out, by the adaptive filters and joins."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa

from thalweg.adaptive_filters import Filters, filters
from thalweg.adaptive_joins import Join
from thalweg.errors import PlanError
from thalweg.events import Record
from thalweg.kernels.expressions import Evaluation
from thalweg.kernels.plain_columns import plain, plain_schema
from thalweg.plan.expression import Bound, Expression, Ref, refs
from thalweg.plan.group_spec import grouped_columns
from thalweg.plan.join_select import EVENT_TIME
from thalweg.plan.query import Condition, time_type
from thalweg.plan.query_plan import QueryPlan, Scan, column_of, group_outputs, of_groups
from thalweg.plan.relation import UserFunction
from thalweg.plan.type_rules import plain_type
from thalweg.plan.window_length import TICK_NS
from thalweg.runtime.local.aggregates import GroupCounts, aggregate_batches
from thalweg.runtime.local.joins import WORTH_A_WARNING
from thalweg.runtime.local.rounds import Rounds
from thalweg.runtime.local.row_windows import with_ends
from thalweg.runtime.redaction import redacted
from thalweg.runtime.watermark import Watermarks
from thalweg.session.conditions import predicates
from thalweg.session.join_of_plan import end_of, join_of, no_time, rows_of
from thalweg.session.parts import Parts
from thalweg.session.query_settings import QuerySettings

Batches = Iterator[pa.RecordBatch]
Name = Callable[[Ref | Bound], str]


@dataclass
class LocalRun:
    """One pass over the data; what it does is told by `parts`."""

    plan: QueryPlan
    functions: Mapping[str, UserFunction]
    settings: QuerySettings
    data: Mapping[str, Callable[[], Iterable[pa.RecordBatch]]]
    """By alias."""
    listener: Callable[[Record], None]
    parts: Parts = field(default_factory=Parts)

    def batches(self) -> Batches:
        """The results, as they are asked for; at least one batch, for the columns."""
        return redacted(self._batches(), self.settings.redact)

    def _batches(self) -> Batches:
        plan, grouping = self.plan, self.plan.query.grouping
        joined = plan.join is not None
        watermark = _Watermark()
        if joined:
            rows = self._joined(watermark)
        else:
            rows, rounds = self._scanned(plan.scans[0])
            watermark.follow(plan.scans[0], rounds)
        if plan.conditions:
            anything = self._anything()
            rows = self._filter(plan.conditions, joined, anything, "joined rows").over(rows)

        def name(ref: Ref | Bound) -> str:
            return column_of(ref, joined) if isinstance(ref, Ref) else ref.name

        outputs = plan.query.outputs
        if grouping is not None:
            rows = self._grouped(rows, watermark, name)
            if grouping.having is not None:
                having = Evaluation(of_groups(grouping.having, plan), self.functions)
                rows = (batch.filter(having(_columns(batch, _plain), batch.num_rows)) for batch in rows)
            outputs, name = group_outputs(plan), _plain
        return self._projected(rows, [(o.name, o.expression) for o in outputs], name)

    def _scanned(self, scan: Scan) -> tuple[Batches, Rounds | None]:
        """The rows that pass, and, where late rows are judged, the rounds they come from, one batch for each."""
        relation, rounds = scan.source.relation, None
        found: Batches = _selected(self.data[scan.alias](), scan)
        if (count := rows_of(self.plan, scan)) is not None:
            assert relation.time is not None
            late = partial(self.parts.left_out.__setitem__, scan.alias)
            found = with_ends(found, relation.time, count, _lateness_ticks(scan), end_of(scan), late)
        passing: Callable[[Batches], Batches] = iter
        if scan.conditions:
            first = scan.columns[0]
            anything = Ref(scan.alias, first, plain_type(relation.schema.field(first).type))
            passing = self._filter(scan.conditions, False, anything, scan.alias).over
        if relation.time is not None and not self._timeless:
            rounds = Rounds(relation.time, relation.unused("round"))
            found = rounds.of(found, passing)
        else:
            found = passing(found)
        if scan.computed:
            found = self._with_computed(found, scan.computed)
        return found, rounds

    def _anything(self) -> Ref:
        """A column that joined rows have."""
        found = (ref for expression in self.plan.behind for ref in refs(expression) if ref.alias)
        return next(found, Ref("", EVENT_TIME, pa.timestamp("us")))

    def _filter(self, conditions: tuple[Condition, ...], joined: bool, anything: Ref, where: str) -> Filters:
        made: Filters = filters(*predicates(conditions, self.functions, joined, anything), **self.settings.of_filters())
        made.listeners.append(self.listener)
        self.parts.add(f"filter of {where}", made)
        return made

    def _joined(self, watermark: _Watermark) -> Batches:
        join: Join = join_of(self.plan, self.settings.of_join(), timeless=self._timeless)
        join.listeners.append(self.listener)
        self.parts.add("join", join)
        scanned = {scan.alias: self._scanned(scan) for scan in self.plan.scans}
        rows = {scan.alias: self._joinable(scan, scanned[scan.alias][0]) for scan in self.plan.scans}
        rounds = {alias: rounds for alias, (_, rounds) in scanned.items() if rounds is not None}
        return join.over_telling(rows, watermark.hear, rounds or None)

    @property
    def _timeless(self) -> bool:
        """One stream without groups keeps nothing, so that no row is late and none needs a time, as on Spark."""
        return len(self.plan.query.streams) == 1 and self.plan.query.grouping is None

    def _joinable(self, scan: Scan, rows: Batches) -> Batches:
        """With at least one batch, so that columns are known."""
        some, without_time = False, self._timeless and scan.source.relation.is_stream
        for batch in rows:
            some = True
            if without_time:
                batch = batch.append_column(no_time(scan), pa.array(np.zeros(batch.num_rows, "datetime64[us]")))
            yield batch
        if not some:
            relation = scan.source.relation
            fields = [relation.schema.field(name) for name in scan.columns]
            if rows_of(self.plan, scan) is not None:
                fields.append(pa.field(end_of(scan), relation.schema.field(relation.time).type))
            fields += [pa.field(name, expression.type) for name, expression in scan.computed]
            fields += [pa.field(no_time(scan), pa.timestamp("us"))] if without_time else []
            yield pa.RecordBatch.from_arrays([pa.array([], f.type) for f in fields], schema=pa.schema(fields))

    def _with_computed(self, rows: Batches, computed: tuple[tuple[str, Expression], ...]) -> Batches:
        evaluations = [(name, Evaluation(expression, self.functions)) for name, expression in computed]
        for batch in rows:
            for name, evaluation in evaluations:
                batch = batch.append_column(name, evaluation(_columns(batch, _plain), batch.num_rows))
            yield batch

    def _grouped(self, rows: Batches, watermark: _Watermark, name: Name) -> Batches:
        plan, grouping = self.plan, self.plan.query.grouping
        assert grouping is not None
        stream = plan.query.streams[0]
        time = EVENT_TIME if plan.join is not None else stream.relation.time
        assert time is not None
        spec, computed = grouped_columns(grouping, time)
        evaluations = [(column, Evaluation(expression, self.functions)) for column, expression in computed.items()]
        counted: list[GroupCounts] = []

        def prepared() -> Batches:
            for batch in rows:
                arrays = [evaluation(_columns(batch, name), batch.num_rows) for _, evaluation in evaluations]
                names = [time, *(column for column, _ in evaluations)]
                yield pa.RecordBatch.from_arrays([batch.column(time), *arrays], names=names)

        schema = pa.schema(
            [(time, time_type(plan.query.sources)), *((column, e.type) for column, e in computed.items())]
        )
        self.parts.groups = counted
        yield from aggregate_batches(
            prepared(), spec, 0, lambda counts: counted.__setitem__(slice(None), [counts]),
            watermark=watermark.now, schema=schema,
        )  # fmt: skip
        if counted and counted[0].late > WORTH_A_WARNING * counted[0].rows:
            warnings.warn(
                f"{counted[0].late:,} of {counted[0].rows:,} rows came after their windows were closed and are in "
                "none: the stream is not in order, raise its lateness=",
                stacklevel=2,
            )

    def _projected(self, rows: Batches, outputs: list[tuple[str, Expression]], name: Name) -> Batches:
        evaluations = [(column, Evaluation(expression, self.functions)) for column, expression in outputs]
        schema = pa.schema([(column, expression.type) for column, expression in outputs])
        some = False
        for batch in rows:
            if not batch.num_rows and some:
                continue
            some = True
            arrays = [evaluation(_columns(batch, name), batch.num_rows) for _, evaluation in evaluations]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)
        if not some:
            yield pa.RecordBatch.from_arrays([pa.array([], kind) for kind in schema.types], schema=schema)


class _Watermark:
    """How far all streams have come, in ticks: of one stream found from its rounds, of joined rows reported by the
    join."""

    def __init__(self) -> None:
        self._joined: int | None = None
        self._marks: Watermarks | None = None

    def hear(self, ticks: int | None) -> None:
        """Of a join, at the end of a round."""
        self._joined = ticks

    def follow(self, scan: Scan, rounds: Rounds | None) -> None:
        """The rounds of the only stream."""
        if rounds is not None:
            self._stream, self._rounds, self._tick_ns = scan.alias, rounds, _tick_ns(scan)
            self._marks = Watermarks({scan.alias: _lateness_ticks(scan)})

    def now(self) -> int | None:
        """At the end of the round that was read last; None: nothing is known."""
        if self._marks is None:
            return self._joined
        if self._rounds.latest_ns is not None:
            self._marks.seen(self._stream, self._rounds.latest_ns // self._tick_ns)
        self._marks.end_round()
        return self._marks.query


def _tick_ns(scan: Scan) -> int:
    relation = scan.source.relation
    return TICK_NS[relation.schema.field(relation.time).type.unit]


def _lateness_ticks(scan: Scan) -> int:
    return scan.source.relation.lateness_us * 1000 // _tick_ns(scan)


def _selected(batches: Iterable[pa.RecordBatch], scan: Scan) -> Batches:
    """The columns that are read. Views, of which Arrow gathers nothing, become what they show."""
    whole = scan.source.relation.schema
    columns = list(scan.columns)
    read = pa.schema([whole.field(column) for column in columns])
    views = any(kind in (pa.string_view(), pa.binary_view()) for kind in read.types)
    for batch in batches:
        if not batch.schema.equals(whole):
            _refuse_other_columns(batch.schema, scan)
        selected = batch.select(columns)
        yield plain(selected, plain_schema(read)) if views else selected


def _refuse_other_columns(schema: pa.Schema, scan: Scan) -> None:
    """Those that are read are there, and of the types that were registered."""
    whole = scan.source.relation.schema
    for column in scan.columns:
        if column not in schema.names or schema.field(column).type != whole.field(column).type:
            has = schema.field(column).type if column in schema.names else "missing"
            raise PlanError(
                f"the batches of {scan.source.relation.name} differ in their columns: {column} is {has} after "
                f"{whole.field(column).type}; cast them to one schema"
            )


def _columns(batch: pa.RecordBatch, name: Name) -> Callable[[Ref | Bound], pa.Array]:
    return lambda ref: batch.column(name(ref))


def _plain(ref: Ref | Bound) -> str:
    return ref.column if isinstance(ref, Ref) else ref.name
