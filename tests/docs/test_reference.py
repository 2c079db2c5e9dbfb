"""The reference explains everything it shows: parameters, results, and an example. It reads the pages of docs/api."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest

import thalweg as tw
from thalweg import simulation as virtual

PAGES = sorted((Path(__file__).parents[2] / "docs" / "api").glob("*.md"))
INTERNAL = {
    "ContinuousQuery.explained": "handles call it, with the plan of their run",
    "ContinuousQuery.belongs_to": "sessions call it",
    "ContinuousQuery.in_turn": "sessions call it, for `rounds`",
    "ChartView.cells": "the data of the picture",
    "Predicate.structure": "the content of a fingerprint",
    "Predicate.strict": "only predicates of SQL queries have it",
    "NativePredicate.structure": "the content of a fingerprint",
    "Section.add": "folds event records",
    "Section.take_in": "folds event records",
    "JoinSection.add": "folds event records",
    "JoinSection.take_in": "folds event records",
    "StreamReport.add": "folds event records",
    "StreamReport.take_in": "folds event records",
    "TableReport.of": "folds event records",
    "SwitchReport.of": "folds event records",
    "FilterRound.add": "folds event records",
    "SwitchReport.to_dict": "a part of the values of its section",
    "InForceCounts.add": "loops and reports call it",
    "ChartCounts.judge": "loops and reports call it",
    "ChartCounts.look_up": "loops and reports call it",
    "ChartCounts.to_dict": "loops and reports call it",
    "ChartCounts.wrong": "loops and reports call it",
    "MatchCounts.add": "loops and reports call it",
    "MatchCounts.taken": "loops and reports call it",
    "WindowCounts.measure": "loops and reports call it",
    "WindowCounts.of_buckets": "loops and reports call it",
    "WindowCounts.taken": "loops and reports call it",
    "Report.nothing": "a word of its text",
    "Report.done": "a word of its text",
    "Report.again": "a word of its text",
    "JoinReport.nothing": "a word of its text",
    "JoinReport.done": "a word of its text",
    "JoinReport.again": "a word of its text",
}
"""Names that the pages leave out with `exclude-members`, and why."""
RETURNED = {
    "functions and methods return them, and the examples are there": {
        "ChartView", "ContinuousQuery", "Explanation", "FilterRound", "Filters", "Join", "JoinReport", "JoinSection",
        "NativePredicate", "Objective", "PolicyChoice", "Predicate", "PredicateReport", "QueryReport", "QueryRounds",
        "Report", "RoundsReport", "Sample", "Section", "Session", "StreamReport", "SwitchReport", "TableReport",
        "Trace",
    },
    "`read` and `events` return them": {
        "BatchTimed", "JoinObserved", "NativeObserved", "Observed", "Origin", "PlanObserved", "Skipped", "Switched",
        "VerdictGiven",
    },
    "records and reports have them": {
        "CallCounts", "ChainCounts", "ChartCounts", "InForceCounts", "MatchCounts", "NativeCounts", "PlanCounts",
        "PlanForecast", "RouteCounts", "StreamCounts", "TimeCounts", "TrialCounts", "WindowCounts",
    },
    "loops make them for policies": {"Costs", "Observation"},
    "these are interfaces, and the examples are in their methods": {
        "Arrivals", "Clock", "Handle", "Operator", "Policy",
    },
}  # fmt: skip
"""Classes that users do not construct, so they need no example, by reason."""


@dataclass(frozen=True)
class Shown:
    """A name that a page shows, with the options of its directive."""

    module: str
    name: str
    options: dict[str, str]

    @property
    def thing(self) -> Any:
        return getattr(importlib.import_module(self.module), self.name)

    @property
    def excluded(self) -> set[str]:
        return set(filter(None, re.split(r",\s*", self.options.get("exclude-members", ""))))

    def callables(self) -> Iterator[tuple[str, Callable[..., Any]]]:
        """Return the function, or the methods of the class that the page shows."""
        thing = self.thing
        if not inspect.isclass(thing):
            yield self.name, thing
            return
        shown = set(self.options.get("special-members", "").split())
        if "members" in self.options:
            inherited = "inherited-members" in self.options
            names = dir(thing) if inherited else vars(thing)
            shown |= {name for name in names if not name.startswith("_")} - self.excluded
        for name in sorted(shown):
            member = inspect.getattr_static(thing, name)
            if isinstance(member, staticmethod | classmethod) or inspect.isfunction(member):
                yield f"{self.name}.{name}", getattr(thing, name)


def shown_in(text: str) -> list[Shown]:
    """Return the names that the directives of a page show."""
    found, module = [], ""
    for kind, name, options in re.findall(r"^\.\. (\w+):: ([\w.]+)\n((?:   :.*\n)*)", text, flags=re.M):
        if kind == "currentmodule":
            module = name
        elif kind in ("autoclass", "autofunction"):
            found.append(Shown(module, name, dict(re.findall(r":([\w-]+):[ ]?(.*)\n", options))))
    return found


def section(doc: str, title: str) -> str | None:
    """Return the text of a section of a docstring; None if there is no such section."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", doc, flags=re.M | re.S)
    return None if found is None else found[1]


