"""The rules in their order. A rule makes a plan from a plan and what is known; the last one changes nothing.

One list serves `explain` and every runtime.
"""

from __future__ import annotations

from collections.abc import Callable

from thalweg.optimizer.build_join import build_join
from thalweg.optimizer.carry_errors import carry_errors
from thalweg.optimizer.choose_operators import choose_operators
from thalweg.optimizer.choose_order import choose_order
from thalweg.optimizer.fold_constants import fold_constants
from thalweg.optimizer.order_filters import order_filters
from thalweg.optimizer.push_filters import push_filters
from thalweg.optimizer.push_projections import push_projections
from thalweg.optimizer.refuse_unrunnable import refuse_unrunnable
from thalweg.optimizer.simplify_selections import simplify_selections
from thalweg.optimizer.split_conjunctions import split_conjunctions
from thalweg.optimizer.spread_rows import spread_rows
from thalweg.plan.query import Query
from thalweg.plan.query_plan import QueryPlan
from thalweg.stats import NOTHING_KNOWN, Knowledge

Rule = Callable[[QueryPlan, Knowledge], QueryPlan]

RULES: tuple[tuple[Rule, str], ...] = (
    (
        fold_constants,
        "first, so that later rules meet values where sums of values stood, and conditions that are TRUE go",
    ),
    (split_conjunctions, "folding may uncover ANDs; every later rule moves conjuncts one by one"),
    (simplify_selections, "before conditions move: all that is said about a column is still in one place"),
    (push_filters, "before the join is built, which takes only what no single source can decide"),
    (build_join, "of what is left: equalities become keys, and some of their sides columns that scans compute"),
    (
        choose_order,
        "needs the join's graph, and the filters of scans for its estimates; gives the join its probe trees",
    ),
    (push_projections, "when everything stands where it will be evaluated, and not before, it is known who reads what"),
    (choose_operators, "of what is left to do, when it stands where it stays"),
    (order_filters, "when it is known who evaluates what: in the JVM some conditions wait for others"),
    (carry_errors, "what a chain evaluates may raise before the join, and who evaluates what is known now"),
    (spread_rows, "when it is known that windows join, and on Spark: other operators have no buckets"),
    (refuse_unrunnable, "last, on the plan that would run"),
)


def optimize(
    query: Query,
    engine: str = "local",
    policy: str = "auto",
    known: Knowledge = NOTHING_KNOWN,
    *,
    sets_aside: bool = False,
) -> QueryPlan:
    """The first plan, for this process ("local") or for "spark", under a policy. `sets_aside`: rows on which a
    condition raises do not fail the query."""
    plan = QueryPlan.of(query, engine, policy, sets_aside=sets_aside)
    for rule, _ in RULES:
        plan = rule(plan, known)
    return plan
