"""The loop that runs a windowed join of many streams under policies. It is the same locally and in Spark's workers.

The loop processes rows of one stream at a time. Rows that can have partners probe the other windows (`filter_loop` runs
probes as it runs filters, so every policy works), are put together with their partners, and are then inserted. So each
result is returned once, with the last of its rows, regardless of the order in which streams are read.

A row is removed when the query's watermark has passed its time plus its stream's window. Then no row that is not late
can have it as a partner.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pyarrow as pa

from thalweg.errors import PlanError
from thalweg.events.parts import JoinedCounts
from thalweg.kernels.columns import take_rows
from thalweg.kernels.compiling import WorkingClock, compiled_by
from thalweg.kernels.multiway_join import JoinedRows, ResultCounts, ResultLimits, TooManyResults, put_together
from thalweg.kernels.probe_chain import ProbeRows
from thalweg.kernels.window_chunks import WindowRows
from thalweg.kernels.window_store import WindowStore
from thalweg.plan.joins.graph import KeyClasses
from thalweg.plan.joins.shape import Shape
from thalweg.runtime.filters.filter_loop import LoopOptions, make_filter_loop
from thalweg.runtime.filters.work_record import take_report
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_intake import JoinIntake
from thalweg.runtime.joins.join_options import JoinOptions
from thalweg.runtime.joins.join_output import JoinOutput
from thalweg.runtime.joins.join_pool import JoinPool
from thalweg.runtime.joins.join_protocol import Probed, WindowedJoin, Words

if TYPE_CHECKING:
    from thalweg.runtime.joins.tree_loop import TreeLoop

Tables = Mapping[str, pa.RecordBatch | pa.Table | WindowStore]
"""The rows of the plan's tables, or the stores that another multiway loop has built from them. Tables do not change."""
MESH_BYTES = 16 << 10
"""The most bytes of the meshes of all streams in a snapshot."""


