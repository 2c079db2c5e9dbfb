"""Records from flat names: each value goes to the part that has it, so that tests need not spell out the parts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from functools import cache
from typing import Any, TypeVar

from thalweg.events import JoinObserved, Observed, Origin, Record
from thalweg.events.counts import Counts, shape_of
from thalweg.events.parts import RouteCounts

R = TypeVar("R", bound=Record)
ORIGIN = tuple(each.name for each in fields(Origin))
TRIALS = {"trials": "trials.trials", "trial_rows": "trials.rows", "trial_ns": "trials.ns",
          "trial_loss_ns": "trials.loss_ns"}  # fmt: skip
IN_FORCE = {
    "rows_in_force": "in_force.rows", "evaluated_in_force": "in_force.evaluated", "passed_in_force": "in_force.passed",
    "mesh_version": "routes.version", "route_rows": "routes.rows", "route_evaluated": "routes.evaluated",
    "route_ns": "routes.ns", **TRIALS,
}  # fmt: skip
OTHER_NAMES: dict[type, dict[str, str]] = {
    Observed: {**IN_FORCE, "rows": "chain.rows"},
    JoinObserved: {**IN_FORCE, "rows": "stream.rows", "window_rows": "window.rows", "window_bytes": "window.bytes"},
}


@cache
def _places(kind: Any) -> dict[str, str]:
    """By flat name, the part and its field."""
    found: dict[str, str] = {}
    for each in shape_of(kind):
        if each.part is not None:
            names = [name.name for name in fields(each.part)]
            found |= {name: f"{each.name}.{name}" for name in names if name not in found}
    return {**found, **OTHER_NAMES.get(kind, {})}


def places(kind: Any) -> dict[str, str]:
    """By flat name, the part and its field."""
    return _places(kind)


def changed(record: R, /, **flat: Any) -> R:
    """The record with other values, in parts of its own."""
    kind = type(record)
    own_names = {each.name for each in fields(kind)} - set(TRIALS)
    own = {name: value for name, value in flat.items() if name in own_names}
    of_parts: dict[str, dict[str, Any]] = {}
    for name, value in flat.items():
        if name not in own:
            part, _, field = places(kind)[name].partition(".")
            listed = isinstance(value, Iterable) and not isinstance(value, str) and part != "origin"
            of_parts.setdefault(part, {})[field] = list(value) if listed else value
    parts = {part: replace(_part(record, part), **values) for part, values in of_parts.items()}
    return replace(record, **own, **parts)


def _part(record: Record, part: str) -> Any:
    before = getattr(record, part)
    if part == "routes" and before is None:
        return RouteCounts()
    return before


def made(kind: type[R], /, **flat: Any) -> R:
    """A record with these values. Counts that are not given are zero."""
    own = {each.name for each in shape_of(kind)} - {"origin"}
    names = len(flat.get("others", ()) or flat.get("predicates", ()))
    parts = {
        each.name: each.part.none(names) for each in shape_of(kind)
        if each.part is not None and issubclass(each.part, Counts) and not each.is_optional
    }  # fmt: skip
    first = {name: value for name, value in flat.items() if name in own and name not in TRIALS}
    origin = {name: flat[name] for name in ORIGIN if name in flat}
    rest = {name: value for name, value in flat.items() if name not in first and name not in origin}
    return changed(kind(origin=Origin(**origin), **parts, **first), **rest)
