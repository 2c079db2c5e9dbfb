"""One run of a query in this process: the plan's executor, with adaptive filters and joins that are reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from thalweg.adaptive_filters import Filters, filters
from thalweg.adaptive_joins import Join
from thalweg.events import Record
from thalweg.plan.nodes import Filter, WindowJoin
from thalweg.plan.query_plan import QueryPlan
from thalweg.plan.relation import UserFunction
from thalweg.plan.window_join_plan import is_timeless, window_join_plan
from thalweg.runtime.local.aggregates import GroupCounts
from thalweg.runtime.local.plan_run import Batches, LocalPlan
from thalweg.runtime.local.rounds import Rounds
from thalweg.runtime.redaction import redacted
from thalweg.session.conditions import predicates
from thalweg.session.parts import Parts
from thalweg.session.query_settings import QuerySettings


@dataclass
class LocalRun:
    """One pass over the data; `parts` report what it does."""

    plan: QueryPlan
    functions: Mapping[str, UserFunction]
    settings: QuerySettings
    data: Mapping[str, Callable[[], Iterable[pa.RecordBatch]]]
    """By alias."""
    listener: Callable[[Record], None]
    parts: Parts = field(default_factory=Parts)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The results, as they are asked for; at least one batch, for the columns."""
        return redacted(LocalPlan(self.plan, self.functions, self.data, self).batches(), self.settings.redact)

    def filter(self, node: Filter) -> Callable[[Batches], Batches]:
        """An adaptive chain."""
        made: Filters = filters(*predicates(node, self.functions), **self.settings.of_filters())
        made.listeners.append(self.listener)
        self.parts.add(node.id, made)
        return made.over

    def join(
        self,
        node: WindowJoin,
        rows: Mapping[str, Batches],
        watermark: Callable[[int | None], None],
        rounds: Mapping[str, Rounds] | None,
    ) -> Batches:
        """An adaptive join."""
        made = Join(window_join_plan(node, timeless=is_timeless(node)), self.settings.of_join())
        made.listeners.append(self.listener)
        self.parts.add(node.id, made)
        return made.over_telling(rows, watermark, rounds)

    def left_out(self, alias: str, rows: int) -> None:
        """For the report."""
        self.parts.left_out[alias] = rows

    def grouped(self, counts: GroupCounts) -> None:
        """For the report."""
        self.parts.groups = [counts]
