"""What a windowed join asks for: streams, conditions, windows, times, lateness. Frozen; nothing runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from thalweg.errors import PlanError, nearest
from thalweg.plan.join_condition import Residual, parse
from thalweg.plan.join_graph import JoinGraph
from thalweg.plan.window_length import Length

T = TypeVar("T")


@dataclass(frozen=True)
class JoinPlan:
    """Mappings have one entry a stream."""

    on: str
    graph: JoinGraph
    residuals: tuple[Residual, ...]
    """Further conditions over a joined row."""
    windows: Mapping[str, Length]
    times: Mapping[str, str]
    """The time column of each."""
    lateness: Mapping[str, Length]

    @classmethod
    def of(
        cls,
        on: str,
        window: Length | Mapping[str, Length],
        time: str | Mapping[str, str],
        lateness: Length | Mapping[str, Length],
    ) -> JoinPlan:
        """As a user writes it."""
        equalities, residuals, aliases = parse(on)
        graph = JoinGraph.of(equalities, aliases)
        times = _by_stream("time", time, graph.aliases)
        for alias, column in times.items():
            if not isinstance(column, str) or not column:
                raise PlanError(f"time of {alias}={column!r}: must be the name of the column with a row's time")
        return cls(
            on, graph, residuals,
            _by_stream("window", window, graph.aliases),
            times,
            _by_stream("lateness", lateness, graph.aliases),
        )  # fmt: skip


def _by_stream(name: str, value: T | Mapping[str, T], aliases: tuple[str, ...]) -> Mapping[str, T]:
    if not isinstance(value, Mapping):
        return dict.fromkeys(aliases, value)
    for alias in value:
        if alias not in aliases:
            hint = nearest(str(alias), aliases)
            raise PlanError(f"{name}: {alias!r} is no stream of on={hint}; its streams are {', '.join(aliases)}")
    missing = [alias for alias in aliases if alias not in value]
    if missing:
        raise PlanError(f"{name}: nothing is said for {', '.join(missing)}; add {missing[0]!r}: ...")
    return {alias: value[alias] for alias in aliases}
