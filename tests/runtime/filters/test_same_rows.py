"""Every order and every schedule of switches gives the same rows; the oracles are brute force and DuckDB."""

from __future__ import annotations

import itertools
import math
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thalweg as tw
from tests.runtime.filters.scripted import Scripted
from thalweg.adapt import POLICIES, setting_names
from thalweg.kernels import FilterChain
from thalweg.plan import FilterPlan
from thalweg.runtime.filters.filter_loop import FilterLoop

SCHEMA = pa.schema([("x", pa.int64()), ("f", pa.float64()), ("s", pa.string()), ("b", pa.bool_())])


def rows_strategy(most: int = 60) -> st.SearchStrategy[list[dict[str, Any]]]:
    row = st.fixed_dictionaries(
        {
            "x": st.none() | st.integers(-5, 20),
            "f": st.none() | st.sampled_from([0.0, 0.5, -1.0, 7.25, math.inf]),
            "s": st.none() | st.sampled_from(["", "7", "12", "abc", "-3", "x7"]),
            "b": st.none() | st.booleans(),
        }
    )
    few = st.lists(row, min_size=1, max_size=8)
    # rows repeat, as rows do: only then do slices have several of a kind
    return few.flatmap(lambda rows: st.lists(st.sampled_from(rows), max_size=most))


def divisible(x: int | None) -> bool:
    return x is not None and x % 3 != 1


def is_number(s: str | None) -> bool:
    return s is not None and s.isdigit()


def above_five(s: str) -> bool:
    return int(s) > 5  # raises where is_number is false


def together(x: int | None, f: float | None) -> bool:
    return (x or 0) + (f or 0.0) > 0


PREDICATES: list[tuple[Any, Any]] = [
    # the predicate, and what it means for one row given as a dictionary
    (tw.predicate(divisible, "x"), lambda r: divisible(r["x"])),
    (
        tw.predicate(lambda x: pc.less(x, 15), "x", name="small", vectorized=True),
        lambda r: r["x"] is not None and r["x"] < 15,
    ),
    (tw.predicate(is_number, "s"), lambda r: is_number(r["s"])),
    (tw.predicate(above_five, "s", after="is_number"), lambda r: is_number(r["s"]) and above_five(r["s"])),
    (tw.predicate(lambda b: b, "b", name="flag", vectorized=True), lambda r: r["b"] is True),
    (tw.predicate(together, "x", "f"), lambda r: together(r["x"], r["f"])),
    (
        tw.predicate(lambda f: pc.is_finite(f), "f", name="finite", vectorized=True, profile=False),
        lambda r: r["f"] is not None and math.isfinite(r["f"]),
    ),
]


@st.composite
def plans(draw: st.DrawFn) -> list[tuple[Any, Any]]:
    chosen = draw(st.lists(st.sampled_from(PREDICATES), min_size=1, unique_by=lambda pair: pair[0].name))
    if any(p.after for p, _ in chosen) and PREDICATES[2] not in chosen:
        chosen.append(PREDICATES[2])  # the guard
    return chosen


def cut_into_batches(rows: list[dict[str, Any]], cuts: set[int]) -> list[pa.RecordBatch]:
    table = pa.RecordBatch.from_pylist(rows, schema=SCHEMA)
    edges = [0, *sorted(c for c in cuts if c < len(rows)), len(rows)]
    return [table.slice(a, b - a) for a, b in itertools.pairwise(edges)]


@settings(max_examples=200)
@given(rows=rows_strategy(), chosen=plans(), data=st.data())
def test_a_chain_that_switches_at_random_keeps_the_right_rows(
    rows: list[dict[str, Any]], chosen: list[tuple[Any, Any]], data: st.DataObject
) -> None:
    plan = FilterPlan(tuple(p for p, _ in chosen))
    policy = Scripted(
        plan.pipeline,
        seed=data.draw(st.integers(0, 2**32)),
        p=data.draw(st.sampled_from([0.0, 0.3, 1.0])),
        restless=data.draw(st.sampled_from([0.1, 0.5, 1.0])),
    )
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    slice_rows = data.draw(st.sampled_from([1, 2, 3, 7, 40, 1024]))
    loop = FilterLoop(FilterChain(plan, lambda: 0), policy, rng, slice_rows=slice_rows)
    kept: list[bool] = []
    for batch in cut_into_batches(rows, data.draw(st.sets(st.integers(0, 60), max_size=5))):
        kept += loop.process(batch.select(list(plan.columns))).tolist()
    assert kept == [all(means(row) for _, means in chosen) for row in rows]
    assert loop.work.chain.rows == len(rows)
    assert loop.work.chain.kept == sum(kept)


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=25)
@given(
    rows=rows_strategy(),
    chosen=plans(),
    slice_rows=st.sampled_from([1, 5, 1024]),
    seed=st.integers(0, 2**32),
    cuts=st.sets(st.integers(0, 60), max_size=5),
)
def test_every_policy_keeps_them_with_all_their_columns(
    policy: str, rows: list[dict[str, Any]], chosen: list[tuple[Any, Any]], slice_rows: int, seed: int, cuts: set[int]
) -> None:
    settings = {"p": 1.0} if "p" in setting_names(policy) else {}
    keep = tw.filters(*(p for p, _ in chosen), policy=tw.policy(policy, **settings), slice_rows=slice_rows, seed=seed)
    out = [row for batch in keep.over(cut_into_batches(rows, cuts)) for row in batch.to_pylist()]
    assert out == [row for row in rows if all(means(row) for _, means in chosen)]


