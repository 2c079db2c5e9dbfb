"""Windows of rows in a plan for this process: a column with each row's end, and a condition on joined rows.

The join itself then keeps all rows of such a stream: it forgets by time, and the end of a row is no length of time.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from thalweg.plan.expression import Ref, call
from thalweg.plan.join_select import EVENT_TIME
from thalweg.plan.query import Condition
from thalweg.plan.query_plan import QueryPlan, Scan
from thalweg.plan.type_rules import plain_type

END = "end of row"
MOST_TICKS = 2**61 - 1
"""The longest window there is."""


def with_row_windows(plan: QueryPlan) -> QueryPlan:
    """The plan with a condition a stream; nothing to do where nothing is joined."""
    if plan.join is None:
        return plan
    conditions = []
    for scan in plan.scans:
        if (rows := rows_of(scan)) is not None:
            relation = scan.source.relation
            assert relation.time is not None
            kind = plain_type(relation.schema.field(relation.time).type)
            end, time = Ref(scan.alias, END, kind), Ref("", EVENT_TIME, kind)
            kept = call("or", (call("is_null", (end,), pa.bool_()), call("lt", (time, end), pa.bool_())), pa.bool_())
            conditions.append(Condition(kept, f"{scan.alias} is among the last {rows:,} rows", -1))
    return replace(plan, conditions=(*conditions, *plan.conditions))


def rows_of(scan: Scan) -> int | None:
    """Of its window; None: it is one of time."""
    return None if scan.source.window is None else scan.source.window.rows
