"""Windows hold only what a join needs: columns of the result, and columns that are compared by value."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_loop import JoinLoop
from thalweg.runtime.joins.join_options import JoinOptions
from thalweg.runtime.joins.tree_loop import TreeLoop

WIDE = pa.schema([
    ("k", pa.int64()), ("name", pa.string()), ("m", pa.int64()), ("x", pa.float64()), ("t", pa.int64()),
    ("payload", pa.string()),
])  # fmt: skip


def bound(on: str, select: list[str] | None, window: Any = 10, aliases: str = "ab") -> JoinBinding:
    return JoinBinding.of(JoinPlan.of(on, window, "t", 0, select), dict.fromkeys(aliases, WIDE))


def names(schemas: Any) -> dict[str, list[str]]:
    return {alias: schema.names for alias, schema in schemas.items()}


@pytest.mark.parametrize(
    ("on", "select", "needed", "stored"),
    [
        # the word of an exact key is the key, and times are in the index
        ("a.k = b.k", ["a.x"], {"a": ["k", "x", "t"], "b": ["k", "t"]}, {"a": ["x"], "b": []}),
        ("a.k = b.k", ["a.k", "b_t"], {"a": ["k", "t"], "b": ["k", "t"]}, {"a": ["k"], "b": ["t"]}),
        # two texts may have one hash
        ("a.name = b.name", ["a.x"], {"a": ["name", "x", "t"], "b": ["name", "t"]},
         {"a": ["name", "x"], "b": ["name"]}),
        # and so may two pairs of numbers
        ("a.k = b.k AND a.m = b.m", ["event_time"], {"a": ["k", "m", "t"], "b": ["k", "m", "t"]},
         {"a": ["k", "m"], "b": ["k", "m"]}),
        # a condition on one stream is checked when rows come, one on two when they are put together
        ("a.k = b.k AND a.x > 1", ["b.m"], {"a": ["k", "x", "t"], "b": ["k", "m", "t"]}, {"a": [], "b": ["m"]}),
        ("a.k = b.k AND a.x > b.m", ["b.k"], {"a": ["k", "x", "t"], "b": ["k", "m", "t"]},
         {"a": ["x"], "b": ["k", "m"]}),
        ("a.k = b.k AND a.m = a.k", ["b.k"], {"a": ["k", "m", "t"], "b": ["k", "t"]}, {"a": [], "b": ["k"]}),
        ("a.k = b.k", ["b.*"], {"a": ["k", "t"], "b": WIDE.names}, {"a": [], "b": WIDE.names}),
        ("a.k = b.k", None, {"a": WIDE.names, "b": WIDE.names}, {"a": WIDE.names, "b": WIDE.names}),
    ],
)  # fmt: skip
def test_what_rows_bring_and_what_windows_hold(
    on: str, select: list[str] | None, needed: dict[str, list[str]], stored: dict[str, list[str]]
) -> None:
    binding = bound(on, select)
    assert names(binding.schemas) == needed
    assert names(binding.stored) == stored


def test_a_table_brings_no_time() -> None:
    binding = bound("a.k = b.k", ["b.x"], window={"a": 10})
    assert names(binding.schemas) == {"a": ["k", "t"], "b": ["k", "x"]}


def test_columns_come_in_the_order_of_the_list() -> None:
    rows = pa.table({"k": [1], "x": ["left"], "t": [5]})
    join = tw.join(on="a.k = b.k", window=1, time="t", select=["b_x", "event_time", "a.*"])
    (batch,) = join.over(a=rows, b=rows.set_column(1, "x", [["right"]]))
    assert batch.schema.names == ["b_x", "event_time", "a_k", "a_x", "a_t"]
    assert list(batch.to_pylist()[0].values()) == ["right", 5, 1, "left", 5]


def test_a_result_of_times_alone() -> None:
    rows = pa.table({"k": [1, 1], "t": [5, 6]})
    join = tw.join(on="a.k = b.k", window=1, time="t", select=["event_time"])
    assert sorted(t for batch in join.over(a=rows, b=rows) for t in batch["event_time"].to_pylist()) == [5, 6, 6, 6]


RNG = np.random.default_rng(0)
ROWS, BATCHES, PAYLOAD_BYTES = 1000, 20, 500


def message(first: int) -> pa.RecordBatch:
    """As it comes from another process: all columns in one buffer, also those that are not needed."""
    rows = np.arange(first, first + ROWS)
    batch = pa.RecordBatch.from_arrays(
        [
            pa.array(rows), pa.array([f"row {n}" for n in rows]), pa.array(rows), pa.array(rows / 2), pa.array(rows),
            pa.array([f"{n:0{PAYLOAD_BYTES}}" for n in rows]),
        ],
        schema=WIDE,
    )  # fmt: skip
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, WIDE) as writer:
        writer.write_batch(batch)
    return pa.ipc.open_stream(sink.getvalue()).read_next_batch()


@pytest.mark.parametrize("key", ["k", "name"])
@pytest.mark.parametrize("tree", [False, True])
def test_payload_that_is_not_selected_is_not_held(key: str, tree: bool) -> None:
    """Measured by Arrow's allocations and by the stores; rows that never find a partner are held longest."""

    def held(select: list[str] | None) -> tuple[int, int]:
        gc.collect()
        before = pa.total_allocated_bytes()
        binding = bound(f"a.{key} = b.{key}", select, window=10**6)
        loop: Any = (
            TreeLoop(binding, ("a", "b"))
            if tree
            else JoinLoop(binding, JoinOptions("static", snapshots=True), lambda: 0, RNG)
        )
        for n in range(BATCHES):
            assert not list(loop.process("a", message(n * ROWS)))
            if not tree:
                loop.stores["a"].changes()
        gc.collect()
        stated = loop.nbytes if tree else loop.stores["a"].nbytes
        return pa.total_allocated_bytes() - before, stated

    payload = ROWS * BATCHES * PAYLOAD_BYTES
    everything, little = held(None), held(["a.name", "b.x"])
    assert min(everything) > payload
    assert little[0] < payload / 10
    assert little[1] < everything[1] - payload
