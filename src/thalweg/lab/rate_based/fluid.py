"""Results over time of selections and joins with queues: a model with one server per operator.

Answers: how many results a tree of joins, or a stream of selections, has returned by each of some times.
How: rows arrive as a fluid at their rates, and every operator has one server and a queue, first in first out. Let W(e)
be the work of everything that has entered a queue by time e. What entered by e has been served at

    W(e) + max over u <= e of (u - W(u)),

which is e itself as long as the server keeps up. An operator returns each result when the last of its rows is served.
So what has left a tree by a time t is described by one number per stream, its *frontier*: the time until which its rows
have passed all operators. The number of results whose rows are all before the frontiers follows from the rates, windows
and selectivities alone:

    F * sum over k of the integral over m <= frontier(k) of rate(k, m) * product over j != k of N(j, m)

where k is the stream of the newest row of a result, m the time of that row, and N(j, m) the rows of stream j that are
before its frontier and in its window at m.
Guarantee: exact for fluid arrivals, apart from the grid of time; for Poisson arrivals and random keys it is the mean as
long as queues do not alternate between empty and full by chance. Against the simulator:
tests/lab/rate_based/test_fluid.py.
Cost: O(streams of the join * grid^2) per join that does not keep up, O(grid) for others.
Differs from the paper: equation 2 divides all results so far by the time that the last inputs take; here the results
until t are counted themselves, so nothing is integrated twice, and finite streams and windows need no special case.

>>> from thalweg.cost.operator_costs import Costs
>>> streams = {"a": Arriving(10.0), "b": Arriving(4.0), "c": Arriving(2.0)}
>>> tree = JoinCosts((("a", "b"), "c"), {("a", "b"): 0.1, ("a", "c"): 0.5}, Costs(move="1 ms"))
>>> by_6 = 0.1 * 0.5 * 10 * 4 * 2 * 6**3
>>> round(float(results_by(tree, streams, [6.0])[0]) / by_6, 3)
1.0
>>> slow = JoinCosts((("a", "b"), "c"), {("a", "b"): 0.1, ("a", "c"): 0.5}, Costs(move=0.1))
>>> float(results_by(slow, streams, [6.0])[0]) < by_6
True

Reference: Viglas, Naughton: Rate-Based Query Optimization for Streaming Information Sources. SIGMOD 2002, section 3.
The time at which work is done in a fluid queue: Reich: On the Integrodifferential Equation of Takacs I. Annals of
Mathematical Statistics 29 (1958).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from thalweg.cost.rate import Arriving, JoinCosts, NodeCosts, fixed_cost
from thalweg.plan.joins.shape import Shape, streams_of

GRID = 400
"""The number of intervals into which the time until the last of the times asked for is divided."""

Numbers = NDArray[np.float64]


def results_by(tree: JoinCosts, streams: Mapping[str, Arriving], times: Sequence[float] | Numbers) -> Numbers:
    """Return how many results the tree has returned by each of these times."""
    grid = np.linspace(0.0, float(np.max(times)), GRID + 1)
    model = _Model(tree, streams, grid)
    results: Numbers = np.interp(times, grid, model.results(tree.shape, model.frontiers(tree.shape)))
    return results


def selected_by(stream: Arriving, times: Sequence[float] | Numbers) -> Numbers:
    """Return how many rows of a stream have passed its selections by each of these times."""
    grid = np.linspace(0.0, float(np.max(times)), GRID + 1)
    passed: Numbers = np.interp(times, grid, stream.kept * _arrived(stream, _selected(stream, grid)))
    return passed


class _Model:
    """One tree over one grid of times."""

    def __init__(self, tree: JoinCosts, streams: Mapping[str, Arriving], grid: Numbers) -> None:
        self.tree, self.streams, self.grid = tree, streams, grid

    def frontiers(self, part: Shape) -> dict[str, Numbers]:
        """Return for each stream of a part the time until which its rows have left the part, at each time."""
        if isinstance(part, str):
            return {part: _selected(self.streams[part], self.grid)}
        entered = [self.frontiers(below) for below in part]
        both = {**entered[0], **entered[1]}
        costs = self.tree.of(part)
        arrived = [self.results(below, before) for below, before in zip(part, entered, strict=True)]
        work: Numbers = costs.arrival * (arrived[0] + arrived[1])
        if costs.result:
            work += costs.result * self.results(part, both)
        if costs.comp:
            work += self._compared(part, entered, arrived, costs)
        served = _served(self.grid, work)
        if served is self.grid:
            return both
        left: Numbers = np.interp(self.grid, served, self.grid)
        return {alias: np.interp(left, self.grid, frontier) for alias, frontier in both.items()}

    def results(self, part: Shape, frontiers: Mapping[str, Numbers]) -> Numbers:
        """Return how many rows or results of a part have all their rows before the frontiers, at each time."""
        aliases = streams_of(part)
        before = [frontiers[alias] for alias in aliases]
        streams = [self.streams[alias] for alias in aliases]
        share = self.tree.selectivity(aliases) * np.prod([stream.kept for stream in streams])
        if all(np.isinf(stream.window) for stream in streams):
            return np.asarray(share * np.prod([_arrived(s, b) for s, b in zip(streams, before, strict=True)], axis=0))
        if all(frontier is self.grid for frontier in before):
            return np.asarray(share * self._in_step(streams))
        return np.asarray(share * self._apart(streams, before))

    def _in_step(self, streams: Sequence[Arriving]) -> Numbers:
        """Return the combinations of rows in each other's windows, if all have arrived up to the same time."""
        middles = (self.grid[1:] + self.grid[:-1]) / 2.0
        alive = [_arrived(stream, middles) - _arrived(stream, middles - stream.window) for stream in streams]
        total = np.zeros(len(middles))
        for k, stream in enumerate(streams):
            total += np.diff(_arrived(stream, self.grid)) * np.prod([n for j, n in enumerate(alive) if j != k], axis=0)
        return np.concatenate([[0.0], total.cumsum()])

    def _apart(self, streams: Sequence[Arriving], before: Sequence[Numbers]) -> Numbers:
        """Return the same, if each stream has its own frontier."""
        edges = self.grid[None, :]
        middles = (edges[:, 1:] + edges[:, :-1]) / 2.0
        alive = []
        for stream, frontier in zip(streams, before, strict=True):
            until = np.minimum(middles, frontier[:, None])
            since = np.minimum(middles - stream.window, frontier[:, None])
            alive.append(_arrived(stream, until) - _arrived(stream, since))
        total = np.zeros(len(self.grid))
        for k, (stream, frontier) in enumerate(zip(streams, before, strict=True)):
            newest = np.diff(_arrived(stream, np.minimum(edges, frontier[:, None])), axis=1)
            total += (newest * np.prod([n for j, n in enumerate(alive) if j != k], axis=0)).sum(axis=1)
        return total

    def _compared(
        self,
        part: tuple[Shape, ...],
        entered: Sequence[dict[str, Numbers]],
        arrived: Sequence[Numbers],
        costs: NodeCosts,
    ) -> Numbers:
        """Return the work of nested loops: each row is compared with the rows that the other input holds then."""
        held = [self._held(below, before) for below, before in zip(part, entered, strict=True)]
        pairs = np.zeros(len(self.grid) - 1)
        for mine, other in ((0, 1), (1, 0)):
            pairs += np.diff(arrived[mine]) * (held[other][1:] + held[other][:-1]) / 2.0
        return np.concatenate([[0.0], costs.comp * pairs.cumsum()])

    def _held(self, part: Shape, frontiers: Mapping[str, Numbers]) -> Numbers:
        """Return how many rows or results of a part may still have partners, at each time."""
        aliases = streams_of(part)
        held = np.full(len(self.grid), float(self.tree.selectivity(aliases)))
        for alias in aliases:
            stream, frontier = self.streams[alias], frontiers[alias]
            held = held * stream.kept * (_arrived(stream, frontier) - _arrived(stream, frontier - stream.window))
        return held


def _arrived(stream: Arriving, times: Numbers) -> Numbers:
    """Return the rows of a stream that have arrived by these times, before selections."""
    arrived: Numbers = np.clip(stream.rate * times, 0.0, stream.rows)
    return arrived


def _selected(stream: Arriving, grid: Numbers) -> Numbers:
    """Return the time until which the rows of a stream have passed its selections, at each time."""
    frontier, kept = grid, 1.0
    for filtering in stream.filters:
        work = fixed_cost(filtering.cost, "cost") * kept * _arrived(stream, frontier)
        served = _served(grid, work)
        if served is not grid:
            frontier = np.interp(np.interp(grid, served, grid), grid, frontier)
        kept *= filtering.kept
    return frontier


def _served(grid: Numbers, work: Numbers) -> Numbers:
    """Return when everything that entered by each time has been served; the grid itself if there is no delay."""
    served: Numbers = work + np.maximum.accumulate(grid - work)
    return grid if np.allclose(served, grid, rtol=0.0, atol=1e-9 * grid[-1]) else served
