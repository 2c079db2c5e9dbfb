"""Plans to look at: streams p, q, r of one schema, a table, functions; after some of the rules."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pyarrow as pa

from thalweg.optimizer.rules.build_join import build_join
from thalweg.optimizer.rules.fold_constants import fold_constants
from thalweg.optimizer.rules.push_filters import push_filters
from thalweg.optimizer.rules.simplify_selections import simplify_selections
from thalweg.optimizer.rules.split_conjunctions import split_conjunctions
from thalweg.plan.query.query import Condition
from thalweg.plan.query.query_plan import QueryPlan
from thalweg.plan.query.relation import Catalog, Relation, UserFunction
from thalweg.plan.sql.analysis import read_query
from thalweg.stats import NOTHING_KNOWN, Knowledge

SCHEMA = pa.schema(
    {"ts": pa.timestamp("us"), "a": pa.int32(), "b": pa.int64(), "x": pa.float64(), "s": pa.string(), "f": pa.bool_()}
)


def catalog() -> Catalog:
    """Streams p, q, r of one schema, and a table."""
    relations = {name: Relation(name, SCHEMA, "ts", 0) for name in "pqr"}
    relations["t"] = Relation("t", pa.schema({"a": pa.int32(), "word": pa.string()}))
    functions = {
        "risky": UserFunction("risky", bool, pa.bool_()),
        "calm": UserFunction("calm", bool, pa.bool_(), safe=True),
    }
    return Catalog(relations, functions)


def declared(**statistics: dict[str, Any]) -> Knowledge:
    """What a user says about some of them."""
    return reduce(
        Knowledge.merged, (Knowledge.declared(name, **given) for name, given in statistics.items()), Knowledge()
    )


def plan_of(text: str, *rules: Any, known: Knowledge = NOTHING_KNOWN, of: Catalog | None = None) -> QueryPlan:
    """Return the plan after some rules."""
    plan = QueryPlan.of(read_query(text, of or catalog(), {}))
    for rule in rules:
        plan = rule(plan, known)
    return plan


def texts(conditions: tuple[Condition, ...]) -> list[str]:
    """As a person reads them."""
    return [condition.text for condition in conditions]


JOINED = "SELECT p.a FROM p [NOW], q [NOW] WHERE "
BEFORE = (fold_constants, split_conjunctions, simplify_selections, push_filters, build_join)
