"""The work done by a loop: encoded as text in a column of the output, and decoded to event records on the driver."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg.events import Observed, Record, Switched, VerdictGiven
from thalweg.optimizer.mesh.mesh import Mesh
from thalweg.optimizer.mesh.redaction import redacted_tree
from thalweg.plan import FilterPlan
from thalweg.runtime.filters.filter_loop import FilterLoop
from thalweg.runtime.filters.loop_ledger import Work

MOST_SWITCHES = 50
"""The most switches that a record lists one by one, so that a policy that thrashes does not flood the driver."""


IF_ANY = ("trials", "trial_rows", "trial_ns", "trial_loss_ns", "compiling_ns", "standing", "routing_ns")
"""Fields that are left out of the text while they are zero or empty, as most are most of the time."""


def encode(loop: FilterLoop[Any], worker: str, task: Mapping[str, Any] | None = None) -> str:
    """Take the loop's work since the last call and return it as compact JSON. `task` identifies the Spark task."""
    work, mesh = loop.take_work(), loop.unreported_mesh((task or {}).get("start"))
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
            **switches_of(work, redact=loop.redact),
            **in_force(work),
            **counters,
            **some,
            **work.looked_up,
            **by_route(work, loop.cost_ns(), mesh, redact=loop.redact),
        }
    )


def by_route(work: Work, cost_ns: Sequence[float], mesh: Mesh | None, *, redact: bool = False) -> dict[str, Any]:
    """Return the counters of the mesh in force; nothing without one. `mesh`: the mesh, if it has not been reported; it
    is part of the text if it is not part of a switch."""
    routes = work.routes
    if routes is None:
        return {}
    costs = [0.0 if math.isnan(cost) else cost for cost in cost_ns]
    began_with = mesh is not None and mesh is not _last_listed(work)
    return {
        "mesh_version": routes.version, "route_rows": routes.rows,
        "route_evaluated": [sum(evaluated) for evaluated in routes.evaluated],
        "route_ns": [
            round(sum(count * cost for count, cost in zip(evaluated, costs, strict=True)))
            for evaluated in routes.evaluated
        ],
        "predicted_saving_ns": work.predicted_saving_ns, "realized_saving_ns": work.realized_saving_ns,
        **({"mesh": _mesh_text(mesh, redact)} if began_with and mesh is not None else {}),
    }  # fmt: skip


def decode(
    text: str, *, plan: FilterPlan, policy: str, run: str, kind: str, batch: int | None, query_name: str | None = None
) -> list[Record]:  # fmt: skip
    """Return the event records of one encoded piece of work."""
    record: dict[str, Any] = json.loads(text)
    names = plan.pipeline.names
    record_origin = RecordOrigin.taken(record, run, policy, batch)
    switches, omitted = record.pop("switches"), record.pop("omitted")
    order = tuple(names[k] for k in record.pop("order"))
    counters: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in record.items()
    }
    return [
        *record_origin.switch_records(switches, names),
        Observed(
            kind=kind, predicates=names, order=order, omitted_switches=omitted, query_name=query_name,
            **record_origin.fields(), **counters,
        ),
    ]  # fmt: skip


def compact(record: Mapping[str, Any]) -> str:
    """Return a record as JSON without blanks."""
    return json.dumps(record, separators=(",", ":"))


def switches_of(work: Work, *, redact: bool = False) -> dict[str, Any]:
    """Return the first `MOST_SWITCHES` switches, and the number of further ones. The last mesh is part of its switch,
    without values of rows if `redact` is true."""
    listed, last = work.switches[:MOST_SWITCHES], _last_listed(work)
    return {
        "switches": [
            [s.at, s.before, s.after, s.reason, *([_mesh_text(last, redact)] if last and s.mesh is last else [])]
            for s in listed
        ],
        "omitted": len(work.switches) - len(listed),
    }


def _last_listed(work: Work) -> Mesh | None:
    """Return the last mesh among the switches that a record lists."""
    return next((s.mesh for s in reversed(work.switches[:MOST_SWITCHES]) if s.mesh is not None), None)


def _mesh_text(mesh: Mesh, redact: bool) -> str:
    stored = mesh.to_dict()
    return compact({**stored, "tree": redacted_tree(stored["tree"])} if redact else stored)


def in_force(work: Work) -> dict[str, Any]:
    """Return the counters of the order that is in force at the end, without those of earlier orders."""
    return {
        "switched": bool(work.switches),
        "rows_in_force": work.rows_in_force,
        "evaluated_in_force": work.evaluated_in_force,
        "passed_in_force": work.passed_in_force,
    }


@dataclass(frozen=True, slots=True)
class RecordOrigin:
    """The run, batch, worker, policy and query of a piece of work; the same in all of its records."""

    run: str
    batch: int | None
    worker: str
    policy: str
    query: str | None = None
    start: str | None = None

    @classmethod
    def taken(cls, record: dict[str, Any], run: str, policy: str, batch: int | None) -> RecordOrigin:
        """Remove the origin from a decoded record and return it. If `batch` is given, it replaces that of the task."""
        record.pop("task", None)
        in_query = record.pop("batch", None)
        return cls(
            run, in_query if batch is None else batch, record.pop("worker"), policy, record.pop("query", None),
            record.pop("start", None),
        )  # fmt: skip

    def fields(self) -> dict[str, Any]:
        """Return the fields of the origin by name."""
        return {name: getattr(self, name) for name in self.__slots__}

    def switch_records(
        self, switches: Sequence[Sequence[Any]], names: Sequence[str], within: str = ""
    ) -> Iterator[Record]:
        """Return two records per switch. `within` names a part of the worker's work."""
        worker = f"{self.worker} {within}" if within else self.worker
        for at, before, after, reason, *mesh in switches:
            old, new = (tuple(names[k] for k in order) for order in (before, after))
            yield VerdictGiven(
                self.run, self.batch, worker, self.policy, at, old, new, reason, self.query, self.start, *mesh
            )  # fmt: skip
            yield Switched(self.run, self.batch, worker, at, new, self.query, self.start)
