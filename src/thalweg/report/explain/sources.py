"""Sentences about what is known of the sources of a query; every number is given with its origin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from thalweg.formatting import few_digits, listed, percent
from thalweg.plan.estimate import Estimate, weakest
from thalweg.plan.query.plan_estimates import PartnersEstimate, SourceEstimates
from thalweg.plan.query.query_plan import QueryPlan


def source_estimates(plan: QueryPlan, counted: Mapping[str, str]) -> Iterator[str]:
    """Yield a line about every source of which something is known. `counted`: what was counted, by part and stream."""
    for scan in plan.scans:
        alias, is_stream = scan.alias, scan.source.relation.is_stream
        source = plan.estimates.sources.get(alias)
        if source is None:
            continue
        if sentence := source_sentence(source, is_stream=is_stream, is_joined=plan.join is not None):
            counts = ", ".join(counted[name] for name in (f"filter of {alias}", alias) if name in counted)
            outside = outside_the_jvm(any(condition.where == "jvm" for condition in scan.conditions))
            yield f"{alias}: {sentence}{f'; counted{outside}: {counts}' if counts else ''}"


def outside_the_jvm(in_jvm: object) -> str:
    """Return a qualifier for counts and orders: rows that filters in the JVM dropped are not among them."""
    return " outside the JVM" if in_jvm else ""


def source_sentence(source: SourceEstimates, *, is_stream: bool, is_joined: bool) -> str:
    """Return a sentence about a stream or table; empty if there is nothing to say.

    >>> kept = Estimate(1 / 3, "assumed", low=0, high=1)
    >>> source_sentence(SourceEstimates(Estimate(50, "declared"), kept=kept), is_stream=True, is_joined=False)
    'declared: 50 rows per second, of which filters keep 33.3 %, assumed'
    """
    if not source.partners:
        alone = _alone(source)
        return alone or "no other stream probes it" if is_joined else alone
    groups: dict[tuple[str | None, Estimate | None], list[PartnersEstimate]] = {}
    for edge in source.partners:
        groups.setdefault((edge.column, edge.partners), []).append(edge)
    several = len(groups) > 1
    known = [_found(edges, source.rows) for edges in groups.values() if edges[0].partners is not None]
    unknown = [_missing(edges[0], source, is_stream) for edges in groups.values() if edges[0].partners is None]
    joint = "; " if several or unknown else ", of which "
    return "; ".join([*known, *dict.fromkeys(unknown)]) + _filtered(source, joint)


def rate_sentence(source: SourceEstimates) -> str:
    """Return a sentence about the rows of a stream or table, for the node that reads them; empty if nothing is known.

    >>> rate_sentence(SourceEstimates(Estimate(50, "declared"), rows=Estimate(3000, "declared")))
    'estimated: 50 rows per second, declared'
    """
    if source.rows_per_second is not None:
        rate = source.rows_per_second
        return f"estimated: {_per_second(rate)}, {rate.origin}"
    return "" if source.rows is None else f"estimated: {few_digits(source.rows.value)} rows, {source.rows.origin}"


def kept_sentence(source: SourceEstimates) -> str:
    """Return a sentence about the filters of a source, for their node; empty if it has none.

    >>> kept_sentence(SourceEstimates(kept=Estimate(1 / 3, "assumed", low=0, high=1)))
    'estimated: keeps 33.3 %, assumed'
    """
    return "" if source.kept is None else f"estimated: keeps {percent(source.kept.value)}, {source.kept.origin}"


def cost_sentence(costs_us: Sequence[Estimate]) -> str:
    """Return a sentence about the cost of a condition that calls functions whose costs are known.

    >>> cost_sentence([Estimate(2.5, "declared"), Estimate(3, "counted")])
    '5.5 µs per row, declared'
    """
    return f"{sum(cost.value for cost in costs_us):g} µs per row, {weakest(cost.origin for cost in costs_us)}"


def _found(edges: list[PartnersEstimate], rows: Estimate | None) -> str:
    """Return how many partners rows of other sources find. All edges have the same number."""
    edge = edges[0]
    partners, share = edge.partners, edge.share_found
    assert partners is not None
    assert share is not None
    whose = listed([each.of for each in edges])
    text = f"{few_digits(partners.value)} partners per row of {whose}, {percent(share)} of rows find one"
    if edge.values is None or rows is None:
        return f"{text}, {partners.origin}"
    origin = weakest([edge.values.origin, rows.origin])
    values = f"{few_digits(edge.values.value)} distinct values of {edge.column}"
    return f"{text}, {origin}: {values}, {few_digits(rows.value)} rows"


def _missing(edge: PartnersEstimate, source: SourceEstimates, is_stream: bool) -> str:
    if source.rows is None and edge.values is None:
        return "no statistics are declared"
    if source.rows is None:
        return "no rate is declared" if is_stream else "no number of rows is declared"
    return f"distinct values of {edge.column or 'its key'} are not declared"


def _filtered(source: SourceEstimates, joint: str) -> str:
    """Return a phrase about the filters of a source; empty if there are none."""
    if source.kept is None:
        return ""
    return f"{joint}filters keep {percent(source.kept.value)}, {source.kept.origin}"


def _alone(source: SourceEstimates) -> str:
    """Return a sentence about a stream that no other stream probes."""
    rate = source.rows_per_second
    if rate is None:
        return _filtered(source, "")
    return f"{rate.origin}: {_per_second(rate)}{_filtered(source, ', of which ')}"


def _per_second(rate: Estimate) -> str:
    return f"{few_digits(rate.value)} {'row' if rate.value == 1 else 'rows'} per second"
