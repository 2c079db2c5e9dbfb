"""Checks whether a run could have written the values of a record: an event file may have been damaged or edited.

>>> from thalweg.events.records import Origin, Switched
>>> by_worker = Origin("r", "stream", 3, "w", "auto")
>>> wrong_with(Switched(by_worker, 10, ("b", "a"))), wrong_with(Switched(by_worker, -1, ("b", "a")))
(None, 'at_row is -1')
"""

from __future__ import annotations

from thalweg.events.counts import wrong_values
from thalweg.events.mesh_check import is_mesh
from thalweg.events.records import BatchTimed, JoinObserved, NativeObserved, Observed, Record, VerdictGiven


def wrong_with(record: Record) -> str | None:
    """Return what is wrong with the first value that no run writes; None if all values are possible."""
    names: tuple[str, ...] = getattr(record, "others", ()) or getattr(record, "predicates", ())
    if (wrong := wrong_values(record, len(names))) is not None:
        return wrong
    if isinstance(record, BatchTimed):
        return "batch is None" if record.origin.batch is None else None
    if not record.origin.policy:
        return "policy is ''"
    if isinstance(record, NativeObserved):
        return _wrong_native(record)
    if not record.origin.worker:
        return "worker is ''"
    if isinstance(record, JoinObserved) and record.inner and names:
        return "others is not empty, although an inner result does not probe"
    if isinstance(record, Observed | JoinObserved):
        if sorted(record.order) != sorted(names):
            return "order does not have the names of the record"
        mesh = "" if record.routes is None else record.routes.mesh
        return f"mesh is {mesh!r:.40}" if mesh and not is_mesh(mesh, len(names)) else None
    if isinstance(record, VerdictGiven):
        if sorted(record.before) != sorted(record.after):
            return "after does not have the names of before"
        if record.mesh and not is_mesh(record.mesh, len(record.before)):
            return f"mesh is {record.mesh!r:.40}"
    return None


def _wrong_native(record: NativeObserved) -> str | None:
    names = record.predicates
    for name in ("kinds", "costs"):
        if (found := len(getattr(record, name))) != len(names):
            return f"{name} has {found} values for {len(names)} names"
    for name in ("before", "order"):
        if sorted(getattr(record, name)) != sorted(names):
            return f"{name} does not have the names of the record"
    if len(record.masks) != len(record.sampled):
        return f"sampled has {len(record.sampled)} values for {len(record.masks)} masks"
    return None
