"""Work done by a loop, as text that travels in a column, and as event records on the driver."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg.events import Observed, Record, Switched, VerdictGiven
from thalweg.plan import FilterPlan
from thalweg.runtime.filters.filter_loop import FilterLoop
from thalweg.runtime.filters.loop_ledger import Work

MOST_SWITCHES = 50
"""Recorded one by one a record; a policy that thrashes must not flood the driver."""


IF_ANY = ("trials", "trial_rows", "trial_ns", "trial_loss_ns", "compiling_ns", "standing")
"""Counters and words that are left out of the text while they are nothing, as most are most of the time."""


def encode(loop: FilterLoop[Any], worker: str, task: Mapping[str, Any] | None = None) -> str:
    """Take the loop's work since the last call, as compact JSON; `task` says on whose behalf it was done."""
    work = loop.take_work()
    counters = {
        name: getattr(work, name)
        for name in (
            "rows", "kept", "evaluated", "passed", "busy_ns", "profiled", "profile_busy_ns", "profile_errors",
            "profile_tuples", "total_ns", "profiling_ns", "reoptimizing_ns", "failed", "raised",
        )
    }  # fmt: skip
    some = {name: value for name in IF_ANY if (value := getattr(work, name))}
    return compact(
        {
            **(task or {}),
            "worker": worker,
            "order": loop.order,
            "cost_ns": [None if math.isnan(c) else round(c, 1) for c in loop.cost_ns()],
            "fixed_ns": [round(c.fixed_ns, 1) if c.known and math.isfinite(c.fixed_ns) else None for c in loop.costs],
            **switches_of(work),
            **in_force(work),
            **counters,
            **some,
        }
    )


def decode(
    text: str, *, plan: FilterPlan, policy: str, run: str, kind: str, batch: int | None, query_name: str | None = None
) -> list[Record]:  # fmt: skip
    """The event records of one encoded piece of work."""
    told: dict[str, Any] = json.loads(text)
    names = plan.pipeline.names
    behalf = Behalf.taken(told, run, policy, batch)
    switches, omitted = told.pop("switches"), told.pop("omitted")
    order = tuple(names[k] for k in told.pop("order"))
    counters: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in told.items()}
    return [
        *behalf.switch_records(switches, names),
        Observed(
            kind=kind, predicates=names, order=order, omitted_switches=omitted, query_name=query_name,
            **behalf.fields(), **counters,
        ),
    ]  # fmt: skip


def compact(told: Mapping[str, Any]) -> str:
    """JSON without blanks."""
    return json.dumps(told, separators=(",", ":"))


def switches_of(work: Work) -> dict[str, Any]:
    """The first ones, and how many there were besides."""
    told = work.switches[:MOST_SWITCHES]
    return {
        "switches": [[s.at, s.before, s.after, s.reason] for s in told],
        "omitted": len(work.switches) - len(told),
    }


def in_force(work: Work) -> dict[str, Any]:
    """What the order at the end alone did."""
    return {
        "switched": bool(work.switches),
        "rows_in_force": work.rows_in_force,
        "evaluated_in_force": work.evaluated_in_force,
        "passed_in_force": work.passed_in_force,
    }


@dataclass(frozen=True, slots=True)
class Behalf:
    """Who did a piece of work, and for what: the same in every record of it."""

    run: str
    batch: int | None
    worker: str
    policy: str
    query: str | None = None
    start: str | None = None

    @classmethod
    def taken(cls, told: dict[str, Any], run: str, policy: str, batch: int | None) -> Behalf:
        """Out of an encoded piece of work, which keeps the rest. A batch that is given goes before what a task knew."""
        told.pop("task", None)
        in_query = told.pop("batch", None)
        return cls(
            run, in_query if batch is None else batch, told.pop("worker"), policy, told.pop("query", None),
            told.pop("start", None),
        )  # fmt: skip

    def fields(self) -> dict[str, Any]:
        """By name."""
        return {name: getattr(self, name) for name in self.__slots__}

    def switch_records(
        self, switches: Sequence[Sequence[Any]], names: Sequence[str], within: str = ""
    ) -> Iterator[Record]:
        """Two a switch; `within` names a part of the worker's work."""
        worker = f"{self.worker} {within}" if within else self.worker
        for at, before, after, reason in switches:
            old, new = (tuple(names[k] for k in order) for order in (before, after))
            yield VerdictGiven(
                self.run, self.batch, worker, self.policy, at, old, new, reason, self.query, self.start
            )  # fmt: skip
            yield Switched(self.run, self.batch, worker, at, new, self.query, self.start)
