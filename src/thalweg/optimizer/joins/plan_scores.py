"""What the plans of a join cost and how they compare for an objective, for many draws of the numbers at once.

Objectives in time depend on a plan only through its work: rows that arrive by a time have the same results under every
plan, and one worker does all the work of a bucket (`cost/work_queue.py`). So the plan with the least work for the rows
that arrive by the time in question returns their results first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from thalweg.cost.join_bytes import plan_bytes
from thalweg.cost.join_numbers import JoinNumbers, Part
from thalweg.cost.join_work import in_ns, node_operations
from thalweg.cost.work_queue import accumulated, returned, time_of
from thalweg.optimizer.joins.estimates import JoinEstimates, Quantity
from thalweg.plan.joins.shape import Shape, nodes_of, streams_of
from thalweg.plan.objective import Objective

GRID = 64
"""The number of times for which the work of a plan is computed."""

Numbers = NDArray[np.float64]


class PlanWork:
    """The CPU time of plans for some numbers. A join that several plans have in common is evaluated once."""

    def __init__(self, numbers: JoinNumbers) -> None:
        self.numbers = numbers
        self.shape = np.broadcast_shapes(*(np.shape(n) for n in (*numbers.rates.values(), *numbers.held.values())))
        self._nodes: dict[frozenset[Part], Numbers] = {}

    def ns(self, shape: Shape) -> Numbers:
        """Return the CPU time of a plan per second of the streams, in nanoseconds."""
        total = np.zeros(self.shape)
        for node in () if isinstance(shape, str) else nodes_of(shape):
            parts = [frozenset(streams_of(part)) for part in node]
            key = frozenset(parts)
            if key not in self._nodes:
                self._nodes[key] = np.broadcast_to(in_ns(node_operations(parts, self.numbers)), self.shape)
            total = total + self._nodes[key]
        return total


class PlanScores:
    """Scores of plans for an objective: one per draw, less is better."""

    def __init__(
        self, objective: Objective, estimates: JoinEstimates, drawn: Mapping[Quantity, Numbers], steady: PlanWork,
        shapes: Iterable[Shape],
    ) -> None:  # fmt: skip
        """`steady`: the work with full windows, for the same draws. `shapes`: the plans that are compared."""
        self.objective, self.steady = objective, steady
        if objective.name == "balance":
            self._least = [np.minimum.reduce(each) for each in zip(*map(self._both, shapes), strict=True)]
        self.results = results_of_bucket(objective, estimates)
        if objective.name in ("most_results", "first_results"):
            end = self._horizon(estimates)
            self.times = np.linspace(0.0, end, GRID + 1)
            values = {quantity: numbers[:, None] for quantity, numbers in drawn.items()}
            self.work = PlanWork(estimates.numbers(values, self.times))
            whole = frozenset(estimates.graph.aliases)
            self.made = accumulated(self.times, np.broadcast_to(self.work.numbers.rate(whole), self.work.shape))

    def __call__(self, shape: Shape) -> Numbers:
        name = self.objective.name
        if name == "least_cpu":
            return self.steady.ns(shape)
        if name == "least_memory":
            return np.broadcast_to(plan_bytes(shape, self.steady.numbers), self.steady.shape)
        if name == "steady_rate":  # the share of arrivals that the worker can process is one over the load
            return np.maximum(self.steady.ns(shape) / 1e9, 1.0)
        if name == "balance":
            weights = self.objective.rate or 0.0, self.objective.memory or 0.0
            terms = zip(weights, self._both(shape), self._least, strict=True)
            total = np.sum([weight * value / least for weight, value, least in terms], axis=0)
            return np.asarray(total / sum(weights))
        work = accumulated(self.times, self.work.ns(shape) / 1e9)
        if name == "first_results":
            return np.array([
                time_of(self.times, w, m, self.results) for w, m in zip(work, self.made, strict=True)
            ])  # fmt: skip
        by = self.objective.seconds
        results = [np.interp(by, self.times, returned(self.times, w, m)) for w, m in zip(work, self.made, strict=True)]
        return 1.0 / np.maximum(np.array(results), 1e-9)

    def _both(self, shape: Shape) -> tuple[Numbers, Numbers]:
        """Return the CPU time of a plan, to which its output rate is inverse, and its memory."""
        memory = np.broadcast_to(plan_bytes(shape, self.steady.numbers), self.steady.shape)
        return np.maximum(self.steady.ns(shape), 1e-9), memory

    def _horizon(self, estimates: JoinEstimates) -> float:
        """Return until when plans are compared. Results are made by then, if there are so many at all."""
        if self.objective.name == "most_results":
            return self.objective.seconds
        whole, expected = frozenset(estimates.graph.aliases), estimates.expected()
        end = 1.0
        while end < 1e9:
            times = np.linspace(0.0, end, GRID + 1)
            made = accumulated(times, np.broadcast_to(estimates.numbers(expected, times).rate(whole), times.shape))
            if made[-1] >= 4.0 * self.results:
                break
            end *= 2.0
        return end


def results_of_bucket(objective: Objective, estimates: JoinEstimates) -> float:
    """Return how many results an objective wants of one bucket; 0 if it does not say."""
    return (objective.results or 0) / estimates.buckets
