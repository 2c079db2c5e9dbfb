"""Windows in a store of chunks: whichever process gets the next round, with whatever copy, and whichever rounds fail or
are run again, the results are what DuckDB makes of the finished data."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from tests.adapt.forward import Forward
from tests.long_run import examples
from tests.runtime.joins.dict_chunks import DictChunks
from tests.runtime.joins.generated import POLICIES, Case, cases
from tests.runtime.joins.oracle import expected_ids
from tests.runtime.joins.test_same_as_duckdb import interleaved
from thalweg.adapt import Chosen
from thalweg.errors import CheckpointError
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.plan.joins.partitioning import Partitioning
from thalweg.runtime.joins import join_state
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_loop import JoinLoop
from thalweg.runtime.joins.join_options import JoinOptions
from thalweg.runtime.joins.join_packing import Packing, unpacked
from thalweg.runtime.joins.join_state import ANCESTORS, KeptJoin, StateHeader, pieces

QUERY = "the only one"
Round = list[tuple[str, pa.RecordBatch]]


def loop_of(
    binding: JoinBinding,
    policy: Chosen = "static",
    seed: int = 0,
    slice_rows: int | None = None,
    tables: Mapping[str, pa.Table] | None = None,
) -> JoinLoop:
    profile = tw.policy(policy).settings
    rng = np.random.default_rng(seed)
    return JoinLoop(binding, JoinOptions(policy, profile, slice_rows, snapshots=True), lambda: 0, rng, tables)


def run(kept: KeptJoin, rows: Round) -> list[pa.RecordBatch]:
    out = [made for alias, batch in rows for made in kept.loop.process(alias, batch)]
    kept.loop.end_round()
    return out


def rounds_of(case: Case, r: random.Random) -> list[Round]:
    """Return batches, some of them without rows."""
    turns = interleaved(case, r)
    edges = sorted([0, len(turns), *(r.randint(0, len(turns)) for _ in range(r.choice([1, 4, 9])))])
    return [turns[start:end] for start, end in itertools.pairwise(edges)]


def check_store(store: DictChunks, kept: KeptJoin, tables: Mapping[str, pa.Table] | None = None) -> None:
    """It holds chunks with live rows and no others, and the copy knows their sizes."""
    head = StateHeader.read(store.data or b"")
    mark = kept.loop.watermarks.query
    for alias in kept.loop.streams:
        sizes = [len(data) for (stream, _), data in store.chunks.items() if stream == alias]
        assert kept.in_store(alias) == (len(sizes), sum(sizes))
        numbers = {n for low, end in head.chunks.get(alias, ()) for n in range(low, end)}
        assert numbers == {number for stream, number in store.chunks if stream == alias}
    if mark is not None:
        for (alias, _), data in store.chunks.items():
            window = loop_of(kept.loop.binding, tables=tables).stores[alias]
            window.restore({0: data})
            window.expire(mark)
            assert len(window)


def packed(case: Case, rows: Round, buckets: int, key: int, together: int) -> list[list[dict[str, Any]]]:
    """A round as each bucket gets it, packed by tasks of a few batches each."""
    found: list[list[dict[str, Any]]] = [[] for _ in range(buckets)]
    for alias in case.windows:
        mine = [batch for name, batch in rows if name == alias]
        spread_by = key if alias in case.binding.plan.graph.column_of[key] else None
        packing = Packing(case.binding, alias, spread_by, tuple(range(buckets)))
        for first in range(0, len(mine), together):
            for batch in packing.pack(mine[first : first + together]):
                for row in batch.to_pylist():
                    found[row["bucket"]].append({**row, "stream": alias})
    return found


def run_packed(kept: KeptJoin, rows: list[dict[str, Any]]) -> list[pa.RecordBatch]:
    """Run a round as Spark's workers do."""
    chunks = [(row["stream"], unpacked(kept.loop.binding, row["stream"], row["chunk"])) for row in rows if row["chunk"]]
    out = [made for alias, batch in chunks for made in kept.loop.process(alias, batch)]
    for row in rows:
        if row["latest"] is not None:
            kept.loop.watermarks.seen(row["stream"], row["latest"])
    kept.loop.end_round()
    return out


