"""A conjunction of predicates, checked: names are unique, every `after` exists, nothing waits for itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from thalweg.errors import PlanError, nearest
from thalweg.plan.native_plan import NativePlan, divide
from thalweg.plan.pipeline import Pipeline
from thalweg.plan.predicate import Predicate, is_column


@dataclass(frozen=True)
class FilterPlan:
    """The predicates as written, and what follows from them."""

    predicates: tuple[Predicate, ...]
    """Those in Python, which run in the workers."""
    native: NativePlan = field(default_factory=NativePlan)
    """Those of Spark's own, which run before; they cannot travel."""

    @classmethod
    def of(cls, arguments: tuple[Any, ...]) -> FilterPlan:
        """From the arguments of `tw.filters`: predicates and bare Columns."""
        for argument in arguments:
            if isinstance(argument, Iterable) and not isinstance(argument, str) and not is_column(argument):
                raise PlanError(
                    f"tw.filters() takes predicates one by one, not a {type(argument).__name__}: unpack it, "
                    "tw.filters(*predicates)"
                )
        return cls(*divide(arguments))

    def __post_init__(self) -> None:
        if not self.predicates and not self.native:
            raise PlanError("tw.filters() needs at least one tw.predicate(...)")
        for p in self.predicates:
            if not isinstance(p, Predicate):
                raise PlanError(f"tw.filters() takes predicates, not {p!r}: wrap it as tw.predicate(f, 'column')")
        names = [p.name for p in self.predicates]
        for name in names:
            if names.count(name) > 1:
                raise PlanError(f"two predicates are called {name!r}: give one of them another name=")
        for p in self.predicates:
            for guard in p.after:
                if guard not in names:
                    raise PlanError(
                        f"predicate {p.name!r} comes after {guard!r}, which is not there{nearest(guard, names)}; "
                        f"there are {', '.join(names)}"
                    )
        _ = self.pipeline.start  # raises when the guards form a cycle

    @cached_property
    def pipeline(self) -> Pipeline:
        """Names, guards and permissions, as the policies see them."""
        index = {p.name: k for k, p in enumerate(self.predicates)}
        return Pipeline(
            names=tuple(index),
            guards=tuple(tuple(dict.fromkeys(index[g] for g in p.after)) for p in self.predicates),
            profiled=tuple(p.profile for p in self.predicates),
        )

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Every column some predicate reads, once, in the order of first use."""
        return tuple(dict.fromkeys(c for p in self.predicates for c in p.columns))

    @cached_property
    def fingerprint(self) -> str:
        """The same for the same structure in every process and on every machine."""
        text = json.dumps([p.structure() for p in self.predicates], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
