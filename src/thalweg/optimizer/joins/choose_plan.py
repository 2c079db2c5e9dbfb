"""Choose the plan of a join: which sub-joins it keeps.

Answers: the plans that were considered with what is expected of each, and which one is chosen for an objective.
How: every quantity is drawn several times from what is known of it. The plan with the least mean regret is chosen: the
mean, over all draws, of how many times its score exceeds the best one. With exact numbers this is the best plan. Of
plans that are equal in it (`ties`), the one with the least CPU time is chosen, then the one with the least memory.
Numbers are those of one bucket, which is joined by one worker; what is expected is shown for all buckets together.
Guarantee: with up to `ALL_PLANS` streams, all plans are compared (`search_plans.all_plans`). With more, the candidates
are the cheapest plan for the expected values, which is exact (`cheapest_plan`), keeping nothing, and keeping one pair.
The choice does not depend on the order in which streams, equalities and their sides are written.
Cost: each join that occurs in a candidate is evaluated once for all draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from thalweg.cost.join_bytes import limited_bytes, plan_bytes
from thalweg.cost.join_numbers import Number
from thalweg.cost.join_work import NodeTimes
from thalweg.cost.ties import ROUNDING, TIES, ranked
from thalweg.optimizer.joins.estimates import JoinEstimates, Quantity, neighbors
from thalweg.optimizer.joins.heuristic_plan import heuristic_plan, heuristic_scores
from thalweg.optimizer.joins.plan_choice import Band, Candidate, PlanChoice
from thalweg.optimizer.joins.plan_scores import Numbers, PlanScores, PlanWork
from thalweg.optimizer.joins.search_plans import all_plans, cheapest_plan
from thalweg.plan.estimate import weakest
from thalweg.plan.joins.shape import Shape, in_order, sorted_text
from thalweg.plan.objective import LEAST_CPU, Objective

ALL_PLANS = 5
"""With up to this many streams, all plans are compared."""


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
    searched: Mapping[Shape, float] = {}
    if objective.search is not None and results.value > 0:  # without results, a heuristic has nothing to compare
        if not complete:
            found = in_order(heuristic_plan(estimates, objective), estimates.graph.aliases)
            shapes += [found] if found not in shapes else []
        searched = heuristic_scores(estimates, objective, shapes)
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
        candidates.append(Candidate(
            shape, load.times(estimates.buckets), memory.times(estimates.buckets), float(own[0]),
            float(np.mean(_ratio(own, least))), float(np.mean(cost / least_load)), searched.get(shape),
            limit.high <= max_bytes,
        ))  # fmt: skip
    over = not any(candidate.fits for candidate in candidates)
    origin = weakest(estimate.origin for estimate in estimates.quantities.values())
    shares = {pair: float(share) for pair, share in estimates.numbers(estimates.expected()).shares.items()}
    listed = PlanChoice(objective, tuple(candidates), results, origin, over, complete, shares)
    return replace(listed, candidates=tuple(_from_the_best(listed)))


def _from_the_best(choice: PlanChoice) -> Iterator[Candidate]:
    """Yield the candidates of a choice, the chosen one first and those that could not have been chosen last."""
    numbers = [(choice.first, TIES), (lambda each: each.cpu_weighted, ROUNDING), (lambda each: each.bytes, ROUNDING)]
    compared = choice.compared
    rest = [each for each in choice.candidates if each not in compared]
    for some in (compared, [each for each in rest if each.fits], [each for each in rest if not each.fits]):
        yield from ranked(some, numbers, lambda each: sorted_text(each.shape))


def candidate_plans(estimates: JoinEstimates, drawn: Mapping[Quantity, Numbers]) -> tuple[list[Shape], bool]:
    """Return the plans to compare, and whether these are all."""
    graph = estimates.graph
    if len(graph.aliases) <= ALL_PLANS:
        return list(all_plans(graph)), True
    numbers = estimates.numbers({quantity: float(values[0]) for quantity, values in drawn.items()})
    cheapest, _ = cheapest_plan(graph, NodeTimes(numbers), lambda shape: float(plan_bytes(shape, numbers)))
    found: dict[Shape, None] = {graph.aliases: None, cheapest: None}
    for pair in neighbors(graph):
        rest = tuple(alias for alias in graph.aliases if alias not in pair)
        found[in_order((pair, *rest), graph.aliases)] = None
    return list(found), False


def _ratio(scores: Numbers, least: Numbers) -> Numbers:
    """Return by how many times scores exceed the least ones; infinite ones are equal to each other."""
    both = np.isinf(scores) & np.isinf(least)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(both | (scores == least), 1.0, scores / np.where(least > 0, least, 1e-300))
    return np.minimum(ratio, 1e12)