@examples(20, long=1_000)
@given(
    case=cases(),
    seed=st.integers(0, 2**32),
    policy=st.sampled_from(POLICIES),
    buckets=st.integers(1, 3),
    processes=st.integers(1, 3),
    ancestors=st.sampled_from([1, 2, 64]),
    faults=st.lists(
        st.sampled_from(["", "", "", "fails", "fails after keep", "is run again", "two are run again", "forgets"]),
        max_size=16,
    ),
)
def test_any_schedule_of_processes_and_faults(
    case: Case, seed: int, policy: str, buckets: int, processes: int, ancestors: int, faults: list[str]
) -> None:
    """Each bucket of a micro-batch goes to any process. A micro-batch is kept whole, or not at all."""
    r = random.Random(seed)
    binding = case.binding
    key = Partitioning.of(binding.plan.graph, binding.plan.tables).key
    rounds = [packed(case, rows, buckets, key, r.choice([1, 3])) for rows in rounds_of(case, r)]
    warm: dict[tuple[int, int], KeptJoin] = {}
    kept_rounds: list[tuple[list[DictChunks], list[pa.RecordBatch]]] = []
    left = iter(faults)

    def fresh() -> JoinLoop:
        return loop_of(binding, policy, r.randrange(2**32), r.choice([None, 1, 7]), case.tables)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(join_state, "ANCESTORS", ancestors)
        while len(kept_rounds) < len(rounds):
            fault = next(left, "")
            before = kept_rounds[-1][0] if kept_rounds else [DictChunks() for _ in range(buckets)]
            stores = [store.copy() for store in before]
            out: list[pa.RecordBatch] = []
            for bucket, store in enumerate(stores):
                rows = rounds[len(kept_rounds)][bucket]
                if not rows:
                    continue
                place = r.randrange(processes), bucket
                # taken out, as by Spark's workers: a copy that was left half way must not be there the next time
                mine = warm.pop(place, None)
                kept = KeptJoin.open(store, QUERY, None if fault == "forgets" else mine, fresh)
                if fault == "fails" and bucket == buckets - 1:
                    run_packed(kept, rows[: r.randint(0, len(rows))])
                    break
                out += run_packed(kept, rows)
                kept.keep(store)
                check_store(store, kept, case.tables)
                warm[place] = kept
            if fault.startswith("fails"):  # what it wrote is thrown away, the copies are there
                continue
            kept_rounds.append((stores, out))
            if fault.endswith("run again"):
                del kept_rounds[-2 if fault.startswith("two") else -1 :]
    assert case.found([batch for _, out in kept_rounds for batch in out]) == case.expected()


def two_streams() -> JoinBinding:
    schema = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("id", pa.int64())])
    return JoinBinding.of(JoinPlan.of("a.k = b.k", 10, "t", 0), {"a": schema, "b": schema})


def rows_of(ids: list[int], times: list[int], keys: Sequence[int | None] | None = None) -> pa.RecordBatch:
    keys = [0] * len(ids) if keys is None else keys
    return pa.record_batch({"k": pa.array(keys, pa.int64()), "t": times, "id": ids})


def step(
    store: DictChunks, warm: KeptJoin | None, binding: JoinBinding, rows: Round
) -> tuple[KeptJoin, list[tuple[int, int]]]:
    kept = KeptJoin.open(store, QUERY, warm, lambda: loop_of(binding))
    out = run(kept, rows)
    kept.keep(store)
    check_store(store, kept)
    return kept, [(row["a_id"], row["b_id"]) for batch in out for row in batch.to_pylist()]


