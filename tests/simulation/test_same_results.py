"""A simulation returns what DuckDB returns over the finished data, regardless of how long rows wait and where."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from tests.runtime.joins.oracle import expected, rows
from thalweg.cost.ticks import UNIT
from thalweg.plan.joins.shape import Shape
from thalweg.simulation import (
    Costs,
    MultiwayJoin,
    Operator,
    Selection,
    Source,
    poisson,
    regular,
    simulate,
    tree_join,
)

STAR = "a.k = b.k AND a.k = c.k"
CHAIN = "a.k = b.k AND b.m = c.m"
WINDOWS = {"a": 2, "b": 1, "c": 3}
SLOW = Costs(move="3 ms", hash="2 ms", probe="7 ms", comp="300 us", result="11 ms")


def tables(keys: int = 15, count: int = 150, seed: int = 5) -> dict[str, pa.Table]:
    rng = np.random.default_rng(seed)
    return {
        alias: pa.table({"k": rng.integers(0, keys, count), "m": rng.integers(0, keys, count), "n": np.arange(count)})
        for alias in "abc"
    }


def stamped(given: dict[str, pa.Table], rate: dict[str, float]) -> dict[str, Source]:
    return {alias: Source(table, poisson(rate[alias]), stamp="t") for alias, table in given.items()}


def arrived(sources: dict[str, Source], seed: int) -> dict[str, pa.Table]:
    """The finished data: all rows with their instants of arrival, from a simulation that does nothing."""
    seen = {}
    for alias, source in sources.items():
        all_of_them = Selection("all", alias, tw.predicate(lambda n: True, "n", name="always"))
        table = simulate({alias: source}, all_of_them, seed=seed).rows()
        seen[alias] = table.set_column(table.column_names.index("t"), "t", table.column("t").cast(pa.int64()))
    return seen


def plain(table: pa.Table) -> pa.Table:
    """Times as whole numbers, as the oracle has them."""
    for n, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(n, field.name, table.column(n).cast(pa.int64()))
    return table


@pytest.mark.parametrize("on", [STAR, CHAIN])
@pytest.mark.parametrize("cpus", [None, 1, 2])
@pytest.mark.parametrize("kind", ["multiway", "hash", "loops", "mixed"])
def test_under_load_nothing_is_lost_or_added(on: str, cpus: int | None, kind: str) -> None:
    sources = stamped(tables(), {"a": 40, "b": 60, "c": 25})
    window = {alias: f"{length} seconds" for alias, length in WINDOWS.items()}
    shape: Shape = (("a", "b"), "c")
    if kind == "multiway":
        operators: tuple[Operator, ...] = (MultiwayJoin("join", on, window, "t", costs=SLOW, policy="sweep"),)
    else:
        methods: dict[Shape, str] | str = {shape: "loops"} if kind == "mixed" else kind
        operators = tree_join("join", shape, on, window, "t", costs=SLOW, methods=methods)
    trace = simulate(sources, operators, seed=3, cpus=cpus, every=0.5)
    wanted = expected(arrived(sources, 3), on, {alias: n * UNIT for alias, n in WINDOWS.items()})
    assert wanted.num_rows > 100
    assert rows(plain(trace.rows())) == rows(wanted)
    assert max(sample["queue"] for sample in trace.samples.to_pylist()) > 20  # it did wait


@pytest.mark.parametrize("shape", [(("a", "b"), ("c", "d")), ((("d", "c"), "b"), "a"), ("a", ("b", ("c", "d")))])
def test_bushy_trees_with_a_slow_branch(shape: tuple[Shape, Shape]) -> None:
    """Intermediate results of the slow branch are overtaken by rows that came later on the other side."""
    rng = np.random.default_rng(8)
    given = {alias: pa.table({"k": rng.integers(0, 8, 80), "n": np.arange(80)}) for alias in "abcd"}
    on = "a.k = b.k AND b.k = c.k AND c.k = d.k"
    sources = {alias: Source(table, poisson(20), stamp="t") for alias, table in given.items()}
    slow: dict[Shape, Costs] = {part: Costs(move="120 ms") for part in shape if not isinstance(part, str)}
    trace = simulate(sources, tree_join("join", shape, on, "1 second", "t", costs=slow), seed=1)
    wanted = expected(arrived(sources, 1), on, dict.fromkeys("abcd", UNIT))
    assert wanted.num_rows > 100
    assert rows(plain(trace.rows())) == rows(wanted)
    assert all(sample.window_rows == 0 for sample in trace.final.values())  # all streams have ended


def test_late_rows_with_their_own_times_are_counted() -> None:
    given = {"a": pa.table({"k": [1, 1, 1], "t": [10, 30, 12]}), "b": pa.table({"k": [1, 1, 1], "t": [11, 31, 31]})}
    sources = {alias: Source(table, regular(1)) for alias, table in given.items()}
    on, found = "a.k = b.k", {}
    for name, operators in (
        ("multiway", [MultiwayJoin("join", on, 5, "t", 0)]), ("tree", tree_join("join", ("a", "b"), on, 5, "t", 0)),
    ):  # fmt: skip
        trace = simulate(sources, operators)
        assert trace.final["join"].late == 1
        found[name] = rows(trace.rows())
    in_time = {"a": given["a"].slice(0, 2), "b": given["b"]}
    wanted = rows(expected(in_time, on, {"a": 5, "b": 5}))
    assert found == {"multiway": wanted, "tree": wanted}
    assert len(wanted) == 3


def test_filters_below_a_join_and_one_source_read_twice() -> None:
    table = pa.table({"k": list(range(6)) * 20, "n": list(range(120)), "t": list(range(120))})
    even = Selection(
        "even",
        "s",
        tw.predicate(lambda n: n % 2 == 0, "n", name="even"),
        costs=Costs(predicate="20 ms", result="30 ms"),
    )
    join = MultiwayJoin("join", "x.k = y.k", 12, "t", 0, reads={"x": "even", "y": "s"}, costs=Costs(probe="1 ms"))
    trace = simulate({"s": Source(table, regular(50))}, [join, even])
    halves = table.filter(pa.array([n % 2 == 0 for n in range(120)]))
    assert rows(trace.rows()) == rows(expected({"x": halves, "y": table}, "x.k = y.k", {"x": 12, "y": 12}))
    assert trace.final["even"].emitted == 60
    assert trace.final["join"].arrived == 180


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("make", [MultiwayJoin, lambda name, *more: tree_join(name, ("a", "b"), *more)])
def test_numbers_are_time_units_also_with_timestamps(
    make: Callable[..., Operator | tuple[Operator, ...]], unit: str
) -> None:
    given = {alias: pa.table({"k": table.column("k"), "t": table.column("n")}) for alias, table in tables().items()}
    given.pop("c")
    timed = {
        alias: table.set_column(1, "t", table.column("t").cast(pa.timestamp("s")).cast(pa.timestamp(unit)))
        for alias, table in given.items()
    }
    sources = {alias: Source(table, "t") for alias, table in timed.items()}
    found = simulate(sources, make("join", "a.k = b.k", {"a": 7, "b": 3.0}, "t", 1)).rows()
    for n, field in enumerate(found.schema):
        if pa.types.is_timestamp(field.type):
            found = found.set_column(n, field.name, found.column(n).cast(pa.timestamp("s")).cast(pa.int64()))
    wanted = expected(given, "a.k = b.k", {"a": 7, "b": 3})
    assert wanted.num_rows > 50
    assert rows(found) == rows(wanted)


def test_a_tree_of_joins_among_other_operators() -> None:
    given = {alias: table.append_column("t", table.column("n")) for alias, table in tables().items()}
    sources = {alias: Source(table, regular(10)) for alias, table in given.items()}
    even = Selection("even", "a", tw.predicate(lambda n: n % 2 == 0, "n", name="even"))
    low = Selection("low", "join", tw.predicate(lambda n: n < 100, "b_n", name="low"))
    join = tree_join("join", (("a", "b"), "c"), STAR, 20, "t", 0, reads={"a": "even"}, costs=SLOW)
    trace = simulate(sources, [even, [join, low]])
    halves = given["a"].filter(pa.array([n % 2 == 0 for n in range(150)]))
    wanted = expected({**given, "a": halves}, STAR, dict.fromkeys("abc", 20))
    kept = wanted.filter(pa.array([n < 100 for n in wanted.column("b_n").to_pylist()]))
    assert 0 < kept.num_rows < wanted.num_rows
    assert rows(trace.rows()) == rows(kept)


def test_tuples_dicts_and_batches_are_the_same_rows() -> None:
    schema = pa.schema([("k", pa.int64()), ("t", pa.int64())])
    pairs = [(n % 4, n) for n in range(40)]
    dicts = [dict(zip(schema.names, pair, strict=True)) for pair in pairs]
    batches = [pa.RecordBatch.from_pylist(dicts[at : at + 7], schema) for at in range(0, 40, 7)]
    sources: list[Callable[[], Source]] = [
        lambda: Source(pairs, regular(1), schema=schema),
        lambda: Source(iter(dicts), regular(1), schema=schema, at_once=3),
        lambda: Source(batches, regular(1), at_once=None),
        lambda: Source(pa.Table.from_batches(batches), "t", at_once=5),
    ]
    whole = pa.Table.from_batches(batches)
    wanted = rows(expected({"a": whole, "b": whole}, "a.k = b.k", {"a": 9, "b": 9}))
    for one, other in itertools.product(sources, sources):
        trace = simulate({"a": one(), "b": other()}, MultiwayJoin("join", "a.k = b.k", 9, "t", 0))
        assert rows(trace.rows()) == wanted
