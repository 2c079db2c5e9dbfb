"""Runs a filter chain over Arrow batches in this process, with the same chain, loop and policies as on Spark."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pyarrow as pa

from thalweg.errors import PlanError
from thalweg.events import Record
from thalweg.kernels import FilterChain
from thalweg.kernels.compiling import WorkingClock
from thalweg.optimizer.mesh.column_values import is_classifier
from thalweg.plan import FilterPlan
from thalweg.runtime.filters.filter_loop import FilterLoop, LoopOptions, make_filter_loop
from thalweg.runtime.filters.outcome import (
    ERRORS_COLUMN,
    ERRORS_TYPE,
    Wanted,
    WantedRows,
    check_wanted,
    refuse_taken,
    rows_and_errors,
)
from thalweg.runtime.filters.recalled_order import recalled
from thalweg.runtime.filters.time_limit import TimeLimit
from thalweg.runtime.filters.work_record import decode, encode
from thalweg.runtime.local.operator import PORT, Operator
from thalweg.runtime.receiver import Receiver
from thalweg.runtime.settings import FilterSettings

if TYPE_CHECKING:
    from thalweg.runtime.clock import Clock

MakeLoop = Callable[["Clock | None", np.random.Generator], FilterLoop[pa.RecordBatch]]

REPORT_EVERY_ROWS = 100_000
"""A local pass reports to its sink about every this many rows, so that a live view has something to show."""


TAKES = "over() takes Arrow record batches or a table"


class Filtering(Operator):
    """Returns the rows of a batch that pass all predicates, or the other rows that are wanted. `make` creates the loop,
    and calls `setup` functions, when the operator is set up."""

    def __init__(
        self, plan: FilterPlan, make: MakeLoop, wanted: WantedRows = WantedRows(), *, name: str = "filter",  # noqa: B008
        reads: str = "",
    ) -> None:  # fmt: skip
        self.name, self.reads = name, {PORT: reads}
        self._plan, self._make, self._wanted = plan, make, wanted

    def set_up(self, schemas: Mapping[str, pa.Schema], clock: Clock | None, rng: np.random.Generator) -> pa.Schema:
        """Create a new loop, and return the schema of the output."""
        schema = schemas[PORT]
        self._find(schema)
        refuse_classifiers(self._plan, schema)
        self.loop = self._make(clock, rng)
        if self._wanted.wanted is Wanted.KEPT:
            return schema
        kind = pa.string() if self._wanted.wanted is Wanted.CARRIED else ERRORS_TYPE
        return schema.append(pa.field(self._wanted.errors_column, kind))

    def _find(self, schema: pa.Schema) -> None:
        wanted = self._wanted
        self._schema, self._found = schema, self._plan.columns_in(schema.names)
        if wanted.wanted is not Wanted.KEPT:
            refuse_taken(wanted.errors_column, schema.names)

    def serve(self, port: str, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Return the wanted rows of one batch."""
        if not rows.schema.equals(self._schema):
            self._find(rows.schema)
        keep = self.loop.process(rows.select(self._found).rename_columns(list(self._plan.needed)))
        wanted, column = self._wanted.wanted, self._wanted.errors_column
        yield rows_and_errors(rows, keep, self.loop.take_failures(), wanted, column)

    def orders(self) -> Mapping[str, tuple[str, ...]]:
        """Return the current order of the predicates."""
        return {PORT: tuple(self.loop.chain.pipeline.names[k] for k in self.loop.order)}


def loop_options(settings: FilterSettings) -> LoopOptions:
    """Return the options of a loop with these settings."""
    return LoopOptions(
        settings.policy.kind, settings.profile, settings.slice_rows, settings.dead_letter, settings.redact
    )


def make_loop(plan: FilterPlan, settings: FilterSettings, rng: np.random.Generator) -> FilterLoop[pa.RecordBatch]:
    """Return a new loop, and call `setup` functions. The loop measures time of work; compiling is counted apart."""
    chain = FilterChain(plan, WorkingClock(), cpu_clock=time.thread_time_ns)
    earlier = None if settings.events is None else recalled(settings.events, plan.pipeline)
    loop = make_filter_loop(chain, loop_options(settings), rng, earlier)
    if settings.time_limit is not None:
        chain.sentry = loop.time_limit = TimeLimit(settings.time_limit, plan.pipeline.names)
    return loop


