"""The native predicates of a filter set, checked, and in two stages.

First come those a source can take over (comparisons, null checks): they cost next to nothing, and nothing may stand
between them and the source. The others follow, in an order that is learned. All of them come before any row travels to
Python, so a Python predicate may come `after` a native one, and never the reverse.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from thalweg.errors import PlanError, nearest
from thalweg.plan.expression_kind import can_be_pushed
from thalweg.plan.native_predicate import NativePredicate, native_predicate
from thalweg.plan.pipeline import Pipeline
from thalweg.plan.predicate import is_column


@dataclass(frozen=True)
class NativePlan:
    """The native predicates as written; none is the usual case."""

    predicates: tuple[NativePredicate, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.predicates)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """In the order as written."""
        return tuple(p.name for p in self.predicates)

    @cached_property
    def pipeline(self) -> Pipeline:
        """Names and guards. One that can fail on a row waits for all that were written before it: they may be what
        keeps it from failing."""
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
        """Those that a source can take over, as far as their guards can come first too."""
        found: list[int] = []
        for k in self.pipeline.start:
            if can_be_pushed(self.predicates[k].uses) and all(g in found for g in self.pipeline.guards[k]):
                found.append(k)
        return tuple(found)

    @cached_property
    def learned(self) -> tuple[int, ...]:
        """The others, whose order is learned."""
        return tuple(k for k in self.pipeline.start if k not in self.first)

    @cached_property
    def waits_for(self) -> tuple[tuple[int, ...], ...]:
        """All that must have passed before each, its guards' guards too, in an order that respects them."""
        found: dict[int, set[int]] = {}
        for k in self.pipeline.start:
            found[k] = {h for g in self.pipeline.guards[k] for h in (g, *found[g])}
        return tuple(tuple(g for g in self.pipeline.start if g in found[k]) for k in range(len(self.predicates)))

    @cached_property
    def fingerprint(self) -> str:
        """The same for the same expressions in every process."""
        text = json.dumps([p.structure() for p in self.predicates])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def divide(arguments: Sequence[Any]) -> tuple[tuple[Any, ...], NativePlan]:
    """The Python predicates and the native ones among the arguments of `tw.filters`.

    A Python predicate's guards that are native are taken off it: natives come first, so they hold by construction.
    """
    given = [native_predicate(thing) if is_column(thing) else thing for thing in arguments]
    taken = {p.name for p in given if not (isinstance(p, NativePredicate) and not p.named) and hasattr(p, "name")}
    natives: list[NativePredicate] = []
    for p in given:
        if isinstance(p, NativePredicate):
            unique = p if p.named else replace(p, name=_unique(p.name, taken))
            taken.add(unique.name)
            natives.append(unique)
    if not natives:
        return tuple(given), NativePlan()
    python = [p for p in given if not isinstance(p, NativePredicate)]
    native_names = [p.name for p in natives]
    python_names = [p.name for p in python if hasattr(p, "name")]
    every = [*native_names, *python_names]
    for name in native_names:
        if every.count(name) > 1:
            raise PlanError(f"two predicates are called {name!r}: give one of them another name=")
    for native in natives:
        for guard in native.after:
            if guard in python_names:
                raise PlanError(
                    f"native predicate {native.name!r} cannot come after {guard!r}, which is a Python predicate: "
                    "natives are evaluated in the JVM before rows travel to Python"
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
    _ = plan.pipeline  # raises when the guards form a cycle
    return tuple(freed), plan


def _known(name: str, guard: str, names: list[str]) -> None:
    if guard not in names:
        raise PlanError(
            f"predicate {name!r} comes after {guard!r}, which is not there{nearest(guard, names)}; "
            f"there are {', '.join(names)}"
        )


def _unique(name: str, taken: set[str]) -> str:
    number, unique = 1, name
    while unique in taken:
        number += 1
        unique = f"{name} ({number})"
    return unique
