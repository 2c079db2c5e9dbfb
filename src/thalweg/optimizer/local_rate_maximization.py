"""Local rate maximization: the tree of joins whose estimated output rate until a time is highest.

Answers: in which tree to join streams in order to have as many results as possible by a time t.
How: every join is assumed to have a constant rate, that of equation 2 at t/2 with the rates of its inputs (figures 3
and 4). From the leaves up, the best tree of each set of streams is kept, as in other optimizers with dynamic
programming.
Guarantee: of all trees without avoidable products, the one with the highest estimate. The estimate of a join grows with
the rates of its inputs, so the best tree consists of best parts; this needs costs that depend on the streams of both
inputs only, and not on the trees below them. Of trees with the same estimate, the first is returned. The estimate
itself is poor: streams that keep up have equal estimates in all trees, of 1/2^(n-1) of the results (`cost/rate.py`).
`cost/fluid.py` is the model that chooses plans; this heuristic is kept to compare with the paper.
Cost: one estimate per pair of connected sets of streams: O(n^3) for a chain, O(3^n) if all streams are connected.
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

from thalweg.cost.operator_costs import Costs
from thalweg.cost.rate import Arriving, JoinCosts, halved_rate, join_rate
from thalweg.errors import PlanError
from thalweg.optimizer.binary_trees import BinaryTrees, costs_of
from thalweg.plan.join_graph import JoinGraph
from thalweg.plan.join_shape import Shape, to_text

__all__ = ["Arriving", "Costs", "JoinCosts", "local_rate_maximization", "to_text"]

EQUAL = 1e-9
"""Estimates that differ by at most this share are equal: their order would be that of rounding errors."""


def local_rate_maximization(
    streams: Mapping[str, Arriving], joins: JoinCosts, t: float, graph: JoinGraph | None = None
) -> Shape:
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
    best: dict[int, tuple[float, Shape]] = {}
    share = {part: joins.selectivity(trees.names(part)) for part in trees.parts()}
    for part, pairs in trees.splits():
        if not pairs:
            (alias,) = trees.names(part)
            best[part] = halved_rate(joins, alias, streams, t), alias
        for left, right in pairs:
            tree = best[left][1], best[right][1]
            within = share[left] * share[right]
            between = share[part] / within if within else 0.0
            rate = join_rate(best[left][0], best[right][0], between, costs_of(joins, tree), t / 2.0)
            if part not in best or rate > best[part][0] * (1.0 + EQUAL):
                best[part] = rate, tree
    return best[trees.all][1]
