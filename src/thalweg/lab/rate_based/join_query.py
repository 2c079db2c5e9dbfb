"""A join of streams by equal keys, as the rate-based paper has them: predicted by a model, and simulated.

Every pair of streams with a selectivity has its own key, drawn evenly from as many values as the selectivity asks for.
Rows arrive as a Poisson process (section 5.1). All joins are symmetric hash joins that take the same time per arriving
row on either input, and each has its own server. A pair may have an additional handling cost: the join that evaluates
its condition takes so much longer per row.

>>> query = JoinQuery({"a": Arriving(50.0), "b": Arriving(500.0)}, {("a", "b"): 0.002}, hash_cost=0.001)
>>> query.predicted_times(("a", "b"), [200]).round(1).tolist(), query.simulated(("a", "b"), 0, until=2.0).count() > 100
([2.0], True)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.cost.operator_costs import Costs
from thalweg.cost.rate import Arriving, JoinCosts
from thalweg.lab.rate_based.fluid import results_by
from thalweg.optimizer.joins.binary_trees import BinaryTrees
from thalweg.plan.joins.shape import Shape, nodes_of, streams_of
from thalweg.simulation import Source, Trace, poisson, simulate, tree_join

Pair = tuple[str, str]
Numbers = NDArray[np.float64]
ALWAYS = "1000 days"
"""A window that no simulation leaves: the paper's joins have none."""
LONGEST = 1e7
"""The time at which a search for the last results gives up."""


@dataclass(frozen=True)
class JoinQuery:
    """A join of streams, and what its joins cost, in seconds."""

    streams: Mapping[str, Arriving]
    selectivities: Mapping[Pair, float]
    hash_cost: float
    handling: Mapping[Pair, float] = field(default_factory=dict)

    def scaled(self, k: float) -> JoinQuery:
        """Return the same query with k times fewer rows and results at any time.

        Rates are k times lower, and costs and selectivities k times higher. So servers are as busy as before, and rows
        have as many partners.
        """
        return JoinQuery(
            {name: replace(s, rate=s.rate / k, rows=s.rows / k) for name, s in self.streams.items()},
            {pair: share * k for pair, share in self.selectivities.items()},
            self.hash_cost * k,
            {pair: cost * k for pair, cost in self.handling.items()},
        )

    @cached_property
    def trees(self) -> list[Shape]:
        """All trees without Cartesian products."""
        return list(BinaryTrees.of(self.streams, self.selectivities).trees())

    @property
    def results(self) -> float:
        """The expected number of results of finite streams."""
        rows = np.prod([stream.rows for stream in self.streams.values()])
        return float(rows * np.prod(list(self.selectivities.values())))

    def arrival_cost(self, part: Shape) -> float:
        """Return the time that a join takes per arriving row."""
        one, other = (streams_of(below) for below in part)
        between = [(a, b) for a in one for b in other]
        return self.hash_cost + sum(cost for (a, b), cost in self.handling.items() if {(a, b), (b, a)} & {*between})

    def joins(self, *shapes: Shape) -> JoinCosts:
        """Return what the joins of some trees select and cost; the first is the tree of the model."""
        costs: dict[Shape, Costs] = {
            part: Costs(move=self.arrival_cost(part)) for shape in shapes for part in nodes_of(shape)
        }
        return JoinCosts(shapes[0], self.selectivities, costs)

    def predicted(self, shape: Shape, times: Sequence[float] | Numbers) -> Numbers:
        """Return the results that the model expects by these times."""
        return results_by(self.joins(shape), self.streams, times)

    def predicted_times(self, shape: Shape, counts: Sequence[float]) -> Numbers:
        """Return when the model expects so many results; infinite if that takes too long."""
        until = 1.0
        while self.predicted(shape, [until])[0] < max(counts):
            until *= 2.0
            if until > LONGEST:
                return np.full(len(counts), np.inf)
        for _ in range(2):  # the second time with a grid that ends where it is needed
            times = np.linspace(0.0, until, 401)
            found: Numbers = np.interp(counts, self.predicted(shape, times), times)
            until = 1.01 * float(np.max(found))
        return found

    def simulated(self, shape: Shape, seed: int, until: float | None = None, cpus: int | None = None) -> Trace:
        """Simulate a tree; endless streams need `until`. The rows and arrivals of a seed are the same for all trees."""
        sources = {}
        for alias, stream in self.streams.items():
            rows = round(stream.rows if until is None else min(stream.rows, stream.rate * until * 1.5 + 50))
            sources[alias] = Source(self.rows(alias, seed, rows), poisson(stream.rate), stamp="time")
        on = " AND ".join(f"{a}.{a}{b} = {b}.{a}{b}" for a, b in self.selectivities)
        tree = tree_join("join", shape, on, ALWAYS, "time", costs=self.joins(shape).costs)
        return simulate(sources, tree, until=until, seed=seed, cpus=cpus, keep=False)

    def rows(self, alias: str, seed: int, count: int) -> pa.Table:
        """Return the first rows of a stream: more rows begin with the same ones."""
        keys = {}
        for number, ((a, b), share) in enumerate(self.selectivities.items()):
            if alias in (a, b):
                rng = np.random.default_rng([seed, number, alias == a])
                keys[f"{a}{b}"] = rng.integers(0, round(1 / share), count)
        return pa.table(keys)

    def measured_times(self, shape: Shape, seed: int, counts: Sequence[float]) -> Numbers:
        """Return when a simulation has so many results."""
        until = 1.1 * float(self.predicted_times(shape, counts)[-1])
        while (times := times_of(self.simulated(shape, seed, until), counts)) is None:
            until *= 1.3
        return times


def times_of(trace: Trace, counts: Sequence[float]) -> Numbers | None:
    """Return when a trace has so many results; None if it ends before that."""
    totals = trace.results["total"].to_numpy()
    if not len(totals) or totals[-1] < max(counts):
        return None
    times: Numbers = trace.results["time"].to_numpy()[np.searchsorted(totals, counts)]
    return times
