"""Runs a windowed join over iterables of Arrow batches in this process.

The stream with the oldest next rows is read next, so that windows hold no more than necessary. Every batch is a round;
a batch of more than `ROUND_ROWS` rows is several, so that rows can expire while it is read. Tables are read completely
before any stream. If rows were dropped before the join, `Rounds` has the times of all rows, and the watermark follows
those.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from thalweg.errors import PlanError, nearest, warn_user
from thalweg.events import Origin, Record
from thalweg.events.parts import StreamCounts
from thalweg.formatting import plural, time_span
from thalweg.kernels.compiling import announced
from thalweg.kernels.salt import NO_SALT, Salt
from thalweg.optimizer.joins.start_plan import StartPlan
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.runtime.joins.join_binding import JoinBinding, warn_of_tables_with_times
from thalweg.runtime.joins.join_loop import make_join_loop
from thalweg.runtime.joins.join_outcome import JoinRows, TaggedColumns
from thalweg.runtime.joins.join_protocol import WindowedJoin
from thalweg.runtime.joins.join_record import observed, records_of, take_counters
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.runtime.joins.plan_watch import plan_watch
from thalweg.runtime.local.operator import AfterMark, Operator, empty_batch
from thalweg.runtime.local.rounds import Rounds, in_rounds
from thalweg.runtime.local.row_windows import IN_SQL
from thalweg.runtime.receiver import Receiver
from thalweg.runtime.redaction import redacted
from thalweg.runtime.watermark import BEGINNING, END

if TYPE_CHECKING:
    from thalweg.runtime.clock import Clock

REPORT_EVERY_ROWS = 100_000
"""A pass reports to its sink about every this many rows; more often at the start."""
WORTH_A_WARNING = 0.01
"""The share of a stream's rows. If more rows are late, its lateness is wrong, or it is not in order as expected."""

ArrowSource: TypeAlias = Iterable[pa.RecordBatch] | pa.Table | pa.RecordBatch
"""Arrow data. Objects with `to_batches()`, such as a `pyarrow.dataset`, or with `__arrow_c_stream__` also work."""


MakeLoop = Callable[[Mapping[str, pa.Schema], "Clock | None", np.random.Generator], WindowedJoin]


