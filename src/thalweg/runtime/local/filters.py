"""A filter chain over Arrow batches in this process: the same chain, loop and policies as on Spark."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa

from thalweg.adapt import make_policy
from thalweg.errors import PlanError
from thalweg.events import Record
from thalweg.kernels import FilterChain
from thalweg.plan import FilterPlan, find_column
from thalweg.runtime.filter_loop import FilterLoop
from thalweg.runtime.settings import FilterSettings
from thalweg.runtime.work_record import decode, encode

TELL_EVERY_ROWS = 100_000
"""A local pass reports to its sink about this often, so that a live view has something to show."""


def make_loop(
    plan: FilterPlan, settings: FilterSettings, clock: Callable[[], int] = time.perf_counter_ns
) -> FilterLoop:
    """A fresh loop; `setup` functions are called here."""
    rng = np.random.default_rng(settings.seed)
    policy = make_policy(settings.policy, plan.pipeline, settings.profile, rng)
    return FilterLoop(FilterChain(plan, clock), policy, rng, slice_rows=settings.slice_rows)


def filter_batches(
    plan: FilterPlan,
    settings: FilterSettings,
    batches: Iterable[pa.RecordBatch] | pa.Table | pa.RecordBatch,
    run: str,
    sink: Callable[[Record], None],
) -> Iterator[pa.RecordBatch]:
    """The rows that pass, batch by batch, with all their columns."""
    loop = make_loop(plan, settings)

    def tell() -> None:
        if loop.work.rows:
            for record in decode(
                encode(loop, "local"), plan=plan, policy=settings.policy, run=run, kind="local", batch=None
            ):
                sink(record)

    if isinstance(batches, pa.Table):
        batches = batches.to_batches()
    elif isinstance(batches, pa.RecordBatch):
        batches = [batches]
    try:
        for batch in batches:
            if not isinstance(batch, pa.RecordBatch):
                raise PlanError(f"over() takes Arrow record batches or a table, not {type(batch).__name__}")
            keep = loop.process(batch.select(_found(plan, batch.schema.names)).rename_columns(list(plan.columns)))
            yield batch.filter(pa.array(keep))
            if loop.work.rows >= TELL_EVERY_ROWS:
                tell()
    finally:
        tell()


def _found(plan: FilterPlan, names: list[str]) -> list[str]:
    return [find_column(column, names) for column in plan.columns]
