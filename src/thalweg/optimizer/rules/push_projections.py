"""Let every scan read only the columns that are needed: by outputs, groups, filters, keys, times and classes."""

from __future__ import annotations

from dataclasses import replace

from thalweg.plan.query.query_plan import QueryPlan, needed
from thalweg.stats import NOTHING_KNOWN, Knowledge


def push_projections(plan: QueryPlan, _known: Knowledge = NOTHING_KNOWN) -> QueryPlan:
    """Reduce the columns of every scan, in the order of its schema."""
    join = plan.join
    residuals = () if join is None else tuple(c.expression for c in join.residuals)
    # with one stream and no groups, no row is late, and no row needs a time
    keeps_nothing = len(plan.query.streams) == 1 and plan.query.grouping is None
    for scan in plan.scans:
        here = (*(c.expression for c in scan.conditions), *(e for _, e in scan.computed))
        wanted = set(needed((*here, *residuals, *plan.after_join), scan.alias))
        if join is not None:
            computed = {name for name, _ in scan.computed}
            keys = {key[1] for e in join.equalities for key in (e.one, e.other) if key[0] == scan.alias}
            wanted |= keys - computed
        wanted |= {column for alias, column in plan.classify_by or () if alias == scan.alias}
        relation = scan.source.relation
        keeps_time = join is not None or plan.query.grouping is not None
        if relation.time is not None and keeps_time:
            wanted.add(relation.time)
        columns = tuple(name for name in relation.schema.names if name in wanted)
        late = relation.time is not None and not keeps_nothing
        columns = columns or tuple(relation.schema.names[:1])
        plan = plan.with_scan(replace(scan, columns=columns, judges_lateness=late))
    if plan.join is not None:
        keeps = tuple((scan.alias, column) for scan in plan.scans for column in needed(plan.after_join, scan.alias))
        plan = plan.with_join(replace(plan.join, keeps=keeps))
    return plan
