"""The plans that joins begin with where they run, and what their loops are made with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from thalweg.optimizer.joins.start_plan import StartPlan
from thalweg.plan.joins.shape import Shape
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_loop import make_join_loop
from thalweg.runtime.local import joins
from thalweg.runtime.local.joins import join_batches
from thalweg.session import local_run
from thalweg.simulation import query as virtual


@dataclass
class Begun:
    """A join in this process that has begun."""

    binding: JoinBinding
    shape: Shape | None
    memory: int
    start: StartPlan | None = None
    """The plan that the loop of a query is given; None under the virtual clock, which reads it from the node."""


def begun_here(monkeypatch: pytest.MonkeyPatch) -> list[Begun]:
    """Return a list that gets what every join in this process begins with, also under the virtual clock."""
    found: list[Begun] = []
    passes: list[Any] = []

    def made(binding: Any, options: Any, **given: Any) -> Any:
        start = passes.pop().start(binding) if passes else None
        found.append(Begun(binding, given["shape"], options.limits.max_bytes, start))
        return make_join_loop(binding, options, **given)

    def joined(begun: Any, rows: Any) -> Any:
        passes.append(begun)
        return join_batches(begun, rows)

    monkeypatch.setattr(local_run, "join_batches", joined)
    monkeypatch.setattr(joins, "make_join_loop", made)
    monkeypatch.setattr(virtual, "make_join_loop", made)
    return found
