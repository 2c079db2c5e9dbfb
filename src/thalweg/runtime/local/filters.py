"""A filter chain over Arrow batches in this process: the same chain, loop and policies as on Spark."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NoReturn

import numpy as np
import pyarrow as pa

from thalweg.adapt import make_policy
from thalweg.errors import PlanError
from thalweg.events import Record
from thalweg.kernels import FilterChain
from thalweg.kernels.compiling import WorkingClock
from thalweg.plan import FilterPlan, find_column
from thalweg.runtime.filter_loop import FilterLoop
from thalweg.runtime.outcome import ERRORS_COLUMN, Wanted, check_wanted, rows_and_errors
from thalweg.runtime.recalled import recalled
from thalweg.runtime.settings import FilterSettings
from thalweg.runtime.time_limit import TimeLimit
from thalweg.runtime.work_record import decode, encode

TELL_EVERY_ROWS = 100_000
"""A local pass reports to its sink about this often, so that a live view has something to show."""


TAKES = "over() takes Arrow record batches or a table"


def make_loop(
    plan: FilterPlan, settings: FilterSettings, clock: Callable[[], int] | None = None
) -> FilterLoop[pa.RecordBatch]:
    """A fresh loop; `setup` functions are called here. Without a clock, time is that of work: compiling is counted
    apart."""
    rng = np.random.default_rng(settings.seed)
    policy = make_policy(settings.policy, plan.pipeline, settings.profile, rng)
    chain = FilterChain(plan, clock or WorkingClock(), cpu_clock=None if clock else time.thread_time_ns)
    loop = FilterLoop(chain, policy, rng, settings.slice_rows, dead_letter=settings.dead_letter, redact=settings.redact)
    if (earlier := recalled(settings.events, plan.pipeline)) is not None:
        loop.recall(earlier)
    if settings.time_limit is not None:
        chain.sentry = loop.time_limit = TimeLimit(settings.time_limit, plan.pipeline.names)
    return loop


def filter_batches(
    plan: FilterPlan,
    settings: FilterSettings,
    batches: Iterable[pa.RecordBatch] | pa.Table | pa.RecordBatch,
    run: str,
    sink: Callable[[Record], None],
    wanted: Wanted = Wanted.KEPT,
    column: str = ERRORS_COLUMN,
) -> Iterator[pa.RecordBatch]:
    """The wanted rows, batch by batch, with all their columns. What can be checked at once is, before the first."""
    check_wanted(wanted, settings, column, ())
    if isinstance(batches, (pa.Table, pa.RecordBatch)):
        _found(plan, batches.schema)
        check_wanted(wanted, settings, column, batches.schema.names)
        batches = batches.to_batches() if isinstance(batches, pa.Table) else [batches]
    elif not isinstance(batches, Iterable) or isinstance(batches, (str, bytes, Mapping)) or _of_pandas(batches):
        _refuse(batches)
    elif isinstance(batches, (list, tuple)):
        for batch in batches:
            if not isinstance(batch, pa.RecordBatch):
                _refuse(batch)
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
    loop: FilterLoop[pa.RecordBatch] | None = None

    def tell(loop: FilterLoop[pa.RecordBatch]) -> None:
        text = encode(loop, "local")
        for record in decode(text, plan=plan, policy=settings.policy_name, run=run, kind="local", batch=None):
            sink(record)

    try:
        for batch in batches:
            if not isinstance(batch, pa.RecordBatch):
                _refuse(batch)
            read = batch.select(_found(plan, batch.schema)).rename_columns(list(plan.columns))
            check_wanted(wanted, settings, column, batch.schema.names)
            if loop is None:
                loop = make_loop(plan, settings)
            keep = loop.process(read)
            yield rows_and_errors(batch, keep, loop.take_failures(), wanted, column)
            if loop.work.rows >= TELL_EVERY_ROWS:
                tell(loop)
    finally:
        if loop is not None and loop.work.rows:
            tell(loop)


def _of_pandas(thing: object) -> bool:
    return type(thing).__module__.partition(".")[0] == "pandas"


def _refuse(thing: object) -> NoReturn:
    way = ": pa.Table.from_pandas(df)" if _of_pandas(thing) else ""
    if isinstance(thing, pa.Table):
        way = ": one table, not several; pa.concat_tables"
    elif isinstance(thing, Mapping):
        way = ": pa.table(columns)"
    library = type(thing).__module__.partition(".")[0]
    whose = "" if library == "builtins" else f"{library}'s "
    raise PlanError(f"{TAKES}, not {whose}{type(thing).__name__}{way}")


def _found(plan: FilterPlan, schema: pa.Schema) -> list[str]:
    return [find_column(column, schema.names) for column in plan.columns]
