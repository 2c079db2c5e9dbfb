"""A windowed join over iterables of Arrow batches in this process.

The stream whose next rows are the oldest is read next, so that no window has to hold more than it must. Every batch is
a round; a batch of more than `ROUND_ROWS` rows is several, since a window must be able to forget while it is read.
Tables are read wholly before any stream. Where rows were dropped before they come here, `Rounds` know the times of
all, and the watermark follows those.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from thalweg.errors import PlanError, nearest
from thalweg.events import Record
from thalweg.kernels.compiling import WorkingClock
from thalweg.kernels.salt import NO_SALT, Salt
from thalweg.plan.join_plan import JoinPlan
from thalweg.plan.window_length import in_words
from thalweg.runtime.join_binding import JoinBinding
from thalweg.runtime.join_loop import JoinLoop
from thalweg.runtime.join_record import records_of
from thalweg.runtime.join_settings import JoinSettings
from thalweg.runtime.local.rounds import Rounds, in_rounds
from thalweg.runtime.memory_share import memory_of_process
from thalweg.runtime.redaction import redacted
from thalweg.runtime.watermark import BEGINNING

TELL_EVERY_ROWS = 100_000
"""A pass reports to its sink about this often; more often in the beginning."""
WORTH_A_WARNING = 0.01
"""Of a stream's rows: when more are late, its lateness is set wrong, or it is not in order as it should be."""

Source: TypeAlias = Iterable[pa.RecordBatch] | pa.Table | pa.RecordBatch
"""Or what has `to_batches()`, as a `pyarrow.dataset` does, or gives Arrow data by `__arrow_c_stream__`."""


def make_join_loop(
    binding: JoinBinding,
    settings: JoinSettings,
    clock: Callable[[], int] | None = None,
    tables: Mapping[str, pa.Table] | None = None,
) -> JoinLoop:
    """A fresh loop. Without a clock, time is that of work: compiling is counted apart."""
    return JoinLoop(
        binding, settings.policy, settings.profile, clock or WorkingClock(), np.random.default_rng(settings.seed),
        slice_rows=settings.slice_rows, most_matches=settings.max_matches,
        most_bytes=settings.max_bytes or memory_of_process() // 2, redact=settings.redact, tables=tables,
    )  # fmt: skip


def join_batches(
    plan: JoinPlan,
    settings: JoinSettings,
    streams: Mapping[str, Source],
    run: str,
    sink: Callable[[Record], None],
    watermark: Callable[[int | None], None] | None = None,
    rounds: Mapping[str, Rounds] | None = None,
) -> Iterator[pa.RecordBatch]:
    """The results, in batches of bounded size. What can be checked at once is, before the first is asked for.
    `watermark` hears the query's, in ticks, after every round. `rounds`: what the streams' rows come from, one batch
    for each round, where conditions have dropped some of them; else the rows themselves have all the times."""
    known = _checked(plan, streams)
    if len(known) == len(streams):
        JoinBinding.of(plan, known, NO_SALT)  # to be checked, not used
    sources = {alias: _batches(alias, source) for alias, source in streams.items()}
    return redacted(_joined(plan, settings, sources, known, run, sink, watermark, rounds), settings.redact)


