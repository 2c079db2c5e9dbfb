"""Plans that return the rows that are in no result: failed rows and late rows.

A separate run over the same sources finds them, with the filters and the join of the query, up to the node that drops
such rows.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from thalweg.plan.expressions.type_rules import plain_type
from thalweg.plan.joins.select import EVENT_TIME, LOST
from thalweg.plan.query.nodes import SourceColumn
from thalweg.plan.query.query_plan import QueryPlan, needed


def plan_of_failed(plan: QueryPlan) -> QueryPlan:
    """Return the plan for failed rows, with the columns that users want to see: with one source, all its columns; for
    joined rows, also those that conditions read before the join."""
    if plan.join is None:
        (scan,) = plan.scans
        return plan.with_scan(replace(scan, columns=tuple(scan.source.relation.schema.names)))
    read = [
        (scan.alias, column)
        for scan in plan.scans
        for column in needed(tuple(c.expression for c in scan.conditions), scan.alias)
    ]
    return _keeping(plan, read)


def failed_columns(plan: QueryPlan) -> tuple[str, ...]:
    """Return the columns of failed rows, without the column of the errors."""
    join = plan.join
    if join is None:
        return tuple(plan.result.schema.names)
    carried = {(scan.alias, scan.errors) for scan in plan.scans}
    kept = tuple(f"{alias}_{column}" for alias, column in join.keeps if (alias, column) not in carried)
    # one stream joined with tables keeps no rows, and its results have no time
    return (*kept, EVENT_TIME) if len(plan.query.streams) > 1 else kept


def plan_of_late(plan: QueryPlan) -> QueryPlan:
    """Return the plan for late rows, with all columns of streams: no state is kept for late rows."""
    for scan in plan.scans:
        if scan.source.relation.is_stream:
            plan = plan.with_scan(replace(scan, columns=tuple(scan.source.relation.schema.names)))
    if plan.join is None:
        return plan
    return _keeping(plan, [(s.alias, name) for s in plan.scans if s.source.relation.is_stream for name in s.columns])


def late_schema(plan: QueryPlan) -> pa.Schema:
    """Return the schema of late rows: the columns of streams, and why the row is late. A row has nulls in the columns
    of other streams."""
    streams = [scan for scan in plan.scans if scan.source.relation.is_stream]
    fields = [
        pa.field(late_column(plan, scan.alias, name), plain_type(scan.source.relation.schema.field(name).type))
        for scan in streams
        for name in scan.columns
    ]
    return pa.schema([*fields, pa.field(LOST, pa.string())])


def late_column(plan: QueryPlan, alias: str, name: str) -> str:
    """Return the name of a stream's column in late rows."""
    return name if plan.join is None else f"{alias}_{name}"


def _keeping(plan: QueryPlan, more: list[SourceColumn]) -> QueryPlan:
    join = plan.join
    assert join is not None
    return plan.with_join(replace(join, keeps=tuple(dict.fromkeys((*join.keeps, *more)))))
