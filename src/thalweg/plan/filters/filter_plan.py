"""A checked conjunction of predicates: names are unique, every `after` exists, and there are no cycles."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from thalweg.errors import PlanError, nearest
from thalweg.plan.filters.native_plan import NativePlan, divide
from thalweg.plan.filters.pipeline import Pipeline
from thalweg.plan.filters.predicate import Predicate


@dataclass(frozen=True)
class FilterPlan:
    """The predicates of a filter set, as written."""

    predicates: tuple[Predicate, ...]
    """The Python predicates, which run in the workers."""
    native: NativePlan = field(default_factory=NativePlan)
    """The native predicates, which run earlier, in Spark. They cannot be sent to workers."""
    of_query: bool = False
    """Whether the predicates are the conditions of a SQL query, for errors: they suggest what the user can write."""
    classify_by: tuple[str, ...] | None = None
    """The columns by which rows are divided into classes with routes of their own; None: those that predicates read;
    empty: none, so that all rows have one order."""

    @classmethod
    def of(cls, arguments: tuple[Any, ...]) -> FilterPlan:
        """Return the plan for the arguments of `tw.filters`: predicates of both kinds."""
        for argument in arguments:
            if isinstance(argument, Iterable) and not isinstance(argument, str):
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
                raise PlanError(f"two predicates are named {name!r}: give one of them another name=")
        for p in self.predicates:
            for guard in p.after:
                if guard not in names:
                    raise PlanError(
                        f"predicate {p.name!r} has after={guard!r}, which does not exist{nearest(guard, names)}; "
                        f"the predicates are {', '.join(names)}"
                    )
        _ = self.pipeline.start  # raises an error if the guards form a cycle
        if self.classify_by:
            object.__setattr__(self, "classify_by", checked_classifiers(self.classify_by))

    @cached_property
    def pipeline(self) -> Pipeline:
        """The names, guards and profiling permissions, as policies see them."""
        index = {p.name: k for k, p in enumerate(self.predicates)}
        return Pipeline(
            names=tuple(index),
            guards=tuple(tuple(dict.fromkeys(index[g] for g in p.after)) for p in self.predicates),
            profiled=tuple(p.profile for p in self.predicates),
        )

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Every column that a predicate reads, once, in the order of first use."""
        return tuple(dict.fromkeys(c for p in self.predicates for c in p.columns))

    @property
    def classifiers(self) -> tuple[str, ...]:
        """The columns by which rows may be classified."""
        return self.columns if self.classify_by is None else self.classify_by

    @cached_property
    def needed(self) -> tuple[str, ...]:
        """Every column that a worker needs: those that predicates read, then those that are only classified by."""
        return tuple(dict.fromkeys((*self.columns, *(self.classify_by or ()))))

    def columns_in(self, names: list[str]) -> list[str]:
        """Return `needed` as they are spelled in data with these names. An error names the predicates that read the
        column.

        >>> from thalweg import predicate
        >>> FilterPlan.of((predicate(str.isdigit, "cod"),)).columns_in(["code", "size"])
        Traceback (most recent call last):
        thalweg.errors.PlanError: predicate 'isdigit': there is no column 'cod' (did you mean 'code'?); there are code, size
        """  # noqa: E501
        found = []
        for column in self.needed:
            try:
                found.append(find_column(column, names))
            except PlanError as error:
                if column not in self.columns:
                    raise error.within("classify_by") from None
                readers = [repr(p.name) for p in self.predicates if column in p.columns]
                several = "predicates" if len(readers) > 1 else "predicate"
                raise error.within(f"{several} {', '.join(readers)}") from None
        return found

    def refuse_classifiers(self, unknown: Mapping[str, str], names: list[str]) -> None:
        """Raise a PlanError if rows would be classified by a column whose values cannot be compared.

        `names`: the columns of the data. `unknown`: those of them that cannot be compared, with their types."""
        for column in self.classify_by or ():
            found = find_column(column, names)
            if found in unknown:
                raise PlanError(
                    f"classify_by: column {found!r} has the type {unknown[found]}, and rows are classified by text, "
                    "numbers, times and booleans alone; name another column, or select a field of it as a column first"
                )

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the structure, the same in every process and on every machine."""
        text = json.dumps([p.structure() for p in self.predicates], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def checked_classifiers(columns: Any, default: str = "those that predicates read") -> tuple[str, ...]:
    """Return the argument `classify_by` as a tuple of columns. `default`: what is used without it, for errors.

    >>> checked_classifiers(["source", "size"])
    ('source', 'size')
    >>> checked_classifiers([])
    Traceback (most recent call last):
    thalweg.errors.PlanError: classify_by=[]: name at least one column, or leave it out to use those that predicates read
    """  # noqa: E501
    if isinstance(columns, str) or not isinstance(columns, Sequence):
        raise PlanError(f"classify_by={columns!r}: must be a list of column names, such as ['source', 'size']")
    if not columns:
        raise PlanError(f"classify_by={columns!r}: name at least one column, or leave it out to use {default}")
    for column in columns:
        if not isinstance(column, str):
            raise PlanError(f"classify_by={columns!r}: {column!r} is not the name of a column")
    for column in columns:
        if [other.lower() for other in columns].count(column.lower()) > 1:
            raise PlanError(f"classify_by={columns!r}: {column!r} is named twice; name it once")
    return tuple(columns)


def find_column(column: str, names: list[str]) -> str:
    """Return the name of a column as it is spelled in the data. As in Spark, case is ignored unless it is needed.

    >>> find_column("Line", ["line", "size"])
    'line'
    """
    if names.count(column) == 1:
        return column
    matches = [name for name in names if name.lower() == column.lower()]
    if len(matches) == 1:
        return matches[0]
    if column in matches:
        raise PlanError(f"there are {matches.count(column)} columns named {column!r}: give them different names")
    if matches:
        raise PlanError(f"column {column!r} is ambiguous: write it exactly as one of {', '.join(matches)}")
    struct, dot, _ = column.partition(".")
    if dot and struct.lower() in (name.lower() for name in names):
        raise PlanError(
            f"there is no column {column!r}: to read a field of a struct, name the struct {struct!r} (row functions "
            "get a dict), or select the field as a column first"
        )
    raise PlanError(f"there is no column {column!r}{nearest(column, names)}; there are {', '.join(names) or 'none'}")