def _joined(
    plan: JoinPlan,
    settings: JoinSettings,
    sources: dict[str, Iterator[pa.RecordBatch]],
    schemas: dict[str, pa.Schema],
    run: str,
    sink: Callable[[Record], None],
    watermark: Callable[[int | None], None] | None,
    rounds: Mapping[str, Rounds] | None,
) -> Iterator[pa.RecordBatch]:
    waiting: dict[str, pa.RecordBatch] = {}
    times: dict[str, tuple[int | None, int | None]] = {}
    for alias, source in sources.items():
        for first in source:
            waiting[alias] = first
            times[alias] = _times(rounds, alias)
            schemas.setdefault(alias, first.schema)
            break
    if len(schemas) < len(sources):
        return  # a stream without a batch has no columns, and no rows to join with
    binding = JoinBinding.of(plan, {alias: schemas[alias] for alias in plan.graph.aliases}, Salt.of_seed(settings.seed))
    tables = {a: _whole(a, waiting.pop(a, None), sources.pop(a), schemas[a]) for a in plan.tables}
    loop = make_join_loop(binding, settings, tables=tables)
    del tables  # what the join needs of them it holds now
    loop.intake.told = rounds is not None
    tick_ns = binding.tick_ns or 1

    def begin(alias: str, batch: pa.RecordBatch) -> int:
        if rounds is None:
            return loop.begins(alias, batch)
        first, _ = times[alias]
        return BEGINNING if first is None else first // tick_ns

    begins = {alias: begin(alias, batch) for alias, batch in waiting.items()}
    lost = _Lost()
    unreported, report_at, some = 0, 1, False

    def tell() -> None:
        for record in records_of(loop, run=run, kind="local", batch=None, worker="local", policy=settings.policy_name):
            sink(record)

    for alias in sources:
        if alias not in waiting:
            loop.watermarks.ended(alias)
    try:
        while waiting:
            alias = min(waiting, key=begins.__getitem__)
            batch = waiting.pop(alias)
            _, latest = times[alias]
            if latest is not None:
                loop.watermarks.seen(alias, latest // tick_ns)
            for out in loop.process(alias, batch):
                some = True
                yield out
            for following in sources[alias]:
                _alike(alias, following, schemas[alias])
                waiting[alias], times[alias] = following, _times(rounds, alias)
                begins[alias] = begin(alias, following)
                break
            else:
                loop.watermarks.ended(alias)
            loop.end_round()
            if watermark is not None:
                watermark(loop.watermarks.query)
            unreported += batch.num_rows
            if unreported >= report_at:
                unreported, report_at = 0, min(2 * report_at, TELL_EVERY_ROWS)
                lost.add(loop)
                tell()
        if not some:
            yield _empty(binding)
    finally:
        lost.add(loop)
        tell()
    for sentence in lost.sentences():
        warnings.warn(sentence, stacklevel=2)


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
        if type(source).__module__.partition(".")[0] == "pyspark":
            raise PlanError(f"{alias} is a DataFrame of Spark: j({alias}=df, ...) joins those, over() joins Arrow data")
        if isinstance(source, (pa.Table, pa.RecordBatch)):
            schemas[alias] = source.schema
        elif not (hasattr(source, "to_batches") or hasattr(source, "__arrow_c_stream__")) and (
            isinstance(source, (str, bytes, Mapping)) or hasattr(source, "columns") or not hasattr(source, "__iter__")
        ):
            _of(alias, source)
    iterators: dict[int, str] = {}
    for alias, source in streams.items():
        first = iterators.setdefault(id(source), alias) if isinstance(source, Iterator) else alias
        if first != alias:
            raise PlanError(
                f"{first} and {alias} are given one iterator, of which each would get a part; give each its own, or a "
                "table to both"
            )
    return schemas


def _batches(alias: str, source: Any) -> Iterator[pa.RecordBatch]:
    """In rounds."""
    if isinstance(source, pa.RecordBatch):
        source = [source]
    elif type(source).__module__.partition(".")[0] in ("duckdb", "_duckdb"):
        # a connection of DuckDB has one open result, so that two relations cannot be read by turns
        source = pa.table(source).to_batches()
    elif hasattr(source, "to_batches"):
        source = source.to_batches()
    elif hasattr(source, "__arrow_c_stream__"):
        source = pa.RecordBatchReader.from_stream(source)
    yield from in_rounds(_of(alias, batch) for batch in source)


def _times(rounds: Mapping[str, Rounds] | None, alias: str) -> tuple[int | None, int | None]:
    """The least time of the round that was read last, and the largest of all so far, in ns; None: nobody says so."""
    read = (rounds or {}).get(alias)
    return (None, None) if read is None else (read.first_ns, read.latest_ns)


def _whole(alias: str, first: pa.RecordBatch | None, rest: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """A table; its batches may differ in whether columns may have nulls."""
    batches = [_alike(alias, batch, schema) for batch in rest]
    batches = batches if first is None else [first, *batches]
    return pa.Table.from_batches([pa.RecordBatch.from_arrays(b.columns, schema=schema) for b in batches], schema)


def _alike(alias: str, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    if _told(batch.schema) != _told(schema):
        raise PlanError(
            f"the batches of {alias} differ in their columns: {_told(batch.schema)} after {_told(schema)}; cast them "
            "to one schema"
        )
    return batch


def _empty(binding: JoinBinding) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in binding.output], schema=binding.output)


class _Lost:
    """Late rows by stream, over the reports of a pass."""

    def __init__(self) -> None:
        self._rows: Counter[str] = Counter()
        self._late: Counter[str] = Counter()
        self._by: dict[str, str] = {}

    def add(self, loop: JoinLoop) -> None:
        """What was counted since the last report."""
        for alias, counts in loop.counts.items():
            self._rows[alias] += counts.rows
            self._late[alias] += counts.late
            self._by[alias] = in_words(counts.most_late, loop.binding.tick_ns)

    def sentences(self) -> Iterator[str]:
        """Of streams that lost too much."""
        for alias, late in self._late.items():
            if late > WORTH_A_WARNING * self._rows[alias]:
                yield (
                    f"{late:,} of {self._rows[alias]:,} rows of {alias} were late and not joined, by up to "
                    f"{self._by[alias]}: it is not in order, raise its lateness="
                )


def _told(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)


def _of(alias: str, batch: Any) -> pa.RecordBatch:
    if not isinstance(batch, pa.RecordBatch):
        library = type(batch).__module__.partition(".")[0]
        way = {"pyspark": "df.toArrow()", "pandas": "pa.Table.from_pandas(df)"}.get(library, "pa.table(...)")
        if isinstance(batch, pa.Table):
            way = "one table, not several: pa.concat_tables"
        raise PlanError(f"{alias}: over() takes Arrow record batches or a table, not {type(batch).__name__}; {way}")
    return batch