class Joining(Operator):
    """A windowed join. Its ports are the streams. `make` creates its loop when it is set up.

    If `marked`, the marks set the watermarks of the streams, in ticks, because conditions may have dropped rows before;
    a mark ends a round. Otherwise the rows have all the times, all rows that are served at once are a round, and the
    only mark is `END`."""

    def __init__(
        self, make: MakeLoop, wanted: JoinRows = JoinRows.RESULTS, *, marked: bool = False, name: str = "join",
        reads: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.name, self.reads = name, reads or {}
        self._make, self._wanted, self._marked = make, wanted, marked

    def set_up(self, schemas: Mapping[str, pa.Schema], clock: Clock | None, rng: np.random.Generator) -> pa.Schema:
        """Create a new loop, and return the schema of the output."""
        self.loop = self._make(schemas, clock, rng)
        self.loop.intake.latest_is_given = self._marked
        self._passed: int | None = None
        self._tagged = None if self._wanted is JoinRows.RESULTS else TaggedColumns(self.loop.binding, self._wanted)
        if self._tagged is None:
            return self.loop.binding.output
        self.loop.intake.set_aside = []
        return self._tagged.schema

    def serve(self, port: str, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Return the output for these rows."""
        loop, tagged = self.loop, self._tagged
        if tagged is None:
            yield from loop.process(port, rows)
        else:
            if tagged.wanted is JoinRows.LATE:
                loop.find_late(port, rows)
            else:
                yield from map(tagged.results, loop.process(port, rows))
            yield from map(tagged.lost, loop.intake.take_aside())
        if not self._marked:
            loop.end_round()

    def mark(self, port: str, mark: int) -> AfterMark:
        """Set the watermark of a stream, and return that of the query if it has advanced. A stream that has ended does
        not hold it back."""
        marks = self.loop.watermarks
        if mark == END:
            marks.ended(port)
        elif self._marked:
            marks.give(port, mark)
        else:
            return AfterMark()
        self.loop.end_round()
        if marks.query == self._passed or not (self._marked or marks.query == END):
            return AfterMark()
        self._passed = marks.query
        return AfterMark(self._passed)

    def windows(self) -> tuple[int, int]:
        """Return the rows and bytes of the windows of all streams."""
        sizes = self.loop.sizes().values()
        return sum(rows for rows, _ in sizes), sum(nbytes for _, nbytes in sizes)

    def late(self) -> int:
        """Return the number of late rows of all streams."""
        return sum(counts.stream.late for counts in self.loop.counts.values())

    def orders(self) -> Mapping[str, tuple[str, ...]]:
        """Return, by stream, the order in which the others are probed."""
        return self.loop.orders()


@dataclass(frozen=True)
class JoinPass:
    """One pass of a join over data in this process: the join, the requested rows, and the receiver of its records."""

    plan: JoinPlan
    settings: JoinSettings
    receiver: Receiver[Any]
    start: Callable[[JoinBinding], StartPlan]
    """Returns the plan that the join begins with, once the columns are known."""
    wanted: JoinRows = JoinRows.RESULTS
    watermark: Callable[[int | None], None] | None = None
    """Called with the query's watermark, in ticks, after every round."""
    rounds: Mapping[str, Rounds] | None = None
    """The rounds that the streams' rows come from, with one batch per round, if conditions have dropped some rows. None
    if the rows have all the times."""
    of_query: bool = False
    """Whether this is the join of a SQL query, for warnings: they suggest what the user can write."""


def join_batches(join_pass: JoinPass, streams: Mapping[str, ArrowSource]) -> Iterator[pa.RecordBatch]:
    """Return the requested rows, in batches of bounded size. Checks that do not need rows are made at once, before the
    first batch."""
    known = _checked(join_pass.plan, streams)
    if len(known) == len(streams):
        binding = JoinBinding.of(join_pass.plan, known, NO_SALT)  # only to check the columns
        if join_pass.wanted is not JoinRows.RESULTS:
            _ = TaggedColumns(binding, join_pass.wanted).columns
    sources = {alias: _batches(alias, source) for alias, source in streams.items()}
    receiver, settings = join_pass.receiver, join_pass.settings
    rows = _joined(join_pass, receiver.next_run(), receiver.sink(settings.events), sources, known)
    return redacted(rows, settings.redact)


def _joined(
    join_pass: JoinPass,
    run: str,
    sink: Callable[[Record], None],
    sources: dict[str, Iterator[pa.RecordBatch]],
    schemas: dict[str, pa.Schema],
) -> Iterator[pa.RecordBatch]:
    plan, settings, rounds = join_pass.plan, join_pass.settings, join_pass.rounds
    waiting: dict[str, pa.RecordBatch] = {}
    times: dict[str, tuple[int | None, int | None]] = {}
    for alias, source in sources.items():
        for first in source:
            waiting[alias] = first
            times[alias] = _times(rounds, alias)
            schemas.setdefault(alias, first.schema)
            break
    if len(schemas) < len(sources):
        return  # a stream without a batch has no columns and no rows to join
    start = join_pass.start(JoinBinding.of(plan, schemas, NO_SALT))
    start.warn_of_memory()
    memory = start.limits.memory

    def made(schemas: Mapping[str, pa.Schema], clock: Clock | None, rng: np.random.Generator) -> WindowedJoin:
        binding = JoinBinding.of(plan, schemas, Salt.of_seed(settings.seed))
        warn_of_tables_with_times(plan, {alias: schema.names for alias, schema in schemas.items()})
        if join_pass.wanted is not JoinRows.RESULTS:
            _ = TaggedColumns(binding, join_pass.wanted).columns  # raises before tables are read
        tables = {a: _held(join_pass, a, waiting.pop(a, None), sources.pop(a), schemas[a]) for a in plan.tables}
        with announced():
            return make_join_loop(
                binding, settings.options(memory, may_change=start.may_change), rng=rng, tables=tables,
                shape=start.shape,
            )  # fmt: skip

    operator = Joining(made, join_pass.wanted, marked=rounds is not None)
    output = operator.set_up({a: schemas[a] for a in plan.graph.aliases}, None, np.random.default_rng(settings.seed))
    binding = operator.loop.binding
    lateness, tick_ns = binding.lateness, binding.tick_ns or 1
    watch = None
    if start.may_change and join_pass.wanted is not JoinRows.LATE:
        watch = plan_watch(binding, settings, start, memory, start.chart())
    if watch is not None:
        operator.loop = watch.within_limit(operator.loop)  # tables may have been joined with each other

    def begin(alias: str, batch: pa.RecordBatch) -> int:
        if rounds is None:
            return binding.begins(alias, batch)
        first, _ = times[alias]
        return BEGINNING if first is None else first // tick_ns

    begins = {alias: begin(alias, batch) for alias, batch in waiting.items()}
    lost = _LateRowCounts()
    unreported, report_at, some = 0, 1, False

    origin = Origin(run, "local", worker="local", policy=settings.policy_name)

    def report(*, is_last: bool = False) -> None:
        taken = take_counters(operator.loop)
        plan = None if watch is None else watch.observe(operator.loop, observed(taken), is_last=is_last)
        for record in records_of(taken, origin, plan):
            sink(record)

    for alias in sources:
        if alias not in waiting:
            operator.mark(alias, END)
    try:
        while waiting:
            alias = min(waiting, key=begins.__getitem__)
            batch = waiting.pop(alias)
            _, latest = times[alias]
            for out in operator.serve(alias, batch):
                some = True
                yield out
            if watch is not None:
                operator.loop = watch.glanced(watch.within_limit(operator.loop))
            for following in sources[alias]:
                _alike(alias, following, schemas[alias])
                waiting[alias], times[alias] = following, _times(rounds, alias)
                begins[alias] = begin(alias, following)
                if latest is not None:
                    operator.mark(alias, latest // tick_ns - lateness[alias])
                break
            else:
                operator.mark(alias, END)
            if join_pass.watermark is not None:
                join_pass.watermark(operator.loop.watermarks.query)
            unreported += batch.num_rows
            if unreported >= report_at:
                unreported, report_at = 0, min(2 * report_at, REPORT_EVERY_ROWS)
                lost.add(operator.loop)
                report()
                if watch is not None:
                    operator.loop = watch.applied(operator.loop)
        if not some:
            yield empty_batch(output)
    finally:
        lost.add(operator.loop)
        report(is_last=True)
    if join_pass.wanted is JoinRows.RESULTS:  # otherwise the late rows are returned
        for sentence in lost.sentences(join_pass.of_query):
            warn_user(sentence)


def _checked(plan: JoinPlan, streams: Mapping[str, ArrowSource]) -> dict[str, pa.Schema]:
    """Check the names and types of the sources. Return the schemas that are known before anything is read."""
    aliases = plan.graph.aliases
    for alias in streams:
        if alias not in aliases:
            has = ", ".join(aliases)
            raise PlanError(f"{alias!r} is not a stream in on={plan.on!r}{nearest(alias, aliases)}; it has {has}")
    missing = [alias for alias in aliases if alias not in streams]
    if missing:
        raise PlanError(f"no data is given for {', '.join(missing)}: write over({missing[0]}=batches, ...)")
    schemas = {}
    for alias, source in streams.items():
        if type(source).__module__.partition(".")[0] == "pyspark":
            raise PlanError(f"{alias} is a Spark DataFrame, but over() joins Arrow data: write j({alias}=df, ...)")
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
                f"{first} and {alias} are given the same iterator, so each would get a part of it; give each its own, "
                "or pass a table to both"
            )
    return schemas


def _batches(alias: str, source: Any) -> Iterator[pa.RecordBatch]:
    """Return the batches of a source, in rounds."""
    if isinstance(source, pa.RecordBatch):
        source = [source]
    elif type(source).__module__.partition(".")[0] in ("duckdb", "_duckdb"):
        # a DuckDB connection has only one open result, so two relations cannot be read alternately
        source = pa.table(source).to_batches()
    elif hasattr(source, "to_batches"):
        source = source.to_batches()
    elif hasattr(source, "__arrow_c_stream__"):
        source = pa.RecordBatchReader.from_stream(source)
    yield from in_rounds(_of(alias, batch) for batch in source)


def _times(rounds: Mapping[str, Rounds] | None, alias: str) -> tuple[int | None, int | None]:
    """Return the smallest time of the last round read, and the largest time of all rounds, in ns; None if unknown."""
    read = (rounds or {}).get(alias)
    return (None, None) if read is None else (read.first_ns, read.latest_ns)


def _held(
    join_pass: JoinPass, alias: str, first: pa.RecordBatch | None, rest: Iterator[pa.RecordBatch], schema: pa.Schema
) -> pa.Table:
    """Return the rows of a table. It is not read if nothing is joined with it."""
    return schema.empty_table() if join_pass.wanted is JoinRows.LATE else _whole(alias, first, rest, schema)


def _whole(alias: str, first: pa.RecordBatch | None, rest: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """Return batches as one table. They may differ in whether columns are nullable."""
    batches = [_alike(alias, batch, schema) for batch in rest]
    batches = batches if first is None else [first, *batches]
    return pa.Table.from_batches([pa.RecordBatch.from_arrays(b.columns, schema=schema) for b in batches], schema)


def _alike(alias: str, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    found, expected = _columns(batch.schema), _columns(schema)
    if found != expected:
        raise PlanError(
            f"the batches of {alias} differ in their columns: {found} after {expected}; cast them to one schema"
        )
    return batch


class _LateRowCounts:
    """Counts late rows by stream, over all reports of a pass."""

    def __init__(self) -> None:
        self._rows: dict[str, StreamCounts] = defaultdict(StreamCounts)
        self._tick_ns: int | None = None

    def add(self, loop: WindowedJoin) -> None:
        """Add the counters since the last report."""
        self._tick_ns = loop.binding.tick_ns
        for alias, counts in loop.counts.items():
            self._rows[alias].add(counts.stream)

    def sentences(self, of_query: bool) -> Iterator[str]:
        """Return a warning for each stream that lost too many rows."""
        in_join = "the stream is not in order; raise its lateness=. j.late_over(...) returns these rows"
        for alias, counts in self._rows.items():
            if counts.late > WORTH_A_WARNING * counts.rows:
                yield (
                    f"{counts.late:,} of {plural(counts.rows, 'row')} of {alias} were late and not joined, by up to "
                    f"{time_span(counts.most_late, self._tick_ns)}: {IN_SQL if of_query else in_join}"
                )


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)


def _of(alias: str, batch: Any) -> pa.RecordBatch:
    if not isinstance(batch, pa.RecordBatch):
        library = type(batch).__module__.partition(".")[0]
        way = {"pyspark": "df.toArrow()", "pandas": "pa.Table.from_pandas(df)"}.get(library, "pa.table(...)")
        if isinstance(batch, pa.Table):
            way = "pa.concat_tables, because a stream is one table"
        raise PlanError(f"{alias}: over() takes Arrow record batches or a table, not {type(batch).__name__}; use {way}")
    return batch
