"""The work of a tree of binary joins, in event records and reports: rows, results, probes, and rows held."""

from __future__ import annotations

import itertools
from operator import attrgetter

import numpy as np
import pyarrow as pa

from thalweg.events import JoinObserved, Origin, from_json, to_json
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.plan.joins.shape import Shape
from thalweg.report.tally import JoinTally
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_loop import make_join_loop
from thalweg.runtime.joins.join_options import JoinOptions
from thalweg.runtime.joins.join_protocol import WindowedJoin
from thalweg.runtime.joins.join_record import decode, encode, records_of, take_counters

ORIGIN = Origin("r", "local", worker="local", policy="static")
SCHEMA = pa.schema([("k", pa.int64()), ("m", pa.int64()), ("t", pa.int64())])
ON = "a.k = b.k AND b.m = c.m AND b.k = d.k"
TABLE = pa.table({"k": [1, 2, 3], "m": [0, 0, 0], "t": [0, 0, 0]})


def loop_of(shape: Shape | None) -> WindowedJoin:
    plan = JoinPlan.of(ON, dict.fromkeys("abc", 10), dict.fromkeys("abc", "t"), dict.fromkeys("abc", 0))
    binding = JoinBinding.of(plan, dict.fromkeys("abcd", SCHEMA))
    rng = np.random.default_rng(0)
    return make_join_loop(binding, JoinOptions("static"), rng=rng, tables={"d": TABLE}, shape=shape)


TREE = ((("b", "d"), "c"), "a")


def rows_of(seed: int, rows: int, time: int) -> list[tuple[int, int, int]]:
    rng = np.random.default_rng(seed)
    return [(int(k), int(m), time) for k, m in zip(rng.integers(0, 6, rows), rng.integers(0, 4, rows), strict=True)]


def batch_of(rows: list[tuple[int, int, int]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([row[n] for row in rows], pa.int64()) for n in range(3)], schema=SCHEMA)


ROWS = {alias: rows_of(n, 30, 5) for n, alias in enumerate("abc")}


def worked(shape: Shape | None) -> WindowedJoin:
    """One round, in the order a, b, c; then a late row, and one that moves the watermark past everything."""
    loop = loop_of(shape)
    for alias in "abc":
        list(loop.process(alias, batch_of(ROWS[alias])))
    loop.end_round()
    list(loop.process("a", batch_of([(1, 1, 0)])))
    return loop


def observed(loop: WindowedJoin) -> dict[str, JoinObserved]:
    return {
        record.alias: record for record in records_of(take_counters(loop), ORIGIN) if isinstance(record, JoinObserved)
    }


def test_streams_and_tables_are_counted_as_by_a_multiway_join() -> None:
    tree, multiway = observed(worked(TREE)), observed(worked(None))
    assert set(tree) - set(multiway) == {"(b d)", "((b d) c)"}
    for alias in "abcd":
        assert tree[alias].others == multiway[alias].others
        assert tree[alias].stream == multiway[alias].stream
        for place in ("matches.results", "window.rows", "window.most_rows", "window.watermark"):
            assert attrgetter(place)(tree[alias]) == attrgetter(place)(multiway[alias]), (place, alias)
    assert tree["c"].matches.results > 100
    assert tree["a"].stream.late == 1
    for name in ("most_matches", "hottest", "limit"):
        assert getattr(tree["c"].matches, name) == getattr(multiway["c"].matches, name)
    assert min(tree["c"].window.bytes, tree["c"].times.total_ns, tree["c"].matches.looked) > 0
    assert {alias: record.order for alias, record in tree.items() if not record.inner} == {
        "a": ("b", "d", "c"), "b": ("d", "c", "a"), "c": ("b", "d", "a"), "d": (),
    }  # fmt: skip


def test_probes_and_inner_results_against_brute_force() -> None:
    seen = observed(worked(TREE))
    # b comes when only a is there: its rows find the table, and nothing of c
    with_table = [b for b in ROWS["b"] if b[0] in (1, 2, 3)]
    b = seen["b"]
    assert b.probes.evaluated == [
        0,
        len(with_table),
        30,
    ]  # others are a, c, d: d first, then c; no row gets as far as a
    assert b.probes.passed == [0, 0, len(with_table)]
    # c comes last: its rows find pairs of b and the table, and these rows of a
    pairs = [(c, b) for c, b in itertools.product(range(30), with_table) if ROWS["c"][c][1] == b[1]]
    found = [(c, a) for (c, b), a in itertools.product(pairs, ROWS["a"]) if a[0] == b[0]]
    c = seen["c"]
    with_a = sum(any(a[0] == b[0] for a in ROWS["a"]) for _, b in pairs)
    assert c.probes.evaluated == [len(pairs), 30, 0]  # a, b, d: what is found of b is found of d
    assert c.probes.passed == [with_a, len({c for c, _ in pairs}), 0]
    assert (c.probes.kept, c.matches.results) == (len({c for c, _ in found}), len(found))
    assert seen["a"].probes.evaluated == [30, 0, 0]
    assert seen["a"].probes.passed == [0, 0, 0]
    for name, rows in (("(b d)", len(with_table)), ("((b d) c)", len(pairs))):
        inner = seen[name]
        assert inner.inner
        assert (inner.stream.rows, inner.window.rows, inner.window.most_rows) == (rows, rows, rows)
        assert inner.window.bytes == inner.window.most_bytes > 0


def test_what_expired_is_told_and_counters_begin_again() -> None:
    loop = worked(TREE)
    first = observed(loop)
    loop.expire(100)
    again = observed(loop)
    for name in ("(b d)", "((b d) c)"):
        assert again[name].window.expired == first[name].stream.rows
        assert (again[name].stream.rows, again[name].window.rows) == (0, 0)
        assert (again[name].window.most_rows, again[name].window.most_bytes) == (
            first[name].window.most_rows,
            first[name].window.most_bytes,
        )
    assert (again["b"].window.expired, again["b"].stream.rows, sum(again["b"].probes.evaluated)) == (30, 0, 0)


def test_the_text_says_what_the_records_say_and_survives_json() -> None:
    text = encode(take_counters(worked(TREE)), worker="local")
    records = decode(text, run="r", kind="local", batch=None, policy="static")
    seen = {record.alias: record for record in records if isinstance(record, JoinObserved)}
    expected = observed(worked(TREE))
    for name, record in seen.items():
        assert (record.stream.rows, record.matches.results, record.probes.evaluated) == (
            expected[name].stream.rows, expected[name].matches.results, expected[name].probes.evaluated,
        )  # fmt: skip
        assert from_json(to_json(record)) == record
        assert record.inner == name.startswith("(")


def test_a_report_shows_what_inner_results_hold() -> None:
    tally = JoinTally()
    loop = worked(TREE)
    for record in records_of(take_counters(loop), ORIGIN):
        tally.add(record)
    loop.expire(100)
    for record in records_of(take_counters(loop), ORIGIN):
        tally.add(record)
    (section,) = tally.report().sections
    inner = section.to_dict()["inner"]["(b d)"]
    rows = sum(b[0] in (1, 2, 3) for b in ROWS["b"])
    assert (inner["rows"], inner["expired"], inner["window_rows"], inner["most_rows"]) == (rows, rows, 0, rows)
    assert list(section.streams) == ["a", "b", "c"]
    assert f"(b d): a kept sub-join, {rows} rows made, 0 held, at most {rows} (" in str(tally.report())
