"""What travels to Spark's workers of one join put on DataFrames."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from thalweg.kernels.compiling import WorkingClock
from thalweg.kernels.window_store import WindowStore
from thalweg.plan.partitioning import Partitioning
from thalweg.runtime.join_binding import JoinBinding
from thalweg.runtime.join_loop import JoinLoop
from thalweg.runtime.join_record import encode
from thalweg.runtime.join_settings import JoinSettings
from thalweg.runtime.join_state import KeptJoin
from thalweg.runtime.memory_share import memory_share

FORMAT = "format 2"
"""Of chunks, of hashes and of what buckets they lead to: what another number wrote cannot be used."""
WORK = "__thalweg_work"
"""The column of the result that carries what was done, on rows of its own."""
LOST = "lost"
"""The column that says why a row is not joined, in the DataFrame of `tagged`."""


@dataclass(frozen=True)
class JoinTask:
    """Plain values."""

    binding: JoinBinding
    settings: JoinSettings
    buckets: tuple[int, ...]
    """Ids."""
    partitioning: Partitioning
    identity: str
    tables: dict[str, bytes]
    """As Arrow streams."""
    followed: tuple[str, ...] = ()
    """Streams whose watermark is Spark's."""
    tagged: bool = False
    max_ahead: int | None = None
    """Ticks."""
    idle_after: int | None = None
    """Milliseconds."""

    @cached_property
    def query(self) -> str:
        """In words, a line for each thing: what a checkpoint must be of. Lateness, policy and limits may change."""
        binding, plan = self.binding, self.binding.plan
        by = " = ".join(f"{alias}.{column}" for alias, column in self.partitioning.columns.items())
        lines = [FORMAT, f"on {' '.join(plan.on.split())}", f"buckets={len(self.buckets)} by {by}"]
        for alias in plan.streams:
            stored = ", ".join(f"{field.name} {field.type}" for field in binding.stored[alias])
            lines.append(
                f"{alias}: window of {binding.windows[alias]} ticks, time {plan.times[alias]}, stored {stored}"
            )
        lines += [f"{alias}: table" for alias in plan.tables]
        return "\n".join(lines)

    def loop(self, *, snapshots: bool) -> JoinLoop:
        """A fresh one."""
        settings = self.settings
        loop = JoinLoop(
            self.binding, settings.policy, settings.profile, WorkingClock(), np.random.default_rng(settings.seed),
            slice_rows=settings.slice_rows, most_matches=settings.max_matches,
            most_bytes=settings.max_bytes or memory_share(), in_buckets=True, redact=settings.redact,
            snapshots=snapshots,
            tables=_TABLES.get(self.identity) or {a: pa.ipc.open_stream(t).read_all() for a, t in self.tables.items()},
        )  # fmt: skip
        if self.tables:
            _TABLES[self.identity] = {alias: loop.stores[alias] for alias in self.tables}
            while len(_TABLES) > MOST_JOINS_WITH_TABLES:
                _TABLES.popitem(last=False)
        if self.tagged:
            loop.intake.set_aside = []
        if snapshots:  # Spark's watermark of a stream begins in 1970, and it fails results that are not later
            loop.watermarks.query = 1000
        return loop

    @cached_property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Streams and columns of what comes out; for rows that are set aside also those that results do not have."""
        binding = self.binding
        carried = [(a, name) for a in binding.plan.streams for name in binding.schemas[a].names] if self.tagged else []
        return (*binding.columns, *(column for column in carried if column not in binding.columns))

    @cached_property
    def output(self) -> pa.Schema:
        """Of what comes out of the join, the work among it."""
        fields = list(self.binding.output)
        for alias, name in self.columns[len(fields) :]:
            fields.append(self.binding.schemas[alias].field(name).with_name(f"{alias}_{name}"))
        if self.tagged:
            fields.append(pa.field(LOST, pa.string()))
        return pa.schema([*fields, pa.field(WORK, pa.string())])

    def results(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """With the columns of `output`."""
        schema = self.output
        nothing = [pa.nulls(batch.num_rows, field.type) for field in list(schema)[batch.num_columns :]]
        return pa.RecordBatch.from_arrays([*batch.columns, *nothing], schema=schema)

    def row(self, rows: int = 1, **columns: Any) -> pa.RecordBatch:
        """Null but for these columns."""
        return pa.RecordBatch.from_arrays(
            [columns.get(field.name, pa.nulls(rows, field.type)) for field in self.output], schema=self.output
        )

    def work(
        self, loop: JoinLoop, bucket: int, task: Mapping[str, Any], kept: KeptJoin | None = None
    ) -> Iterator[pa.RecordBatch]:
        """What was done since the last call, on a row of its own."""
        if bucket != self.buckets[0]:
            for alias in self.partitioning.replicated:  # the first bucket counts the rows that all of them got
                loop.counts[alias].counted_elsewhere()
        extras: dict[str, dict[str, Any]] = {}
        for alias in loop.streams:
            extras[alias] = {"replicated": alias in self.partitioning.replicated}
            if kept is not None:
                chunks, size = kept.in_store(alias)
                extras[alias] |= {"state_chunks": chunks, "state_bytes": size, "reloaded": kept.reloaded[alias]}
                kept.reloaded[alias] = 0
        text = encode(loop, worker=f"bucket {self.buckets.index(bucket)}", task=task, extras=extras)
        yield self.row(**{WORK: pa.array([text])})

    def lost(self, loop: JoinLoop, bucket: int) -> list[pa.RecordBatch]:
        """The rows set aside since the last call."""
        aside, loop.intake.set_aside = loop.intake.set_aside or [], [] if self.tagged else None
        made = []
        for part in aside:
            if part.stream in self.partitioning.replicated and bucket != self.buckets[0]:
                continue  # every bucket had them
            columns = {f"{part.stream}_{name}": part.batch.column(name) for name in part.batch.schema.names}
            rows = part.batch.num_rows
            made.append(self.row(rows, **columns, **{LOST: pa.array([f"{part.stream}: {part.why}"] * rows)}))
        return made


_TABLES: OrderedDict[str, dict[str, WindowStore]] = OrderedDict()
"""By the join put on DataFrames: what one bucket made of its tables serves the others of this process."""
MOST_JOINS_WITH_TABLES = 4
