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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from thalweg.errors import PlanError, nearest
from thalweg.events import Record
from thalweg.kernels.salt import NO_SALT, Salt
from thalweg.plan.join_plan import JoinPlan
from thalweg.plan.window import in_words
from thalweg.runtime.filters.work_record import Behalf
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_loop import make_join_loop
from thalweg.runtime.joins.join_outcome import JoinRows, TaggedColumns
from thalweg.runtime.joins.join_protocol import WindowedJoin
from thalweg.runtime.joins.join_record import records_of
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.runtime.local.operator import Operator, Passed, empty_batch
from thalweg.runtime.local.rounds import Rounds, in_rounds
from thalweg.runtime.memory_share import memory_of_process
from thalweg.runtime.redaction import redacted
from thalweg.runtime.watermark import BEGINNING, END

if TYPE_CHECKING:
    from thalweg.runtime.local.virtual.clock import Clock

TELL_EVERY_ROWS = 100_000
"""A pass reports to its sink about this often; more often in the beginning."""
WORTH_A_WARNING = 0.01
"""Of a stream's rows: when more are late, its lateness is set wrong, or it is not in order as it should be."""

Source: TypeAlias = Iterable[pa.RecordBatch] | pa.Table | pa.RecordBatch
"""Or what has `to_batches()`, as a `pyarrow.dataset` does, or gives Arrow data by `__arrow_c_stream__`."""


MakeLoop = Callable[[Mapping[str, pa.Schema], "Clock | None", np.random.Generator], WindowedJoin]


class Joining(Operator):
    """A windowed join; its ports are the streams. `make` makes its loop when it is set up.

    Where `marked`, the watermarks of the streams are the marks that come, in ticks, since conditions may have dropped
    rows on the way; a mark ends a round. Else the rows themselves have all the times, all rows that are served at once
    are a round, and the only mark is `END`."""

    def __init__(
        self, make: MakeLoop, wanted: JoinRows = JoinRows.RESULTS, *, marked: bool = False, name: str = "join",
        reads: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.name, self.reads = name, reads or {}
        self._make, self._wanted, self._marked = make, wanted, marked

    def set_up(self, schemas: Mapping[str, pa.Schema], clock: Clock | None, rng: np.random.Generator) -> pa.Schema:
        """Begin anew."""
        self.loop = self._make(schemas, clock, rng)
        self.loop.intake.told = self._marked
        self._passed: int | None = None
        self._tagged = None if self._wanted is JoinRows.RESULTS else TaggedColumns(self.loop.binding, self._wanted)
        if self._tagged is None:
            return self.loop.binding.output
        self.loop.intake.set_aside = []
        return self._tagged.schema

    def serve(self, port: str, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """What comes out with these rows."""
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

    def mark(self, port: str, mark: int) -> Passed:
        """How far all streams have come, where that is more than before. A stream that has ended holds nobody back."""
        marks = self.loop.watermarks
        if mark == END:
            marks.ended(port)
        elif self._marked:
            marks.give(port, mark)
        else:
            return Passed()
        self.loop.end_round()
        if marks.query == self._passed or not (self._marked or marks.query == END):
            return Passed()
        self._passed = marks.query
        return Passed(self._passed)

    def windows(self) -> tuple[int, int]:
        """Of all streams."""
        sizes = self.loop.sizes().values()
        return sum(rows for rows, _ in sizes), sum(nbytes for _, nbytes in sizes)

    def late(self) -> int:
        """Of all streams."""
        return sum(counts.late for counts in self.loop.counts.values())

    def orders(self) -> Mapping[str, tuple[str, ...]]:
        """By stream, in which order the others are probed."""
        return self.loop.orders()


@dataclass(frozen=True)
class JoinPass:
    """One pass of a join over data in this process: what is joined, which rows are asked for, and who hears of it."""

    plan: JoinPlan
    settings: JoinSettings
    run: str
    sink: Callable[[Record], None]
    wanted: JoinRows = JoinRows.RESULTS
    watermark: Callable[[int | None], None] | None = None
    """Hears the query's watermark, in ticks, after every round."""
    rounds: Mapping[str, Rounds] | None = None
    """What the streams' rows come from, one batch for each round, where conditions have dropped some of them; else the
    rows themselves have all the times."""


def join_batches(join_pass: JoinPass, streams: Mapping[str, Source]) -> Iterator[pa.RecordBatch]:
    """The rows that are asked for, in batches of bounded size. What can be checked at once is, before the first."""
    known = _checked(join_pass.plan, streams)
    if len(known) == len(streams):
        binding = JoinBinding.of(join_pass.plan, known, NO_SALT)  # to be checked, not used
        if join_pass.wanted is not JoinRows.RESULTS:
            _ = TaggedColumns(binding, join_pass.wanted).columns
    sources = {alias: _batches(alias, source) for alias, source in streams.items()}
    return redacted(_joined(join_pass, sources, known), join_pass.settings.redact)


def _joined(
    join_pass: JoinPass, sources: dict[str, Iterator[pa.RecordBatch]], schemas: dict[str, pa.Schema]
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
        return  # a stream without a batch has no columns, and no rows to join with

    def made(schemas: Mapping[str, pa.Schema], clock: Clock | None, rng: np.random.Generator) -> WindowedJoin:
        binding = JoinBinding.of(plan, schemas, Salt.of_seed(settings.seed))
        if join_pass.wanted is not JoinRows.RESULTS:
            _ = TaggedColumns(binding, join_pass.wanted).columns  # refused before tables are read
        tables = {a: _held(join_pass, a, waiting.pop(a, None), sources.pop(a), schemas[a]) for a in plan.tables}
        return make_join_loop(binding, settings.options(memory_of_process() // 2), rng=rng, tables=tables)

    operator = Joining(made, join_pass.wanted, marked=rounds is not None)
    output = operator.set_up({a: schemas[a] for a in plan.graph.aliases}, None, np.random.default_rng(settings.seed))
    loop = operator.loop
    lateness, tick_ns = loop.binding.lateness, loop.binding.tick_ns or 1

    def begin(alias: str, batch: pa.RecordBatch) -> int:
        if rounds is None:
            return loop.begins(alias, batch)
        first, _ = times[alias]
        return BEGINNING if first is None else first // tick_ns

    begins = {alias: begin(alias, batch) for alias, batch in waiting.items()}
    lost = _Lost()
    unreported, report_at, some = 0, 1, False

    def tell() -> None:
        for record in records_of(loop, Behalf(join_pass.run, None, "local", settings.policy_name), "local"):
            join_pass.sink(record)

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
                join_pass.watermark(loop.watermarks.query)
            unreported += batch.num_rows
            if unreported >= report_at:
                unreported, report_at = 0, min(2 * report_at, TELL_EVERY_ROWS)
                lost.add(loop)
                tell()
        if not some:
            yield empty_batch(output)
    finally:
        lost.add(loop)
        tell()
    if join_pass.wanted is JoinRows.RESULTS:  # else the rows themselves are given
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


def _held(
    join_pass: JoinPass, alias: str, first: pa.RecordBatch | None, rest: Iterator[pa.RecordBatch], schema: pa.Schema
) -> pa.Table:
    """A table; it is not read where nothing is joined with it."""
    return schema.empty_table() if join_pass.wanted is JoinRows.LATE else _whole(alias, first, rest, schema)


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


class _Lost:
    """Late rows by stream, over the reports of a pass."""

    def __init__(self) -> None:
        self._rows: Counter[str] = Counter()
        self._late: Counter[str] = Counter()
        self._by: dict[str, str] = {}

    def add(self, loop: WindowedJoin) -> None:
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
