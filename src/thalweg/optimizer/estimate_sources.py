"""What is expected of every source of a plan: rows, the share its filters keep, and the partners rows find in it.

Expected partners belong to a directed edge of the join. A row of a finds in b the rows of b's window that pass b's
filters, over the different values of the column by which a looks: the share of one value, if values are even. A row of
c may look by another column, and finds another number. Where several columns must be equal, the one that leaves fewest
partners counts, as if the others said the same. What was counted for an edge is taken as it is.
"""

from __future__ import annotations

from collections.abc import Mapping

from thalweg.optimizer.shares import share_kept_by_all
from thalweg.plan.estimate import Estimate
from thalweg.plan.expression import refs
from thalweg.plan.join_graph import JoinGraph
from thalweg.plan.plan_estimates import PartnersEstimate, SourceEstimates
from thalweg.plan.query_plan import Branch, QueryPlan
from thalweg.stats import DistinctValues, Knowledge, Partners, Rows, RowsPerSecond

Lookers = Mapping[str, Mapping[str, str]]
"""By source, and by the stream whose new rows arrive: the source whose rows look for partners in the first."""


def estimate_sources(plan: QueryPlan, known: Knowledge) -> dict[str, SourceEstimates]:
    """By alias."""
    join = plan.join
    graph = None if join is None else JoinGraph.of([(*e.one, *e.other) for e in join.equalities])
    looking = lookers(plan, graph)
    found = {}
    for scan in plan.scans:
        relation = scan.source.relation.name
        kept = share_kept_by_all(scan.conditions, known, relation) if scan.conditions else None
        rows = _rows(scan, known)
        partners = []
        for other in dict.fromkeys(looking.get(scan.alias, {}).values()):
            assert graph is not None
            partners.append(_partners(scan, other, graph, rows if kept is None or rows is None else rows * kept, known))
        found[scan.alias] = SourceEstimates(known.about(RowsPerSecond(relation)), rows, kept, tuple(partners))
    return found


def lookers(plan: QueryPlan, graph: JoinGraph | None) -> Lookers:
    """Who looks for partners of whom. Tables get no new rows."""
    if graph is None:
        return {}
    trees = {stream.alias: graph.tree(stream.alias).parents for stream in plan.query.streams}
    return {
        scan.alias: {root: parents[scan.alias] for root, parents in trees.items() if scan.alias in parents}
        for scan in plan.scans
    }


def _rows(scan: Branch, known: Knowledge) -> Estimate | None:
    """In the window, or in the table."""
    relation, window = scan.source.relation, scan.source.window
    if not relation.is_stream:
        return known.about(Rows(relation.name))
    if window is not None and window.rows is not None:
        return Estimate(window.rows, "declared", None, 0, window.rows)
    rate = known.about(RowsPerSecond(relation.name))
    return None if rate is None or window is None or window.length_us is None else rate * window.length_us / 1e6


def _partners(scan: Branch, of: str, graph: JoinGraph, rows: Estimate | None, known: Knowledge) -> PartnersEstimate:
    """`rows`: those that filters keep."""
    named: list[PartnersEstimate] = []
    for number in graph.shared(of, scan.alias):
        theirs, first = graph.column_of[number][of], graph.column_of[number][scan.alias]
        same = [column for alias, one, column in graph.within if (alias, one) == (scan.alias, first)]
        for key in (first, *same):
            counted = known.about(Partners((of, theirs), (scan.alias, key)))
            column = _read_by(scan, key)
            values = None if column is None else known.about(DistinctValues(scan.source.relation.name, column))
            if counted is None and rows is not None and values is not None:
                counted = rows / values
            named.append(PartnersEstimate(of, column, values, counted))
    best = [each for each in named if each.partners is not None] or [each for each in named if each.column is not None]
    if not best:
        return named[0]
    return min(best, key=lambda each: 0.0 if each.partners is None else each.partners.value)


def _read_by(scan: Branch, key: str) -> str | None:
    """The column of the source; a key that is computed from one column has at most its different values."""
    for name, expression in scan.computed:
        if name == key:
            columns = refs(expression)
            return columns[0].column if len(columns) == 1 else None
    return key
