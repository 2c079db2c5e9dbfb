"""A join of any streams, cut and interleaved in any way, under any schedule of switches, is what DuckDB makes of the
finished data."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from tests.long_run import examples
from tests.runtime.filters.scripted import Scripted
from tests.runtime.joins.generated import POLICIES, Case, cases, shapes
from tests.runtime.joins.oracle import expected_ids
from thalweg.kernels import keyed_hash
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.plan.joins.shape import to_text
from thalweg.runtime.filters.filter_loop import FilterLoop
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_loop import JoinLoop
from thalweg.runtime.joins.join_options import JoinOptions
from thalweg.runtime.joins.tree_loop import TreeLoop

SLICES = st.sampled_from([None, 1, 2, 7])
SEEDS = st.integers(0, 2**32)


@examples(40, long=2_000)
@given(case=cases(), policy=st.sampled_from(POLICIES), slice_rows=SLICES, seed=SEEDS, data=st.data())
def test_a_join_over_batches(case: Case, policy: str, slice_rows: int | None, seed: int, data: st.DataObject) -> None:
    shape, _ = data.draw(shapes(case.binding.plan.graph))
    plan = data.draw(st.sampled_from([None, "multiway", to_text(shape)]))
    join = tw.join(**case.arguments, policy=policy, slice_rows=slice_rows, seed=seed, plan=plan)
    forms = {alias: data.draw(st.sampled_from(["list", "generator", "table"]), alias) for alias in case.streams}
    out = list(join.over(**{alias: _source(case, alias, form) for alias, form in forms.items()}))
    expected = case.expected()
    assert case.found(out) == expected
    sections = join.report().sections
    if sections:  # nothing runs when a stream has no batch
        assert sections[0].results == len(expected)
        assert all(stream.stream.late == 0 for stream in sections[0].streams.values())


def _source(case: Case, alias: str, form: str) -> Any:
    stream = case.streams[alias]
    if form == "table":
        return pa.Table.from_batches(stream.batches, stream.table.schema)
    return stream.batches if form == "list" else iter(stream.batches)


@examples(40, long=2_000)
@given(case=cases(), seed=SEEDS, slice_rows=SLICES)
def test_one_tuple_at_a_time(case: Case, seed: int, slice_rows: int | None) -> None:
    """Batches of one row are the papers' streams of tuples."""
    join = tw.join(**case.arguments, policy="a-greedy", slice_rows=slice_rows, seed=seed)
    singles = {
        alias: [stream.table.slice(n, 1).to_batches()[0] for n in range(stream.table.num_rows)]
        for alias, stream in case.streams.items()
    }
    assert case.found(list(join.over(**singles))) == case.expected()


def restless_loop(case: Case, seed: int, p: float, restless: float, slice_rows: int | None, results: int) -> JoinLoop:
    """Orders change, and rows are profiled, as a script says."""
    rng = np.random.default_rng(seed)
    options = JoinOptions("static", results=results, snapshots=True)
    loop = JoinLoop(case.binding, options, lambda: 0, rng, case.tables)
    for n, (alias, chain) in enumerate(loop.chains.items()):
        policy = Scripted(chain.pipeline, seed + n, p, restless)
        loop.loops[alias] = FilterLoop(chain, policy, np.random.default_rng(seed + n), slice_rows)
    return loop


def interleaved(case: Case, r: random.Random) -> list[tuple[str, pa.RecordBatch]]:
    """The batches of all streams, those of one stream in their order."""
    turns = [alias for alias in case.windows for _ in case.streams[alias].batches]
    r.shuffle(turns)
    left = {alias: iter(case.streams[alias].batches) for alias in case.windows}
    return [(alias, next(left[alias])) for alias in turns]