def test_a_process_started_later_reuses_no_chunk_number() -> None:
    """Rows that cannot be joined move the watermark, and so do those of other buckets; windows run empty. Others, whose
    copies are older, read on from the number at which they were."""
    binding, store = two_streams(), DictChunks()
    first: Round = [("a", rows_of([n], [n])) for n in range(5)] + [("b", rows_of([9], [0]))]
    old, _ = step(store, None, binding, first)
    _, _ = step(store, None, binding, [(alias, rows_of([99], [1000], [None])) for alias in "ab"])
    assert store.chunks == {}
    _, found = step(store, None, binding, [("a", rows_of([10], [1001]))])
    assert found == []
    _, found = step(store, old, binding, [("b", rows_of([11], [1002]))])
    assert found == [(10, 11)]


@pytest.mark.parametrize("lag", [1, ANCESTORS - 1, ANCESTORS, ANCESTORS + 1, 2 * ANCESTORS])
def test_a_lagging_copy_reads_new_chunks_or_everything(lag: int) -> None:
    binding, store = two_streams(), DictChunks()
    old, _ = step(store, None, binding, [("a", rows_of([n], [0])) for n in range(5)])
    other: KeptJoin | None = None
    for n in range(lag):
        other, _ = step(store, other, binding, [("a", rows_of([100 + n], [0]))])
    store.reads = 0
    again, found = step(store, old, binding, [("b", rows_of([7], [9]))])
    assert sorted(found) == [(n, 7) for n in [*range(5), *range(100, 100 + lag)]]
    assert (again is old, store.reads) == ((True, lag) if lag <= ANCESTORS else (False, 5 + lag))
    assert again.loop.counts["a"].window.reloaded == store.reads


def test_a_round_writes_only_new_rows_and_state_stays_bounded() -> None:
    binding, store = two_streams(), DictChunks()
    kept: KeptJoin | None = None
    sizes = []
    for n in range(300):
        times = [10 * n, 10 * n + 5]
        store.reads, before = 0, set(store.used)
        kept, found = step(store, kept, binding, [("a", rows_of([n, n], times)), ("b", rows_of([n], times[:1]))])
        assert store.reads == 0
        assert store.used - before == {("a", n), ("b", n)}
        # rows of the same time, of the one before and of 5 before; b's is 10 and 5 older than two of a
        assert len(found) == (2 if n == 0 else 2 + 2 + 1)
        sizes.append((len(store.chunks), sum(map(len, store.chunks.values())) + len(store.data or b"")))
    assert max(chunks for chunks, _ in sizes) == 4  # two rounds of each stream
    assert max(size for _, size in sizes[200:]) <= 1.05 * max(size for _, size in sizes[100:200])


def order_of_a(kept: KeptJoin) -> tuple[int, ...]:
    assert isinstance(kept.loop, JoinLoop)
    return kept.loop.loops["a"].order


def test_orders_that_were_learned_are_those_of_a_new_process() -> None:
    """c drops nearly everything, and is written last."""
    schema = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("id", pa.int64())])
    plan = JoinPlan.of("a.k = b.k AND a.k = c.k", 10, "t", 0)
    binding = JoinBinding.of(plan, dict.fromkeys("abc", schema))
    store = DictChunks()
    kept: KeptJoin | None = None
    for n in range(30):
        keys = list(range(200))
        batch = rows_of(keys, [n] * 200, keys)
        rare = rows_of([0], [n], [0])
        kept = KeptJoin.open(store, QUERY, kept, lambda: loop_of(binding, "a-greedy", 3, 20))
        run(kept, [("b", batch), ("c", rare), ("a", batch)])
        kept.keep(store)
    assert kept is not None
    assert isinstance(kept.loop, JoinLoop)
    names = kept.loop.chains["a"].pipeline.names
    assert [names[k] for k in order_of_a(kept)] == ["c", "b"]
    assert [names[k] for k in loop_of(binding, "a-greedy", 4).loops["a"].order] == ["b", "c"]
    again = KeptJoin.open(store.copy(), QUERY, None, lambda: loop_of(binding, "a-greedy", 4, 20))
    assert [names[k] for k in order_of_a(again)] == ["c", "b"]
    other = KeptJoin.open(store.copy(), QUERY, None, lambda: loop_of(binding, "static"))
    assert sorted(order_of_a(other)) == [0, 1]  # another policy takes what it can use


