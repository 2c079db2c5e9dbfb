"""Which window is probed first, before anything was seen: the one where a row is expected to find the fewest partners.

Expected partners: rows in the window, over the different values of the column that is compared (each row finds the
share of one value, if values are even). Both come from what the user declares; where a number is missing, the written
order stands, and the reason says so. While the stream runs, what is counted replaces all of this.
"""

from __future__ import annotations

from dataclasses import replace

from thalweg.plan.query_plan import QueryPlan, Scan


def choose_order(plan: QueryPlan) -> QueryPlan:
    """Of a join alone."""
    if plan.join is None:
        return plan
    expected = {scan.alias: _partners(plan, scan) for scan in plan.scans}
    estimates = dict(plan.estimates)
    for alias, (count, origin) in expected.items():
        estimates[alias] = origin if count is None else f"{_few_digits(count)} partners a row, {origin}"
    unknown = [alias for alias, (count, _) in expected.items() if count is None]
    if unknown:
        why = f"as written, since nothing is known of {', '.join(unknown)}"
        return replace(plan, join=replace(plan.join, why=why), estimates=estimates)
    order = tuple(sorted(expected, key=lambda alias: expected[alias][0] or 0.0))
    why = "fewest expected partners first, from declared statistics"
    return replace(plan, join=replace(plan.join, order=order, why=why), estimates=estimates)


def _partners(plan: QueryPlan, scan: Scan) -> tuple[float | None, str]:
    """How many, or None, and where that comes from."""
    assert plan.join is not None
    relation, stats = scan.source.relation, scan.source.relation.statistics
    if stats is None:
        return None, "nothing is declared"
    rows = stats.rows
    if relation.is_stream:
        window = scan.source.window
        if stats.rows_per_second is None or window is None or window.length_us is None:
            return None, "no rate is declared"
        rows = stats.rows_per_second * window.length_us / 1e6
    if rows is None:
        return None, "no number of rows is declared"
    keys = [key[1] for e in plan.join.equalities for key in (e.one, e.other) if key[0] == scan.alias]
    distinct = [stats.distinct[key] for key in keys if key in stats.distinct]
    if not distinct:
        return None, f"distinct values of {keys[0] if keys else 'its key'} are not declared"
    return rows / max(distinct), f"declared: {_few_digits(rows)} rows, {_few_digits(max(distinct))} different values"


def _few_digits(number: float) -> str:
    """Three, but all of a whole number."""
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"
