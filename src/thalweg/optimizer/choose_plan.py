"""Choose the plan of a join: which sub-joins it keeps.

Answers: the plans that were considered with what is expected of each, which one is chosen for an objective, and which
number decides.
How: every quantity is drawn several times from what is known of it. The plan with the least mean regret is chosen: the
mean, over all draws, of how many times its score exceeds the best one. With exact numbers this is the best plan.
Guarantee: with up to `ALL_PLANS` streams, all plans are compared (`search_plans.all_plans`). With more, the candidates
are the cheapest plan for the expected values, which is exact (`cheapest_plan`), keeping nothing, and keeping one pair.
Cost: each join that occurs in a candidate is evaluated once for all draws.

Objectives in time depend on a plan only through its work: rows that arrive by a time have the same results under every
plan, and one worker does all the work (`cost/work_queue.py`). So the plan with the least work for the rows that arrive
by the time in question returns their results first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from thalweg.cost.join_bytes import limited_bytes, plan_bytes
from thalweg.cost.join_numbers import JoinNumbers, Part
from thalweg.cost.join_work import NodeTimes, in_ns, node_operations
from thalweg.cost.work_queue import accumulated, returned, time_of
from thalweg.optimizer.heuristic_plan import heuristic_plan
from thalweg.optimizer.join_estimates import JoinEstimates, Quantity, neighbors
from thalweg.optimizer.search_plans import all_plans, cheapest_plan
from thalweg.plan.estimate import Origin, weakest
from thalweg.plan.join_shape import Shape, nodes_of, streams_of, to_text
from thalweg.plan.objective import LEAST_CPU, Objective

ALL_PLANS = 5
"""With up to this many streams, all plans are compared."""
CAUTION = 1.15
"""A plan that keeps sub-joins must be better than keeping nothing by this factor: predictions are not exact, and
keeping nothing needs the least memory."""
TIES = 0.001
"""Scores that differ by a smaller share are equal; then the CPU time decides."""
GRID = 64
"""The number of times for which the work of a plan is computed."""
LEVEL = 0.9
FACTORS = np.exp2(np.arange(-10, 10.25, 0.25))
"""By how much a number is changed to find where another plan becomes the best."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Band:
    """An expected value, and the interval that contains the quantity with a probability of 90 %."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, drawn: Numbers) -> Band:
        """Return the band of values of which the first is the expected one and the others are drawn."""
        value = float(drawn[0])
        low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return cls(value, min(float(low), value), max(float(high), value))


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
class TippingPoint:
    """The number that decides: where it is now, and at which value another plan would be the best."""

    quantity: Quantity
    value: float
    tips_at: float
    plan: Shape
    """The plan that is the best beyond that value."""


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
    tipping: TippingPoint | None = None
    over_memory: bool = False
    """Whether no candidate is within the memory limit, so that the one with the least memory was chosen."""
    complete: bool = True
    """Whether all plans were compared."""
    shares: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """The expected share of pairs of rows that join, by pair."""

    @property
    def chosen(self) -> Candidate:
        """The plan that is chosen."""
        return self.candidates[0]


def plan_text(shape: Shape) -> str:
    """Return a plan as the argument `plan=` takes it.

    >>> plan_text(("a", "b", "c")), plan_text((("a", "b"), "c"))
    ('multiway', '((a b) c)')
    """
    return "multiway" if all(isinstance(part, str) for part in shape) else to_text(shape)


def choose_plan(
    estimates: JoinEstimates,
    objective: Objective = LEAST_CPU,
    *,
    max_bytes: float = math.inf,
    workers: float = 1.0,
    seed: int = 0,
) -> PlanChoice:
    """Choose a plan. All quantities must be known. `max_bytes`: the limit for all workers together."""
    assert not estimates.unknown, f"unknown: {estimates.unknown}"
    drawn = estimates.drawn(seed)
    steady = _PlanWork(estimates.numbers(drawn))
    shapes, complete = candidate_plans(estimates, drawn)
    whole = frozenset(estimates.graph.aliases)
    results = Band.of(np.broadcast_to(steady.numbers.rate(whole), steady.shape))
    found: Shape | None = None
    if objective.search is not None and results.value > 0:  # without results, a heuristic has nothing to compare
        found = heuristic_plan(estimates, objective, workers)
        shapes += [found] if _joins(found) not in map(_joins, shapes) else []
    score = _Scores(objective, estimates, drawn, workers, steady)
    scores = {shape: score(shape) for shape in shapes}
    loads = {shape: steady.ns(shape) / 1e9 for shape in shapes}
    sizes = {shape: np.broadcast_to(plan_bytes(shape, steady.numbers), steady.shape) for shape in shapes}
    least = np.minimum.reduce(list(scores.values()))
    least_load = np.minimum.reduce(list(loads.values()))
    candidates = []
    for shape in shapes:
        memory = Band.of(sizes[shape])
        regret = float(np.mean(_ratio(scores[shape], least)))
        load = float(np.mean(loads[shape] / least_load)) * (1.0 if plan_text(shape) == "multiway" else CAUTION)
        rank = load if objective == LEAST_CPU else round(regret / TIES) * TIES
        limited = limited_bytes(shape, steady.numbers, estimates.streams)
        fits = Band.of(np.broadcast_to(limited, steady.shape)).high <= max_bytes
        candidate = Candidate(shape, Band.of(loads[shape]), memory, float(scores[shape][0]), regret, fits)
        candidates.append((candidate, (not fits, rank, load)))
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
    tipping = _tipping(estimates, objective, ranked, workers) if complete and not over else None
    shares = {(q[1], q[2]): value for q, value in estimates.expected().items() if q[0] == "share"}
    return PlanChoice(objective, ranked, results, origin, tipping, over, complete, shares)


@dataclass(frozen=True)
class ResultsOverTime:
    """The results that plans are expected to have returned by some times."""

    times: Numbers
    expected: Mapping[Shape, Numbers]
    low: Mapping[Shape, Numbers]
    """The lower end of the 90 % band."""
    high: Mapping[Shape, Numbers]


def results_over_time(
    estimates: JoinEstimates, shapes: Sequence[Shape], until: float, workers: float = 1.0, seed: int = 0
) -> ResultsOverTime:
    """Return the results of plans over time, beginning with empty windows."""
    times = np.linspace(0.0, until, GRID + 1)
    values = {quantity: drawn[:, None] for quantity, drawn in estimates.drawn(seed).items()}
    work = _PlanWork(estimates.numbers(values, times))
    made = accumulated(times, np.broadcast_to(work.numbers.rate(frozenset(estimates.graph.aliases)), work.shape))
    expected, low, high = {}, {}, {}
    for shape in shapes:
        load = accumulated(times, work.ns(shape) / 1e9 / workers)
        drawn = np.array([returned(times, w, m) for w, m in zip(load, made, strict=True)])
        ends = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
        expected[shape] = drawn[0]
        low[shape], high[shape] = np.minimum(ends[0], drawn[0]), np.maximum(ends[1], drawn[0])
    return ResultsOverTime(times, expected, low, high)


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


class _PlanWork:
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


class _Scores:
    """Scores of plans for an objective: one per draw, less is better."""

    def __init__(
        self, objective: Objective, estimates: JoinEstimates, drawn: Mapping[Quantity, Numbers], workers: float,
        steady: _PlanWork,
    ) -> None:  # fmt: skip
        self.objective, self.workers, self.steady = objective, workers, steady
        if objective.name in ("most_results", "first_results"):
            end = _horizon(objective, estimates, drawn)
            self.times = np.linspace(0.0, end, GRID + 1)
            values = {quantity: numbers[:, None] for quantity, numbers in drawn.items()}
            self.work = _PlanWork(estimates.numbers(values, self.times))
            whole = frozenset(estimates.graph.aliases)
            self.made = accumulated(self.times, np.broadcast_to(self.work.numbers.rate(whole), self.work.shape))

    def __call__(self, shape: Shape) -> Numbers:
        name = self.objective.name
        if name == "least_cpu":
            return self.steady.ns(shape)
        if name == "least_memory":
            return np.broadcast_to(plan_bytes(shape, self.steady.numbers), self.steady.shape)
        if name == "steady_rate":  # the share of arrivals that the workers can process is one over the load
            return np.maximum(self.steady.ns(shape) / 1e9 / self.workers, 1.0)
        work = accumulated(self.times, self.work.ns(shape) / 1e9 / self.workers)
        if name == "first_results":
            assert self.objective.results is not None
            return np.array([
                time_of(self.times, w, m, self.objective.results) for w, m in zip(work, self.made, strict=True)
            ])  # fmt: skip
        by = self.objective.seconds
        results = [np.interp(by, self.times, returned(self.times, w, m)) for w, m in zip(work, self.made, strict=True)]
        return 1.0 / np.maximum(np.array(results), 1e-9)


def _horizon(objective: Objective, estimates: JoinEstimates, drawn: Mapping[Quantity, Numbers]) -> float:
    """Return until when plans are compared. Results are made by then, if there are so many at all."""
    if objective.name == "most_results":
        return objective.seconds
    assert objective.results is not None
    whole, expected = frozenset(estimates.graph.aliases), estimates.expected()
    end = 1.0
    while end < 1e9:
        times = np.linspace(0.0, end, GRID + 1)
        made = accumulated(times, np.broadcast_to(estimates.numbers(expected, times).rate(whole), times.shape))
        if made[-1] >= 4.0 * objective.results:
            break
        end *= 2.0
    return end


def _ratio(scores: Numbers, least: Numbers) -> Numbers:
    """Return by how many times scores exceed the least ones; infinite ones are equal to each other."""
    both = np.isinf(scores) & np.isinf(least)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(both | (scores == least), 1.0, scores / np.where(least > 0, least, 1e-300))
    return np.minimum(ratio, 1e12)


def _tipping(
    estimates: JoinEstimates, objective: Objective, ranked: Sequence[Candidate], workers: float
) -> TippingPoint | None:
    """Return the number that must change least, as a factor, for another candidate to be better than the chosen one by
    more than a tie."""
    chosen, rivals = ranked[0], [candidate for candidate in ranked[1:] if candidate.fits][:6]
    if not rivals:
        return None
    best: tuple[float, TippingPoint] | None = None
    expected = estimates.expected()

    def scores(quantity: Quantity, factors: Numbers) -> Callable[[Shape], Numbers]:
        values = {name: np.full(len(factors), one) for name, one in expected.items()}
        values[quantity] = expected[quantity] * factors
        if quantity[0] == "share":
            values[quantity] = np.minimum(values[quantity], 1.0)
        score = _Scores(objective, estimates, values, workers, _PlanWork(estimates.numbers(values)))
        return lambda shape: score(shape) * _caution(shape, objective)

    def is_better(quantity: Quantity, factor: float, rival: Candidate) -> bool:
        # all factors at once have one order of probes, which may not be the best for a single one
        score = scores(quantity, np.array([factor]))
        return bool(score(rival.shape)[0] < score(chosen.shape)[0] * (1 - 10 * TIES))

    for quantity, value in expected.items():
        score = scores(quantity, FACTORS)
        own = score(chosen.shape)
        for rival in rivals:
            better = (score(rival.shape) < own * (1 - 10 * TIES)).nonzero()[0]
            for n in sorted(better, key=lambda n: abs(math.log(FACTORS[n]))):
                distance, factor = abs(math.log(FACTORS[n])), float(FACTORS[n])
                if best is not None and distance >= best[0]:
                    break
                if distance and is_better(quantity, factor, rival):
                    best = distance, TippingPoint(quantity, value, value * factor, rival.shape)
                    break
    return None if best is None else best[1]


def _caution(shape: Shape, objective: Objective) -> float:
    """Return the factor by which the CPU time of a plan is weighted."""
    return CAUTION if objective == LEAST_CPU and plan_text(shape) != "multiway" else 1.0