class JoinLoop:
    """A multiway join with the state that outlives batches: windows, policies and watermarks."""

    def __init__(
        self,
        binding: JoinBinding,
        options: JoinOptions,
        clock: Callable[[], int],
        rng: np.random.Generator,
        tables: Tables | None = None,
        intake: JoinIntake | None = None,
    ) -> None:
        """Create a loop. `tables` are not part of snapshots: pass them again when the loop is created again. `intake`:
        that of the loop which this one replaces."""
        from thalweg.kernels.warm_up import warm_up  # here, so that Python can also run this module as a program

        compiled = compiled_by(clock)
        warm_up()
        graph, streams = binding.plan.graph, binding.plan.streams
        self.binding = binding
        self.streams = streams
        self.shape: Shape = graph.aliases
        self.outgrown = False
        self.clock = clock
        self.options = options
        self.limits = options.limits
        self._result_limits = ResultLimits(options.limits.max_matches, options.results)
        self.intake = intake or JoinIntake(binding)
        self.watermarks = self.intake.watermarks
        self.counts = self.intake.counts
        self.stores = {
            a: WindowStore(
                binding.stored[a], binding.key_sets[a], binding.windows.get(a), snapshots=options.snapshots,
                words=binding.words_of(a), hashed=binding.hashed_keys(a), salt=binding.salt,
            )
            for a in graph.aliases
        }  # fmt: skip
        self.stores |= {a: rows for a, rows in (tables or {}).items() if isinstance(rows, WindowStore)}
        self.trees = {a: graph.tree(a) for a in streams}
        self.chains = {a: options.chain(self.trees[a], self.stores, clock) for a in streams}
        for alias, chain in self.chains.items():
            chain.classifiers = binding.classifiers[alias]
        seeds = {a: np.random.default_rng(rng.integers(2**63)) for a in streams}
        probing = LoopOptions(options.policy, options.profile, options.slice_rows)
        self.loops = {a: make_filter_loop(self.chains[a], probing, seeds[a]) for a in streams}
        self.pool = JoinPool(self.trees, {a: loop.policy for a, loop in self.loops.items()})
        self.output = JoinOutput(binding)
        self._hold(tables or {})
        self.counts[streams[0]].times.compiling_ns += compiled_by(clock) - compiled

    def process(self, alias: str, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Return the results that these rows complete. Consume all of them before passing the next rows."""
        begun = self._now()
        admitted = self.intake.admit(alias, batch)
        self._worked(alias, begun)
        if admitted is None:
            return
        batch = admitted.batch
        starts = np.full((len(self.stores) - 1, batch.num_rows), -1, np.int64)
        loop = self.loops[alias]
        classified = self.binding.classified(alias, batch) if loop.classifies else {}
        rows = ProbeRows(admitted.keys, admitted.times, admitted.ends, starts, classified)
        if all(len(store) for other, store in self.stores.items() if other != alias):
            found = self.pool.found(alias)
            if found is not None:
                loop.follow(*found)
            before = loop.work.times.total_ns
            kept = loop.process(rows).nonzero()[0]
            self.pool.credit.time_ns += loop.work.times.total_ns - before
            if len(kept):
                order = tuple(loop.chain.pipeline.names[k] for k in loop.order)
                yield from self._put_together(alias, batch, rows, kept, order)
        if len(self.streams) == 1:
            return  # no other stream will probe for these rows
        begun = self._now()
        store, window = self.stores[alias], self.counts[alias].window
        held = self.binding.held(alias, batch)
        self._check_memory(held.nbytes)
        store.insert(held, admitted.keys, admitted.times, admitted.ends)
        window.most_rows, window.most_bytes = max(window.most_rows, len(store)), max(window.most_bytes, store.nbytes)
        self._worked(alias, begun)

    def find_late(self, alias: str, batch: pa.RecordBatch) -> None:
        """Set aside rows that are late or have no time, and do nothing else: no row is probed, joined or stored."""
        begun = self._now()
        self.intake.in_time(alias, batch)
        self._worked(alias, begun)

    def begins(self, alias: str, batch: pa.RecordBatch) -> int:
        """Return the smallest time of a batch; `BEGINNING` if it has none."""
        return self.binding.begins(alias, batch)

    def end_round(self) -> None:
        """End a round: advance the watermarks and expire rows."""
        mark = self.watermarks.advance()
        if mark is not None:
            self.expire(mark)

    def expire(self, before: int) -> None:
        """Remove and count the rows that can have no partner if no further row is older than `before`."""
        for alias, rows in self.forget(before).items():
            self.counts[alias].window.expired += rows

    def forget(self, before: int) -> Mapping[str, int]:
        """Remove the same rows as `expire` without counting them. Return their number by stream."""
        return {alias: self.stores[alias].expire(before) for alias in self.streams}

    def _hold(self, tables: Tables) -> None:
        """Store the rows of tables, before any row of a stream arrives. They are kept."""
        assert sorted(tables) == sorted(self.binding.plan.tables), "the rows of every table of the plan, and no others"
        for alias, rows in tables.items():
            if isinstance(rows, WindowStore):
                continue
            store = self.stores[alias]
            for batch in rows.to_batches() if isinstance(rows, pa.Table) else [rows]:
                admitted = self.intake.admit_table(alias, batch)
                if admitted is not None:
                    held = self.binding.held(alias, admitted.batch)
                    store.insert(held, admitted.keys, admitted.times, admitted.ends)
            store.forget_changes()

    def _put_together(
        self, alias: str, batch: pa.RecordBatch, rows: ProbeRows, kept: Any, order: tuple[str, ...]
    ) -> Iterator[pa.RecordBatch]:
        counts, totals = self.counts[alias].matches, ResultCounts()
        begun = self._now()
        found = put_together(self.trees[alias], self.stores, rows, kept, order, self._result_limits, totals)
        try:
            for results in found:
                out = self._output(alias, batch, results)
                counts.results += out.num_rows
                self._worked(alias, begun)
                if out.num_rows:
                    yield out
                begun = self._now()
        except TooManyResults as too_many:
            keys = self._named_keys(alias, batch, too_many.row)
            raise self.limits.too_many_matches(alias, keys) from None
        counts.looked += totals.looked
        if totals.results > counts.most_matches:
            counts.most_matches = totals.results
            counts.hottest = self._named_keys(alias, batch, totals.row)

    def _now(self) -> tuple[int, int]:
        """Return the time, and the compile time that it excludes."""
        return self.clock(), compiled_by(self.clock)

    def _worked(self, alias: str, begun: tuple[int, int]) -> None:
        ns = self.clock() - begun[0]
        times = self.counts[alias].times
        times.total_ns += ns
        times.compiling_ns += compiled_by(self.clock) - begun[1]
        self.loops[alias].worked(ns)
        self.pool.credit.time_ns += ns

    def _check_memory(self, more: int) -> None:
        most = self.limits.max_bytes
        if most is not None and sum(self.stores[alias].nbytes for alias in self.streams) + more > most:
            raise self.limits.too_much_memory((alias, self.stores[alias]) for alias in self.streams)

    def _named_keys(self, alias: str, batch: pa.RecordBatch, row: int) -> str:
        """Return the keys of a row as text; empty with `redact`."""
        return "" if self.options.redact else self.binding.named_keys(alias, batch, row)

    def _output(self, root: str, batch: pa.RecordBatch, results: JoinedRows) -> pa.RecordBatch:
        def column(alias: str, name: str) -> pa.Array:
            rows = results.rows[alias]
            if alias == root:
                return take_rows(batch.column(name), rows)
            store = self.stores[alias]
            return store.take(store.schema.get_field_index(name), rows)

        return self.output.of(column, results.latest, root)

    def contents(self, alias: str) -> WindowRows:
        """Return the rows of a window with the keys by which it is indexed."""
        return self.stores[alias].contents()

    def words(self, alias: str, key: KeyClasses, rows: Words) -> tuple[Words, Words, Words]:
        """Return the keys, times and ends of some rows of a window, by their places in it."""
        from thalweg.kernels.probing import END, KEY, TIME

        store = self.stores[alias]
        index = store.indexes[key]
        ring = index.ring[(rows + store.low) & index.mask]
        return ring[:, KEY], ring[:, TIME], ring[:, END]

    def sizes(self) -> Mapping[str, tuple[int, int]]:
        """Return the rows and bytes of each window."""
        return {alias: (len(store), store.nbytes) for alias, store in self.stores.items()}

    @property
    def windows(self) -> Mapping[str, WindowStore]:
        """The windows by stream and table."""
        return self.stores

    @property
    def nbytes(self) -> int:
        """The memory of all windows, in bytes."""
        return sum(store.nbytes for store in self.stores.values())

    def orders(self) -> Mapping[str, tuple[str, ...]]:
        """Return, by stream, the order in which the others are probed."""
        return {a: tuple(loop.chain.pipeline.names[k] for k in loop.order) for a, loop in self.loops.items()}

    def take_probed(self, alias: str) -> Probed:
        """Return the work done for the rows of a stream since the last call."""
        probing, chain = self.loops[alias], self.chains[alias]
        looked, chain.looked = chain.looked, 0
        work = take_report(probing, redact=self.options.redact)
        return Probed(chain.pipeline.names, probing.order, work, looked)

    def take_inner(self) -> Mapping[str, JoinedCounts]:
        """Return no inner results: a multiway join holds only the windows."""
        return {}

    def learned(self) -> Mapping[str, Any]:
        """Return, by stream, what its policy has learned. Meshes for which there is no room are left out."""
        return with_small_meshes({alias: probing.snapshot() for alias, probing in self.loops.items()})

    def learn(self, learned: Mapping[str, Any]) -> None:
        """Continue from what was learned. If it was learned by another policy, the stream starts again, in its current
        order."""
        for alias, snapshot in learned.items():
            with suppress(PlanError, KeyError, ValueError, TypeError, ArithmeticError):
                self.loops[alias].restore(snapshot)


def with_small_meshes(learned: Mapping[str, dict[str, Any]]) -> Mapping[str, dict[str, Any]]:
    """Return snapshots of policies without the largest meshes, if all meshes have more than `MESH_BYTES` as JSON. They
    are written in every round. A loop that continues without its mesh searches another one.

    >>> small, large = {"mesh": {"tree": "few values"}}, {"mesh": {"tree": "many values" * 2_000}}
    >>> with_small_meshes({"a": large, "b": small, "c": {"order": [0]}})
    {'a': {'mesh': None}, 'b': {'mesh': {'tree': 'few values'}}, 'c': {'order': [0]}}
    """
    size_of = {a: len(json.dumps(known["mesh"])) for a, known in learned.items() if known.get("mesh") is not None}
    left_out = set()
    while sum(size_of.values()) > MESH_BYTES:
        left_out.add(max(size_of, key=size_of.__getitem__))
        size_of = {alias: size for alias, size in size_of.items() if alias not in left_out}
    return {alias: known | {"mesh": None} if alias in left_out else known for alias, known in learned.items()}


@overload
def make_join_loop(
    binding: JoinBinding, options: JoinOptions, *, rng: np.random.Generator, clock: Callable[[], int] | None = None,
    tables: Tables | None = None, intake: JoinIntake | None = None,
) -> JoinLoop: ...  # fmt: skip
@overload
def make_join_loop(
    binding: JoinBinding, options: JoinOptions, *, rng: np.random.Generator, clock: Callable[[], int] | None = None,
    tables: Tables | None = None, shape: Shape, methods: Mapping[Shape, str] | str = "hash",
    intake: JoinIntake | None = None,
) -> TreeLoop: ...  # fmt: skip
@overload
def make_join_loop(
    binding: JoinBinding, options: JoinOptions, *, rng: np.random.Generator, clock: Callable[[], int] | None = None,
    tables: Tables | None = None, shape: Shape | None, methods: Mapping[Shape, str] | str = "hash",
    intake: JoinIntake | None = None,
) -> WindowedJoin: ...  # fmt: skip
def make_join_loop(
    binding: JoinBinding,
    options: JoinOptions,
    *,
    rng: np.random.Generator,
    clock: Callable[[], int] | None = None,
    tables: Tables | None = None,
    shape: Shape | None = None,
    methods: Mapping[Shape, str] | str = "hash",
    intake: JoinIntake | None = None,
) -> WindowedJoin:
    """Return a new loop for a join. All runtimes create their loops here. Without a clock, the loop measures time of
    work, and compiling is counted separately. `shape`: the shape of a tree of binary joins, with the `methods` of
    `TreeLoop`; None for a multiway join. `intake`: that of a loop which this one replaces, with its counters and
    watermarks."""
    clock = clock or WorkingClock()
    if shape is None:
        return JoinLoop(binding, options, clock, rng, tables, intake)
    from thalweg.runtime.joins.tree_loop import TreeLoop

    return TreeLoop(binding, shape, methods, options, clock, tables, rng, intake)