@examples(40, long=2_000)
@given(
    case=cases(),
    seed=SEEDS,
    p=st.sampled_from([0.0, 0.3, 1.0]),
    restless=st.sampled_from([0.1, 0.5, 1.0]),
    slice_rows=st.sampled_from([1, 2, 7, 1024]),
    results=st.sampled_from([3, 50, 32_768]),
    stops=st.sets(st.integers(0, 20), max_size=3),
)
def test_any_interleaving_any_switches_and_a_restart_anywhere(
    case: Case, seed: int, p: float, restless: float, slice_rows: int, results: int, stops: set[int]
) -> None:
    """At each stop everything except the snapshots is discarded."""
    r = random.Random(seed)
    loop = restless_loop(case, seed, p, restless, slice_rows, results)
    held: dict[str, dict[int, bytes]] = {alias: {} for alias in case.streams}
    left = {alias: len(stream.batches) for alias, stream in case.streams.items()}
    out: list[pa.RecordBatch] = []
    for turn, (alias, batch) in enumerate(interleaved(case, r)):
        made = list(loop.process(alias, batch))
        assert all(0 < each.num_rows <= results for each in made)
        out += made
        left[alias] -= 1
        if not left[alias] and r.random() < 0.5:
            loop.watermarks.ended(alias)
        stop = turn in stops
        if stop or r.random() < 0.7:
            loop.end_round()
        if stop or r.random() < 0.3:
            take_snapshot(loop, held)
        if stop:
            fresh = restless_loop(case, seed + turn, p, restless, slice_rows, results)
            for name in case.windows:
                fresh.stores[name].restore(held[name])
                latest = loop.watermarks.latest(name)
                if latest is not None:
                    fresh.watermarks.seen(name, latest)
            fresh.end_round()
            for name in case.windows:
                if "id" in case.binding.stored[name].names:
                    before, after = (each.stores[name].rows() for each in (loop, fresh))
                    assert live(after, case, name, fresh) == live(before, case, name, fresh)
            loop = fresh
    assert case.found(out) == case.expected()
    assert not any(held[alias] for alias in case.tables)  # they are passed again when the loop is created again


def take_snapshot(loop: JoinLoop, held: dict[str, dict[int, bytes]]) -> None:
    """Like a state store: what was added, without what expired."""
    for alias, store in loop.stores.items():
        changes = store.changes()
        assert not set(changes.added) & set(held[alias])
        held[alias] |= changes.added
        for number in changes.removed:
            del held[alias][number]


def live(rows: pa.RecordBatch, case: Case, alias: str, loop: JoinLoop) -> list[int]:
    """Return the rows that are not before the watermark."""
    mark = loop.watermarks.query
    ticks, window = case.streams[alias].ticks, case.windows[alias]
    ids = rows.column("id").to_pylist()
    return sorted(i for i in ids if mark is None or (ticks[i] or 0) + window >= mark)


@examples(40, long=2_000)
@given(case=cases(), seed=SEEDS, data=st.data())
def test_trees_of_binary_joins(case: Case, seed: int, data: st.DataObject) -> None:
    r = random.Random(seed)
    shape, methods = data.draw(shapes(case.binding.plan.graph))
    loop = TreeLoop(case.binding, shape, methods, tables=case.tables)
    out: list[pa.RecordBatch] = []
    for alias, batch in interleaved(case, r):
        out += loop.process(alias, batch)
        if r.random() < 0.7:
            loop.end_round()
    assert case.found(out) == case.expected()
    assert sum(counts.matches.results for counts in loop.counts.values()) == len(case.expected())


def poor_texts(offsets: np.ndarray, data: np.ndarray, one: np.uint64, other: np.uint64, out: np.ndarray) -> None:
    """A hash that nearly every text shares."""
    out[:] = np.diff(offsets) & 1


def poor_words(hashes: np.ndarray, words: np.ndarray, one: np.uint64, other: np.uint64) -> None:
    """A hash that nearly all keys of several words share."""
    hashes[:] = (hashes ^ words) & 1


