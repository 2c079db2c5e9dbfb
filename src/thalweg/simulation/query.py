"""The plan of a query as simulated operators: the operators that run it in this process, with declared costs.

Each node of the plan is an operator with its own queue and server. A scan follows the times of its stream, and sends
the stream's watermark after each entry, through the queues of filters and computed columns to the join or the groups.
This corresponds to the rounds in this process (`rounds.py`): rows that a filter drops also move the watermark. Tables
are read, filtered and stored before time starts, at no cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.cost.operator_costs import Costs, check_costs, prices
from thalweg.errors import PlanError, nearest
from thalweg.kernels.salt import NO_SALT
from thalweg.optimizer.joins.start_plan import start_of
from thalweg.plan.filters.filter_plan import FilterPlan
from thalweg.plan.joins.join_plan import end_of, is_timeless, last_rows, no_time, window_join_plan
from thalweg.plan.joins.window import TICK_NS
from thalweg.plan.query.nodes import Compute, Filter, Node, Scan, WindowJoin, sources_of, subject, walk_up
from thalweg.plan.query.query import time_type
from thalweg.plan.query.query_plan import Branch, QueryPlan
from thalweg.plan.query.relation import UserFunction
from thalweg.runtime.clock import Clock
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_loop import make_join_loop
from thalweg.runtime.joins.join_protocol import WindowedJoin
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.runtime.local.filters import MakeLoop as MakeFilterLoop
from thalweg.runtime.local.filters import loop_options, make_loop
from thalweg.runtime.local.joins import MakeLoop as MakeJoinLoop
from thalweg.runtime.local.operator import PORT, AfterMark, Delivery, Operator
from thalweg.runtime.local.plan_operators import (
    OperatorContext,
    Scanning,
    at_no_time,
    lateness_ticks,
    name_of,
    operator_of,
    through,
)
from thalweg.runtime.local.row_windows import RowWindow
from thalweg.runtime.redaction import called, redacted
from thalweg.runtime.settings import FilterSettings
from thalweg.runtime.watermark import BEGINNING, END
from thalweg.simulation.multiway import with_priced_probes
from thalweg.simulation.priced_operator import PricedOperator
from thalweg.simulation.selection import priced_loops


@dataclass(frozen=True)
class PlanParts:
    """The parts from which the operators of a plan are created."""

    plan: QueryPlan
    functions: Mapping[str, UserFunction]
    predicates: Callable[[Filter], FilterPlan]
    filter_settings: Callable[[Filter], FilterSettings]
    join_settings: JoinSettings
    tables: Mapping[str, Callable[[], Iterable[pa.RecordBatch]]]
    """Functions that return the rows of each table, by alias."""
    redact: bool = False


def plan_operators(parts: PlanParts, costs: Costs | Mapping[str, Costs]) -> tuple[Operator, ...]:
    """Return one operator per node that rows of streams pass, in the order in which they pass them. The last one
    returns the results.

    `costs`: one for all operators except scans, or by name of operator."""
    nodes = [node for node in walk_up(parts.plan.root) if any(s.relation.is_stream for s in sources_of(node))]
    declared = _declared(costs, nodes, parts)
    context = OperatorContext(
        parts.plan, parts.functions, parts.redact,
        lambda node: _filter_loops(node, parts, declared[name_of(node)]),
        lambda node: _join_loops(node, parts, declared[name_of(node)]),
    )  # fmt: skip
    made = []
    for node in nodes:
        operator = StreamScan(node, parts.plan) if isinstance(node, Scan) else operator_of(node, context)
        own = declared[operator.name]
        arrival = (own.move, own.hash, own.handling) if isinstance(node, WindowJoin) else (own.move, own.handling)
        made.append((_Redacting if parts.redact else PricedOperator)(operator, arrival, own.result))
    return tuple(made)


class StreamScan(Scanning):
    """A stream as it arrives: returns the columns that are read, and, if late rows are detected, the watermark after
    each entry of the queue. With a window of rows, a row is passed on when the time at which it leaves the window is
    known."""

    def __init__(self, node: Scan, plan: QueryPlan) -> None:
        super().__init__(Branch.of(node))
        join = plan.join if isinstance(plan.join, WindowJoin) else None
        source = self.branch.source
        self._source = source
        self._count = None if join is None else last_rows(join, source)
        self._no_time = no_time(source) if join is not None and is_timeless(join) else ""
        # marks of all streams are in ticks of the finest time, which is the time of joined rows
        self._tick_ns = TICK_NS[time_type(sources_of(plan.root)).unit]

    def set_up(
        self, schemas: Mapping[str, pa.Schema], clock: Clock | None = None, rng: np.random.Generator | None = None
    ) -> pa.Schema:
        """Start with an empty window, and return the schema of the output."""
        schema = super().set_up(schemas, clock, rng)
        self._latest_ns: int | None = None
        self._window: RowWindow | None = None
        relation = self._source.relation
        assert relation.time is not None
        if self._count is not None:
            self._window = RowWindow(relation.time, self._count, lateness_ticks(self.branch), end_of(self._source))
            schema = schema.append(pa.field(end_of(self._source), schema.field(relation.time).type))
        return schema.append(pa.field(self._no_time, pa.timestamp("us"))) if self._no_time else schema

    def entering(self, port: str, rows: Any, mark: int | None) -> Iterable[Delivery]:
        """Queue the rows, and a mark after them. The watermark is known only when the rows have been served."""
        yield Delivery(self, port, rows, mark)
        if rows is not None and self.branch.judges_lateness:
            yield Delivery(self, port, mark=BEGINNING)

    def serve(self, port: str, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Return the rows that are passed on."""
        for batch in super().serve(port, rows):
            yield from map(self._given, (batch,) if self._window is None else self._window.follow(batch))

    def mark(self, port: str, mark: int) -> AfterMark:
        """Return the watermark of the rows that have been passed on."""
        if mark == END:
            return AfterMark(END, () if self._window is None else tuple(map(self._given, self._window.rest())))
        if self._latest_ns is None:
            return AfterMark()
        return AfterMark(self._latest_ns // self._tick_ns - lateness_ticks(self.branch, self._tick_ns))

    def _given(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self.branch.judges_lateness:
            times = batch.column(self._source.relation.time)
            latest = pc.max(times).value
            if latest is not None:
                latest *= TICK_NS[times.type.unit]
                self._latest_ns = latest if self._latest_ns is None else max(latest, self._latest_ns)
        if not self._no_time:
            return batch
        assert self._source.relation.time is not None
        return at_no_time(batch, self._no_time, self._source.relation.time)

    def windows(self) -> tuple[int, int]:
        """Return the rows and bytes of the window of rows."""
        return (0, 0) if self._window is None else self._window.held

    def late(self) -> int:
        """Return the number of rows that came too late for the window of rows."""
        return 0 if self._window is None else self._window.late


class _Redacting(PricedOperator):
    """An operator whose errors contain no value of a row."""

    def set_up(self, schemas: Mapping[str, pa.Schema], clock: Clock | None, rng: np.random.Generator) -> pa.Schema:
        """Set up the operator, with redacted errors."""
        return called(lambda: super(_Redacting, self).set_up(schemas, clock, rng), True)

    def serve(self, port: str, rows: Any) -> Iterator[Any]:
        """Return the results, with redacted errors."""
        return redacted(super().serve(port, rows), True)

    def mark(self, port: str, mark: int) -> AfterMark:
        """Take a mark, with redacted errors."""
        return called(lambda: super(_Redacting, self).mark(port, mark), True)


def _declared(costs: Costs | Mapping[str, Costs], nodes: list[Node], parts: PlanParts) -> Mapping[str, Costs]:
    """Return the costs by name of operator."""
    names = [name_of(node) for node in nodes]
    if isinstance(costs, Mapping) and (not costs or any(isinstance(own, Costs) for own in costs.values())):
        for name, own in costs.items():
            if name not in names:
                listed = ", ".join(map(repr, names))
                raise PlanError(f"costs: there is no operator {name!r}{nearest(str(name), names)}; there are {listed}")
            check_costs(own, f"costs of {name}")
        return {name: costs.get(name, Costs()) for name in names}
    all_of_them = check_costs(costs)
    free = {name_of(node): Costs() for node in nodes if isinstance(node, Scan)}
    if not isinstance(all_of_them.predicate, Mapping):
        return dict.fromkeys(names, all_of_them) | free
    filters = [node for node in nodes if isinstance(node, Filter) and subject(node) != "groups"]
    tried = {name_of(node): parts.predicates(node).pipeline.names for node in filters}
    by_predicate = all_of_them.predicate
    prices(by_predicate, tuple(name for own in tried.values() for name in own), "predicate")  # raises for other names
    return {
        name: replace(all_of_them, predicate={p: by_predicate[p] for p in tried.get(name, ()) if p in by_predicate})
        for name in names
    } | free


def _filter_loops(node: Filter, parts: PlanParts, costs: Costs) -> tuple[FilterPlan, MakeFilterLoop]:
    plan = parts.predicates(node)
    return plan, priced_loops(plan, loop_options(parts.filter_settings(node)), costs.predicate)


def _join_loops(node: WindowJoin, parts: PlanParts, costs: Costs) -> MakeJoinLoop:
    plan = window_join_plan(node, timeless=is_timeless(node))
    start = start_of(node)
    options = parts.join_settings.options(start.limits.memory)
    options = with_priced_probes(options, plan.graph.aliases, costs.probe)

    def make(schemas: Mapping[str, pa.Schema], clock: Clock | None, rng: np.random.Generator) -> WindowedJoin:
        tables = {Branch.of(child).alias: child for child in node.inputs if Branch.of(child).alias not in schemas}
        held = {alias: _table(child, parts, rng) for alias, child in tables.items()}
        known = {**schemas, **{alias: table.schema for alias, table in held.items()}}
        binding = JoinBinding.of(plan, {alias: known[alias] for alias in plan.graph.aliases}, NO_SALT)
        return make_join_loop(binding, options, rng=rng, clock=clock, tables=held, shape=start.shape)

    return make


def _table(top: Node, parts: PlanParts, rng: np.random.Generator) -> pa.Table:
    """Read a table now, and return the rows that take part."""

    def loops(node: Filter) -> tuple[FilterPlan, MakeFilterLoop]:
        plan, settings = parts.predicates(node), parts.filter_settings(node)
        return plan, lambda _, rng: make_loop(plan, settings, rng)

    context = OperatorContext(parts.plan, parts.functions, parts.redact, loops)
    branch = Branch.of(top)
    rows: Iterable[pa.RecordBatch] = parts.tables[branch.alias]()
    schema = branch.source.relation.schema
    for node in walk_up(top):
        assert isinstance(node, Scan | Filter | Compute), node
        operator = operator_of(node, context)
        schema = operator.set_up({PORT: schema}, None, rng)
        rows = through(operator, rows)
    return pa.Table.from_batches([pa.RecordBatch.from_arrays(b.columns, schema=schema) for b in rows], schema)
