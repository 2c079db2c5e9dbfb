"""Scores of plans at one point: for plain numbers, and objectives that do not depend on time.

This is what `PlanScores` computes for many draws at once. A chart asks for a thousand points, and a running join at
every round, so plain numbers must not cost an array each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial

import numpy as np

from thalweg.cost.join_bytes import limited_bytes, plan_bytes
from thalweg.cost.join_numbers import JoinNumbers, Part
from thalweg.cost.join_work import NodeTimes
from thalweg.cost.ties import ROUNDING, TIES, caution, ranked
from thalweg.optimizer.joins.plan_scores import PlanWork
from thalweg.plan.joins.shape import Shape, nodes_of, sorted_text, streams_of
from thalweg.plan.objective import LEAST_CPU, Objective

IN_TIME = ("most_results", "first_results")
"""The objectives that depend on time."""


class PointScores:
    """The CPU times of plans at one point. A join that several plans have in common is evaluated once."""

    def __init__(self, numbers: JoinNumbers) -> None:
        self.numbers = numbers
        self._times = NodeTimes(numbers)
        self._nodes: dict[frozenset[Part], float] = {}

    def load(self, shape: Shape) -> float:
        """Return the CPU time of a plan, in nanoseconds per second."""
        total = 0.0
        for node in () if isinstance(shape, str) else nodes_of(shape):
            parts = [frozenset(streams_of(part)) for part in node]
            key = frozenset(parts)
            if key not in self._nodes:
                self._nodes[key] = self._times(parts)
            total += self._nodes[key]
        return total

    def of(self, shapes: Sequence[Shape], objective: Objective) -> list[tuple[float, float]]:
        """Return the scores of plans for an objective, less is better, and for ties their CPU times. A plan that keeps
        sub-joins must save some CPU time to be preferred, as in `choose_plan`."""
        loads = [self.load(shape) for shape in shapes]
        weighted = [each * caution(shape, LEAST_CPU) for shape, each in zip(shapes, loads, strict=True)]
        scores = weighted
        if objective.name in ("least_memory", "balance"):
            sizes = [float(plan_bytes(shape, self.numbers)) for shape in shapes]
            least, rate, memory = max(min(loads), 1e-9), objective.rate or 0.0, objective.memory or 0.0
            balanced = [rate * a / least + memory * b / min(sizes) for a, b in zip(loads, sizes, strict=True)]
            scores = sizes if objective.name == "least_memory" else [each / (rate + memory) for each in balanced]
        elif objective.name == "steady_rate":
            scores = [max(each / 1e9, 1.0) for each in loads]
        return list(zip(scores, weighted, strict=True))


def best_at(
    shapes: Sequence[Shape], numbers: JoinNumbers, objective: Objective, max_bytes: float, streams: Collection[str]
) -> Shape:
    """Return the best of some plans: of those that fit, the one with the least score; if none fits, the smallest."""
    fit = shapes
    if max_bytes < math.inf:
        fit = [shape for shape in shapes if float(limited_bytes(shape, numbers, streams)) <= max_bytes]
        if not fit:
            load, size = PointScores(numbers).load, partial(_size, numbers=numbers)
            return next(_ranked(shapes, numbers, size, lambda shape: load(shape) * caution(shape, LEAST_CPU)))
    scores = dict(zip(fit, PointScores(numbers).of(fit, objective), strict=True))
    return next(_ranked(fit, numbers, lambda shape: scores[shape][0], lambda shape: scores[shape][1]))


def _ranked(
    shapes: Sequence[Shape], numbers: JoinNumbers, score: Callable[[Shape], float], cpu: Callable[[Shape], float]
) -> Iterator[Shape]:
    """Yield plans from the best to the worst: by a score, then by CPU time and by memory."""
    return ranked(shapes, [(score, TIES), (cpu, ROUNDING), (partial(_size, numbers=numbers), ROUNDING)], sorted_text)


def _size(shape: Shape, numbers: JoinNumbers) -> float:
    return float(plan_bytes(shape, numbers))


def best_at_many(
    shapes: Sequence[Shape], numbers: JoinNumbers, objective: Objective, max_bytes: float, streams: Collection[str]
) -> list[Shape]:
    """Return the best of some plans at each of many points: what `best_at` returns for each. The numbers are arrays,
    and `apart`."""
    shapes = sorted(shapes, key=sorted_text)
    work = PlanWork(numbers)
    loads = np.stack([work.ns(shape) for shape in shapes])
    sizes = np.stack([np.broadcast_to(plan_bytes(shape, numbers), work.shape) for shape in shapes])
    fits = np.ones(loads.shape, dtype=bool)
    if max_bytes < math.inf:
        limited = [np.broadcast_to(limited_bytes(shape, numbers, streams), work.shape) for shape in shapes]
        fits = np.stack(limited) <= max_bytes
    weighted = loads * np.array([caution(shape, LEAST_CPU) for shape in shapes])[:, None]
    scores = weighted
    if objective.name == "least_memory":
        scores = sizes
    elif objective.name == "balance":
        least = np.maximum(np.where(fits, loads, np.inf).min(axis=0), 1e-9)
        smallest = np.where(fits, sizes, np.inf).min(axis=0)
        rate, memory = objective.rate or 0.0, objective.memory or 0.0
        scores = (rate * loads / least + memory * sizes / smallest) / (rate + memory)
    elif objective.name == "steady_rate":
        scores = np.maximum(loads / 1e9, 1.0)
    some = fits.any(axis=0)
    scores = np.where(some, np.where(fits, scores, np.inf), sizes)
    for number, share in ((scores, TIES), (weighted, ROUNDING), (sizes, ROUNDING)):
        left = np.where(np.isfinite(scores), number, np.inf)
        scores = np.where(left <= left.min(axis=0) * (1.0 + share), scores, np.inf)
    return [shapes[n] for n in np.isfinite(scores).argmax(axis=0).tolist()]