@examples(40, long=2_000)
@given(case=cases(), seed=SEEDS, data=st.data())
def test_keys_whose_hashes_collide_are_not_equal(case: Case, seed: int, data: st.DataObject) -> None:
    r = random.Random(seed)
    shape, methods = data.draw(shapes(case.binding.plan.graph))
    expected = case.expected()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keyed_hash, "hash_texts", poor_texts)
        patch.setattr(keyed_hash, "combine", poor_words)
        loops: list[JoinLoop | TreeLoop] = [
            restless_loop(case, seed, 0.3, 0.5, 3, 100),
            TreeLoop(case.binding, shape, methods, tables=case.tables),
        ]
        for loop in loops:
            out: list[pa.RecordBatch] = []
            for alias, batch in interleaved(case, r):
                out += loop.process(alias, batch)
                loop.end_round()
            assert case.found(out) == expected


@pytest.mark.parametrize("select", [None, ["a.id", "b.id", "c.id"]])
def test_a_tree_compares_words_of_keys_that_only_it_combines(select: list[str] | None) -> None:
    """Around a triangle a multiway join has no key of two columns; the upper node of a tree has one."""
    on = "a.x = b.x AND b.y = c.y AND c.z = a.z"
    rng = np.random.default_rng(2)
    tables = {
        alias: pa.table({**{name: rng.integers(0, 4, 30) for name in "xyz"}, "t": [0] * 30, "id": range(30)})
        for alias in "abc"
    }
    binding = JoinBinding.of(JoinPlan.of(on, 1, "t", 0, select), {a: table.schema for a, table in tables.items()})
    assert binding.hashed == ()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keyed_hash, "combine", poor_words)
        loop = TreeLoop(binding, (("a", "b"), "c"))
        out = [made for alias in "abc" for made in loop.process(alias, tables[alias].to_batches()[0])]
    found = [tuple(row[f"{alias}_id"] for alias in "abc") for batch in out for row in batch.to_pylist()]
    expected = expected_ids(tables, {alias: [0] * 30 for alias in "abc"}, on, dict.fromkeys("abc", 1))
    assert sorted(found) == [row[:3] for row in expected]


WINDOWS = {"a": 2000, "b": 700, "c": 3000, "d": 3000}
ON = "a.k = b.k AND a.k = c.k AND c.m = d.m"


@pytest.fixture(scope="module")
def many() -> tuple[dict[str, pa.Table], list[tuple[int, ...]]]:
    """Four streams of thousands of rows, and what DuckDB makes of them."""
    rng = np.random.default_rng(7)
    rows = 8000
    tables, ticks = {}, {}
    for n, (alias, names) in enumerate({"a": ["k"], "b": ["k"], "c": ["k", "m"], "d": ["m"]}.items()):
        times = np.sort(rng.integers(0, 40_000, rows)) + rng.integers(0, 50, rows) * (n % 2)
        ticks[alias] = times.tolist()
        columns = {name: pa.array([f"key {v}" for v in rng.integers(0, 300 * (n + 1), rows)]) for name in names}
        tables[alias] = pa.table({**columns, "t": times, "id": np.arange(rows)})
    return tables, expected_ids(tables, ticks, ON, WINDOWS)


@pytest.mark.parametrize("policy", POLICIES)
def test_thousands_of_rows(policy: str, many: tuple[dict[str, pa.Table], list[tuple[int, ...]]]) -> None:
    """Enough that orders switch, and that rings turn over many times."""
    tables, expected = many
    join = tw.join(on=ON, window=WINDOWS, time="t", lateness=50, policy=policy, slice_rows=64, seed=1)
    sizes = {"a": 900, "b": 1100, "c": 64, "d": 5000}
    out = pa.Table.from_batches(
        join.over(**{alias: table.to_batches(max_chunksize=sizes[alias]) for alias, table in tables.items()})
    )
    names = [*(f"{alias}_id" for alias in tables), "event_time"]
    assert len(expected) > 1000
    assert sorted(zip(*(out[name].to_pylist() for name in names), strict=True)) == expected
