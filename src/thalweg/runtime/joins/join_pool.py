"""What the streams of one join share under `auto` and `mesh`: a budget, and the order of probes of a hub.

The budget is a share of all time of the join, so a stream that has something to learn can spend what the others do not.

A stream that has keys in common with only one other stream, its *hub*, reaches every further window through it. In
`a.x = b.x AND a.y = c.y AND a.z = d.z`, a row of `b` finds rows of `a`, and each of these finds partners in `c` and
`d`, or none, as when it arrived. So the order of the hub's probes is good for `b`, too, and `b` uses it until it has
profiled enough of its rows. It profiles them when the budget is not needed elsewhere. A stream whose rows take several
routes keeps its routes.

Guarantee: only what policies learn is shared, so results do not change.
Cost: a comparison of two orders per batch.
"""

from __future__ import annotations

from collections.abc import Mapping

from thalweg.adapt.auto import Auto
from thalweg.adapt.mesh import MeshPolicy
from thalweg.adapt.policy import Policy
from thalweg.adapt.profiling_budget import PooledBudget
from thalweg.plan.joins.graph import JoinTree

LOAN_NS = 3e5
"""The time each stream may spend on learning at the start, beyond the budget. It is less than for filters, because no
probe costs a hundred times as much as another, and windows that are filling say little about full ones."""
SHOW_NS = 600_000.0
"""The assumed cost of a decision until it is measured. It is high because windows fill the CPU caches."""


class JoinPool:
    """The shared budget and orders of the streams of one join."""

    def __init__(self, trees: Mapping[str, JoinTree], policies: Mapping[str, Policy]) -> None:
        self._trees = trees
        self._autos = {alias: policy for alias, policy in policies.items() if isinstance(policy, Auto | MeshPolicy)}
        hubs = {alias: hub_of(trees[alias]) for alias in self._autos}
        self._hubs = {alias: hub for alias, hub in hubs.items() if hub in self._autos}
        self._pipelines = {alias: trees[alias].pipeline() for alias in self._hubs}
        self._followed = {alias: self._autos[hub].order for alias, hub in self._hubs.items()}
        budget = next((policy.profiling_budget.budget for policy in self._autos.values()), 0.0)
        count = len(self._autos)
        self.credit = PooledBudget(budget, LOAN_NS * count, show_ns=SHOW_NS, sharers=count, of_a_join=True)
        for alias, policy in self._autos.items():
            policy.join(self.credit, follows=alias in self._hubs, leads=alias in self._hubs.values())

    def found(self, alias: str) -> tuple[tuple[int, ...], str] | None:
        """Return the order that the hub of a stream has found since the last call, and the reason why it applies here;
        None if there is none, or if the stream knows enough itself. Called before each batch of a stream."""
        if alias in self._autos:
            self._autos[alias].renew()
        hub = self._hubs.get(alias)
        if hub is None or self._autos[hub].order == self._followed[alias]:
            return None
        self._followed[alias] = order = self._autos[hub].order
        theirs, mine = self._trees[hub].others, self._trees[alias].others
        here = tuple(mine.index(name) for name in (hub, *(theirs[k] for k in order if theirs[k] != alias)))
        if here == self._autos[alias].order or not self._autos[alias].follows:
            return None
        if not self._pipelines[alias].respects(here):  # a plan may have chosen trees with other paths
            return None
        return here, f"rows of {alias} match rows of {hub}, which probe the others in this order"


def hub_of(tree: JoinTree) -> str | None:
    """Return the single stream or table through which the root reaches all others; None if there is none, or if there
    are no others.

    >>> from thalweg.plan.joins.join_plan import JoinPlan
    >>> graph = JoinPlan.of("a.x = b.x AND b.y = c.y", "1 minute", "t", "0 seconds").graph
    >>> hub_of(graph.tree("a")), hub_of(graph.tree("b"))
    ('b', None)
    """
    nearest = [alias for alias, parent in tree.parents.items() if parent == tree.root]
    return nearest[0] if len(nearest) == 1 and len(tree.others) > 1 else None
