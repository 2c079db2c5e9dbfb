"""The checked native predicates of a filter set, in two stages.

The first stage has the predicates that a data source can evaluate (comparisons, null checks): they cost almost nothing,
and nothing may come between them and the source. The others follow, in an order that is learned. All native predicates
are evaluated before any row is sent to Python, so a Python predicate may come `after` a native one, but never the
reverse.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from thalweg.errors import PlanError, nearest
from thalweg.plan.filters.expression_kind import can_be_pushed
from thalweg.plan.filters.pipeline import Pipeline
from thalweg.plan.filters.predicate import NativePredicate


@dataclass(frozen=True)
class NativePlan:
    """The native predicates of a filter set, as written. Most filter sets have none."""

    predicates: tuple[NativePredicate, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.predicates)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the predicates, in the written order."""
        return tuple(p.name for p in self.predicates)

    @cached_property
    def pipeline(self) -> Pipeline:
        """The names and guards. A predicate that can fail on a row waits for all that are written before it, because
        they may keep it from failing."""
        index = {name: k for k, name in enumerate(self.names)}
        asked = tuple(tuple(dict.fromkeys(index[g] for g in p.after)) for p in self.predicates)
        start = Pipeline(self.names, asked).start
        guards = list(asked)
        for place, k in enumerate(start):
            if self.predicates[k].raises:
                guards[k] = tuple(dict.fromkeys((*asked[k], *start[:place])))
        return Pipeline(self.names, tuple(guards))

    @cached_property
    def first(self) -> tuple[int, ...]:
        """The predicates that a data source can evaluate, if their guards are also among them."""
        found: list[int] = []
        for k in self.pipeline.start:
            if can_be_pushed(self.predicates[k].uses) and all(g in found for g in self.pipeline.guards[k]):
                found.append(k)
        return tuple(found)

    @cached_property
    def learned(self) -> tuple[int, ...]:
        """The other predicates, whose order is learned."""
        return tuple(k for k in self.pipeline.start if k not in self.first)

    @cached_property
    def waits_for(self) -> tuple[tuple[int, ...], ...]:
        """For each predicate, all that must pass before it, including the guards of its guards, in a valid order."""
        found: dict[int, set[int]] = {}
        for k in self.pipeline.start:
            found[k] = {h for g in self.pipeline.guards[k] for h in (g, *found[g])}
        return tuple(tuple(g for g in self.pipeline.start if g in found[k]) for k in range(len(self.predicates)))

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the expressions, the same in every process."""
        text = json.dumps([p.structure() for p in self.predicates])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def divide(arguments: Sequence[Any]) -> tuple[tuple[Any, ...], NativePlan]:
    """Split the arguments of `tw.filters` into Python predicates and native predicates.

    Native guards of a Python predicate are removed: native predicates are always evaluated first.
    """
    taken = {p.name for p in arguments if not (isinstance(p, NativePredicate) and not p.named) and hasattr(p, "name")}
    natives: list[NativePredicate] = []
    for p in arguments:
        if isinstance(p, NativePredicate):
            unique = p if p.named else replace(p, name=_unique(p.name, taken))
            taken.add(unique.name)
            natives.append(unique)
    if not natives:
        return tuple(arguments), NativePlan()
    python = [p for p in arguments if not isinstance(p, NativePredicate)]
    native_names = [p.name for p in natives]
    python_names = [p.name for p in python if hasattr(p, "name")]
    every = [*native_names, *python_names]
    for name in native_names:
        if every.count(name) > 1:
            raise PlanError(f"two predicates are named {name!r}: give one of them another name=")
    for native in natives:
        for guard in native.after:
            if guard in python_names:
                raise PlanError(
                    f"native predicate {native.name!r} cannot come after {guard!r}, which is a Python predicate and "
                    "runs later, after rows are sent from the JVM to Python; remove it from after="
                )
            _known(native.name, guard, every)
    freed = []
    for p in python:
        if hasattr(p, "after"):
            for guard in p.after:
                _known(p.name, guard, every)
            p = replace(p, after=tuple(guard for guard in p.after if guard not in native_names))
        freed.append(p)
    plan = NativePlan(tuple(natives))
    _ = plan.pipeline  # raises an error if the guards form a cycle
    return tuple(freed), plan


def _known(name: str, guard: str, names: list[str]) -> None:
    if guard not in names:
        raise PlanError(
            f"predicate {name!r} has after={guard!r}, which does not exist{nearest(guard, names)}; "
            f"the predicates are {', '.join(names)}"
        )


def _unique(name: str, taken: set[str]) -> str:
    number, unique = 1, name
    while unique in taken:
        number += 1
        unique = f"{name} ({number})"
    return unique
