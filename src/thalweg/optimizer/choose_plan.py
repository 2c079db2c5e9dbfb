"""Choose the plan of a join: which sub-joins it keeps.

Answers: the plans that were considered with what is expected of each, and which one is chosen for an objective.
How: every quantity is drawn several times from what is known of it. The plan with the least mean regret is chosen: the
mean, over all draws, of how many times its score exceeds the best one. With exact numbers this is the best plan.
Numbers are those of one bucket, which is joined by one worker; what is expected is shown for all buckets together.
Guarantee: with up to `ALL_PLANS` streams, all plans are compared (`search_plans.all_plans`). With more, the candidates
are the cheapest plan for the expected values, which is exact (`cheapest_plan`), keeping nothing, and keeping one pair.
Cost: each join that occurs in a candidate is evaluated once for all draws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from thalweg.cost.join_bytes import limited_bytes, plan_bytes
from thalweg.cost.join_numbers import Number, Part
from thalweg.cost.join_work import NodeTimes
from thalweg.optimizer.heuristic_plan import heuristic_plan
from thalweg.optimizer.join_estimates import JoinEstimates, Quantity, neighbors
from thalweg.optimizer.plan_scores import Numbers, PlanScores, PlanWork, caution, plan_text
from thalweg.optimizer.search_plans import all_plans, cheapest_plan
from thalweg.plan.estimate import Origin, weakest
from thalweg.plan.join_shape import Shape, nodes_of, streams_of
from thalweg.plan.objective import LEAST_CPU, Objective

ALL_PLANS = 5
"""With up to this many streams, all plans are compared."""
TIES = 0.001
"""Scores that differ by a smaller share are equal; then the CPU time decides."""
LEVEL = 0.9


@dataclass(frozen=True)
class Band:
    """An expected value, and the interval that contains the quantity with a probability of 90 %."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, drawn: Numbers) -> Band:
        """Return the band of values of which the first is the expected one and the others are drawn."""
        return cls.of_each([drawn])[0]

    @classmethod
    def of_each(cls, drawn: Sequence[Numbers]) -> list[Band]:
        """Return the bands of several arrays of the same length."""
        low, high = np.quantile(np.array(drawn), [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=-1)
        values = [float(each[0]) for each in drawn]
        ends = zip(low.tolist(), high.tolist(), strict=True)
        return [cls(value, min(a, value), max(b, value)) for value, (a, b) in zip(values, ends, strict=True)]

    def times(self, factor: float) -> Band:
        """Return the band of the quantity multiplied by a constant."""
        return Band(self.value * factor, self.low * factor, self.high * factor)


@dataclass(frozen=True)
class Candidate:
    """A plan that was considered, and what is expected of it."""

    shape: Shape
    load: Band
    """CPU seconds per second of the streams, with full windows. Above the number of workers, they do not keep up."""
    memory: Band
    """Bytes of all windows and kept sub-joins, when they are full."""
    score: float
    """What the objective compares, at the expected values; less is better."""
    regret: float
    """By how many times its score exceeds that of the best plan, on average over the draws; 1 is the best."""
    fits: bool = True
    """Whether the upper end of its memory is within the limit, in which tables do not count."""

    @property
    def plan(self) -> str:
        """The plan as the argument `plan=` takes it."""
        return plan_text(self.shape)

    @property
    def cpu(self) -> float:
        """Expected CPU seconds per second of the streams."""
        return self.load.value

    @property
    def bytes(self) -> float:
        """Expected bytes of all windows and kept sub-joins."""
        return self.memory.value


@dataclass(frozen=True)
class PlanChoice:
    """The plan that is chosen, and why."""

    objective: Objective
    candidates: tuple[Candidate, ...]
    """The candidates, the chosen one first."""
    results: Band
    """Results per second with full windows, if the workers keep up."""
    origin: Origin
    """Where the weakest of the numbers comes from."""
    over_memory: bool = False
    """Whether no candidate is within the memory limit, so that the one with the least memory was chosen."""
    complete: bool = True
    """Whether all plans were compared."""
    shares: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """The expected share of pairs of rows of a bucket that join, by pair."""

    @property
    def chosen(self) -> Candidate:
        """The plan that is chosen."""
        return self.candidates[0]


def choose_plan(
    estimates: JoinEstimates, objective: Objective = LEAST_CPU, *, max_bytes: float = math.inf, seed: int = 0
) -> PlanChoice:
    """Choose a plan. All quantities must be known. `max_bytes`: the limit of one bucket."""
    assert not estimates.unknown, f"unknown: {estimates.unknown}"
    drawn = estimates.drawn(seed)
    steady = PlanWork(estimates.numbers(drawn))
    shapes, complete = candidate_plans(estimates, drawn)
    whole = frozenset(estimates.graph.aliases)

    def of_draws(number: Number) -> Numbers:
        return np.broadcast_to(number, steady.shape)

    results = Band.of(of_draws(steady.numbers.rate(whole))).times(estimates.buckets)
    found: Shape | None = None
    if objective.search is not None and results.value > 0:  # without results, a heuristic has nothing to compare
        found = heuristic_plan(estimates, objective)
        shapes += [found] if _joins(found) not in map(_joins, shapes) else []
    score = PlanScores(objective, estimates, drawn, steady, shapes)
    scores = [score(shape) for shape in shapes]
    loads = [steady.ns(shape) / 1e9 for shape in shapes]
    sizes = [of_draws(plan_bytes(shape, steady.numbers)) for shape in shapes]
    limited = sizes
    if len(estimates.streams) < len(estimates.graph.aliases):
        limited = [of_draws(limited_bytes(shape, steady.numbers, estimates.streams)) for shape in shapes]
    least, least_load = np.minimum.reduce(scores), np.minimum.reduce(loads)
    bands = (Band.of_each(each) for each in (loads, sizes, limited))
    candidates = []
    for shape, own, cost, load, memory, limit in zip(shapes, scores, loads, *bands, strict=True):
        regret = float(np.mean(_ratio(own, least)))
        cpu = float(np.mean(cost / least_load)) * caution(shape, LEAST_CPU)
        rank = cpu if objective == LEAST_CPU else round(regret / TIES) * TIES
        fits = limit.high <= max_bytes
        all_load, all_memory = load.times(estimates.buckets), memory.times(estimates.buckets)
        candidate = Candidate(shape, all_load, all_memory, float(own[0]), regret, fits)
        candidates.append((candidate, (not fits, rank, cpu)))
    over = not any(candidate.fits for candidate, _ in candidates)
    if over:
        candidates.sort(key=lambda each: each[0].memory.value)
    else:
        candidates.sort(key=lambda each: each[1])
    ranked = tuple(candidate for candidate, _ in candidates)
    if found is not None and not over:
        chosen = _joins(found)
        ranked = tuple(sorted(ranked, key=lambda candidate: _joins(candidate.shape) != chosen))
    origin = weakest(estimate.origin for estimate in estimates.quantities.values())
    shares = {pair: float(share) for pair, share in estimates.numbers(estimates.expected()).shares.items()}
    return PlanChoice(objective, ranked, results, origin, over, complete, shares)


def candidate_plans(estimates: JoinEstimates, drawn: Mapping[Quantity, Numbers]) -> tuple[list[Shape], bool]:
    """Return the plans to compare, and whether these are all."""
    graph = estimates.graph
    if len(graph.aliases) <= ALL_PLANS:
        return list(all_plans(graph)), True
    numbers = estimates.numbers({quantity: float(values[0]) for quantity, values in drawn.items()})
    cheapest, _ = cheapest_plan(graph, NodeTimes(numbers))
    found: dict[Shape, None] = {graph.aliases: None, cheapest: None}
    for pair in neighbors(graph):
        rest = tuple(alias for alias in graph.aliases if alias not in pair)
        found[(pair, *rest)] = None
    return list(found), False


def _joins(shape: Shape) -> frozenset[Part]:
    """Return the sets of streams that a plan joins, which do not depend on the order of inputs."""
    return frozenset(frozenset(streams_of(node)) for node in ([] if isinstance(shape, str) else nodes_of(shape)))


def _ratio(scores: Numbers, least: Numbers) -> Numbers:
    """Return by how many times scores exceed the least ones; infinite ones are equal to each other."""
    both = np.isinf(scores) & np.isinf(least)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(both | (scores == least), 1.0, scores / np.where(least > 0, least, 1e-300))
    return np.minimum(ratio, 1e12)
