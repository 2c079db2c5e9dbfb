"""One run of a query in this process: the executor of its plan, with adaptive filters and joins that report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from thalweg.optimizer.joins.start_plan import start_of
from thalweg.plan.query.nodes import Filter, WindowJoin
from thalweg.report import JoinTally, Tally
from thalweg.runtime.filters.outcome import ERRORS_COLUMN, Wanted
from thalweg.runtime.joins.join_outcome import JoinRows
from thalweg.runtime.local.aggregates import GroupCounts
from thalweg.runtime.local.filters import filter_batches
from thalweg.runtime.local.joins import JoinPass, join_batches
from thalweg.runtime.local.plan_run import Batches, LocalPlan, Passing
from thalweg.runtime.local.rounds import Rounds
from thalweg.runtime.redaction import redacted
from thalweg.session.query_run import QueryRun

if TYPE_CHECKING:
    from thalweg.runtime.local.operator import Operator
    from thalweg.simulation import Costs


@dataclass
class LocalRun(QueryRun):
    """One pass of a query over the data."""

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
        from thalweg.simulation.query import PlanParts, plan_operators

        parts = PlanParts(
            self.plan,
            self.functions,
            self.filter_plan,
            self.filter_settings,
            self.settings.join,
            self.data,
            self.settings.redact,
        )
        return plan_operators(parts, costs)

    def filter(self, node: Filter, wanted: Wanted = Wanted.KEPT, column: str = ERRORS_COLUMN) -> Passing:
        """Return a filter of the plan as an adaptive chain."""
        plan, settings, receiver = self.filter_plan(node), self.filter_settings(node), self.receiver(node, Tally())
        return lambda batches: filter_batches(plan, settings, batches, receiver, wanted, column)

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
        start, wanted = start_of(node), JoinRows.LATE if late else JoinRows.RESULTS
        begun = JoinPass(
            self.join_plan(node), self.settings.join, self.receiver(node, JoinTally()), lambda _: start, wanted,
            watermark, rounds, of_query=True,
        )  # fmt: skip
        return join_batches(begun, rows)

    def left_out(self, alias: str, rows: int) -> None:
        """Count rows that were too late for their window of rows, for the report."""
        self.parts.left_out[alias] = self.parts.left_out.get(alias, 0) + rows

    def grouped(self, counts: GroupCounts) -> None:
        """Set the counts of grouped windows, for the report."""
        self.parts.groups = [counts]
