"""Keys that an attacker chose cost as much as other keys. The cost is counted in index entries, not in seconds,
under a salt that the attacker did not know, but that is the same in every run of the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.kernels import crafted
from tests.runtime.joins.dict_chunks import DictChunks
from tests.runtime.joins.oracle import expected, rows
from tests.runtime.spark.joins.streams import Files, ids, results, run, streaming
from tests.runtime.spark.joins.streams import rows as stream_rows
from tests.runtime.spark.waiting import wait_until
from thalweg.kernels.key_words import KeyKind
from thalweg.kernels.keyed_hash import combine, hash_texts
from thalweg.kernels.salt import NO_SALT, Salt
from thalweg.kernels.spreading import spread
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_loop import JoinLoop
from thalweg.runtime.joins.join_options import JoinOptions
from thalweg.runtime.joins.join_state import KeptJoin
from thalweg.runtime.joins.tree_loop import TreeLoop

COUNT = 3000
ENTRIES_PER_ROW = 8
"""The most entries compared for a row with one partner; random keys in a full table take 1.5, and 0.5 for misses."""
KEYS: dict[str, Callable[[int], pa.Array]] = {
    "texts": crafted.texts,
    "bytes": crafted.binaries,
    "decimals": crafted.decimals,
    "whole numbers": crafted.integers,
    "whole numbers, of a known salt": crafted.integers_of_known_salt,
    "times": lambda count: crafted.integers(count).cast(pa.timestamp("us")),
    "multiples of a power of two": lambda count: pa.array(np.arange(count) << 48),
    "few bits": lambda count: pa.array(np.arange(count) << 20),
}


def table(keys: pa.Array, **more: pa.Array) -> pa.Table:
    return pa.table({"k": keys, "t": np.arange(len(keys)), **more})


@pytest.mark.parametrize("kind", KEYS)
def test_chosen_keys_cost_what_others_cost(kind: str) -> None:
    rows_of = table(KEYS[kind](COUNT))
    join = tw.join("a.k = b.k", COUNT, "t", policy="static", max_matches=2, seed=7)
    found = pa.Table.from_batches(join.over(a=rows_of, b=rows_of))
    assert found.num_rows == COUNT
    assert found["a_t"] == found["b_t"]
    streams = join.report().sections[0].streams
    assert max(stream.matches.most_matches for stream in streams.values()) == 1
    assert sum(stream.matches.looked for stream in streams.values()) < ENTRIES_PER_ROW * 2 * COUNT


def test_chosen_keys_of_two_columns() -> None:
    one, other = crafted.pairs(COUNT)
    rows_of = table(one, m=other)
    join = tw.join("a.k = b.k AND a.m = b.m", COUNT, "t", policy="static", max_matches=2, seed=7)
    assert sum(batch.num_rows for batch in join.over(a=rows_of, b=rows_of)) == COUNT
    assert (
        sum(stream.matches.looked for stream in join.report().sections[0].streams.values())
        < ENTRIES_PER_ROW * 2 * COUNT
    )


@pytest.mark.parametrize("kind", ["texts", "whole numbers"])
def test_chosen_keys_in_a_tree_of_joins(kind: str) -> None:
    rows_of = table(KEYS[kind](COUNT))
    plan = JoinPlan.of("a.k = b.k", COUNT, "t", 0)
    binding = JoinBinding.of(plan, {"a": rows_of.schema, "b": rows_of.schema}, Salt.of("a tree"))
    loop = TreeLoop(binding, ("a", "b"))
    (batch,) = rows_of.combine_chunks().to_batches()
    assert sum(out.num_rows for alias in "ab" for out in loop.process(alias, batch)) == COUNT
    assert loop.nodes[0].looked < ENTRIES_PER_ROW * COUNT


def test_every_pass_has_its_own_salt_unless_there_is_a_seed() -> None:
    """The number of entries compared depends on the salt, so it is the same if the salt is."""
    rows_of = table(pa.array(np.random.default_rng(1).integers(0, 2**40, COUNT)))

    def looked(seed: int | None) -> int:
        join = tw.join("a.k = b.k", COUNT, "t", policy="static", seed=seed)
        assert sum(batch.num_rows for batch in join.over(a=rows_of, b=rows_of)) == COUNT
        return sum(stream.matches.looked for stream in join.report().sections[0].streams.values())

    assert looked(5) == looked(5)
    assert len({looked(None) for _ in range(5)}) > 1


@pytest.mark.parametrize("select", [None, ["a.id", "b.id"]])
@pytest.mark.parametrize("on", ["a.k = b.k", "a.k = b.k AND a.m = b.m", "a.m = b.m"])
def test_a_state_is_taken_over_under_another_salt(on: str, select: list[str] | None) -> None:
    """With and without the columns that keys and times follow from: what is hashed is in no state."""
    batch = pa.record_batch({"k": ["x", "y", "z"], "m": [1, 2, 3], "t": [5, 6, 7], "id": [1, 2, 3]})
    plan = JoinPlan.of(on, 10, "t", 0, select)

    def fresh() -> JoinLoop:
        binding = JoinBinding.of(plan, {"a": batch.schema, "b": batch.schema})
        return JoinLoop(binding, JoinOptions("static", snapshots=True), lambda: 0, np.random.default_rng(0))

    store = DictChunks()
    first = KeptJoin.open(store, "a join", None, fresh)
    assert not list(first.loop.process("a", batch))
    first.keep(store)
    again = KeptJoin.open(store, "a join", None, fresh)
    assert again.loop.binding.salt != first.loop.binding.salt
    (out,) = again.loop.process("b", batch)
    assert [out.column("a_id").to_pylist(), out.column("b_id").to_pylist()] == [[1, 2, 3]] * 2


NASTY = [
    "", "\0", "\0\0", "a", "a\0", "a\0\0", "\0a", "abcdefg", "abcdefgh", "abcdefg\0", "abcdefgh\0", "abcdefghi", "ä",
    "a\u0308", "\U0001f40d", "\ufffd", "\uffff", "\u2028", " ", "a ", "A", "x" * 7 + "\xff", "key" * 1000,
    "key" * 1000 + "\0", "y" * (1 << 20), "y" * (1 << 20) + "z", "z" + "y" * (1 << 20),
]  # fmt: skip


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary()])
def test_long_empty_and_nasty_keys_are_those_of_duckdb(kind: pa.DataType) -> None:
    values = [text.encode() for text in NASTY] if pa.types.is_binary(kind) or "binary" in str(kind) else NASTY
    keys, backwards = pa.array(values, kind), pa.array(values[::-1], kind)
    made = {
        alias: pa.table({"k": pa.concat_arrays(parts), "id": range(2 * len(keys))}).append_column(
            "t", pa.array(range(2 * len(keys)))
        )
        for alias, parts in {"a": [keys, keys], "b": [keys, backwards]}.items()
    }
    found = pa.Table.from_batches(tw.join("a.k = b.k", 1000, "t", select=["a.id", "b.id"]).over(**made))
    plain = {alias: each.set_column(0, "k", each["k"].cast(_of_duckdb(kind))) for alias, each in made.items()}
    wanted = expected(plain, "a.k = b.k", {"a": 1000, "b": 1000}).select(["a_id", "b_id", "event_time"])
    assert rows(found) == rows(wanted)
    assert found.num_rows == 4 * len(NASTY)


def _of_duckdb(kind: pa.DataType) -> pa.DataType:
    return pa.string() if "string" in str(kind) else pa.binary()


def test_surrogates_are_valid_bytes_of_a_key() -> None:
    """Arrow does not check that text is UTF-8: the bytes of a lone surrogate are a key like any other."""
    lone = [b"\xed\xa0\x80", b"\xed\xa0\x81", b"\xed\xb0\x80"]
    keys = pa.Array.from_buffers(pa.string(), 3, pa.array(lone, pa.binary()).buffers())
    join = tw.join("a.k = b.k", 10, "t", select=["a.t", "b.t"])
    found = pa.Table.from_batches(join.over(a=table(keys), b=table(keys)))
    assert [found["a_t"].to_pylist(), found["b_t"].to_pylist()] == [[0, 1, 2]] * 2


def test_the_hash_is_that_of_python() -> None:
    """SipHash-1-3, with which Python hashes bytes; its salt is zero if PYTHONHASHSEED is."""
    rng = np.random.default_rng(5)
    keys = [rng.bytes(length) for length in range(1, 60) for _ in range(5)]
    code = f"for key in {keys!r}: print(hash(key))"
    completed = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": "0"}, capture_output=True, check=True,
        timeout=60,
    )  # fmt: skip
    out = np.empty(len(keys), np.int64)
    _, offsets, data = pa.array(keys, pa.binary()).buffers()
    ends = np.frombuffer(offsets, np.int32)[: len(keys) + 1]
    hash_texts(ends, np.frombuffer(data, np.uint8), np.uint64(0), np.uint64(0), out)
    assert out.tolist() == list(map(int, completed.stdout.split()))


def test_two_words_together_are_their_sixteen_bytes() -> None:
    words = np.array([1, -5, 2**62], np.int64), np.array([7, 0, -1], np.int64)
    both = np.stack(words, axis=1).tobytes()
    out, salt = np.empty(3, np.int64), Salt.drawn()
    hash_texts(np.array([0, 16, 32, 48]), np.frombuffer(both, np.uint8), salt.one, salt.other, out)
    hashes = words[0].copy()
    combine(hashes, words[1], salt.one, salt.other)
    assert hashes.tolist() == out.tolist()


def test_keys_that_were_of_one_bucket_are_spread() -> None:
    keys = KeyKind.of([("k", pa.int64())]).words(crafted.for_one_bucket(4000, 8))[0]
    order, ends = spread(keys, 8, Salt.drawn())
    assert np.diff([0, *ends]).max() < 700
    again = spread(keys, 8, NO_SALT)[0]
    assert order.tolist() != again.tolist()


def test_chosen_keys_on_spark_are_spread_also_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    """The buckets of a checkpoint keep their salt: rows from before and after a restart are joined."""
    keys = crafted.for_one_bucket(400, 2)
    streams = {alias: Files(tmp_path / alias, stream_rows([0], [1]).schema) for alias in "ab"}
    arguments: dict[str, Any] = {"on": "a.k = b.k", "window": "1 hour", "time": "ts", "buckets": 2, "policy": "static"}
    streams["a"].add(stream_rows([1.0] * 400, keys))
    streams["b"].add(stream_rows([1.0] * 400, keys))
    for join, count in ((tw.join(**arguments), 400), (tw.join(**arguments), 1600)):
        run(join(**streaming(spark, streams)), tmp_path)
        out = ids(results(spark, tmp_path), "ab")
        assert len(out) == count
        wait_until(lambda join=join: bool(join.report().sections), "a section")  # type: ignore[misc]
        held = join.report().sections[0].streams["a"]
        assert held.fullest[1] < 0.7 * held.window.rows
        for alias in "ab":
            streams[alias].add(stream_rows([2.0] * 400, keys, first_id=400))
    assert out == sorted((one, other) for one in range(800) for other in range(800) if one % 400 == other % 400)
    finished = tw.join(**arguments)
    done = finished(**{alias: each.finished(spark) for alias, each in streams.items()})
    assert done.count() == 400 * 9
    held = finished.report().sections[0].streams["a"]
    assert max(bucket.window.rows for bucket in held.buckets.values()) < 0.7 * 1200
