"""Every scan reads only what somebody needs: outputs, groups, filters, keys, times."""

from __future__ import annotations

from dataclasses import replace

from thalweg.plan.query_plan import QueryPlan, needed


def push_projections(plan: QueryPlan) -> QueryPlan:
    """In the order of the schema."""
    join = plan.join
    residuals = () if join is None else tuple(c.expression for c in join.residuals)
    for scan in plan.scans:
        here = (*(c.expression for c in scan.conditions), *(e for _, e in scan.computed))
        wanted = set(needed((*here, *residuals, *plan.behind), scan.alias))
        if join is not None:
            computed = {name for name, _ in scan.computed}
            keys = {key[1] for e in join.equalities for key in (e.one, e.other) if key[0] == scan.alias}
            wanted |= keys - computed
        relation = scan.source.relation
        keeps_time = join is not None or plan.query.grouping is not None
        if relation.time is not None and keeps_time:
            wanted.add(relation.time)
        columns = tuple(name for name in relation.schema.names if name in wanted)
        plan = plan.with_scan(replace(scan, columns=columns or relation.schema.names[:1]))
    return plan
