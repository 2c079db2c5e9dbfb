"""Build the join of all sources from the conditions that read two or more of them.

An equality between expressions of two sources is a key. A side that is not a column becomes a column that the scan
computes. Other conditions that cannot raise are checked when rows are joined; everything else is a filter over joined
rows.

A side that can raise, if it is computed before the join, fails the query on rows that may have no partner. So such an
equality is a key only if nothing else connects its sources, wherever it is written; else it is a filter over joined
rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa

from thalweg.plan.expressions.expression import Call, Expression, Ref, aliases, text_of, user_functions
from thalweg.plan.expressions.functions import can_raise
from thalweg.plan.expressions.type_rules import sql_name
from thalweg.plan.query.nodes import ColumnEquality, SourceColumn, WindowJoin
from thalweg.plan.query.query import Condition
from thalweg.plan.query.query_plan import QueryPlan
from thalweg.plan.sql.source_text import SourceText
from thalweg.stats import NOTHING_KNOWN, Knowledge


def build_join(plan: QueryPlan, _known: Knowledge = NOTHING_KNOWN) -> QueryPlan:
    """Replace the product of all sources by a join. A plan with one source stays as it is."""
    if len(plan.scans) == 1:
        return plan.with_join(None)
    sides = {n: found for n, c in enumerate(plan.conditions) if (found := _sides(c.expression)) is not None}
    keys = [n for n, both in sides.items() if not any(map(can_raise, both))]
    # sorted by their texts, so that the written order does not matter
    for n in sorted(sides.keys() - set(keys), key=lambda n: plan.conditions[n].text):
        if _ends(sides[n]) not in _connected(sides[k] for k in keys):
            keys.append(n)
    equalities: list[ColumnEquality] = []
    residuals: list[Condition] = []
    remaining: list[Condition] = []
    for n, condition in enumerate(plan.conditions):
        if n in keys:
            one, other = sides[n]
            plan, one_key = _key(plan, one)
            plan, other_key = _key(plan, other)
            equalities.append(ColumnEquality(one_key, other_key, condition.text, condition.place))
        elif _is_checked(condition.expression):
            residuals.append(condition)
        else:
            remaining.append(condition)
    _refuse_unconnected(plan, equalities)
    order = tuple(scan.alias for scan in plan.scans)
    join = WindowJoin(plan.branches, tuple(equalities), tuple(residuals), order)
    return plan.with_join(join).with_conditions(tuple(remaining))


def _sides(expression: Expression) -> tuple[Expression, Expression] | None:
    """Return the two sides of an equality between two sources that can be a key, or None if the expression is none."""
    both = _both_sides(expression)
    return both if both is not None and _is_key(both[0].type) else None


def _both_sides(expression: Expression) -> tuple[Expression, Expression] | None:
    """Return the two sides of an equality between two sources, or None if the expression is not one."""
    if not isinstance(expression, Call) or expression.function != "eq":
        return None
    one, other = expression.arguments
    of = aliases(one), aliases(other)
    return None if len(of[0]) != 1 or len(of[1]) != 1 or of[0] == of[1] else (one, other)


def _is_key(kind: pa.DataType) -> bool:
    """Whether windows can be probed by a key of this type. DOUBLE is excluded: NaN and -0.0 are left to the filter over
    joined rows."""
    is_ = pa.types
    excluded = (is_.is_floating, is_.is_duration, is_.is_null, is_.is_time, is_.is_nested, is_.is_interval)
    return not any(one(kind) for one in excluded)


def _ends(sides: tuple[Expression, Expression]) -> tuple[str, str]:
    """Return the two sources of an equality."""
    return aliases(sides[0])[0], aliases(sides[1])[0]


def _connected(sides: Iterable[tuple[Expression, Expression]]) -> frozenset[tuple[str, str]]:
    """Return the pairs of sources that equalities connect, directly or through other sources."""
    parts: list[set[str]] = []
    for both in sides:
        ends = set(_ends(both))
        for part in [part for part in parts if part & ends]:
            ends |= part
            parts.remove(part)
        parts.append(ends)
    return frozenset((one, other) for part in parts for one in part for other in part)


def _key(plan: QueryPlan, side: Expression) -> tuple[QueryPlan, SourceColumn]:
    inner = side
    while isinstance(inner, Call) and inner.function == "widen" and pa.types.is_integer(inner.type):
        inner = inner.arguments[0]  # keys of different widths are compared without widening
    (alias,) = aliases(side)
    scan = plan.scan(alias)
    if isinstance(inner, Ref) and not pa.types.is_uint64(scan.source.relation.schema.field(inner.column).type):
        return plan, (inner.alias, inner.column)  # UINT64 does not fit into BIGINT, so it becomes a DECIMAL
    for name, expression in scan.computed:
        if expression == side:
            return plan, (alias, name)
    name = scan.source.relation.unused(f"computed {len(scan.computed)}")
    plan = plan.with_scan(replace(scan, computed=(*scan.computed, (name, side))))
    return plan.noting(f"{text_of(side)} is computed before the join"), (alias, name)


def _is_checked(expression: Expression) -> bool:
    """Whether a condition is checked when rows are joined: it cannot raise and calls no user function."""
    return not can_raise(expression) and len(aliases(expression)) > 1 and not user_functions(expression)


def _refuse_unconnected(plan: QueryPlan, equalities: list[ColumnEquality]) -> None:
    reached = {plan.scans[0].alias}
    while True:
        more = {
            end[0] for e in equalities for end in (e.one, e.other) if e.one[0] in reached or e.other[0] in reached
        }  # fmt: skip
        if more <= reached:
            break
        reached |= more
    unconnected = [scan.alias for scan in plan.scans if scan.alias not in reached]
    if unconnected:
        near = plan.scans[0].alias
        raise SourceText(plan.query.text).error(
            plan.scan(unconnected[0]).source.offset,
            f"no equality joins {unconnected[0]} with {near}, so every row would be paired with every other; write "
            f"{near}.x = {unconnected[0]}.y{_why_no_key(plan, reached)}",
        )


def _why_no_key(plan: QueryPlan, reached: set[str]) -> str:
    """Return why an equality that is written does not connect these sources with others; empty if there is none."""
    for condition in plan.conditions:
        both = _both_sides(condition.expression)
        if both is not None and len(reached.intersection(_ends(both))) == 1:
            compares = f"{condition.text} compares {sql_name(both[0].type)}"
            return f", of whole numbers, text or times ({compares}, so it is only checked on joined rows)"
    return ""
