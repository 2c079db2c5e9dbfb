"""Trees of binary joins whose windows are in a store of chunks: thrown away and restored, and exchanged for trees of
other shapes and for multiway joins at any round, they give what DuckDB makes of the finished data."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.long_run import examples
from tests.runtime.joins.dict_chunks import DictChunks
from tests.runtime.joins.generated import Case, cases, shapes
from tests.runtime.joins.oracle import expected_ids
from tests.runtime.joins.test_join_state import Round, rounds_of, run
from thalweg.errors import JoinLimitError
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.plan.joins.shape import Shape
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_loop import JoinLoop, make_join_loop
from thalweg.runtime.joins.join_options import JoinLimits, JoinOptions
from thalweg.runtime.joins.join_protocol import WindowedJoin
from thalweg.runtime.joins.join_state import KeptJoin, StateHeader
from thalweg.runtime.joins.tree_loop import TreeLoop

QUERY = "the only one"
OPTIONS = JoinOptions("a-greedy", snapshots=True)
Form = tuple[Shape, Mapping[Shape, str]] | None
"""A shape with its methods; None for a multiway join."""


def loop_of(binding: JoinBinding, form: Form, tables: Mapping[str, pa.Table], seed: int = 0) -> WindowedJoin:
    shape, methods = (None, {}) if form is None else form
    rng = np.random.default_rng(seed)
    return make_join_loop(binding, OPTIONS, rng=rng, clock=lambda: 0, tables=tables, shape=shape, methods=methods)


def inner_rows(loop: TreeLoop) -> dict[str, list[str]]:
    """Return the live rows of inner results as text."""
    mark = loop.watermarks.query
    found = {}
    for node in loop.nodes:
        for side, store in node.stores.items():
            rows = store.rows().to_pylist()
            ring = next(iter(store.indexes.values())).ring
            ends = ring[np.arange(store.low, store.high) & (len(ring) - 1), 3].tolist()
            found[node.inputs[side]] = sorted(
                repr(row) for row, end in zip(rows, ends, strict=True) if mark is None or end >= mark
            )
    return found


@examples(60, long=2_000)
@given(case=cases(), seed=st.integers(0, 2**32), data=st.data())
def test_a_join_goes_on_in_any_form_after_any_round(case: Case, seed: int, data: st.DataObject) -> None:
    """Each round is run by a loop of a form drawn for it, with whatever copy of that form there is, or none. Rounds may
    fail, so that copies have seen rows that the store has not."""
    r = random.Random(seed)
    binding, graph = case.binding, case.binding.plan.graph
    forms: list[Form] = [None, *(data.draw(shapes(graph)) for _ in range(2))]
    store, warm, out = DictChunks(), dict[int, KeptJoin](), list[pa.RecordBatch]()

    def fresh(form: Form) -> WindowedJoin:
        return loop_of(binding, form, case.tables, r.randrange(99))

    for rows in rounds_of(case, r):
        while True:
            which = r.randrange(len(forms))
            before = store.copy()
            copy = warm.pop(which, None) if r.random() < 0.7 else None
            kept = KeptJoin.open(store, QUERY, copy, partial(fresh, forms[which]))
            made = run(kept, rows)
            kept.keep(store)
            warm[which] = kept
            if r.random() < 0.8:
                break
            store = before  # the round is run again, by another process
        out += made
    assert case.found(out) == case.expected()


@examples(40, long=2_000)
@given(case=cases(), seed=st.integers(0, 2**32), data=st.data())
def test_a_restored_tree_holds_what_it_would_hold_without(case: Case, seed: int, data: st.DataObject) -> None:
    """The windows come from a multiway join, or from a tree of another shape."""
    r = random.Random(seed)
    binding = case.binding
    one, other = (data.draw(shapes(binding.plan.graph)) for _ in range(2))
    source = r.choice([None, other])
    whole = loop_of(binding, one, case.tables)
    assert isinstance(whole, TreeLoop)
    store = DictChunks()
    kept = KeptJoin.open(store, QUERY, None, lambda: loop_of(binding, source, case.tables))
    for rows in rounds_of(case, r):
        for alias, batch in rows:
            list(whole.process(alias, batch))
        whole.end_round()
        run(kept, rows)
        kept.keep(store)
        if r.random() < 0.4:
            again = KeptJoin.open(store, QUERY, None, lambda: loop_of(binding, one, case.tables)).loop
            assert isinstance(again, TreeLoop)
            assert inner_rows(again) == inner_rows(whole)
            assert sum(counts.matches.results for counts in again.counts.values()) == 0
            assert all(inner.stream.rows == 0 for inner in again.take_inner().values())


@examples(40, long=1_000)
@given(case=cases(), seed=st.integers(0, 2**32), data=st.data())
def test_chunks_are_the_same_bytes_whichever_form_writes_them(case: Case, seed: int, data: st.DataObject) -> None:
    binding = case.binding
    stores = []
    for form in (None, data.draw(shapes(binding.plan.graph))):
        store, r = DictChunks(), random.Random(seed)
        kept = KeptJoin.open(store, QUERY, None, partial(loop_of, binding, form, case.tables))
        for rows in rounds_of(case, r):
            run(kept, rows)
            kept.keep(store)
        head = StateHeader.read(store.data or b"")
        stores.append((store.chunks, head.chunks, head.marks, [kept.in_store(alias) for alias in case.windows]))
    assert stores[0] == stores[1]


ON = "a.k = b.k AND b.m = c.m AND a.u = c.u AND b.k = t.k"
"""A cycle, and a table."""
SCHEMA = pa.schema([(name, pa.int64()) for name in ("k", "m", "u", "t", "id")])
TABLE = pa.table({"k": [0, 1, 1], "id": [0, 1, 2]})
FORMS: list[Form] = [
    None,
    (((("a", "b"), "c"), "t"), {}),
    ((("a", "c"), ("b", "t")), {("b", "t"): "loops"}),
    (((("t", "b"), "a"), "c"), {}),
]


@examples(40, long=2_000)
@given(
    seed=st.integers(0, 2**32),
    lateness=st.fixed_dictionaries({alias: st.sampled_from([0, 3, 12]) for alias in "abc"}),
    windows=st.fixed_dictionaries({alias: st.sampled_from([0, 4, 30, 100]) for alias in "abc"}),
    disorder=st.sampled_from([0, 5, 30]),
    select=st.sampled_from([None, ["a.id", "b.id", "c.id", "t.id", "event_time"]]),
)
def test_late_rows_are_exactly_what_is_missing(
    seed: int, lateness: dict[str, int], windows: dict[str, int], disorder: int, select: list[str] | None
) -> None:
    """Which rows are late is worked out here, round by round; DuckDB joins the others."""
    r = random.Random(seed)
    plan = JoinPlan.of(ON, windows, dict.fromkeys("abc", "t"), lateness, select)
    binding = JoinBinding.of(plan, dict.fromkeys("abc", SCHEMA) | {"t": TABLE.schema})
    rows: dict[str, list[tuple[int, ...]]] = {alias: [] for alias in "abc"}
    late: dict[str, list[bool]] = {alias: [] for alias in "abc"}
    latest: dict[str, int] = {}
    store, warm, out = DictChunks(), dict[int, KeptJoin](), list[pa.RecordBatch]()

    def fresh(form: Form) -> WindowedJoin:
        return loop_of(binding, form, {"t": TABLE}, r.randrange(99))

    for clock in range(0, 80, 8):
        mark = min(latest[a] - lateness[a] for a in "abc") if len(latest) == 3 else None
        seen, batches = dict(latest), list[tuple[str, pa.RecordBatch]]()
        for alias in r.choices("abc", k=4):
            first = len(rows[alias])
            times = [clock + r.randint(0, 8) - r.randint(0, disorder) for _ in range(r.randint(0, 3))]
            new = [(r.randint(0, 1), r.randint(0, 1), r.randint(0, 1), t, first + n) for n, t in enumerate(times)]
            rows[alias] += new
            late[alias] += [mark is not None and t < mark for t in times]
            if times:
                seen[alias] = max([*times, seen[alias]] if alias in seen else times)
            columns = [pa.array([row[n] for row in new], pa.int64()) for n in range(5)]
            batches.append((alias, pa.RecordBatch.from_arrays(columns, schema=SCHEMA)))
        which = r.randrange(len(FORMS))
        copy = warm.get(which) if r.random() < 0.5 else None
        kept = KeptJoin.open(store, QUERY, copy, partial(fresh, FORMS[which]))
        before = {alias: counts.stream.late for alias, counts in kept.loop.counts.items()}
        out += run(kept, batches)
        for alias in "abc":
            missed = sum(late[alias][len(late[alias]) - sum(b.num_rows for a, b in batches if a == alias) :])
            assert kept.loop.counts[alias].stream.late - before[alias] == missed
        kept.keep(store)
        warm[which] = kept
        latest = seen
    tables = {
        a: pa.table({name: pa.array([row[n] for row in rows[a]], pa.int64()) for n, name in enumerate("kmu")})
        for a in "abc"
    } | {"t": TABLE}
    # a row without a time is in no result of DuckDB's
    ticks = {a: [None if lost else row[3] for row, lost in zip(rows[a], late[a], strict=True)] for a in "abc"}
    found = [
        tuple(row[name] for name in ("a_id", "b_id", "c_id", "t_id", "event_time"))
        for batch in out
        for row in batch.to_pylist()
    ]
    assert sorted(found) == expected_ids(tables, ticks | {"t": [None] * 3}, ON, windows)


def two_keys(alias: str, keys: list[int], times: list[int]) -> tuple[str, pa.RecordBatch]:
    zeros = [0] * len(keys)
    columns = [pa.array(values, pa.int64()) for values in (keys, zeros, zeros, times, list(range(len(keys))))]
    return alias, pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def chain() -> JoinBinding:
    plan = JoinPlan.of("a.k = b.k AND b.k = c.k", 10, "t", 0)
    return JoinBinding.of(plan, dict.fromkeys("abc", SCHEMA))


LEFT_DEEP: Form = ((("a", "b"), "c"), {})


def test_a_copy_that_is_behind_rebuilds_what_came_since_alone() -> None:
    binding, store = chain(), DictChunks()

    def step(warm: KeptJoin | None, rows: Round) -> tuple[KeptJoin, int]:
        kept = KeptJoin.open(store, QUERY, warm, lambda: loop_of(binding, LEFT_DEEP, {}))
        made = sum(batch.num_rows for batch in run(kept, rows))
        kept.keep(store)
        return kept, made

    old, made = step(None, [two_keys("a", [1, 2], [0, 0]), two_keys("b", [1, 1], [0, 0])])
    assert made == 0
    assert [inner.window.rows for inner in old.loop.take_inner().values()] == [2]
    step(None, [two_keys("a", [1, 3], [1, 1])])
    store.reads = 0
    again, made = step(old, [two_keys("c", [1], [2])])
    assert (again is old, store.reads, made) == (True, 1, 4)  # two rows of a, each with two of b
    assert [inner.window.rows for inner in again.loop.take_inner().values()] == [4]


def test_what_a_multiway_join_has_learned_survives_a_tree() -> None:
    binding, store = chain(), DictChunks()
    learned = None
    for form in (None, LEFT_DEEP, LEFT_DEEP, None):
        kept = KeptJoin.open(store, QUERY, None, partial(loop_of, binding, form, {}))
        if form is None and learned is not None:
            assert isinstance(kept.loop, JoinLoop)
            assert kept.loop.loops["b"].order == (1, 0)
        elif form is None:
            assert isinstance(kept.loop, JoinLoop)
            kept.loop.loops["b"].follow((1, 0), "as the test says")
        run(kept, [two_keys("a", [1], [0])])
        kept.keep(store)
        learned = kept.head.learned
    assert learned


def test_a_tree_that_does_not_fit_refuses_other_windows() -> None:
    """The windows of 600 rows each are small; what a and b make together is not."""
    binding, store = chain(), DictChunks()
    kept = KeptJoin.open(store, QUERY, None, lambda: loop_of(binding, None, {}))
    run(kept, [two_keys("a", [1] * 600, [0] * 600), two_keys("b", [1] * 600, [0] * 600)])
    kept.keep(store)
    limits = JoinLimits(max_bytes=8 << 20)
    options = JoinOptions("static", limits=limits, snapshots=True)

    def fresh() -> WindowedJoin:
        return make_join_loop(binding, options, rng=np.random.default_rng(0), shape=(("a", "b"), "c"))

    with pytest.raises(JoinLimitError, match=r"\(a b\) .* rows"):
        KeptJoin.open(store, QUERY, None, fresh)


def test_one_stream_joined_with_tables_stores_nothing_of_it() -> None:
    plan = JoinPlan.of("a.k = t.k AND t.k = u.k", {"a": 10}, {"a": "t"}, {"a": 0})
    binding = JoinBinding.of(plan, {"a": SCHEMA, "t": TABLE.schema, "u": TABLE.schema})
    for shape in ((("a", "t"), "u"), ("a", ("t", "u"))):
        store = DictChunks()
        kept = KeptJoin.open(store, QUERY, None, partial(loop_of, binding, (shape, {}), dict.fromkeys("tu", TABLE)))
        out = run(kept, [two_keys("a", [0, 1, 1], [0, 1, 2])])
        kept.keep(store)
        assert sum(batch.num_rows for batch in out) == 1 + 2 * 4
        assert len(kept.loop.windows["a"]) == 0
        assert store.chunks == {}
        held = kept.loop.take_inner()
        assert {name: inner.window.rows for name, inner in held.items()} == (
            {"(a t)": 0} if shape[1] == "u" else {"(t u)": 5}
        )