def filter_batches(
    plan: FilterPlan,
    settings: FilterSettings,
    batches: Iterable[pa.RecordBatch] | pa.Table | pa.RecordBatch,
    receiver: Receiver[Any],
    wanted: Wanted = Wanted.KEPT,
    column: str = ERRORS_COLUMN,
) -> Iterator[pa.RecordBatch]:
    """Return the wanted rows, batch by batch, with all their columns. Checks that do not need rows are made at once,
    before the first batch."""
    check_wanted(wanted, settings, column, ())
    if isinstance(batches, (pa.Table, pa.RecordBatch)):
        plan.columns_in(batches.schema.names)
        refuse_classifiers(plan, batches.schema)
        check_wanted(wanted, settings, column, batches.schema.names)
        batches = batches.to_batches() if isinstance(batches, pa.Table) else [batches]
    elif not isinstance(batches, Iterable) or isinstance(batches, (str, bytes, Mapping)) or _of_pandas(batches):
        _refuse(batches)
    elif isinstance(batches, (list, tuple)):
        for batch in batches:
            if not isinstance(batch, pa.RecordBatch):
                _refuse(batch)
    run, sink = receiver.next_run(), receiver.sink(settings.events)
    return _filtered(plan, settings, batches, run, sink, wanted, column)


def _filtered(
    plan: FilterPlan,
    settings: FilterSettings,
    batches: Iterable[pa.RecordBatch],
    run: str,
    sink: Callable[[Record], None],
    wanted: Wanted,
    column: str,
) -> Iterator[pa.RecordBatch]:
    operator = Filtering(plan, lambda _, rng: make_loop(plan, settings, rng), WantedRows(wanted, column))
    ready = False

    def report() -> None:
        text = encode(operator.loop, "local")
        for record in decode(text, plan=plan, policy=settings.policy_name, run=run, kind="local", batch=None):
            sink(record)

    try:
        for batch in batches:
            if not isinstance(batch, pa.RecordBatch):
                _refuse(batch)
            if not ready:
                operator.set_up({PORT: batch.schema}, None, np.random.default_rng(settings.seed))
                ready = True
            yield from operator.serve(PORT, batch)
            if operator.loop.work.chain.rows >= REPORT_EVERY_ROWS:
                report()
    finally:
        if ready and operator.loop.work.chain.rows:
            report()


def refuse_classifiers(plan: FilterPlan, schema: pa.Schema) -> None:
    """Raise `PlanError` if rows would be classified by a column of a nested type. In later batches such values count as
    unseen."""
    unknown = {field.name: str(field.type) for field in schema if not is_classifier(field.type)}
    plan.refuse_classifiers(unknown, schema.names)


def refuse_native(plan: FilterPlan) -> None:
    """Raise `PlanError` for native predicates, because there is no JVM in this process."""
    if plan.native:
        raise PlanError(
            f"native predicates need Spark: {', '.join(plan.native.names)}. Apply them to a DataFrame, "
            "df.transform(keep), or write them as functions: tw.predicate(f, 'column')"
        )


def _of_pandas(thing: object) -> bool:
    return type(thing).__module__.partition(".")[0] == "pandas"


def _refuse(thing: object) -> NoReturn:
    library = type(thing).__module__.partition(".")[0]
    way = {"pandas": ": use pa.Table.from_pandas(df)", "pyspark": ": use df.transform(keep)"}.get(library, "")
    if isinstance(thing, pa.Table):
        way = ": pass one table, not several; use pa.concat_tables"
    elif isinstance(thing, Mapping):
        way = ": use pa.table(columns)"
    whose = "" if library == "builtins" else f"{library}'s "
    raise PlanError(f"{TAKES}, not {whose}{type(thing).__name__}{way}")