SQL = {
    # name: columns, the Arrow expression, the SQL; null is false in both
    "small": ("x", lambda x: pc.less(x, 500), "x < 500"),
    "odd": ("x", lambda x: pc.equal(pc.bit_wise_and(x, 1), 1), "x & 1 = 1"),
    "starts": ("s", lambda s: pc.starts_with(s, "a"), "s LIKE 'a%'"),
    "long": ("s", lambda s: pc.greater(pc.utf8_length(s), 2), "length(s) > 2"),
    "not_null": ("f", lambda f: pc.is_valid(f), "f IS NOT NULL"),
    "bounded": ("f", lambda f: pc.less(pc.abs(f), 1.0), "abs(f) < 1.0"),
}


@pytest.mark.parametrize("slice_rows", [17, 1024])
@pytest.mark.parametrize("restless", [0.5, 1.0])
def test_duckdb_keeps_the_same_rows(slice_rows: int, restless: float) -> None:
    rng = np.random.default_rng(11)
    rows = 6000
    table = pa.table(
        {
            "id": pa.array(range(rows)),
            "x": pa.array(rng.integers(0, 1000, rows), mask=rng.random(rows) < 0.1),
            "s": pa.array(rng.choice(["a", "ab", "abc", "abcd", "xyz", ""], rows), mask=rng.random(rows) < 0.1),
            "f": pa.array(rng.normal(size=rows), mask=rng.random(rows) < 0.1),
        }
    )
    plan = FilterPlan(
        tuple(tw.predicate(func, column, name=name, vectorized=True) for name, (column, func, _) in SQL.items())
    )
    policy = Scripted(plan.pipeline, seed=5, p=0.3, restless=restless)
    loop = FilterLoop(FilterChain(plan, lambda: 0), policy, np.random.default_rng(6), slice_rows=slice_rows)
    kept = [loop.process(batch.select(list(plan.columns))) for batch in table.to_batches(max_chunksize=700)]
    assert loop.work.switches, "nothing was switched"
    ours = table.filter(pa.array(np.concatenate(kept)))["id"].to_pylist()

    where = " AND ".join(sql for _, _, sql in SQL.values())
    with duckdb.connect() as connection:
        connection.register("stream", table)
        theirs = [row for (row,) in connection.execute(f"SELECT id FROM stream WHERE {where} ORDER BY id").fetchall()]
    assert 0 < len(theirs) < rows
    assert ours == theirs


@pytest.mark.parametrize(
    "batches",
    [
        [pa.array([1, 2] * 8, pa.int32()), pa.array([3, 4] * 8, pa.int64())],
        [pa.array([1, 2] * 8), pa.nulls(4), pa.array([3, 4] * 8)],
        [pa.array(["a", "b"]).dictionary_encode(), pa.array(["c", "a"] * 8).dictionary_encode()],
        [pa.array([{"a": 1}] * 9), pa.array([{"a": None}] * 9)],
        [pa.array([[1], []] * 5), pa.array([[2]] * 9)],
    ],
    ids=["int32 and int64", "nulls between", "dictionaries", "structs", "lists"],
)
@pytest.mark.parametrize("policy", ["static", "a-greedy"])
def test_batches_may_differ_in_how_they_hold_a_column(policy: str, batches: list[pa.Array]) -> None:
    """Sampled rows of several batches are looked at together; that must not ask more of them than the chain does."""
    keep = tw.filters(
        tw.predicate(lambda v: False, "v", name="never"),
        tw.predicate(lambda v: True, "v", name="always"),
        tw.predicate(lambda v: pc.is_valid(v), "v", name="valid", vectorized=True),
        policy="a-greedy(p=1.0)" if policy == "a-greedy" else policy,
        slice_rows=200,
    )
    data = [
        pa.RecordBatch.from_arrays([array.slice(i, 3)], ["v"]) for array in batches for i in range(0, len(array), 3)
    ]
    assert [batch.num_rows for batch in keep.over(data)] == [0] * len(data)
    assert keep.report().sections[0].rows == sum(len(array) for array in batches)
