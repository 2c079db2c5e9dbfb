"""Checkpoints of format 1, which contain a hash of the plan of a query, its first order and its number of buckets.

They do not contain the class of columns that spreads rows over buckets, which was chosen without any sizes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from thalweg.optimizer.choose_order import with_order
from thalweg.optimizer.spread_rows import spread_rows
from thalweg.plan.expression import structure
from thalweg.plan.plan_estimates import PlanEstimates
from thalweg.plan.plan_state import PlanState
from thalweg.plan.query_plan import QueryPlan


def plan_hash(plan: QueryPlan) -> str:
    """Return the hash of a plan as format 1 wrote it."""
    join = plan.join
    held = {
        "query": plan.query.question,
        "scans": [
            [
                scan.alias,
                [structure(c.expression) for c in sorted(scan.conditions, key=lambda c: c.place)],
                [n for n, _ in scan.computed],
            ]
            for scan in plan.scans
        ],
        "join": join and [[list(e.one), list(e.other)] for e in join.equalities],
    }
    return hashlib.sha256(json.dumps(held, sort_keys=True).encode()).hexdigest()[:16]


def state_of(found: Mapping[str, Any], plan: QueryPlan) -> PlanState:
    """Return the state of a checkpoint of this plan, if the hashes are equal."""
    if plan.join is None:
        return plan.state
    unknown = replace(plan, estimates=PlanEstimates())
    begun = unknown.with_join(with_order(plan.join, tuple(found["order"]), ""))
    return PlanState.of(spread_rows(begun), int(found["buckets"]))
