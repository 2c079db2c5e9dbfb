"""The plan that a heuristic of the rate-based paper finds for a join, with the costs of this machine.

Answers: the tree of joins of two inputs that local rate maximization or local time minimization returns.
The heuristics know one cost per row that arrives at a join and one per result (`cost/rate.py`); both are taken from
`cost/join_work.py`. They compare trees by estimates that count too few results, so the plan may be worse than the one
that is found without them.
"""

from __future__ import annotations

from collections.abc import Iterable

from thalweg.cost.join_work import COSTS, NodeTimes
from thalweg.cost.operator_costs import Costs
from thalweg.cost.rate import Arriving, JoinCosts, halved_rate
from thalweg.errors import PlanError
from thalweg.optimizer.joins.estimates import JoinEstimates
from thalweg.optimizer.joins.local_rate_maximization import local_rate_maximization
from thalweg.optimizer.joins.local_time_minimization import local_time_minimization, longest_times
from thalweg.optimizer.joins.plan_scores import results_of_bucket
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.shape import Shape, nodes_of
from thalweg.plan.objective import LOCAL_RATE, LOCAL_TIME, Objective

MOST_FOR_TIME = 8
"""The most streams for local time minimization, which takes minutes with more of them on one key."""
LEAST_RATE = 1e-9
"""The rate of tables, which the heuristics do not know."""


def heuristic_plan(estimates: JoinEstimates, objective: Objective) -> Shape:
    """Return the tree that the heuristic of an objective finds. Raises PlanError if there are too many streams."""
    graph, streams, joins = _of_paper(estimates, objective)
    cpu = NodeTimes(estimates.numbers(estimates.expected()))
    if objective.search == LOCAL_RATE:
        return local_rate_maximization(streams, joins, objective.seconds, graph, cpu)
    return local_time_minimization(streams, joins, results_of_bucket(objective, estimates), graph, cpu)


def heuristic_scores(estimates: JoinEstimates, objective: Objective, shapes: Iterable[Shape]) -> dict[Shape, float]:
    """Return what the heuristic estimates of those plans that are trees of joins of two inputs: the results by the time
    of the objective, or the time until it has its results. Raises PlanError if there are too many streams."""
    _, streams, joins = _of_paper(estimates, objective)
    trees = [shape for shape in shapes if all(len(node) == 2 for node in nodes_of(shape))]
    if objective.search == LOCAL_RATE:
        seconds = objective.seconds
        return {shape: halved_rate(joins, shape, streams, seconds) * seconds for shape in trees}
    return longest_times(trees, streams, joins, results_of_bucket(objective, estimates))


def _of_paper(
    estimates: JoinEstimates, objective: Objective
) -> tuple[JoinGraph, dict[str, Arriving], JoinCosts]:  # fmt: skip
    """Return the join in the terms of the paper, with the streams in the order of their names."""
    numbers, graph = estimates.numbers(estimates.expected()), estimates.graph
    if objective.search == LOCAL_TIME and len(graph.aliases) > MOST_FOR_TIME:
        raise PlanError(
            f"first_results(search={LOCAL_TIME!r}) is for at most {MOST_FOR_TIME} streams, and this join has "
            f"{len(graph.aliases)}; leave search= out to compare all plans"
        )
    streams = {
        alias: Arriving(max(float(numbers.rates[alias]), LEAST_RATE), window=estimates.seconds.get(alias, float("inf")))
        for alias in sorted(graph.aliases)
    }
    row_ns = COSTS.arrivals + COSTS.kept_arrivals + COSTS.indexed + COSTS.probes
    costs = Costs(move=row_ns / 1e9, result=COSTS.results / 1e9)
    classes = tuple(frozenset(members) for members in graph.column_of if len(members) > 2)
    shares = {pair: min(float(share), 1.0) for pair, share in numbers.shares.items()}
    return graph, streams, JoinCosts(tuple(streams), shares, costs, classes=classes)
