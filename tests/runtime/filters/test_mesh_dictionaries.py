"""Rows are classified by dictionary columns of any kind, also if each batch has another dictionary."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw

ROWS = 2_000


def batches(kind: str) -> list[pa.RecordBatch]:
    """Batches with 100 values each, of which the first ones differ from batch to batch."""
    rng = np.random.default_rng(5)
    made = []
    for n in range(8):
        words = pa.array([f"v{(100 if kind == 'narrow' else 10) * n + i}" for i in range(100)])
        index = pa.array(rng.integers(0, 100, ROWS), pa.int8())
        if kind == "views":
            words = words.cast(pa.string_view())
        made.append(
            pa.RecordBatch.from_arrays(
                [pa.DictionaryArray.from_arrays(index, words), *(pa.array(rng.random(ROWS) < 0.5) for _ in range(3))],
                names=["c", "r0", "r1", "r2"],
            )
        )
    return made


@pytest.mark.parametrize("kind", ["narrow", "views"])
@pytest.mark.parametrize("policy", ["mesh", "auto", "eddy-cbr"])
def test_every_batch_may_have_another_dictionary(kind: str, policy: str) -> None:
    rows = batches(kind)
    rules = [tw.predicate(lambda v: v, f"r{k}", name=f"rule {k}", vectorized=True) for k in range(3)]
    keep = tw.filters(*rules, policy=policy, classify_by=["c"], budget=0.5 if policy != "eddy-cbr" else None, seed=1)
    expected = sum(
        int(np.logical_and.reduce([b.column(f"r{k}").to_numpy(False) for k in range(3)]).sum()) for b in rows
    )
    assert sum(batch.num_rows for batch in keep.over(rows)) == expected


def test_a_predicate_reads_dictionaries_with_more_values_than_their_indices_address() -> None:
    rows = batches("narrow")
    reads = tw.predicate(
        lambda c: pa.array([text.endswith("7") for text in c.to_pylist()]), "c", vectorized=True, name="7"
    )
    rule = tw.predicate(lambda v: v, "r0", name="rule", vectorized=True)
    keep = tw.filters(reads, rule, policy="a-greedy(p=0.5)", seed=1)
    expected = sum(
        text.endswith("7") and passed
        for batch in rows
        for text, passed in zip(batch.column("c").to_pylist(), batch.column("r0").to_pylist(), strict=True)
    )
    assert sum(batch.num_rows for batch in keep.over(rows)) == expected


def test_an_empty_dictionary_may_be_first() -> None:
    nothing = pa.RecordBatch.from_arrays([pa.nulls(5).dictionary_encode(), pa.array([True] * 5)], names=["c", "r0"])
    rules = [tw.predicate(lambda v: v, "r0", name=f"rule {k}", vectorized=True) for k in range(2)]
    keep = tw.filters(*rules, policy="mesh", classify_by=["c"])
    assert sum(batch.num_rows for batch in keep.over([nothing])) == 5
