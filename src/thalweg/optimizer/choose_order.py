"""Which window is probed first, before anything was seen: the one where a row is expected to find the fewest partners.

Expected partners: rows in the window that pass its stream's filters, over the different values of the column that is
compared (each row finds the share of one value, if values are even). Rows and values are what the user declares; where
a number is missing, the written order stands, and the reason says so. The share that filters keep is declared or
assumed (`shares`). While the stream runs, what is counted replaces all of this.
"""

from __future__ import annotations

import math
from dataclasses import replace

from thalweg.optimizer.shares import share_of_all
from thalweg.plan.expression import refs
from thalweg.plan.number_words import few_digits, percent
from thalweg.plan.query_plan import Branch, QueryPlan


def choose_order(plan: QueryPlan) -> QueryPlan:
    """Of a join; what filters keep is estimated of every plan."""
    if plan.join is None:
        told = {scan.alias: _of_one(scan) for scan in plan.scans}
        return replace(plan, estimates={**plan.estimates, **{alias: told[alias] for alias in told if told[alias]}})
    expected = {scan.alias: _partners(plan, scan) for scan in plan.scans}
    estimates = dict(plan.estimates)
    for alias, (count, origin) in expected.items():
        if count is None:
            estimates[alias] = f"{origin}{_filtered(plan.scan(alias), '; ')}"
            continue
        if not count:
            estimates[alias] = _of_one(plan.scan(alias)) or origin
            continue
        found = f"{few_digits(count)} partners a row, {percent(found_by(count))} find one"
        estimates[alias] = f"{found}, {origin}{_filtered(plan.scan(alias), ', of which ')}"
    if plan.policy == "written":
        return _tried_first(plan, plan.join.order, "as written, as the policy asks", estimates)
    unknown = [alias for alias, (count, _) in expected.items() if count is None]
    if unknown:
        why = f"as written, since nothing is known of {', '.join(unknown)}"
        return _tried_first(plan, plan.join.order, why, estimates)
    order = tuple(sorted(expected, key=lambda alias: expected[alias][0] or 0.0))
    why = "fewest expected partners first, from declared statistics"
    return _tried_first(plan, order, why, estimates)


def _tried_first(plan: QueryPlan, order: tuple[str, ...], why: str, estimates: dict[str, str]) -> QueryPlan:
    assert plan.join is not None
    return replace(plan.with_join(replace(plan.join, order=order, why=why)), estimates=estimates)


def _partners(plan: QueryPlan, scan: Branch) -> tuple[float | None, str]:
    """How many, or None, and where that comes from."""
    assert plan.join is not None
    relation, stats = scan.source.relation, scan.source.relation.statistics
    if relation.is_stream and len(plan.query.streams) == 1:
        return 0.0, "no row looks for one of this stream"
    if stats is None:
        return None, "nothing is declared"
    rows = stats.rows
    if relation.is_stream:
        window = scan.source.window
        if window is not None and window.rows is not None:
            rows = window.rows
        elif stats.rows_per_second is None or window is None or window.length_us is None:
            return None, "no rate is declared"
        else:
            rows = stats.rows_per_second * window.length_us / 1e6
    if rows is None:
        return None, "no number of rows is declared"
    keys = [key[1] for e in plan.join.equalities for key in (e.one, e.other) if key[0] == scan.alias]
    columns = [column for key in keys for column in _read_by(scan, key)]
    distinct = {column: stats.distinct[column] for column in columns if column in stats.distinct}
    if not distinct:
        return None, f"distinct values of {columns[0] if columns else 'its key'} are not declared"
    column, values = max(distinct.items(), key=lambda each: each[1])
    told = f"declared: {few_digits(values)} different values of {column}, {few_digits(rows)} rows"
    return rows * _kept(scan) / values, told


def found_by(partners: float) -> float:
    """The share of rows that find a partner, when so many are found on average and fall on rows by chance."""
    return -math.expm1(-partners)


def _read_by(scan: Branch, key: str) -> tuple[str, ...]:
    """Columns of the source; a key that is computed of one column has at most its different values."""
    for name, expression in scan.computed:
        if name == key:
            return tuple(ref.column for ref in refs(expression)) if len(refs(expression)) == 1 else ()
    return (key,)


def _kept(scan: Branch) -> float:
    return share_of_all((c.expression for c in scan.conditions), scan.source.relation.statistics).value


def _filtered(scan: Branch, joint: str) -> str:
    """What is said of filters, if there are any."""
    if not scan.conditions:
        return ""
    share = share_of_all((c.expression for c in scan.conditions), scan.source.relation.statistics)
    return f"{joint}filters keep {share}"


def _of_one(scan: Branch) -> str:
    """Of the only source."""
    stats = scan.source.relation.statistics
    if stats is None or stats.rows_per_second is None:
        return _filtered(scan, "")
    return f"declared: {few_digits(stats.rows_per_second)} rows a second{_filtered(scan, ', of which ')}"
