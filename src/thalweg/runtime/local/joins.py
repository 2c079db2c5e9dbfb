"""A windowed join over iterables of Arrow batches in this process.

The stream that is furthest behind in event time is read next, so that no window has to hold more than it must. Every
batch is a round.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from thalweg.errors import PlanError, nearest
from thalweg.events import Record
from thalweg.plan.join_plan import JoinPlan
from thalweg.runtime.join_binding import JoinBinding
from thalweg.runtime.join_loop import JoinLoop
from thalweg.runtime.join_record import records_of
from thalweg.runtime.join_settings import JoinSettings

TELL_EVERY_ROWS = 100_000
"""A pass reports to its sink about this often."""

Source: TypeAlias = Iterable[pa.RecordBatch] | pa.Table | pa.RecordBatch


def make_join_loop(
    binding: JoinBinding, settings: JoinSettings, clock: Callable[[], int] = time.perf_counter_ns
) -> JoinLoop:
    """A fresh loop."""
    return JoinLoop(
        binding, settings.policy, settings.profile, clock, np.random.default_rng(settings.seed),
        slice_rows=settings.slice_rows, most_matches=settings.max_matches,
    )  # fmt: skip


def join_batches(
    plan: JoinPlan, settings: JoinSettings, streams: Mapping[str, Source], run: str, sink: Callable[[Record], None]
) -> Iterator[pa.RecordBatch]:
    """The results, in batches of bounded size. What can be checked at once is, before the first is asked for."""
    known = _checked(plan, streams)
    if len(known) == len(streams):
        JoinBinding.of(plan, known)
    return _joined(plan, settings, {alias: _batches(source) for alias, source in streams.items()}, known, run, sink)


def _joined(
    plan: JoinPlan,
    settings: JoinSettings,
    sources: dict[str, Iterator[pa.RecordBatch]],
    schemas: dict[str, pa.Schema],
    run: str,
    sink: Callable[[Record], None],
) -> Iterator[pa.RecordBatch]:
    waiting: dict[str, pa.RecordBatch] = {}
    for alias, source in sources.items():
        for first in source:
            waiting[alias] = _of(alias, first)
            schemas.setdefault(alias, first.schema)
            break
    if len(schemas) < len(sources):
        return  # a stream without a batch has no columns, and no rows to join with
    binding = JoinBinding.of(plan, {alias: schemas[alias] for alias in plan.graph.aliases})
    loop = make_join_loop(binding, settings)
    latest: dict[str, int | None] = dict.fromkeys(sources)
    unreported = 0

    def tell() -> None:
        for record in records_of(loop, run=run, kind="local", batch=None, worker="local", policy=settings.policy):
            sink(record)

    for alias in sources:
        if alias not in waiting:
            loop.watermarks.ended(alias)
    try:
        while waiting:
            alias = min(waiting, key=lambda a: (latest[a] is not None, latest[a] or 0))
            batch = waiting.pop(alias)
            if not batch.schema.equals(schemas[alias]):
                raise PlanError(
                    f"the batches of {alias} differ in their columns: {_told(batch.schema)} after "
                    f"{_told(schemas[alias])}; cast them to one schema"
                )
            yield from loop.process(alias, batch)
            latest[alias] = loop.watermarks.latest(alias)
            for following in sources[alias]:
                waiting[alias] = _of(alias, following)
                break
            else:
                loop.watermarks.ended(alias)
            loop.end_round()
            unreported += batch.num_rows
            if unreported >= TELL_EVERY_ROWS:
                unreported = 0
                tell()
    finally:
        tell()


def _checked(plan: JoinPlan, streams: Mapping[str, Source]) -> dict[str, pa.Schema]:
    """The schemas that are known before anything is read."""
    aliases = plan.graph.aliases
    for alias in streams:
        if alias not in aliases:
            raise PlanError(f"{alias!r} is no stream of on={plan.on!r}{nearest(alias, aliases)}")
    missing = [alias for alias in aliases if alias not in streams]
    if missing:
        raise PlanError(f"no data is given for {', '.join(missing)}: over({missing[0]}=batches, ...)")
    schemas = {}
    for alias, source in streams.items():
        if isinstance(source, (pa.Table, pa.RecordBatch)):
            schemas[alias] = source.schema
        elif isinstance(source, (str, bytes, Mapping)) or hasattr(source, "columns") or not hasattr(source, "__iter__"):
            _of(alias, source)
    return schemas


def _batches(source: Source) -> Iterator[pa.RecordBatch]:
    if isinstance(source, pa.RecordBatch):
        return iter([source])
    return iter(source.to_batches()) if isinstance(source, pa.Table) else iter(source)


def _told(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)


def _of(alias: str, batch: Any) -> pa.RecordBatch:
    if not isinstance(batch, pa.RecordBatch):
        raise PlanError(
            f"{alias}: over() takes Arrow record batches or a table, not {type(batch).__name__}; make a pa.table(...)"
        )
    return batch
