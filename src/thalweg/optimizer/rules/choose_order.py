"""Choose which window is probed first, before any row is seen: the window in which the fewest rows are expected to find
a partner.

The number of partners that a row finds depends on the source it comes from (`estimate_sources`), but new rows of all
streams have the same first order. So the value of a source is the mean over the streams whose rows look for partners in
it, directly or through other sources. The mean is weighted by rows per second if all rates are known. If nothing is
known about a source, the written order is kept, and the reason says so. While the stream runs, measured values replace
these estimates.

The probe trees are chosen together with the order: for new rows of each stream, the source from whose rows each other
source is probed. A probe tree does not change while a query runs; only the order of the probes along it adapts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from thalweg.optimizer.rules.estimate_sources import Lookers, estimate_pairs, estimate_sources, lookers
from thalweg.plan.estimate import ORIGINS
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.join_plan import join_graph
from thalweg.plan.query.nodes import Join, WindowJoin, sources_of
from thalweg.plan.query.plan_estimates import SourceEstimates
from thalweg.plan.query.query_plan import QueryPlan
from thalweg.stats import NOTHING_KNOWN, Knowledge


def choose_order(plan: QueryPlan, known: Knowledge = NOTHING_KNOWN) -> QueryPlan:
    """Choose the first order of a join. Sources and pairs of them are estimated for every plan."""
    sources = estimate_sources(plan, known)
    shares = estimate_pairs(plan, sources, known)
    plan = replace(plan, estimates=replace(plan.estimates, sources=sources, shares=shares))
    join = plan.join
    if join is None:
        return plan
    unknown = [alias for alias, each in sources.items() if _is_unknown(each)]
    order = join.order
    if plan.policy == "static":
        why = "as written, as the policy requires"
    elif unknown:
        why = f"as written, because nothing is known about {', '.join(unknown)}"
    else:
        looking = lookers(plan, JoinGraph.of([(*e.one, *e.other) for e in join.equalities]))
        order = tuple(sorted(sources, key=lambda alias: _expected_partners(alias, sources, looking)))
        why = f"fewest expected partners first, from {_origins(sources)} statistics"
    return plan.with_join(with_order(join, order, why))


def with_order(join: Join, order: tuple[str, ...], why: str) -> Join:
    """Return the join with this first order and the matching probe trees: a source is probed with rows of the nearest
    source that shares a column with it."""
    if not isinstance(join, WindowJoin):
        return replace(join, order=order, why=why)
    join = replace(join, order=order, why=why, probe_trees=())
    graph = join_graph(join)
    trees = {source.alias: graph.tree(source.alias) for source in sources_of(join) if source.relation.is_stream}
    return replace(join, probe_trees=tuple((root, tuple(tree.parents.items())) for root, tree in trees.items()))


def _origins(sources: Mapping[str, SourceEstimates]) -> str:
    """Return where the numbers of partners come from. Assumed shares of filters are not statistics."""
    edges = [edge.partners for source in sources.values() for edge in source.partners]
    found = {partners.origin for partners in edges if partners is not None and partners.origin != "assumed"}
    return " and ".join(origin for origin in reversed(ORIGINS) if origin in found) or "declared"


def _is_unknown(source: SourceEstimates) -> bool:
    """Whether rows look for partners in a source, but none of the numbers of partners is known."""
    return bool(source.partners) and all(edge.partners is None for edge in source.partners)


def _expected_partners(alias: str, sources: Mapping[str, SourceEstimates], looking: Lookers) -> tuple[float, float]:
    """Return the share of rows that find a partner in a source, and the number of partners, which decides if almost all
    rows find one."""
    edges = {edge.of: edge for edge in sources[alias].partners}
    shares, partners, weights = [], [], []
    for stream, other in looking[alias].items():
        edge = edges[other]
        if edge.partners is not None and edge.share_found is not None:
            shares.append(edge.share_found)
            partners.append(edge.partners.value)
            weights.append(arriving(sources[stream]))
    return _mean(shares, weights), _mean(partners, weights)


def arriving(stream: SourceEstimates) -> float | None:
    """Return the number of new rows per second that look for partners."""
    if stream.rows_per_second is None:
        return None
    return stream.rows_per_second.value * (1.0 if stream.kept is None else stream.kept.value)


def _mean(numbers: Sequence[float], weights: Sequence[float | None]) -> float:
    """Return the mean, weighted if all weights are known and their sum is above zero. The mean of equal numbers is
    exactly that number, so that sources with equal estimates stay in the written order."""
    if not numbers or min(numbers) == max(numbers):
        return numbers[0] if numbers else 0.0
    known = [weight for weight in weights if weight is not None]
    if len(known) < len(numbers) or not sum(known):
        known = [1.0] * len(numbers)
    return sum(number * weight for number, weight in zip(numbers, known, strict=True)) / sum(known)
