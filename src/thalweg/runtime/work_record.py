"""Work done by a loop, as text that travels in a column, and as event records on the driver."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from thalweg.events import Observed, Record, Switched, VerdictGiven
from thalweg.plan import FilterPlan
from thalweg.runtime.filter_loop import FilterLoop

MOST_SWITCHES = 50
"""Recorded one by one a record; a policy that thrashes must not flood the driver."""


def encode(loop: FilterLoop, worker: str, task: Mapping[str, Any] | None = None) -> str:
    """Take the loop's work since the last call, as compact JSON; `task` says on whose behalf it was done."""
    work = loop.take_work()
    told = work.switches[:MOST_SWITCHES]
    counters = {
        name: getattr(work, name)
        for name in (
            "rows", "kept", "evaluated", "passed", "busy_ns", "profiled", "profile_busy_ns", "profile_errors",
            "profile_tuples", "total_ns", "profiling_ns", "reoptimizing_ns", "failed", "raised",
        )
    }  # fmt: skip
    return json.dumps(
        {
            **(task or {}),
            "worker": worker,
            "order": loop.order,
            "cost_ns": [None if math.isnan(c) else round(c, 1) for c in loop.cost_ns()],
            "switches": [[s.at, s.before, s.after, s.reason] for s in told],
            "omitted": len(work.switches) - len(told),
            **counters,
        },
        separators=(",", ":"),
    )


def decode(
    text: str, *, plan: FilterPlan, policy: str, run: str, kind: str, batch: int | None, query_name: str | None = None
) -> list[Record]:  # fmt: skip
    """The event records of one encoded piece of work."""
    told: dict[str, Any] = json.loads(text)
    names = plan.pipeline.names
    worker, switches = told.pop("worker"), told.pop("switches")
    order = tuple(names[k] for k in told.pop("order"))
    omitted = told.pop("omitted")
    told.pop("task", None)
    query, start, in_query = told.pop("query", None), told.pop("start", None), told.pop("batch", None)
    batch = in_query if batch is None else batch
    counters: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in told.items()}
    records: list[Record] = []
    for at, before, after, reason in switches:
        old, new = tuple(names[k] for k in before), tuple(names[k] for k in after)
        records.append(VerdictGiven(run, batch, worker, policy, at, old, new, reason, query, start))
        records.append(Switched(run, batch, worker, at, new, query, start))
    records.append(
        Observed(
            run=run, kind=kind, batch=batch, worker=worker, policy=policy, predicates=names, order=order,
            omitted_switches=omitted, query=query, start=start, query_name=query_name, **counters,
        )
    )  # fmt: skip
    return records
