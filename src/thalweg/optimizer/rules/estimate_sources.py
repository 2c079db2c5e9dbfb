"""Estimate every source of a plan: its rows, the share its filters keep, and the partners that rows find in it.

Expected partners belong to a directed edge of the join. A row of a finds in b the rows of b's window that pass b's
filters, divided by the number of distinct values of the column by which a probes: the share of one value, if values are
evenly distributed. A row of c may probe by another column and find another number. If several columns must be equal,
the one that leaves the fewest partners counts, as if the others were implied by it. A number that was counted or
declared for an edge is used unchanged.

An equality with a literal keeps one of the known distinct values. If nothing is known, the shares are those that
Selinger et al. assume; a condition that they do not cover, such as a user function, keeps a third.

>>> import pyarrow as pa
>>> from thalweg.plan.expressions.expression import Ref, Value, call
>>> host, five = Ref("t", "host", pa.int64()), Value(5, pa.int64())
>>> known = Knowledge.declared("tcp", distinct={"host": 50})
>>> share_of(call("eq", (host, five), pa.bool_()), known, "tcp")
Estimate(value=0.02, origin='declared', variance=None, low=0.0, high=1.0, as_of=None)
>>> share_of(call("gt", (host, five), pa.bool_()), known, "tcp").value == RANGE
True

Reference: Selinger, Astrahan, Chamberlin, Lorie, Price: Access Path Selection in a Relational Database Management
System. SIGMOD 1979, table 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import reduce
from operator import mul

from thalweg.optimizer.joins.estimates import neighbors, pair_share
from thalweg.plan.estimate import Estimate, Origin
from thalweg.plan.expressions.expression import Call, Expression, Ref, Value, refs
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.query.plan_estimates import PartnersEstimate, SourceEstimates
from thalweg.plan.query.query import Condition
from thalweg.plan.query.query_plan import Branch, QueryPlan
from thalweg.stats import DistinctValues, Knowledge, Partners, Rows, RowsPerSecond, ShareKept, SourceKept

EQUAL, RANGE, BETWEEN, MOST_OF_A_LIST = 1 / 10, 1 / 3, 1 / 4, 1 / 2
UNKNOWN = 1 / 3
ALL = Estimate(1, "counted", 0, 1, 1)
_ONE_SIDED = {"gt": "low", "ge": "low", "lt": "high", "le": "high"}
Lookers = Mapping[str, Mapping[str, str]]
"""For each source, by the stream whose new rows arrive: the source whose rows look for partners in it."""


def estimate_sources(plan: QueryPlan, known: Knowledge) -> dict[str, SourceEstimates]:
    """Return the estimates of all sources, by alias."""
    join = plan.join
    graph = None if join is None else JoinGraph.of([(*e.one, *e.other) for e in join.equalities])
    looking = lookers(plan, graph)
    found = {}
    for scan in plan.scans:
        relation = scan.source.relation.name
        kept = _kept(scan, known)
        source = SourceEstimates(known.about(RowsPerSecond(relation)), _rows(scan, known), kept)
        partners = []
        for other in dict.fromkeys(looking.get(scan.alias, {}).values()):
            assert graph is not None
            partners.append(_partners(scan, other, graph, held_rows(source), known))
        found[scan.alias] = replace(source, partners=tuple(partners))
    return found


def held_rows(source: SourceEstimates) -> Estimate | None:
    """Return the number of rows that the filters of a source keep in its window, or in the table."""
    return source.rows if source.kept is None or source.rows is None else source.rows * source.kept


def estimate_pairs(
    plan: QueryPlan, sources: Mapping[str, SourceEstimates], known: Knowledge
) -> dict[frozenset[str], Estimate]:
    """Return the shares of pairs of rows that join. Raises PlanError if declared partners contradict each other."""
    if plan.join is None:
        return {}
    graph, scans = JoinGraph.of([(*e.one, *e.other) for e in plan.join.equalities]), {s.alias: s for s in plan.scans}
    held = {alias: rows for alias, source in sources.items() if (rows := held_rows(source)) is not None}

    def distinct(alias: str, key: str) -> Estimate | None:
        column = _read_by(scans[alias], key)
        return None if column is None else known.about(DistinctValues(scans[alias].source.relation.name, column))

    shares = {frozenset(pair): pair_share(pair, graph, held, known, distinct) for pair in neighbors(graph)}
    return {pair: share for pair, share in shares.items() if share is not None}


def _kept(scan: Branch, known: Knowledge) -> Estimate | None:
    """Return the share of rows that the filters of a source keep, all together if it is known; None: it has none."""
    whole = known.about(SourceKept(scan.alias))
    if whole is not None and (scan.conditions or whole.value < 1):
        return whole
    return share_kept_by_all(scan.conditions, known, scan.source.relation.name) if scan.conditions else None


def lookers(plan: QueryPlan, graph: JoinGraph | None) -> Lookers:
    """Return which source looks for partners in which. Tables get no new rows."""
    if graph is None:
        return {}
    trees = {stream.alias: graph.tree(stream.alias).parents for stream in plan.query.streams}
    return {
        scan.alias: {root: parents[scan.alias] for root, parents in trees.items() if scan.alias in parents}
        for scan in plan.scans
    }


def _rows(scan: Branch, known: Knowledge) -> Estimate | None:
    """Return the number of rows in the window, or in the table."""
    relation, window = scan.source.relation, scan.source.window
    if not relation.is_stream:
        return known.about(Rows(relation.name))
    if window is not None and window.rows is not None:
        return Estimate(window.rows, "declared", None, 0, window.rows)
    rate = known.about(RowsPerSecond(relation.name))
    return None if rate is None or window is None or window.length_us is None else rate * window.length_us / 1e6


def _partners(scan: Branch, of: str, graph: JoinGraph, rows: Estimate | None, known: Knowledge) -> PartnersEstimate:
    """Return the partners that a row of `of` finds in a source. `rows` are the rows that filters keep."""
    named: list[PartnersEstimate] = []
    for number in graph.shared(of, scan.alias):
        theirs, first = graph.column_of[number][of], graph.column_of[number][scan.alias]
        same = [column for alias, one, column in graph.within if (alias, one) == (scan.alias, first)]
        for key in (first, *same):
            column = _read_by(scan, key)
            partners = known.about(Partners((of, theirs), (scan.alias, key)))
            if partners is not None:
                named.append(PartnersEstimate(of, column, None, partners))
                continue
            values = None if column is None else known.about(DistinctValues(scan.source.relation.name, column))
            estimated = rows / values if rows is not None and values is not None else None
            named.append(PartnersEstimate(of, column, values, estimated))
    best = [each for each in named if each.partners is not None] or [each for each in named if each.column is not None]
    if not best:
        return named[0]
    return min(best, key=lambda each: 0.0 if each.partners is None else each.partners.value)


def _read_by(scan: Branch, key: str) -> str | None:
    """Return the column of the source that a key reads. A key that is computed from one column has at most as many
    distinct values as that column."""
    for name, expression in scan.computed:
        if name == key:
            columns = refs(expression)
            return columns[0].column if len(columns) == 1 else None
    return key


def share_kept(condition: Condition, known: Knowledge, relation: str | None) -> Estimate:
    """Return the share of rows for which a condition is true. `relation` is the relation that the condition reads;
    None: joined rows."""
    return known.about(ShareKept(condition.text)) or share_of(condition.expression, known, relation)


def share_kept_by_all(conditions: Iterable[Condition], known: Knowledge, relation: str | None) -> Estimate:
    """Return the share of rows that pass all conditions, assuming that they are independent."""
    return reduce(mul, (share_kept(condition, known, relation) for condition in conditions), ALL)


def share_of(expression: Expression, known: Knowledge, relation: str | None) -> Estimate:
    """Return the share of rows for which an expression is true."""
    if isinstance(expression, Value):
        share = 1 if expression.value is True else 0
        return Estimate(share, "declared", 0, share, share)
    if not isinstance(expression, Call):
        return _share(UNKNOWN)
    name, arguments = expression.function, expression.arguments
    if name == "and" and _is_range(arguments):
        return _share(BETWEEN)
    if name in ("and", "or", "not"):
        parts = [share_of(argument, known, relation) for argument in arguments]
        if name == "and":
            return reduce(mul, parts)
        if name == "or":
            return reduce(mul, (part.complement for part in parts)).complement
        return parts[0].complement
    if name in ("eq", "same", "ne"):
        equal = _equal(arguments, known, relation)
        return equal.complement if name == "ne" else equal
    if name == "in":
        equal = _equal(arguments[:2], known, relation)
        most = MOST_OF_A_LIST if equal.origin == "assumed" else 1.0
        return _share(min(equal.value * (len(arguments) - 1), most), equal.origin)
    if name == "is_null":
        return _share(EQUAL)
    return _share(RANGE if name in _ONE_SIDED else UNKNOWN)


def column_in(expression: Expression) -> Ref | None:
    """Return the column that an expression is, ignoring widening, or None if it is not a column."""
    while isinstance(expression, Call) and expression.function == "widen":
        expression = expression.arguments[0]
    return expression if isinstance(expression, Ref) else None


def _share(value: float, origin: Origin = "assumed") -> Estimate:
    return Estimate(value, origin, None, 0, 1)


def _equal(arguments: tuple[Expression, ...], known: Knowledge, relation: str | None) -> Estimate:
    columns = [column.column for column in map(column_in, arguments) if column is not None]
    values = [known.about(DistinctValues(relation, column)) for column in columns] if relation is not None else []
    distinct = [each for each in values if each is not None]
    return 1 / max(distinct, key=lambda each: each.value) if distinct else _share(EQUAL)


def _is_range(arguments: tuple[Expression, ...]) -> bool:
    """Whether the arguments bound one column from below and from above."""
    sides = [(a.function, a.arguments[0]) for a in arguments if isinstance(a, Call) and a.function in _ONE_SIDED]
    return len(sides) == 2 and sides[0][1] == sides[1][1] and {_ONE_SIDED[f] for f, _ in sides} == {"low", "high"}