def lacks(name: str, function: Callable[..., Any]) -> list[str]:
    """Return what the docstring of a function lacks."""
    doc = inspect.getdoc(function) or ""
    signature = inspect.signature(function)
    bound = "." in name and not inspect.ismethod(function)
    parameters = list(signature.parameters)[1 if bound else 0 :]
    described = section(doc, "Parameters") or ""
    named = {word.lstrip("*") for line in re.findall(r"^(\S.*)$", described, flags=re.M) for word in line.split(", ")}
    missing = [f"the parameter {each}" for each in parameters if each not in named]
    missing += [f"a parameter {each}, which it describes" for each in sorted(named - set(parameters))]
    if signature.return_annotation not in (None, "None", "NoReturn", NoReturn) and section(doc, "Returns") is None:
        missing.append("Returns")
    if ">>> " not in (section(doc, "Examples") or ""):
        missing.append("an example")
    return missing


ALL = [shown for page in PAGES for shown in shown_in(page.read_text(encoding="utf-8"))]
CALLABLES = {name: function for shown in ALL for name, function in shown.callables()}


@pytest.mark.parametrize("name", CALLABLES)
def test_every_function_and_method_is_explained(name: str) -> None:
    assert lacks(name, CALLABLES[name]) == [], f"{name} lacks something in its docstring"


def test_the_check_finds_what_is_missing() -> None:
    def explained(rows: int, *more: int) -> int:
        """Return the sum.

        Parameters
        ----------
        rows, more
            Numbers.

        Returns
        -------
        int

        Examples
        --------
        >>> explained(1, 2)
        3
        """
        return rows + sum(more)

    def bare(rows: int, columns: int) -> int:
        """Return the product.

        Parameters
        ----------
        rows
            A number.
        colums
            A number, with a typing error in its name.
        """
        return rows * columns

    assert lacks("explained", explained) == []
    assert lacks("bare", bare) == [
        "the parameter columns", "a parameter colums, which it describes", "Returns", "an example",
    ]  # fmt: skip


def test_the_pages_show_every_public_function_and_method() -> None:
    names = {shown.name for shown in ALL}
    assert set(tw.__all__) - {"objective"} | set(tw.objective.__all__) <= names
    assert {"filters", "Filters.__call__", "Filters.over", "Join.__call__", "Session.query", "Report.to_dict"} <= set(
        CALLABLES
    )
    assert {"Handle.stop", "QueryReport.to_dict", "read", "Policy.update", "simulate"} <= set(CALLABLES)


def test_what_the_pages_leave_out_exists_and_has_a_reason() -> None:
    left_out = {f"{shown.name}.{name}" for shown in ALL for name in shown.excluded}
    assert left_out == set(INTERNAL)
    for shown in ALL:
        known = set(dir(shown.thing)) | set(getattr(shown.thing, "__dataclass_fields__", ()))
        assert shown.excluded <= known


def test_every_exception_is_needed() -> None:
    assert {shown.name for shown in ALL} >= set().union(*RETURNED.values())


@pytest.mark.parametrize("shown", ALL, ids=lambda shown: f"{shown.module}.{shown.name}")
def test_every_class_that_users_construct_has_an_example(shown: Shown) -> None:
    doc = shown.thing.__doc__ or ""
    assert doc
    assert not doc.startswith(f"{shown.name}("), "a dataclass without a docstring gets its signature as one"
    is_error = inspect.isclass(shown.thing) and issubclass(shown.thing, Exception)
    returned = (
        shown.name in set().union(*RETURNED.values()) and shown.thing is not virtual.Costs
    )  # unlike policies' Costs
    if not is_error and not returned:
        assert ">>> " in (section(inspect.cleandoc(doc), "Examples") or "")
