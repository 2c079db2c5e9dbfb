"""One run of a query in this process: the executor of its plan, with adaptive filters and joins that report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from thalweg.events import Record
from thalweg.optimizer.joins.start_plan import start_of
from thalweg.plan import FilterPlan
from thalweg.plan.join_plan import is_timeless, window_join_plan
from thalweg.plan.nodes import Filter, WindowJoin
from thalweg.plan.query_plan import QueryPlan
from thalweg.plan.relation import UserFunction
from thalweg.report import JoinReport, JoinTally, Report, Tally
from thalweg.report.adaptive_base import AdaptiveBase
from thalweg.runtime.filters.outcome import ERRORS_COLUMN, Wanted
from thalweg.runtime.joins.join_outcome import JoinRows
from thalweg.runtime.local.aggregates import GroupCounts
from thalweg.runtime.local.filters import filter_batches
from thalweg.runtime.local.joins import JoinPass, join_batches
from thalweg.runtime.local.plan_run import Batches, LocalPlan, Passing
from thalweg.runtime.local.rounds import Rounds
from thalweg.runtime.redaction import redacted
from thalweg.runtime.settings import AdaptSettings, FilterSettings
from thalweg.session.adaptive_parts import AdaptiveParts
from thalweg.session.conditions import predicates
from thalweg.session.query_classifiers import classifiers_of_filter, classifiers_of_join
from thalweg.session.query_settings import QuerySettings

if TYPE_CHECKING:
    from thalweg.runtime.local.operator import Operator
    from thalweg.runtime.local.virtual import Costs


@dataclass
class LocalRun:
    """One pass of a query over the data; `parts` report what it does."""

    plan: QueryPlan
    functions: Mapping[str, UserFunction]
    settings: QuerySettings
    data: Mapping[str, Callable[[], Iterable[pa.RecordBatch]]]
    """Functions that read the data, by alias."""
    listener: Callable[[Record], None]
    parts: AdaptiveParts = field(default_factory=AdaptiveParts)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return the results lazily; at least one batch, so that the columns are known."""
        return redacted(self._run().batches(), self.settings.redact)

    def failed(self, column: str) -> Iterator[pa.RecordBatch]:
        """Return the rows that are set aside, with a column of what was raised."""
        return redacted(self._run().failed(column), self.settings.redact)

    def late(self) -> Iterator[pa.RecordBatch]:
        """Return the rows that arrive too late to be joined or grouped."""
        return redacted(self._run().late(), self.settings.redact)

    def _run(self) -> LocalPlan:
        return LocalPlan(self.plan, self.functions, self.data, self, redact=self.settings.redact)

    def operators(self, costs: Costs | Mapping[str, Costs]) -> tuple[Operator, ...]:
        """Return the plan as operators of a simulation: tables are read, streams arrive when the simulation says so."""
        from thalweg.runtime.local.virtual.query import PlanParts, plan_operators

        def filter_settings(node: Filter) -> FilterSettings:
            return self.settings.of_filter(self.plan, node)

        join_settings = self.settings.join
        parts = PlanParts(
            self.plan,
            self.functions,
            self._filter_plan,
            filter_settings,
            join_settings,
            self.data,
            self.settings.redact,
        )
        return plan_operators(parts, costs)

    def _filter_plan(self, node: Filter) -> FilterPlan:
        made = tuple(predicates(node, self.functions))
        return FilterPlan(made, of_query=True, classify_by=classifiers_of_filter(self.plan, node))

    def filter(self, node: Filter, wanted: Wanted = Wanted.KEPT, column: str = ERRORS_COLUMN) -> Passing:
        """Return a filter of the plan as an adaptive chain."""
        plan = self._filter_plan(node)
        settings = self.settings.of_filter(self.plan, node)
        part = LocalPart(Tally(), self.listener)
        self.parts.add(node.id, part)

        def passing(batches: Batches) -> Batches:
            return filter_batches(plan, settings, batches, *part.begin(settings), wanted, column)

        return passing

    def join(
        self,
        node: WindowJoin,
        rows: Mapping[str, Batches],
        watermark: Callable[[int | None], None],
        rounds: Mapping[str, Rounds] | None,
        *,
        late: bool = False,
    ) -> Batches:
        """Return the results of the join of the plan, as an adaptive join."""
        plan, settings = window_join_plan(node, timeless=is_timeless(node)), self.settings.join
        plan = replace(plan, classify_by=classifiers_of_join(self.plan, plan))
        part = LocalPart(JoinTally(), self.listener)
        self.parts.add(node.id, part)
        wanted = JoinRows.LATE if late else JoinRows.RESULTS
        start = start_of(node)
        begun = JoinPass(
            plan, settings, *part.begin(settings), lambda _: start, wanted, watermark, rounds, of_query=True
        )  # fmt: skip
        return join_batches(begun, rows)

    def left_out(self, alias: str, rows: int) -> None:
        """Count rows that were too late for their window of rows, for the report."""
        self.parts.left_out[alias] = self.parts.left_out.get(alias, 0) + rows

    def grouped(self, counts: GroupCounts) -> None:
        """Set the counts of grouped windows, for the report."""
        self.parts.groups = [counts]


class LocalPart(AdaptiveBase):
    """A filter or join of a query in this process, for its report."""

    def __init__(self, tally: Tally | JoinTally, listener: Callable[[Record], None]) -> None:
        super().__init__(tally.add)
        self._tally = tally
        self.listeners.append(listener)

    def begin(self, settings: AdaptSettings) -> tuple[str, Callable[[Record], None]]:
        """Return the name of a new pass over data, and the function that receives its records."""
        return self._next_run(), self._sink(settings.events)

    def report(self) -> Report | JoinReport:
        """Return what has been counted so far."""
        return self._tally.report()
