"""What a query mesh costs, from the outcomes of training tuples: equation 2 of query-mesh, in ns per row of the stream.

Answers: the best route for a set of training tuples (`best_route`), what a route costs for the rows of such a set
(`route_ns`), and what a mesh costs (`mesh_ns`).
How: P(F) is the share of the stream's rows that belong to a set of training tuples and pass all filters in F. A filter
that comes after those in F costs

    cost * P(F) + fixed * (1 - exp(-P(F) * N)) / N

per row of the stream: a batch of N rows makes a call if one of its rows gets there. A route on fewer rows makes nearly
as many calls as a route on all rows. This is the overhead of many routes (OVH), besides a fixed time per route and
batch. Rows that pass or fail by chance count as if `PRIOR` more rows had been sampled in which filters are independent.
Guarantee: with up to `LARGEST_TABLE` filters, the best route has the least cost for these outcomes among all orders
that respect the guards. With more filters, it is that of `CostModel.cheapest`.
Cost: P is additive over training tuples, so it is computed once per tuple. A best route then takes O(n 2^n) array
operations. Many sets are computed together (`prepare`). Results are kept.
Differs from the paper: OVH is not a constant per route.

>>> axis = Axis("source", "text", groups=((b"web",), (b"app",)))
>>> passes = np.array([[0.0, 1.0], [1.0, 0.0]])  # filter 0 drops rows of web, filter 1 those of app
>>> training = TrainingSet(
...     (axis,), np.array([[0], [1]]), np.array([500.0, 500.0]), np.array([0, 1]), np.repeat(passes, 500, axis=0),
...     np.ones(1000), np.repeat([0, 1], 500),
... )
>>> costs = MeshCosts(training, Pipeline(("a", "b")), np.array([100.0, 100.0]), np.zeros(2), batch_rows=1024)
>>> costs.best_route(0b01), costs.best_route(0b10)
((0, 1), (1, 0))
>>> round(costs.mesh_ns([0b11], tests=0.0)), round(costs.mesh_ns([0b01, 0b10], tests=1.0))
(150, 135)

Reference: Nehme, Works, Lei, Rundensteiner, Bertino: Multi-route query processing and optimization. Journal of Computer
and System Sciences 79 (2013), section 4.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from thalweg.cost.filter_order import PRIOR, CostModel
from thalweg.plan.filters.pipeline import Pipeline
from thalweg.stats.training_set import Axis, TrainingSet, effective_rows, sums_by

__all__ = ["Axis", "MeshCosts", "TrainingSet", "saving", "saving_over"]

Numbers = NDArray[np.float64]
Routing = tuple[NDArray[np.integer], Sequence[Sequence[int]]]
"""The number of the route of each row, and the routes."""
LARGEST_TABLE = 10
"""The most filters for which best routes are searched exhaustively, in a table of 2^n sets of filters."""
AT_ONCE = 64
"""Sets of training tuples whose best routes are computed together: a few megabytes."""
TEST_NS = 15.0
"""The default for the cost of a test of the classifier per row."""
RUSTER_NS = 10_000.0
"""The default for the fixed cost of a route per batch."""


def saving(
    passes: Numbers, weights: Numbers, of_row: NDArray[np.integer], routes: Sequence[Sequence[int]],
    order: Sequence[int], cost_ns: Numbers,
) -> tuple[float, float]:  # fmt: skip
    """Return what rows cost less on their routes than in one order, and the standard error of this difference.

    On rows that a mesh was not trained with, this shows whether it gains anything.

    Parameters
    ----------
    passes
        Rows by filters: the outcomes, or the probability that a row passes.
    weights
        How many rows of the stream each row stands for.
    of_row
        The number of the route of each row.
    routes
        The orders of filters by number of route.
    order
        The order that all rows would take otherwise.
    cost_ns
        The cost of each filter per row.

    Returns
    -------
    tuple of float
        The saving in ns per row, without fixed costs of calls, tests and overhead, and its standard error.

    Examples
    --------
    >>> passes = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    >>> saving(passes, np.ones(4), np.array([0, 0, 1, 1]), [(0, 1), (1, 0)], (0, 1), np.array([10.0, 10.0]))
    (5.0, 2.5)
    """
    return saving_over(passes, weights, (of_row, routes), (np.zeros_like(of_row), [order]), cost_ns)


def saving_over(
    passes: Numbers, weights: Numbers, mesh: Routing, other: Routing, cost_ns: Numbers
) -> tuple[float, float]:  # fmt: skip
    """Return what rows cost less on the routes of one mesh than on those of another, and the standard error of this
    difference. Each mesh is given by the number of the route of each row, and the orders of filters. See `saving`."""
    total = float(weights.sum())
    if not total:
        return 0.0, 0.0
    saved = _routed_ns(passes, other, cost_ns) - _routed_ns(passes, mesh, cost_ns)
    mean = float(weights @ saved) / total
    return mean, float(np.sqrt((weights * weights) @ (saved - mean) ** 2)) / total


def _routed_ns(passes: Numbers, routing: Routing, cost_ns: Numbers) -> Numbers:
    """Return what each row costs on its route, without fixed costs."""
    of_row, routes = routing
    found = np.zeros(len(passes))
    for number, route in enumerate(routes):
        here = of_row == number
        found[here] = _each_row_ns(passes[here], route, cost_ns)
    return found


def _each_row_ns(passes: Numbers, order: Sequence[int], cost_ns: Numbers) -> Numbers:
    """Return what each row costs in an order, without fixed costs."""
    reach = np.ones_like(passes)
    np.cumprod(passes[:, list(order)][:, :-1], axis=1, out=reach[:, 1:])
    return np.asarray(reach @ cost_ns[list(order)])


class MeshCosts:
    """Computes costs of routes and meshes for one training set. Sets of training tuples are bit masks."""

    def __init__(
        self, training: TrainingSet, pipeline: Pipeline, cost_ns: Numbers, fixed_ns: Numbers, batch_rows: float,
        test_ns: float = TEST_NS, ruster_ns: float = RUSTER_NS,
    ) -> None:  # fmt: skip
        """Take what filters cost.

        Parameters
        ----------
        training
            The training tuples with the outcomes of their rows.
        pipeline
            The filters with their guards.
        cost_ns
            The cost of each filter per row.
        fixed_ns
            The fixed cost of a call of each filter.
        batch_rows
            The rows that are classified together.
        test_ns
            The cost of a test of the classifier, per row.
        ruster_ns
            The fixed cost of a route per batch, if there are several.
        """
        self.training = training
        self.pipeline = pipeline
        self.cost_ns = np.asarray(cost_ns, np.float64)
        self.fixed_ns = np.asarray(fixed_ns, np.float64)
        self.batch_rows = batch_rows
        self.test_ns = test_ns
        self.ruster_ns = ruster_ns
        self.everything = (1 << len(training)) - 1
        self._total = float(training.weights.sum()) or 1.0
        rows = training.effective_rows
        self._prior = PRIOR / rows if rows else 1.0
        self._routes: dict[int, tuple[int, ...]] = {}
        self._least_ns: dict[int, float] = {}
        self._tables: dict[int, Numbers] = {}
        self._rows_ns: dict[tuple[int, ...], Numbers] = {}

    def best_route(self, tuples: int) -> tuple[int, ...]:
        """Return the cheapest order of the filters for the rows of a set of training tuples."""
        if tuples not in self._routes:
            if len(self.pipeline) > LARGEST_TABLE:
                self._cheapest(tuples)
            else:
                self._routes[tuples] = self._order(tuples)
        return self._routes[tuples]

    def best_ns(self, tuples: int) -> float:
        """Return what the rows of a set of training tuples cost on their best route, per row of the stream."""
        if tuples not in self._least_ns:
            if len(self.pipeline) > LARGEST_TABLE:
                self._cheapest(tuples)
            else:
                self._search([tuples])
        return self._least_ns[tuples]

    def _cheapest(self, tuples: int) -> None:
        model = self._model(tuples)
        walk = model.cheapest(model.walk(self.pipeline.start))
        self._routes[tuples], self._least_ns[tuples] = walk.order, walk.total_ns * self._share(tuples)

    def route_ns(self, route: Sequence[int], tuples: int) -> float:
        """Return what the rows of a set of training tuples cost on any route, per row of the stream."""
        if len(self.pipeline) > LARGEST_TABLE:
            return self._model(tuples).walk(route).total_ns * self._share(tuples)
        table = self._table(tuples)
        before, total = 0, 0.0
        for k in route:
            total += float(self._price(k, table[before]))
            before |= 1 << k
        return total

    def overhead_ns(self, routes: int) -> float:
        """Return what several routes cost besides calls of filters, per row of the stream."""
        return routes * self.ruster_ns / self.batch_rows if routes > 1 else 0.0

    def mesh_ns(self, sent: Sequence[int], tests: float, routes: Sequence[Sequence[int]] | None = None) -> float:
        """Return what a mesh costs per row of the stream (equation 2).

        Parameters
        ----------
        sent
            The training tuples that the classifier sends along each route.
        tests
            The tests of the classifier that a row passes through in the mean.
        routes
            The orders of filters. The default is the best route of each of these sets.

        Returns
        -------
        float
            The cost in ns.
        """
        if routes is None:
            work = sum(self.best_ns(tuples) for tuples in sent)
        else:
            work = sum(self.route_ns(route, tuples) for route, tuples in zip(routes, sent, strict=True) if tuples)
        return work + self.test_ns * tests + self.overhead_ns(len(sent))

    def error_ns(self, one: Sequence[int], other: Sequence[int], tuples: int) -> float:
        """Return the standard error of the difference between two routes for the rows of a set of training tuples, per
        row of the stream. Fixed costs of calls are left out: they hardly depend on single rows."""
        _, counts, squares = self._patterns
        chosen = self._members(tuples)
        weights, squared = counts[chosen].sum(axis=0), squares[chosen].sum(axis=0)
        total = float(weights.sum())
        if not total:
            return 0.0
        differences = self._row_ns(one) - self._row_ns(other)
        off = differences - float(weights @ differences) / total
        # with few rows, what was not sampled is as uncertain as one row of the most expensive filter
        unseen = float(self.cost_ns.max(initial=0.0)) ** 2 * float(squared.sum()) / max(effective_rows(weights), 1.0)
        return float(np.sqrt(squared @ (off * off) + unseen)) / self._total

    def prepare(self, sets: Iterable[int]) -> None:
        """Compute the best routes of many sets of training tuples together."""
        if len(self.pipeline) > LARGEST_TABLE:
            return
        missing = [tuples for tuples in dict.fromkeys(sets) if tuples not in self._least_ns]
        for first in range(0, len(missing), AT_ONCE):
            self._search(missing[first : first + AT_ONCE])

    def _members(self, tuples: int) -> list[int]:
        return [t for t in range(len(self.training)) if tuples >> t & 1]

    def _share(self, tuples: int) -> float:
        return float(self.training.density[self._members(tuples)].sum()) / self._total

    def _model(self, tuples: int) -> CostModel:
        """Return the cost model of a set's rows."""
        patterns, counts, squares = self._patterns
        chosen = self._members(tuples)
        weights = counts[chosen].sum(axis=0)
        here = weights > 0.0
        rows = float(weights.sum()) ** 2 / max(float(squares[chosen].sum()), 1e-300)
        scale = rows / max(float(weights.sum()), 1e-300)
        slice_rows = max(self._share(tuples) * self.batch_rows, 1.0)
        return CostModel(
            patterns[here], weights[here] * scale, 0.0, self.cost_ns, self.fixed_ns, slice_rows, self.pipeline
        )

    def _price(self, k: int | NDArray[np.int64], reach: Numbers) -> Numbers:
        price: Numbers = self.cost_ns[k] * reach
        if self.fixed_ns.any():
            price = price - self.fixed_ns[k] * np.expm1(reach * -self.batch_rows) / self.batch_rows
        return price

    def _row_ns(self, route: Sequence[int]) -> Numbers:
        """Return what a row of each pattern costs on a route, without fixed costs."""
        known = self._rows_ns.get(tuple(route))
        if known is None:
            known = self._rows_ns[tuple(route)] = _each_row_ns(self._patterns[0], route, self.cost_ns)
        return known

    @cached_property
    def _patterns(self) -> tuple[Numbers, Numbers, Numbers]:
        """The distinct outcomes of rows, and by training tuple the weights of the rows that have them, and the squares
        of these weights."""
        training = self.training
        passes, n = training.passes, training.passes.shape[1]
        if n <= 62 and bool(((passes == 0.0) | (passes == 1.0)).all()):
            codes = passes.astype(np.int64) @ (1 << np.arange(n, dtype=np.int64))
            _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
            patterns = passes[first]
        else:
            patterns, inverse = np.unique(passes, axis=0, return_inverse=True)
        shape = len(training), len(patterns)
        places = training.tuple_of_row * len(patterns) + inverse.reshape(-1)
        weights = sums_by(places, training.weights, shape[0] * shape[1]).reshape(shape)
        squares = sums_by(places, training.weights**2, shape[0] * shape[1]).reshape(shape)
        return patterns, weights, squares

    @cached_property
    def _of_tuples(self) -> Numbers:
        """By training tuple and set of filters: the share of the stream's rows that pass all these filters."""
        patterns, counts, _ = self._patterns
        passing = np.ones((len(patterns), 1))
        for k in range(patterns.shape[1]):
            passing = np.concatenate([passing, passing * patterns[:, k : k + 1]], axis=1)
        return np.asarray(counts @ passing / self._total)

    @cached_property
    def _contains(self) -> NDArray[np.bool_]:
        """By set of filters and filter: whether it is in the set."""
        n = len(self.pipeline)
        return (np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(bool)

    def _shares(self, sets: Sequence[int]) -> Numbers:
        """Return by set of training tuples and set of filters which share of the rows passes, with the prior."""
        member = np.array([[tuples >> t & 1 for t in range(len(self.training))] for tuples in sets], np.float64)
        shares = member @ self._of_tuples
        whole = np.maximum(shares[:, :1], 1e-300)
        independent = np.ones_like(whole)
        for k in range(len(self.pipeline)):
            alone = shares[:, 1 << k : (1 << k) + 1] / whole
            independent = np.concatenate([independent, independent * alone], axis=1)
        return np.asarray((shares + self._prior * independent) * (whole / (whole + self._prior)))

    def _table(self, tuples: int) -> Numbers:
        if tuples not in self._tables:
            self._tables[tuples] = self._shares([tuples])[0]
        return self._tables[tuples]

    @cached_property
    def _levels(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
        """For each number of filters: the sets of so many filters, and by set and member the member and its place in
        the table of prices before it was added."""
        n = len(self.pipeline)
        sizes = self._contains.sum(axis=1)
        found = []
        for size in range(1, n + 1):
            sets = np.flatnonzero(sizes == size)
            members = np.nonzero(self._contains[sets])[1].reshape(len(sets), size)
            found.append((sets, members, sets[:, None] ^ (1 << members)))
        return found

    @cached_property
    def _forbidden(self) -> Numbers:
        """By filter and set of filters before it: infinity if a guard is missing, else 0."""
        n = len(self.pipeline)
        forbidden = np.zeros((n, 1 << n))
        for k, guards in enumerate(self.pipeline.guards):
            for guard in guards:
                forbidden[k, ~self._contains[:, guard]] = np.inf
        return forbidden

    def _search(self, sets: Sequence[int]) -> None:
        """Find the costs of the best routes of sets by dynamic programming over sets of filters."""
        best = self._least(self._shares(sets))[-1]
        self._least_ns.update(zip(sets, best.tolist(), strict=True))

    def _least(self, shares: Numbers) -> Numbers:
        """Return by set of filters and set of training tuples what these filters cost in their best order."""
        shares = np.ascontiguousarray(shares.T)
        with_calls = bool(self.fixed_ns.any())
        calls = np.expm1(shares * -self.batch_rows) / -self.batch_rows if with_calls else shares
        best = np.zeros_like(shares)
        for filters, members, before in self._levels:
            ns = shares[before]
            ns *= self.cost_ns[members][:, :, None]
            if with_calls:
                ns += calls[before] * self.fixed_ns[members][:, :, None]
            if any(self.pipeline.guards):
                ns += self._forbidden[members, before][:, :, None]
            ns += best[before]
            best[filters] = ns.min(axis=1)
        return best

    def _order(self, tuples: int) -> tuple[int, ...]:
        """Return the best route of a set: the last filter is the one with which the whole costs least, and so on."""
        shares = self._table(tuples)
        best = self._least(shares[None])[:, 0].tolist()
        order: list[int] = []
        left = (1 << len(self.pipeline)) - 1
        while left:
            costs = {}
            for k in range(len(self.pipeline)):
                before = left ^ 1 << k
                if left >> k & 1 and all(before >> guard & 1 for guard in self.pipeline.guards[k]):
                    costs[k] = best[before] + float(self._price(k, shares[before]))
            order.append(min(costs, key=costs.__getitem__))
            left ^= 1 << order[-1]
        return tuple(reversed(order))
