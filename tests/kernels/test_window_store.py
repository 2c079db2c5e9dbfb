"""The window store, compared with a list of rows; its memory is that of the window, not of its history."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.runtime.joins.generated import PAYLOADS, array_of
from thalweg.kernels import window_store
from thalweg.kernels.columns import plain_type
from thalweg.kernels.multiway_join import ResultCounts, ResultLimits, put_together
from thalweg.kernels.probe_chain import ProbeRows
from thalweg.kernels.probing import find_partners
from thalweg.kernels.window_chunks import Changes
from thalweg.kernels.window_store import WindowStore
from thalweg.plan.joins.graph import JoinGraph

GRAPH = JoinGraph.of([("new", "k", "old", "k")])
KEY, PAIR = (0,), (0, 1)
"""Two indexes: words, and other words."""
MOST = 2**62
# what the intake makes of dictionaries and views, the store never sees
STORED = [(kind, make) for kind, make in PAYLOADS if plain_type(kind) == kind]


class Model:
    """All rows so far, and the current time."""

    def __init__(self, kind: pa.DataType, make: Any, window: int | None, seed: int) -> None:
        self.kind, self.make, self.window = kind, make, window
        self.r = random.Random(seed)
        self.rows: list[dict[str, Any]] = []
        self.before = 0
        self.latest = 0
        self.schema = pa.schema([("id", pa.int64()), ("v", kind)])

    def store(self) -> WindowStore:
        return WindowStore(self.schema, [KEY, PAIR], self.window, snapshots=True)

    def arrivals(self, count: int, disorder: int, ends_in: int) -> list[dict[str, Any]]:
        """Return rows that are not late."""
        rows: list[dict[str, Any]] = []
        for _ in range(count):
            self.latest += self.r.choice([0, 0, 1, 2])
            time = max(self.before, self.latest - self.r.randint(0, disorder))
            length = self.r.randint(0, ends_in) if self.window is None else self.window
            value = self.make(self.r) if self.r.random() < 0.8 else None
            rows.append({"id": len(self.rows) + len(rows), "v": value, "key": self.r.randint(0, 3),
                         "pair": self.r.choice([-5, 2**63 - 1]), "time": time, "end": time + length})  # fmt: skip
        self.rows += rows
        return rows

    def insert(self, store: WindowStore, rows: list[dict[str, Any]]) -> None:
        batch = pa.RecordBatch.from_arrays(
            [pa.array([row["id"] for row in rows], pa.int64()), array_of(self.kind, [row["v"] for row in rows])],
            schema=self.schema,
        )
        keys = {KEY: words(rows, "key"), PAIR: words(rows, "pair")}
        # arrays that begin somewhere else
        whole = pa.concat_batches([batch, batch]).slice(batch.num_rows)
        store.insert(whole, keys, words(rows, "time"), words(rows, "end") if self.window is None else None)

    def alive(self) -> list[int]:
        return [row["id"] for row in self.rows if row["end"] >= self.before]

    def partners(self, key: int, time: int, end: int) -> list[int]:
        return [
            row["id"]
            for row in self.rows
            if row["key"] == key and max(time, row["time"]) <= min(end, row["end"])
        ]  # fmt: skip


def words(rows: list[dict[str, Any]], name: str) -> np.ndarray:
    return np.array([row[name] for row in rows], np.int64)


INSERT = st.tuples(st.just("insert"), st.integers(1, 12), st.sampled_from([0, 0, 3, 30]))
FLOOD = st.tuples(st.just("insert"), st.integers(40, 90), st.sampled_from([0, 5, 60]))
EXPIRE = st.tuples(st.just("expire"), st.integers(0, 20), st.just(0))
LEAP = st.tuples(st.just("expire"), st.integers(60, 200), st.just(0))
OTHERS = st.tuples(st.sampled_from(["snapshot", "restart", "probe"]), st.integers(1, 6), st.just(0))


@settings(max_examples=200)
@given(
    operations=st.lists(st.one_of(INSERT, INSERT, EXPIRE, EXPIRE, FLOOD, LEAP, OTHERS), max_size=40),
    payload=st.sampled_from(STORED),
    window=st.sampled_from([None, 0, 7, 40]),
    seed=st.integers(0, 2**32),
)
def test_any_operations_against_a_list_of_rows(
    operations: list[tuple[str, int, int]], payload: tuple[pa.DataType, Any], window: int | None, seed: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            window_store, "LEAST", 8
        )  # so that rings turn over, grow, shrink and are packed within a few rows
        model = Model(*payload, window, seed)
        store = model.store()
        held: dict[int, bytes] = {}
        for what, count, disorder in operations:
            if what == "insert":
                model.insert(store, model.arrivals(count, disorder, ends_in=50))
            elif what == "expire":
                model.before = max(model.before, min(model.before + count, model.latest))
                rows = len(store)
                assert store.expire(model.before) == rows - len(store)
            elif what in ("snapshot", "restart"):
                changes = store.changes()
                assert not set(changes.added) & set(held)
                held |= changes.added
                for number in changes.removed:
                    del held[number]
                if what == "restart":
                    store = model.store()
                    store.restore(held)
                    assert not store.changes().added
                    store.expire(model.before)
            check(store, model, count)


def check(store: WindowStore, model: Model, probes: int) -> None:
    rows = store.rows()
    ids = rows.column("id").to_pylist()
    assert len(ids) == len(store)
    assert len(set(ids)) == len(ids)
    assert set(model.alive()) <= set(ids)
    values = [model.rows[i]["v"] for i in ids]
    assert repr(rows.column("v").to_pylist()) == repr(array_of(model.kind, values).to_pylist())

    keys = np.array([model.r.randint(-1, 4) for _ in range(probes)], np.int64)
    times = np.array([model.before + model.r.randint(0, 30) for _ in range(probes)], np.int64)
    ends = times + np.array([model.r.choice([0, 3, 100]) for _ in range(probes)], np.int64)
    expected = [model.partners(*each) for each in zip(keys.tolist(), times.tolist(), ends.tolist(), strict=True)]
    index = store.indexes[KEY]
    every = np.arange(probes)
    starts, found = np.full((1, probes), -1, np.int64), np.empty(probes, bool)
    find_partners(
        keys, times, ends, every, index.ring, index.heads, index.multiplier, index.shift, store.low, starts[0], found
    )
    assert found.tolist() == [bool(partners) for partners in expected]
    # with and without what the first look remembers
    for known in (starts, np.full((1, probes), -1, np.int64)):
        probing = ProbeRows({KEY: keys}, times, ends, known)
        made: list[list[int]] = [[] for _ in range(probes)]
        results = put_together(
            GRAPH.tree("new"), {"old": store}, probing, every, ["old"], ResultLimits(MOST, results=5), ResultCounts()
        )
        for part in results:
            ids = store.take(0, part.rows["old"]).to_pylist()
            for row, i, latest in zip(part.rows["new"].tolist(), ids, part.latest.tolist(), strict=True):
                made[row].append(i)
                assert latest == max(times[row], model.rows[i]["time"])
        assert [sorted(each) for each in made] == expected


@pytest.mark.parametrize(
    ("kind", "make"), STORED, ids=lambda value: str(value) if isinstance(value, pa.DataType) else ""
)
def test_any_payload_is_taken_as_it_came(kind: pa.DataType, make: Any) -> None:
    """Through a store that grows, turns over and shrinks."""
    model = Model(kind, make, 300, seed=3)
    store = model.store()
    for count in [1, 700, 1, 1500, 3, 4000, *[200] * 20, *[1] * 50]:
        model.insert(store, model.arrivals(count, 5, 0))
        model.before = model.latest - 5
        store.expire(model.before)
        ids = store.rows().column("id").to_pylist()
        some = [model.r.randrange(len(ids)) for _ in range(30)]
        taken = store.take(1, store.low + np.array(some, np.int64))
        assert taken.type == kind
        taken.validate(full=True)
        expected = array_of(kind, [model.rows[ids[n]]["v"] for n in some])
        assert repr(taken.to_pylist()) == repr(expected.to_pylist())
    assert set(model.alive()) <= set(ids)


def test_a_window_is_inclusive() -> None:
    store = WindowStore(pa.schema([("k", pa.int64())]), [KEY], window=10)
    store.insert(pa.record_batch({"k": [1]}), {KEY: np.array([1])}, np.array([100]))
    assert store.expire(110) == 0
    assert store.expire(111) == 1


WINDOW, BATCH = 10_000, 5_000
FIELDS = pa.schema([("k", pa.int64()), ("s", pa.string()), ("f", pa.float64())])
TEXT = "a text of sixteen"


def needed(rows: int) -> int:
    """Bytes of so many rows: an entry of four words and a head, two numbers, a text with its offset."""
    return rows * (5 * 8 + 2 * 8 + len(TEXT) + 4)


def run(store: WindowStore, times: np.ndarray, mark: int | None = None) -> None:
    """Insert rows, and advance time to the last of them."""
    rows = len(times)
    texts = pa.array([TEXT], pa.string()).take(pa.array(np.zeros(rows, np.int64)))
    batch = pa.RecordBatch.from_arrays([pa.array(times), texts, pa.array(np.ones(rows))], schema=FIELDS)
    store.insert(batch, {KEY: times % 5000}, times)
    store.expire(int(times[-1]) if mark is None else mark)


@pytest.mark.parametrize("kind", ["in order", "mild disorder", "one row far in the future"])
def test_after_a_long_stream_a_store_is_as_large_as_its_window(kind: str) -> None:
    rng = np.random.default_rng(1)
    store = WindowStore(FIELDS, [KEY], window=WINDOW)
    if kind == "one row far in the future":
        run(store, np.array([10**15]), mark=0)
    allocated = pa.total_allocated_bytes()
    most_rows = most_bytes = 0
    for first in range(0, 3_000_000, BATCH):
        times = np.arange(first, first + BATCH)
        if kind == "mild disorder":
            times = times - rng.integers(0, 500, BATCH)
        run(store, times, mark=first + BATCH - 500)
        if first > 10 * WINDOW:
            most_rows = max(most_rows, len(store))
            most_bytes = max(most_bytes, store.nbytes, pa.total_allocated_bytes() - allocated)
    alive = WINDOW + 500 + 1
    if kind == "in order":
        assert most_rows == alive - 1
    assert 0.9 * alive <= most_rows <= (1.1 * alive if kind == "mild disorder" else 4 * alive)
    assert most_bytes <= 4 * needed(alive + BATCH)


def test_after_a_burst_a_store_is_as_large_as_its_window_again() -> None:
    """Also when a row far in the future keeps the place of expired ones."""
    store = WindowStore(FIELDS, [KEY], window=WINDOW)
    for first in range(0, 100):
        run(store, np.full(BATCH, first))  # 500,000 rows within one window
    assert len(store) == 100 * BATCH
    for first in range(100_000, 150_000, BATCH):
        run(store, np.arange(first, first + BATCH))
    assert store.nbytes <= 4 * needed(WINDOW + BATCH)
    run(store, np.array([10**15]), mark=150_000)
    for first in range(150_000, 900_000, BATCH):
        run(store, np.arange(first, first + BATCH))
        if first > 300_000:
            assert len(store) <= 4 * (WINDOW + BATCH)
            assert store.nbytes <= 4 * needed(WINDOW + BATCH)


def test_an_empty_store_gives_its_memory_back() -> None:
    store = WindowStore(FIELDS, [KEY], window=WINDOW)
    for first in range(0, 200_000, BATCH):
        run(store, np.arange(first, first + BATCH), mark=0)
    assert len(store) == 200_000
    assert store.expire(10**9) == 200_000
    assert len(store) == 0
    assert store.nbytes <= 2 * needed(window_store.LEAST)


def test_a_snapshot_has_what_is_new_and_not_what_expired() -> None:
    store = WindowStore(FIELDS, [KEY], window=WINDOW, snapshots=True)
    run(store, np.arange(0, 50_000), mark=0)
    first = store.changes()
    assert list(first.added) == [0]
    assert first.removed == ()
    run(store, np.arange(50_000, 50_010), mark=0)
    second = store.changes()
    assert list(second.added) == [1]
    assert len(second.added[1]) < len(first.added[0]) / 50
    run(store, np.arange(60_000, 60_010), mark=60_000)
    third = store.changes()
    assert (list(third.added), third.removed) == ([2], (0,))
    assert store.changes() == Changes({}, ())


def test_a_row_between_two_snapshots_is_in_neither() -> None:
    store = WindowStore(FIELDS, [KEY], window=10, snapshots=True)
    run(store, np.arange(0, 5), mark=100)
    assert store.changes() == Changes({}, ())


def test_snapshots_are_the_same_bytes_for_the_same_rows() -> None:
    made = []
    for _ in range(2):
        store = WindowStore(FIELDS, [KEY], window=10, snapshots=True)
        run(store, np.arange(0, 500), mark=0)
        made.append(store.changes())
    assert made[0] == made[1]


def test_a_burst_after_a_row_in_the_future_is_forgotten() -> None:
    store = WindowStore(pa.schema([("k", pa.int64())]), [(0,)], window=10)

    def insert(times: np.ndarray) -> None:
        store.insert(pa.record_batch({"k": times}), {(0,): times}, times)

    insert(np.array([10**12]))
    insert(np.zeros(300_000, np.int64))
    for time in range(1, 60):
        insert(np.array([time]))
        store.expire(time)
    assert len(store) <= 1 + 4 * 1024
    assert store.nbytes < 1_000_000


def test_ends_beyond_the_largest_time_survive_a_snapshot() -> None:
    last = 2**63 - 5
    store = WindowStore(pa.schema([("k", pa.int64())]), [(0,)], window=10, snapshots=True)
    store.insert(pa.record_batch({"k": [1]}), {(0,): np.array([1])}, np.array([last]))
    again = WindowStore(pa.schema([("k", pa.int64())]), [(0,)], window=10, snapshots=True)
    again.restore(store.changes().added)
    assert again.expire(last) == store.expire(last) == 0
    assert len(again) == 1


def test_many_small_chunks_are_added_and_removed_one_by_one() -> None:
    store = WindowStore(pa.schema([("k", pa.int64())]), [(0,)], window=10**6, snapshots=True)
    batch = pa.record_batch({"k": [1]})
    key: dict[tuple[int, ...], np.ndarray] = {(0,): np.array([1])}
    for time in range(3_000):
        store.insert(batch, key, np.array([time]))
        store.expire(time)
        if time % 100 == 99:
            assert len(store.changes().added) == 100
    assert store.expire(10**7) == 3_000
    assert sorted(store.changes().removed) == list(range(3_000))
