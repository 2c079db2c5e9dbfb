"""The work done by a loop: encoded as text in a column of the output, and decoded to event records on the driver."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from thalweg.events import Observed, Origin, Record, Switched, VerdictGiven
from thalweg.optimizer.mesh.mesh import Mesh
from thalweg.optimizer.mesh.redaction import redacted_tree
from thalweg.plan import FilterPlan
from thalweg.runtime.filters.filter_loop import FilterLoop
from thalweg.runtime.filters.loop_ledger import Switch, Work

MOST_SWITCHES = 50
"""The most switches that a record lists one by one, so that a policy that thrashes does not flood the driver."""


def encode(loop: FilterLoop[Any], worker: str, task: Mapping[str, Any] | None = None) -> str:
    """Take the loop's work since the last call and return it as compact JSON. `task` identifies the Spark task."""
    work = take_report(loop, (task or {}).get("start"), redact=loop.redact)
    work.calls.cost_ns = [round(cost.per_row_ns, 1) if cost.known else None for cost in loop.costs]
    work.calls.fixed_ns = [
        round(cost.fixed_ns, 1) if cost.known and math.isfinite(cost.fixed_ns) else None for cost in loop.costs
    ]
    switches = listed_switches(work.switches, redact=loop.redact)
    return compact({**(task or {}), "worker": worker, "order": loop.order, **work.to_json(), **switches})


def take_report(loop: FilterLoop[Any], start: str | None = None, *, redact: bool) -> Work:
    """Return the work since the last call, for a report. The mesh is part of it if it has not been reported and is not
    that of a listed switch. `start`: the start of the streaming query; each has a report of its own."""
    work, mesh = loop.take_work(), loop.unreported_mesh(start)
    if work.routes is not None and mesh is not None and mesh is not _last_listed(work.switches):
        work.routes.mesh = _mesh_text(mesh, redact)
    return work


def decode(
    text: str, *, plan: FilterPlan, policy: str, run: str, kind: str, batch: int | None, query_name: str | None = None
) -> list[Record]:  # fmt: skip
    """Return the event records of one encoded piece of work."""
    found: dict[str, Any] = json.loads(text)
    names = plan.pipeline.names
    origin = origin_of(found, Origin(run, kind, batch, policy=policy, query_name=query_name))
    order, switches = tuple(names[k] for k in found["order"]), found.pop("switches", ())
    work = Work.from_json(found, len(names))
    return [
        *switch_records(origin, switches, names),
        Observed(
            origin, names, order, found.get("omitted", 0), work.chain, work.calls, work.times, work.in_force,
            work.trials, work.routes, work.chart,
        ),
    ]  # fmt: skip


def origin_of(found: Mapping[str, Any], known: Origin) -> Origin:
    """Return the origin of a decoded piece of work. `known`: what the driver knows of it. A batch that it knows
    replaces that of the task."""
    batch = found.get("batch") if known.batch is None else known.batch
    return Origin(
        known.run, known.kind, batch, found["worker"], known.policy, found.get("query"), found.get("start"),
        known.query_name,
    )  # fmt: skip


def compact(record: Mapping[str, Any]) -> str:
    """Return a record as JSON without blanks."""
    return json.dumps(record, separators=(",", ":"))


def listed_switches(switches: Sequence[Switch], *, redact: bool = False) -> dict[str, Any]:
    """Return the first `MOST_SWITCHES` switches, and the number of further ones. The last mesh is part of its switch,
    without values of rows if `redact` is true."""
    if not switches:
        return {}
    listed, last = switches[:MOST_SWITCHES], _last_listed(switches)
    return {
        "switches": [
            [s.at, s.before, s.after, s.reason, *([_mesh_text(last, redact)] if last and s.mesh is last else [])]
            for s in listed
        ],
        "omitted": len(switches) - len(listed),
    }


def _last_listed(switches: Sequence[Switch]) -> Mesh | None:
    """Return the last mesh among the switches that a record lists."""
    return next((s.mesh for s in reversed(switches[:MOST_SWITCHES]) if s.mesh is not None), None)


def _mesh_text(mesh: Mesh, redact: bool) -> str:
    stored = mesh.to_dict()
    return compact({**stored, "tree": redacted_tree(stored["tree"])} if redact else stored)


def switch_records(origin: Origin, switches: Sequence[Sequence[Any]], names: Sequence[str]) -> Iterator[Record]:
    """Return two records per switch, as `listed_switches` returned it."""
    for at, before, after, reason, *mesh in switches:
        old, new = (tuple(names[k] for k in order) for order in (before, after))
        yield VerdictGiven(origin, at, old, new, reason, *mesh)
        yield Switched(origin, at, new)
