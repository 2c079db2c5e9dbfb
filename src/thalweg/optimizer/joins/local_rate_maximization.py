"""Local rate maximization: the tree of joins whose estimated output rate until a time is highest.

Answers: in which tree to join streams in order to have as many results as possible by a time t.
How: every join is assumed to have a constant rate, that of equation 2 at t/2 with the rates of its inputs (figures 3
and 4). From the leaves up, the best tree of each set of streams is kept, as in other optimizers with dynamic
programming.
Guarantee: of all trees without avoidable products, the one with the highest estimate. The estimate of a join grows with
the rates of its inputs, so the best tree consists of best parts; this needs costs that depend on the streams of both
inputs only, and not on the trees below them. The estimate itself is poor: streams that keep up have equal estimates in
all trees, of 1/2^(n-1) of the results (`cost/rate.py`). So of the trees whose estimate is equal to the best (`ties`),
the one with the least CPU time is returned, if that is known, and then the one whose sorted text comes first; trees
are considered whose parts are the best ones, or equal to these and cheapest.
Plans are chosen with the model in `cost/work_queue.py`; this heuristic is kept to compare with the paper.
Cost: one estimate per pair of connected sets of streams: O(n^3) for a chain, O(3^n) if all streams are connected; up to
four if the best tree of a set is not the cheapest of those that are equal to it.
Differs from the paper: the paper does not say which trees are compared; here they are all binary trees, also bushy
ones, with products only between streams that no condition connects. Windows and numbers of rows have no influence on
the estimate, as in the paper.

>>> streams = {"a": Arriving(50.0), "b": Arriving(500.0), "c": Arriving(100.0)}
>>> first, last = (("a", "b"), "c"), (("a", "c"), "b")
>>> hash_join, expensive = Costs(move="3.75 ms"), Costs(move="3.75 ms", handling="5 ms")  # a and c, as in table 5
>>> costs = {first[0]: hash_join, first: expensive, last[0]: expensive, last: hash_join}
>>> joins = JoinCosts(first, {("a", "b"): 0.002, ("a", "c"): 0.005}, costs)
>>> to_text(local_rate_maximization(streams, joins, 2.0)), to_text(local_rate_maximization(streams, joins, 20.0))
('((a b) c)', '((a c) b)')

Reference: Viglas, Naughton: Rate-Based Query Optimization for Streaming Information Sources. SIGMOD 2002, section
4.2.1, figures 3 and 4.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from thalweg.cost.operator_costs import Costs
from thalweg.cost.rate import Arriving, JoinCosts, halved_rate, join_rate
from thalweg.cost.ties import ROUNDING, TIES
from thalweg.errors import PlanError
from thalweg.optimizer.joins.binary_trees import BinaryTrees, costs_of
from thalweg.optimizer.joins.search_plans import NodeCost
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.shape import Shape, sorted_text, to_text

__all__ = ["Arriving", "Costs", "JoinCosts", "local_rate_maximization", "to_text"]


class _Found(NamedTuple):
    """A tree of a set of streams."""

    rate: float
    cpu: float
    tree: Shape


def local_rate_maximization(
    streams: Mapping[str, Arriving], joins: JoinCosts, t: float, graph: JoinGraph | None = None,
    cpu: NodeCost | None = None,
) -> Shape:  # fmt: skip
    """Return the tree with the highest estimated rate until a time.

    Parameters
    ----------
    streams
        The rates and selections of the streams, by alias.
    joins
        What joins select and cost. Its tree does not matter. If it has costs or methods by part of a tree, they must
        list every part that can be considered, with the stream that comes first in `streams` on the left.
    t
        The time until which results count, in time units.
    graph
        The join graph; None to connect the pairs of streams that have a selectivity.
    cpu
        The CPU time of a join of these inputs, which decides between trees with equal estimates; None: unknown.

    Returns
    -------
    Shape

    Raises
    ------
    PlanError
        If `t` is not above 0 and finite, or the arguments have different streams.

    Examples
    --------
    >>> from thalweg.cost.rate import Arriving, JoinCosts
    >>> streams = {"a": Arriving(9.0), "b": Arriving(9.0), "c": Arriving(1.0)}
    >>> joins = JoinCosts(("a", "b", "c"), {("a", "b"): 0.5, ("b", "c"): 0.1}, Costs(move=0.2))
    >>> local_rate_maximization(streams, joins, 5.0)
    ('a', ('b', 'c'))
    """
    if not 0.0 < t < math.inf:
        raise PlanError(f"t={t!r}: the time until which results count must be above 0 and finite")
    trees = BinaryTrees.of_join(streams, joins, graph)
    best: dict[int, list[_Found]] = {}
    share = {part: joins.selectivity(trees.names(part)) for part in trees.parts()}
    names = {part: frozenset(trees.names(part)) for part in share}
    for part, pairs in trees.splits():
        found: list[_Found] = []
        if not pairs:
            (alias,) = trees.names(part)
            found.append(_Found(halved_rate(joins, alias, streams, t), 0.0, alias))
        for left, right in pairs:
            within = share[left] * share[right]
            between = share[part] / within if within else 0.0
            own = 0.0 if cpu is None else cpu((names[left], names[right]))
            for one in best[left]:
                for other in best[right]:
                    tree = one.tree, other.tree
                    rate = join_rate(one.rate, other.rate, between, costs_of(joins, tree), t / 2.0)
                    found.append(_Found(rate, own + one.cpu + other.cpu, tree))
        best[part] = _best(found, ROUNDING if cpu is None else TIES)
    return best[trees.all][-1].tree


def _best(found: list[_Found], share: float) -> list[_Found]:
    """Return the tree with the highest rate and, last, the cheapest of those that differ from it by at most a share;
    one if these are the same."""
    highest = max(each.rate for each in found)
    fast = _cheapest([each for each in found if each.rate * (1.0 + ROUNDING) >= highest])
    cheap = _cheapest([each for each in found if each.rate * (1.0 + share) >= highest])
    return [fast] if cheap is fast else [fast, cheap]


def _cheapest(found: list[_Found]) -> _Found:
    limit = min(each.cpu for each in found) * (1.0 + ROUNDING)
    equal = [each for each in found if each.cpu <= limit]
    return equal[0] if len(equal) == 1 else min(equal, key=lambda each: sorted_text(each.tree))
