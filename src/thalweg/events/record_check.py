"""Checks whether a run could have written the values of a record: an event file may have been damaged or edited.

>>> from thalweg.events.records import Switched
>>> wrong_with(Switched("r", 3, "w", 10, ("b", "a"))), wrong_with(Switched("r", 3, "w", -1, ("b", "a")))
(None, 'at_row is -1')
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any, get_type_hints

from thalweg.events import records
from thalweg.events.mesh_check import is_mesh
from thalweg.events.records import JoinObserved, NativeObserved, Observed, Record, VerdictGiven

MOST = 2**63
_SIGNED = ("watermark", "first_time", "last_time", "predicted_saving_ns", "realized_saving_ns")
"""Fields whose numbers may be negative."""
_UNBOUNDED = ("masks",)
"""Fields whose numbers have one bit per predicate, and so no upper limit."""
_BY_PREDICATE = {
    Observed: (
        "evaluated", "passed", "busy_ns", "cost_ns", "profiled", "profile_busy_ns", "profile_errors", "raised",
        "fixed_ns", "evaluated_in_force", "passed_in_force", "shares",
    ),
    NativeObserved: ("kinds", "costs", "tested", "passed"),
    JoinObserved: (
        "evaluated", "passed", "profiled", "evaluated_in_force", "passed_in_force", "sampled", "partners", "partnered",
    ),
}  # fmt: skip
_MAY_BE_EMPTY = (
    "shares", "raised", "fixed_ns", "evaluated_in_force", "passed_in_force", "sampled", "partners", "partnered",
)  # fmt: skip
_ORDERS = {Observed: ("order",), NativeObserved: ("before", "order"), JoinObserved: ("order",)}


def wrong_with(record: Record) -> str | None:
    """Return what is wrong with the first value that no run writes; None if all values are possible."""
    for name, fits in _checks(type(record).__name__).items():
        value = getattr(record, name)
        if not fits(value):
            return f"{name} is {value!r:.40}"
    if isinstance(record, Observed | NativeObserved | JoinObserved):
        return _wrong_lists(record)
    if isinstance(record, VerdictGiven) and sorted(record.before) != sorted(record.after):
        return "after does not have the names of before"
    if isinstance(record, VerdictGiven) and record.mesh and not is_mesh(record.mesh, len(record.before)):
        return f"mesh is {record.mesh!r:.40}"
    return None


def _wrong_lists(record: Observed | NativeObserved | JoinObserved) -> str | None:
    names = record.others if isinstance(record, JoinObserved) else record.predicates
    if isinstance(record, JoinObserved) and record.inner and names:
        return "others is not empty, although an inner result does not probe"
    for name in _BY_PREDICATE[type(record)]:
        found = len(getattr(record, name))
        if found != len(names) and not (name in _MAY_BE_EMPTY and not found):
            return f"{name} has {found} values for {len(names)} names"
    for name in _ORDERS[type(record)]:
        if sorted(getattr(record, name)) != sorted(names):
            return f"{name} does not have the names of the record"
    if isinstance(record, Observed) and not all(0.0 <= share <= 1.0 for share in record.shares):
        return f"shares is {record.shares!r:.40}"
    if isinstance(record, Observed) and record.hits > record.judged:
        return f"hits is {record.hits}, more than the {record.judged} rounds that were judged"
    if isinstance(record, Observed | JoinObserved):
        for name in ("route_evaluated", "route_ns"):
            if len(getattr(record, name)) != len(record.route_rows):
                return f"{name} has {len(getattr(record, name))} values for {len(record.route_rows)} routes"
        if record.mesh and not is_mesh(record.mesh, len(names)):
            return f"mesh is {record.mesh!r:.40}"
    if isinstance(record, NativeObserved) and len(record.masks) != len(record.counts):
        return f"counts has {len(record.counts)} values for {len(record.masks)} masks"
    return None


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < MOST


def _is_whole(value: object) -> bool:
    return type(value) is int and -MOST <= value < MOST


def _is_cost(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value <= sys.float_info.max  # type: ignore[operator]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)


@cache
def _checks(name_of_kind: str) -> dict[str, Callable[[Any], bool]]:
    """Return a check for each field, made from its annotation."""
    kind: Any = getattr(records, name_of_kind)
    plain: dict[Any, Callable[[object], bool]] = {
        str: _is_text, int: _is_count, float: _is_cost, bool: lambda value: isinstance(value, bool),
        type(None): lambda value: value is None,
    }  # fmt: skip

    def check(hint: Any, name: str) -> Callable[[Any], bool]:
        if getattr(hint, "__origin__", None) is tuple:
            inner = check(hint.__args__[0], name)
            return lambda value: isinstance(value, tuple) and all(map(inner, value))
        if parts := getattr(hint, "__args__", ()):
            options = [check(part, name) for part in parts]
            return lambda value: any(option(value) for option in options)
        if hint is int and name in _UNBOUNDED:
            return lambda value: type(value) is int and value >= 0
        return _is_whole if hint is int and name in _SIGNED else plain[hint]

    hints = get_type_hints(kind)
    return {name: check(hints[name], name) for name in kind.__dataclass_fields__}
