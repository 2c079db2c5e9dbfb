"""Keep rows on which a condition raises before a join: they fail only if they would be part of a result.

The filter of a source drops the rows on which a condition is false. A row on which a condition raises, and that no
other condition drops, fails the query only if it finds partners and no condition over joined rows drops the result. So
the filter keeps the row and adds a column with the error. Windows store this column and joined rows contain it, and a
`Fail` node above the join and above the filter of joined rows decides. The column is null in all other rows.

A source whose conditions cannot raise, because they are built-in or call functions declared `safe`, needs no such
column. A condition that Spark itself evaluates fails the query at once.
"""

from __future__ import annotations

from dataclasses import replace

from thalweg.plan.expressions.functions import can_raise
from thalweg.plan.query.query_plan import Branch, QueryPlan
from thalweg.stats import NOTHING_KNOWN, Knowledge


def carry_errors(plan: QueryPlan, _known: Knowledge = NOTHING_KNOWN) -> QueryPlan:
    """Add the error columns of sources that are joined. If there is only one source, its rows fail in the filter."""
    if plan.join is None:
        return plan
    for scan in plan.scans:
        if _raises_in_chain(scan):
            plan = plan.with_scan(replace(scan, errors=scan.source.relation.unused("carried errors")))
    join = plan.join
    carried = tuple((scan.alias, scan.errors) for scan in plan.scans if scan.errors)
    return plan.with_join(replace(join, keeps=(*join.keeps, *carried))) if carried and join is not None else plan


def _raises_in_chain(scan: Branch) -> bool:
    return any(can_raise(c.expression) and c.where != "jvm" for c in scan.conditions)
