"""The rules of the optimizer, in order. A rule turns a plan and what is known into a new plan; the last rule changes
nothing.

`explain` and every runtime use the same list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from thalweg.optimizer.rules.build_join import build_join
from thalweg.optimizer.rules.carry_errors import carry_errors
from thalweg.optimizer.rules.choose_kept import choose_kept
from thalweg.optimizer.rules.choose_operators import choose_operators
from thalweg.optimizer.rules.choose_order import choose_order
from thalweg.optimizer.rules.fold_constants import fold_constants
from thalweg.optimizer.rules.order_filters import order_filters
from thalweg.optimizer.rules.place_filters import place_filters
from thalweg.optimizer.rules.push_filters import push_filters
from thalweg.optimizer.rules.push_projections import push_projections
from thalweg.optimizer.rules.refuse_unrunnable import refuse_unrunnable
from thalweg.optimizer.rules.simplify_selections import simplify_selections
from thalweg.optimizer.rules.split_conjunctions import split_conjunctions
from thalweg.optimizer.rules.spread_rows import spread_rows
from thalweg.plan.joins.wanted_plan import WantedPlan
from thalweg.plan.query.nodes import SourceColumn
from thalweg.plan.query.query import Query
from thalweg.plan.query.query_plan import FilterPlaces, QueryPlan
from thalweg.stats import NOTHING_KNOWN, Knowledge

Rule = Callable[[QueryPlan, Knowledge], QueryPlan]

RULES: tuple[tuple[Rule, str], ...] = (
    (
        fold_constants,
        "first, so that later rules see computed values instead of expressions, and no conditions that are TRUE",
    ),
    (split_conjunctions, "after folding, which may expose ANDs; every later rule moves conjuncts one by one"),
    (simplify_selections, "before conditions move: all conditions on a column are still in one place"),
    (push_filters, "before the join is built, which takes only conditions on several sources"),
    (build_join, "after filters are pushed: equalities become keys, and some of their sides become computed columns"),
    (
        choose_operators,
        "before cost places filters, which must not change who evaluates what, and so on which rows a query fails",
    ),
    (place_filters, "after operators are chosen: only what an adaptive chain evaluates may be moved after the join"),
    (
        choose_order,
        "after filters are placed: needs the graph, and the filters of scans for estimates; sets its probe trees",
    ),
    (push_projections, "after every expression is at its final place: only then is it known which node reads what"),
    (order_filters, "after operators are chosen: in the JVM some conditions wait for others"),
    (carry_errors, "after operators are chosen: what a chain evaluates may raise before the join"),
    (spread_rows, "after operators are chosen: only a window join on Spark has buckets"),
    (
        choose_kept,
        "after rows are spread and projections are pushed: depends on the rows of a bucket and the columns of windows",
    ),
    (refuse_unrunnable, "last, to check the plan that would run"),
)


def optimize(
    query: Query,
    engine: str = "local",
    policy: str = "auto",
    known: Knowledge = NOTHING_KNOWN,
    *,
    sets_aside: bool = False,
    filter_places: FilterPlaces = "cheapest",
    classify_by: tuple[SourceColumn, ...] | None = None,
    wanted: WantedPlan = WantedPlan(),  # noqa: B008 - frozen
) -> QueryPlan:
    """Return the first plan of a query under a policy. `engine` is "local", for this process, or "spark".
    `sets_aside`: rows on which a condition raises do not fail the query. `filter_places`, `classify_by` and
    `wanted`: as in `QueryPlan`."""
    plan = QueryPlan.of(query, engine, policy, sets_aside=sets_aside)
    plan = replace(plan, filter_places=filter_places, classify_by=classify_by, wanted=wanted)
    for rule, _ in RULES:
        plan = rule(plan, known)
    return plan
