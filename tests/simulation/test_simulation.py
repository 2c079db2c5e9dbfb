"""Wiring, stopping, sampling, and the contents of a trace."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import thalweg as tw
from thalweg.simulation import Costs, MultiwayJoin, Selection, Source, regular, simulate, tree_join

TABLE = pa.table({"n": list(range(10))})


def source() -> Source:
    return Source(TABLE, regular(1))


def all_of(name: str, reads: str, **more: Any) -> Selection:
    return Selection(name, reads, tw.predicate(lambda n: True, "n", name="always"), **more)


def wrong(value: Any) -> Any:
    """Return a value that mypy accepts anywhere, for arguments of a wrong type."""
    return value


def test_it_stops_at_a_time_and_that_instant_still_counts() -> None:
    trace = simulate({"s": source()}, all_of("x", "s"), until=4)
    assert (trace.count(), trace.end, trace.final["x"].arrived) == (4, 4.0, 4)
    assert (trace.count(2.5), trace.count(3), trace.count(operator="x"), trace.count(operator="y")) == (2, 3, 4, 0)


def test_samples_cover_everything_up_to_their_time() -> None:
    trace = simulate({"s": source()}, all_of("x", "s", costs=Costs(predicate=3)), until=9, every=3)
    found = [
        {name: row[name] for name in ("time", "arrived", "served", "queue", "busy")}
        for row in trace.samples.to_pylist()
    ]
    # arrivals at 1, 2, ...; service from 1 to 4, 4 to 7, 7 to 10
    assert found == [
        {"time": 3.0, "arrived": 3, "served": 0, "queue": 2, "busy": 2.0},
        {"time": 6.0, "arrived": 6, "served": 1, "queue": 4, "busy": 5.0},
        {"time": 9.0, "arrived": 9, "served": 2, "queue": 6, "busy": 8.0},
    ]
    assert trace.samples.column("arrival_rate").to_pylist() == [1.0, 1.0, 1.0]
    # 1 from 2 on, 2 from 3 on, still 2 from 4 on (one taken), ...: the integral up to 9 by hand
    assert trace.final["x"].mean_queue == pytest.approx((0 + 0 + 1 + 2 + 2 + 3 + 4 + 4 + 5) / 9)


def test_operators_in_a_row_given_in_any_order() -> None:
    chain = [all_of(name, reads, costs=Costs(predicate=1)) for name, reads in ("zy", "xs", "yx")]
    trace = simulate({"s": source()}, chain)
    assert trace.results.column("time").to_pylist() == [float(n) for n in range(4, 14)]
    assert trace.rows() == TABLE
    assert set(trace.results.column("operator").to_pylist()) == {"z"}


def test_json_lines_and_tables_say_the_same() -> None:
    join = tree_join("join", ("a", "b"), "a.n = b.n", "1 second", "t", costs=Costs(probe="1 ms"))
    given = {alias: Source(TABLE, regular(1), stamp="t") for alias in "ab"}
    trace = simulate(given, join, every=5)
    lines = [json.loads(line) for line in trace.to_json_lines().splitlines()]
    by_kind = {kind: [{k: v for k, v in line.items() if k != "kind"} for line in lines if line["kind"] == kind]
               for kind in ("end", "sample", "order", "results")}  # fmt: skip
    assert by_kind["sample"] == trace.samples.to_pylist()
    assert by_kind["results"] == trace.results.to_pylist()
    assert by_kind["end"] == [{"time": trace.end}]
    assert len(by_kind["results"]) == 10


def test_a_tree_may_be_written_in_lists() -> None:
    shape: Any = [["a", "b"], "c"]
    joins = tree_join("j", shape, "a.n = b.n AND b.n = c.n", 1, "n", methods={("a", "b"): "loops"})
    assert list(map(repr, joins)) == list(
        map(repr, tree_join("j", (("a", "b"), "c"), "a.n = b.n AND b.n = c.n", 1, "n", methods={("a", "b"): "loops"}))
    )


def test_representations() -> None:
    join = MultiwayJoin("j", "x.n = y.n", 1, "n", reads={"x": "s"})
    assert repr(join) == "MultiwayJoin('j', 'x.n = y.n', reads x=s, y, policy 'auto')"
    inner, root = tree_join("j", (("a", "b"), "c"), "a.n = b.n AND b.n = c.n", 1, "n", methods={("a", "b"): "loops"})
    assert repr(inner) == "TreeNode('(a b)', (a b), reads a, b, by loops)"
    assert repr(root) == "TreeNode('j', ((a b) c), reads (a b), c, by hash)"
    assert repr(all_of("x", "s")) == "Selection('x', always, reads s, policy 'auto')"
    assert repr(source()) == "Source(n; regular(rate=1))"
    assert repr(Source(TABLE, "n")) == "Source(n; at n)"
    trace = simulate({"s": source()}, all_of("x", "s", costs=Costs(predicate=3)), until=9)
    # served from 1 to 4, 4 to 7 and still
    expected = ["Trace: 2 results in 9 time units", "  x: 9 arrived, 2 emitted, 6 waiting (at most 6), busy 89 %"]
    assert repr(trace).splitlines() == expected


def test_nothing_comes_out_of_nothing() -> None:
    empty = Source(TABLE.slice(0, 0), regular(1), stamp="t")
    join = MultiwayJoin("join", "a.n = b.n", "1 second", "t")
    trace = simulate({"a": empty, "b": Source(TABLE, regular(1), stamp="t")}, join)
    assert trace.results.num_rows == trace.rows().num_rows == trace.count() == 0
    assert trace.final["join"].arrived == 10
    assert trace.rows().schema.names == ["a_n", "a_t", "b_n", "b_t", "event_time"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: simulate({"s": source()}, all_of("x", "t")), "reads 't', which does not exist"),
        (lambda: simulate({"s": source(), "t": source()}, all_of("x", "s")), "no operator reads the source 't'"),
        (lambda: simulate({"s": source()}, [all_of("s", "s")]), "'s' is the name of several sources or operators"),
        (lambda: simulate({"s": source()}, [all_of("w", "s"), all_of("x", "y"), all_of("y", "x")]), "x, y read each"),
        (lambda: simulate({"s": source()}, all_of("x", "s"), cpus=0), "cpus=0"),
        (lambda: simulate({"s": source()}, all_of("x", "s"), every=0), "every=0"),
        (lambda: simulate({"s": source()}, all_of("x", "s"), keep=False).rows(), "keep=True"),
        (lambda: simulate({"s": source()}, [all_of("x", "s"), all_of("y", "s")]).rows(), "results come from x, y"),
        (lambda: all_of("x", "s", costs=Costs(predicate={"alway": 1})), "did you mean 'always'"),
        (lambda: all_of("x", "s", costs=Costs(predicate=-1)), "predicate=-1"),
        (lambda: Costs(move="five"), "move='five'"),
        (lambda: MultiwayJoin("j", "a.n = b.n", 1, "t", costs=Costs(probe={"c": 1})), "'c' is not one of a, b"),
        (
            lambda: tree_join("j", ("a", "b"), "a.n = b.n", 1, "t", costs={("b", "a"): Costs()}),
            r"is not a part of the tree \(a b\); its parts are \('a', 'b'\)",
        ),
        (lambda: tree_join("j", ("a", "c"), "a.n = b.n", 1, "t"), "must have each of a, b once"),
        (lambda: tree_join("j", ("a", "b"), "a.n = b.n", 1, "t", methods="merge"), "'merge'.*hash, loops"),
        (lambda: tree_join("j", ("a", "b"), "a.n = b.n", 1, "t", methods={("a", "b"): "hsh"}), "did you mean 'hash'"),
        (lambda: tree_join("j", ("a", "b"), "a.n = b.n", 1, "t", costs=wrong({"move": 1})), r"write Costs\(move=1\)"),
        (lambda: tree_join("j", ("a", "b"), "a.n = b.n", 1, "t", costs={("a", "b"): wrong(1)}), r"costs of \(a b\)=1"),
        (lambda: tree_join("j", ("a", "b"), "a.n = b.n", 1, "t", costs=wrong(3)), "costs=3: must be"),
        (lambda: MultiwayJoin("j", "a.n = b.n", 1, "t", costs=wrong({"move": 1})), r"write Costs\(move=1\)"),
        (lambda: MultiwayJoin("j", "a.n = b.n", 1, "t", reads={"c": "s"}), "'c' is not one of a, b"),
        (lambda: MultiwayJoin("j", "a.n = b.n", 1, "t", reads=wrong("s")), "reads='s': must be a mapping"),
        (lambda: tree_join("j", wrong(("a", "b", "c")), "a.n = b.n", 1, "t"), "is not a pair"),
        (lambda: simulate({"s": TABLE}, all_of("x", "s")), r"'s' is a Table.*Source\(rows, poisson"),
        (lambda: simulate(wrong([source()]), all_of("x", "s")), "a mapping of names to sources.*not list"),
        (lambda: simulate({"s": source()}, "x"), "operators: 'x' is not an operator"),
        (lambda: simulate({"s": source()}, [all_of("x", "s"), wrong(3)]), "operators: 3 is not an operator"),
        (lambda: simulate({"s": source()}, []), "operators: the list is empty"),
        (lambda: simulate({"s": source()}, all_of("x", "s"), seed=-1), "seed=-1"),
    ],
)  # fmt: skip
def test_what_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(tw.PlanError, match=message):
        make()
