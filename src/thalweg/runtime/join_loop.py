"""The loop that runs a windowed join of many streams under policies; the same one locally and in Spark's workers.

Rows of one stream at a time: those that can have partners are probed for (`filter_loop` drives the probes as it drives
filters, so every policy serves), put together with their partners, and then inserted. So each result comes once, with
the last of its rows, whatever the order in which streams are read.

A row is forgotten when the query's watermark has passed its time and its stream's window: no row that is not late can
have it as a partner then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from thalweg.adapt import Chosen, make_policy
from thalweg.errors import JoinLimitError
from thalweg.kernels.columns import take_rows
from thalweg.kernels.compiling import compiled_by
from thalweg.kernels.multiway_join import RESULTS, Results, Told, TooManyResults, put_together
from thalweg.kernels.probe_chain import ProbeChain, ProbeRows
from thalweg.kernels.warm_up import warm_up
from thalweg.kernels.window_store import WindowStore
from thalweg.plan.byte_size import size
from thalweg.plan.join_graph import JoinTree
from thalweg.runtime.filter_loop import FilterLoop
from thalweg.runtime.join_binding import JoinBinding
from thalweg.runtime.join_intake import JoinIntake
from thalweg.runtime.join_output import JoinOutput
from thalweg.runtime.join_pool import JoinPool

MOST_MATCHES = 10_000_000
"""Results one row may have; far more than anybody means to ask for."""


class JoinLoop:
    """State that outlives batches: windows, policies, watermarks."""

    def __init__(
        self,
        binding: JoinBinding,
        policy: Chosen,
        profile: Any,
        clock: Callable[[], int],
        rng: np.random.Generator,
        *,
        slice_rows: int | None = None,
        most_matches: int = MOST_MATCHES,
        most_bytes: int | None = None,
        in_buckets: bool = False,
        redact: bool = False,
        results: int = RESULTS,
        snapshots: bool = False,
        chain: Callable[[JoinTree, Mapping[str, WindowStore], Callable[[], int]], ProbeChain] = ProbeChain,
        tables: Mapping[str, pa.RecordBatch | pa.Table | WindowStore] | None = None,
    ) -> None:
        """`in_buckets`: these are the windows of one bucket among others. `redact`: no value of a row is given out.
        `chain`: what probes; another one may count time of its own, as a simulation does. `tables`: the rows of the
        plan's tables, or what another loop made of them, since they do not change; whoever makes the loop again gives
        them again, they are in no snapshot."""
        compiled = compiled_by(clock)
        warm_up()
        graph, streams = binding.plan.graph, binding.plan.streams
        self.binding = binding
        self.streams = streams
        self.clock = clock
        self.most_matches = most_matches
        self.most_bytes = most_bytes
        self.in_buckets = in_buckets
        self.redact = redact
        self.results = results
        self.intake = JoinIntake(binding)
        self.watermarks = self.intake.watermarks
        self.counts = self.intake.counts
        self.stores = {
            a: WindowStore(
                binding.stored[a], binding.key_sets[a], binding.windows.get(a), snapshots=snapshots,
                words=binding.words_of(a), hashed=binding.hashed_keys(a), salt=binding.salt,
            )
            for a in graph.aliases
        }  # fmt: skip
        self.stores |= {a: rows for a, rows in (tables or {}).items() if isinstance(rows, WindowStore)}
        self.trees = {a: graph.tree(a) for a in streams}
        self.chains = {a: chain(self.trees[a], self.stores, clock) for a in streams}
        seeds = {a: np.random.default_rng(rng.integers(2**63)) for a in streams}
        policies = {a: make_policy(policy, self.chains[a].pipeline, profile, seeds[a]) for a in streams}
        self.pool = JoinPool(self.trees, policies)
        self.loops = {a: FilterLoop(self.chains[a], policies[a], seeds[a], slice_rows) for a in streams}
        self.output = JoinOutput(binding)
        self._hold(tables or {})
        self.counts[streams[0]].compiling_ns += compiled_by(clock) - compiled

    def process(self, alias: str, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The results that come with these rows. All of them must be taken before the next rows are given."""
        begun = self._now()
        admitted = self.intake.admit(alias, batch)
        self._worked(alias, begun)
        if admitted is None:
            return
        batch = admitted.batch
        starts = np.full((len(self.stores) - 1, batch.num_rows), -1, np.int64)
        rows = ProbeRows(admitted.keys, admitted.times, admitted.ends, starts)
        loop = self.loops[alias]
        if all(len(store) for other, store in self.stores.items() if other != alias):
            found = self.pool.found(alias)
            if found is not None:
                loop.follow(*found)
            before = loop.work.total_ns
            kept = loop.process(rows).nonzero()[0]
            self.pool.credit.time_ns += loop.work.total_ns - before
            if len(kept):
                order = tuple(loop.chain.pipeline.names[k] for k in loop.order)
                yield from self._put_together(alias, batch, rows, kept, order)
        if len(self.streams) == 1:
            return  # nobody will ever look for these rows
        begun = self._now()
        store, counts = self.stores[alias], self.counts[alias]
        held = self.binding.held(alias, batch)
        self._refuse_too_much(held.nbytes)
        store.insert(held, admitted.keys, admitted.times, admitted.ends)
        counts.most_rows, counts.most_bytes = max(counts.most_rows, len(store)), max(counts.most_bytes, store.nbytes)
        self._worked(alias, begun)

    def begins(self, alias: str, batch: pa.RecordBatch) -> int:
        """The least time of a batch; before all others where it has none."""
        times, known = self.binding.times(alias, batch)
        times = times if known is None else times[known]
        return int(times.min()) if len(times) else -(2**63)

    def end_round(self) -> None:
        """The batches of a round have been processed: watermarks move, rows expire."""
        before = self.watermarks.query
        self.watermarks.end_round()
        mark = self.watermarks.query
        if mark is not None and mark != before:
            self.expire(mark)

    def expire(self, before: int) -> None:
        """No row older than that will come any more: forget what can have no partner."""
        for alias in self.streams:
            self.counts[alias].expired += self.stores[alias].expire(before)

    def _hold(self, tables: Mapping[str, pa.RecordBatch | pa.Table | WindowStore]) -> None:
        """Rows of tables are there before any row of a stream comes, and stay."""
        assert sorted(tables) == sorted(self.binding.plan.tables), "the rows of every table of the plan, and no others"
        for alias, rows in tables.items():
            if isinstance(rows, WindowStore):
                continue
            store, counts = self.stores[alias], self.counts[alias]
            for batch in rows.to_batches() if isinstance(rows, pa.Table) else [rows]:
                admitted = self.intake.admit_table(alias, batch)
                if admitted is not None:
                    held = self.binding.held(alias, admitted.batch)
                    store.insert(held, admitted.keys, admitted.times, admitted.ends)
            store.forget_changes()
            counts.most_rows, counts.most_bytes = len(store), store.nbytes

    def _put_together(
        self, alias: str, batch: pa.RecordBatch, rows: ProbeRows, kept: Any, order: tuple[str, ...]
    ) -> Iterator[pa.RecordBatch]:
        counts, told = self.counts[alias], Told()
        begun = self._now()
        found = put_together(
            self.trees[alias], self.stores, rows, kept, order,
            most=self.most_matches, told=told, results=self.results,
        )  # fmt: skip
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
            raise JoinLimitError(
                f"one row of {alias}{f' ({keys})' if keys else ''} has more than "
                f"{self.most_matches:,} matches by its keys; a key so common is rarely meant: filter it out before the "
                "join, add an equality, make windows shorter, or raise max_matches= (in SQL, the setting "
                "spark.thalweg.max_matches or the variable THALWEG_MAX_MATCHES)"
            ) from None
        counts.looked += told.looked
        if told.results > counts.most_matches:
            counts.most_matches = told.results
            counts.hottest = self._named_keys(alias, batch, told.row)

    def _now(self) -> tuple[int, int]:
        """The time, and how much of compiling it leaves out."""
        return self.clock(), compiled_by(self.clock)

    def _worked(self, alias: str, begun: tuple[int, int]) -> None:
        ns = self.clock() - begun[0]
        self.counts[alias].putting_ns += ns
        self.counts[alias].compiling_ns += compiled_by(self.clock) - begun[1]
        self.loops[alias].worked(ns)
        self.pool.credit.time_ns += ns

    def _refuse_too_much(self, more: int) -> None:
        if self.most_bytes is None:
            return
        held = {alias: self.stores[alias].nbytes for alias in self.streams}
        if sum(held.values()) + more > self.most_bytes:
            told = ", ".join(f"{alias} {size(held[alias])} in {len(self.stores[alias]):,} rows" for alias in held)
            spread = "spread the join over more buckets=, " if self.in_buckets else ""
            raise JoinLimitError(
                f"the windows would hold more than {size(self.most_bytes)} of memory ({told}): make windows "
                f"shorter, select= fewer columns, {spread}or raise max_bytes= (in SQL, the setting "
                "spark.thalweg.max_bytes or the variable THALWEG_MAX_BYTES)"
            )

    def _named_keys(self, alias: str, batch: pa.RecordBatch, row: int) -> str:
        """The keys of a row in words; empty where no value may be given out."""
        if self.redact:
            return ""
        graph = self.binding.plan.graph
        columns = dict.fromkeys(graph.column_of[c][alias] for c in graph.classes_of(alias))
        return ", ".join(f"{column}={shown(batch.column(column)[row])}" for column in columns)

    def _output(self, root: str, batch: pa.RecordBatch, results: Results) -> pa.RecordBatch:
        def column(alias: str, name: str) -> pa.Array:
            rows = results.rows[alias]
            if alias == root:
                return take_rows(batch.column(name), rows)
            store = self.stores[alias]
            return store.take(store.schema.get_field_index(name), rows)

        return self.output.of(column, results.latest, root)

    def sizes(self) -> Mapping[str, tuple[int, int]]:
        """Rows and bytes of each window."""
        return {alias: (len(store), store.nbytes) for alias, store in self.stores.items()}


def shown(value: pa.Scalar) -> str:
    """A key for a person to read. Arrow does not check that text is UTF-8, and what is not must not end a join.

    >>> shown(pa.scalar("a key")), shown(pa.scalar(b"a\\xff").cast(pa.binary()))
    ("'a key'", "b'a\\\\xff'")
    """
    try:
        return f"{value.as_py()!r:.80}"
    except UnicodeDecodeError:
        return f"{value.as_buffer().to_pybytes()!r:.80}"