def test_only_the_same_own_policy_continues_from_a_checkpoint() -> None:
    """This also holds for the old name of a policy, which a checkpoint of an older version contains."""
    schema = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("id", pa.int64())])
    binding = JoinBinding.of(JoinPlan.of("a.k = b.k AND a.k = c.k", 10, "t", 0), dict.fromkeys("abc", schema))
    renamed: type[Forward] = type("Renamed", (Forward,), {"name": "renamed"})
    store = DictChunks()
    kept: KeptJoin | None = None
    for n in range(20):
        batch = rows_of(list(range(100)), [100 * n] * 100, list(range(100)))
        kept = KeptJoin.open(store, QUERY, kept, lambda: loop_of(binding, Forward, 3, 20))
        run(kept, [("b", batch), ("c", batch), ("a", batch)])
        kept.keep(store)
        if order_of_a(kept) == (1, 0):
            break
    again, other = (KeptJoin.open(store.copy(), QUERY, None, partial(loop_of, binding, p)) for p in (Forward, renamed))
    assert order_of_a(again) == (1, 0)
    assert order_of_a(other) == (0, 1)


def test_a_store_of_another_join_is_refused_and_left_as_it_is() -> None:
    binding, store = two_streams(), DictChunks()
    step(store, None, binding, [("a", rows_of([1], [1]))])
    before = store.copy()
    with pytest.raises(CheckpointError, match=r"it had 'the only one'; now there is 'a\.k = b\.m'.*its own checkpoint"):
        KeptJoin.open(store, "a.k = b.m", None, lambda: loop_of(binding))
    assert store.data == before.data
    assert store.chunks == before.chunks


def test_chunks_are_of_bounded_size_and_not_of_a_few_rows_each() -> None:
    batches = [rows_of(list(range(n)), [0] * n) for n in (3, 1, 1000, 2, 40)]
    parts = list(pieces(batches, most=1000))
    assert pa.Table.from_batches(parts).to_pylist() == pa.Table.from_batches(batches).to_pylist()
    assert all(part.nbytes < 1100 for part in parts)
    assert sum(1 for part in parts if part.nbytes < 500) <= 3
    assert list(pieces([])) == []


def test_thousands_of_rows_with_processes_that_come_and_go() -> None:
    """Windows larger than the least there is room for, which are packed and made smaller in between."""
    r, binding = random.Random(3), two_streams()
    plan = JoinPlan.of("a.k = b.k", {"a": 900, "b": 300}, "t", 40)
    binding = JoinBinding.of(plan, binding.schemas)
    rows = 12_000
    ticks = {a: [max(0, n // 4 - r.randrange(40)) for n in range(rows)] for a in "ab"}
    keys = {a: [r.randrange(400) for _ in range(rows)] for a in "ab"}
    tables = {a: pa.table({"k": keys[a], "t": ticks[a], "id": list(range(rows))}) for a in "ab"}
    store, out = DictChunks(), []
    warm: list[KeptJoin | None] = [None] * 4
    for first in range(0, rows, 300):
        process = r.randrange(4)
        if r.random() < 0.1:
            warm[process] = None
        if r.random() < 0.2:  # an attempt that fails
            scrap = store.copy()
            lost = KeptJoin.open(scrap, QUERY, warm[process], lambda: loop_of(binding))
            run(lost, [("a", tables["a"].slice(first, 300).to_batches()[0])])
            lost.keep(scrap)
            warm[process] = lost
        kept = KeptJoin.open(store, QUERY, warm[process], lambda: loop_of(binding))
        out += run(kept, [(a, tables[a].slice(first, 300).to_batches()[0]) for a in "ab"])
        kept.keep(store)
        check_store(store, kept)
        warm[process] = kept
    found = pa.Table.from_batches(out)
    expected = expected_ids(tables, ticks, "a.k = b.k", {"a": 900, "b": 300})
    assert len(expected) > 10_000
    assert sorted(zip(*(found[n].to_pylist() for n in ("a_id", "b_id", "event_time")), strict=True)) == expected
