"""The expected cost of any order, from profiled rows, measured costs and ordinary work, and the cheapest order.

Answers: the expected time per row of an order and what moving one filter would gain (`walk`), and an order with the
least expected cost (`cheapest`).
How: a profiled row is one that some filter dropped; `passes[t, k]` is 1 if filter k lets row t pass, 0 if it drops it,
and the probability that it passes if filter k was not evaluated on the row. Rows that pass every filter cost the same
in every order; `kept` is their share. At each position the share that a filter drops is that of the profiled rows that
get there, shrunk toward the share it drops of all of them (independence) as if `PRIOR` more rows had got there. If few
rows get there, unknown correlation is thus assumed to be absent. A call costs its fixed part if a row gets there: in
slices of L independent rows with the share r alive, 1 - exp(-rL) of the slices make one.
Guarantee: `cheapest` is never worse than the order it is given, nor, if it is thorough, than Static Greedy's
(a-greedy, section 4: at most 4 times the best for the same statistics, without prior, fixed costs and guards). It is
Static Greedy's order, improved by moving single filters forward, always the one that gains most. If that is not
cheaper, it is the order it is given, improved in the same way.
Cost: O(rows n^2) for a walk and for Static Greedy; up to n more walks if filters are moved.

>>> bits = np.array([[0, 1], [0, 1], [1, 1], [1, 1]], bool)  # filter 1 drops all four rows, filter 0 two of them
>>> two = CostModel(~bits * 1.0, np.ones(4), 0.0, np.array([10.0, 10.0]), np.zeros(2), 1024, Pipeline(("a", "b")))
>>> two.cheapest(two.walk((0, 1))).order
(1, 0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.plan.filters.pipeline import Pipeline, eligible_from

Numbers = NDArray[np.float64]
LEAST_GAIN = 0.002
"""Moves that save less than this share of the cost are ignored."""
PRIOR = 2.0
"""The weight of independence at every position, in profiled rows."""


@dataclass(frozen=True, slots=True, eq=False)
class OrderCosts:
    """The costs of an order, position by position, and what moving one of its filters forward would gain."""

    order: tuple[int, ...]
    reach: Numbers
    """The share of all rows that reaches each position."""
    ns: Numbers
    """The cost of the filter at each position, per row of the input."""
    gains: Numbers
    """`gains[i, j]`: how much less a row would cost if the filter at position j were at position i; negative infinity
    if it cannot be there."""
    saved: Numbers
    """The part of `gains` by which the other filters would cost less."""

    @property
    def total_ns(self) -> float:
        """The expected cost of a row."""
        return float(self.ns.sum())

    def rest_ns(self) -> Numbers:
        """Return for each position what a row that reaches it costs from there on."""
        rest: Numbers = self.ns[::-1].cumsum()[::-1] / np.maximum(self.reach, 1e-9)
        return rest

    def moved(self, to: int, of: int) -> tuple[int, ...]:
        """Return the order with the filter at position `of` moved to position `to`."""
        return (*self.order[:to], self.order[of], *self.order[to:of], *self.order[of + 1 :])


class _After(NamedTuple):
    """The rows that remain after some filters, and what these filters cost."""

    alive: Numbers
    share: float
    ns: float


class CostModel:
    """Computes the costs of orders from a table of profiled rows and the costs of filters."""

    def __init__(
        self, passes: Numbers, weights: Numbers, kept: float, costs: Numbers, fixed: Numbers, slice_rows: float,
        pipeline: Pipeline, runs: float = 1.0,
    ) -> None:  # fmt: skip
        """`runs`: the share of a slice's rows that count as independent; below 1 if similar rows arrive together."""
        self.passes = passes
        self.weights = weights
        self.kept = kept
        self.costs = costs
        self.fixed = fixed
        self.slice_rows = slice_rows
        self.units = max(slice_rows * runs, 4.0)
        self.pipeline = pipeline
        total = float(weights.sum())
        self._of_all = PRIOR * (weights @ passes) / total if total else np.full(len(costs), PRIOR)
        n = len(costs)
        self._after_position = np.triu(np.ones((n, n), dtype=bool), 1)

    def walk(self, order: Sequence[int]) -> OrderCosts:
        """Return what the order costs at each position, and what moving one of its filters forward would gain."""
        places = list(order)
        passes = self.passes[:, places]
        alive = np.empty_like(passes)
        alive[:, 0] = self.weights
        np.multiply(self.weights[:, None], np.cumprod(passes[:, :-1], axis=1), out=alive[:, 1:])
        here = alive.sum(axis=0) + PRIOR
        # the share of the rows at each position (row) that each filter (column) would let pass there
        past = (alive.T @ passes + self._of_all[places]) / here[:, None]
        share = np.ones(len(places))
        np.cumprod(past.diagonal()[:-1], out=share[1:])
        reach = self.reach(share)
        costs, fixed = self.costs[places], self.fixed[places]
        ns = self._price(costs, fixed, reach)
        less = ns[:, None] - self._price(costs[:, None], fixed[:, None], self.reach(share[:, None] * past))
        saved = np.where(self._after_position, less, 0.0)[::-1].cumsum(axis=0)[::-1]
        gains = saved + ns - self._price(costs, fixed, reach[:, None])
        gains[~self._after_position] = -np.inf
        if any(self.pipeline.guards):
            first = eligible_from(order, self.pipeline.guards)
            gains[np.arange(len(places))[:, None] < first] = -np.inf
        return OrderCosts(tuple(order), reach, ns, gains, saved)

    @property
    def drops(self) -> Numbers:
        """The share of the profiled rows that each filter drops."""
        drops: Numbers = 1.0 - self._of_all / PRIOR
        return drops

    def drops_after(self, filters: Sequence[int]) -> Numbers:
        """Return the share that each filter drops of the profiled rows that these filters let pass."""
        alive = self.weights * self.passes[:, list(filters)].prod(axis=1)
        drops: Numbers = 1.0 - (alive @ self.passes + self._of_all) / (float(alive.sum()) + PRIOR)
        return drops

    def reach(self, share: Numbers) -> Numbers:
        """Return the shares of all rows that are alive if these shares of the dropped rows are."""
        return self.kept + (1.0 - self.kept) * share

    def price(self, k: int, reach: float, cost: float) -> float:
        """Return what filter k costs per row of the input, if this share of the rows reaches it, at this cost per
        row."""
        return float(self._price(np.array(cost), self.fixed[k], np.array(reach)))

    def _price(self, costs: Numbers, fixed: Numbers, reach: Numbers) -> Numbers:
        price: Numbers = costs * reach + fixed * self.calls(reach)
        return price

    def calls(self, reach: Numbers) -> Numbers:
        """Return the calls per row of the input for filters that these shares of the rows reach."""
        calls: Numbers = np.expm1(reach * -self.units) / -self.slice_rows
        return calls

    def cheapest(self, walk: OrderCosts, *, thorough: bool = True) -> OrderCosts:
        """Return the cheapest order that the search finds, or the one given if none is cheaper.

        If not `thorough`, search only if moving a single filter forward gains something. This takes a fraction of the
        time.
        """
        if not thorough and float(walk.gains.max()) <= LEAST_GAIN * walk.total_ns:
            return walk
        greedy = self._improved(self.walk(self._greedy(walk.order)))
        found = greedy if greedy.total_ns < walk.total_ns else self._improved(walk)
        return found if found.total_ns < walk.total_ns else walk

    def most_gain(self, walk: OrderCosts) -> float:
        """Return an upper bound for the share of an order's cost that another order can save: rows that pass cost the
        same in every order, and others cost at least as much as the cheapest filter."""
        each = self._price(self.costs, self.fixed, np.ones(len(self.costs)))
        least = self.kept * float(each.sum()) + (1.0 - self.kept) * float(each.min())
        return 1.0 - least / max(walk.total_ns, 1e-9)

    def _improved(self, walk: OrderCosts) -> OrderCosts:
        """Move the filter whose move gains most, as long as a move gains something."""
        for _ in range(len(walk.order)):
            to, of = divmod(int(walk.gains.argmax()), len(walk.order))
            if walk.gains[to, of] <= LEAST_GAIN * walk.total_ns:
                break
            other = self.walk(walk.moved(to, of))
            if other.total_ns >= walk.total_ns:
                break
            walk = other
        return walk

    def _greedy(self, order: Sequence[int]) -> tuple[int, ...]:
        """Take at each position the filter that drops most per unit of time, together with its guards that have not
        been placed yet."""
        alive, share = self.weights, 1.0
        placed: list[int] = []
        left = np.zeros(len(order), dtype=bool)
        left[list(order)] = True
        guarded = [k for k in order if self.pipeline.guards[k]]
        while len(placed) < len(order):
            here = float(alive.sum()) + PRIOR
            drops = 1.0 - (alive @ self.passes + self._of_all) / here
            reach = self.kept + (1.0 - self.kept) * share
            rate = share * drops / np.maximum(self._price(self.costs, self.fixed, np.array(reach)), 1e-9)
            chains = {}
            after: dict[tuple[int, ...], _After] = {(): _After(alive, share, 0.0)}
            for k in guarded:
                missing = self.pipeline.missing(k, placed) if left[k] else []
                if missing:
                    chains[k] = (*missing, k)
                    done = self._after(chains[k], after)
                    # a guard that drops nothing is worth what the filters it guards drop
                    rate[k] = (share - done.share) / max(done.ns, 1e-9)
            best = int(np.where(left, rate, -np.inf).argmax())
            for k in chains.get(best, [best]):
                here = float(alive.sum()) + PRIOR
                alive = alive * self.passes[:, k]
                share *= (float(alive.sum()) + float(self._of_all[k])) / here
                placed.append(k)
                left[k] = False
        return tuple(placed)

    def _after(self, chain: tuple[int, ...], known: dict[tuple[int, ...], _After]) -> _After:
        """Return what remains after a chain of filters. `known`: results for beginnings of chains."""
        length = next(i for i in range(len(chain), -1, -1) if chain[:i] in known)
        found = known[chain[:length]]
        for i in range(length, len(chain)):
            k = chain[i]
            ns = found.ns + self.price(k, self.kept + (1.0 - self.kept) * found.share, float(self.costs[k]))
            here = float(found.alive.sum()) + PRIOR
            alive = found.alive * self.passes[:, k]
            found = _After(alive, found.share * (float(alive.sum()) + float(self._of_all[k])) / here, ns)
            known[chain[: i + 1]] = found
        return found
