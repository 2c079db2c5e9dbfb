"""A join whose plan changes after any round, to any other plan: results, counters and saved chunks are those of a join
that never changes its plan, and the results are what DuckDB makes of the finished data."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.long_run import examples
from tests.runtime.joins.dict_chunks import DictChunks
from tests.runtime.joins.generated import POLICIES, Case, cases, shapes
from tests.runtime.joins.oracle import expected_ids
from tests.runtime.joins.test_join_state import check_store, rounds_of, run
from tests.runtime.joins.test_tree_state import ON as CYCLE_AND_TABLE
from tests.runtime.joins.test_tree_state import SCHEMA, TABLE
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.plan.joins.shape import Shape
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_loop import make_join_loop
from thalweg.runtime.joins.join_options import JoinLimits, JoinOptions
from thalweg.runtime.joins.join_protocol import WindowedJoin
from thalweg.runtime.joins.join_record import observed, take_counters
from thalweg.runtime.joins.join_state import KeptJoin, StateHeader
from thalweg.runtime.joins.plan_watch import PlanWatch, rebuilt

QUERY = "the only one"
LIMITS = JoinLimits(inner=False)
SEEDS = st.integers(0, 2**32)


def loop_of(
    binding: JoinBinding, shape: Shape, tables: Mapping[str, pa.Table], policy: str = "a-greedy", snapshots: bool = True
) -> WindowedJoin:
    form = shape if keeps(shape) else None
    options = JoinOptions(policy, limits=LIMITS, snapshots=snapshots)
    return make_join_loop(
        binding, options, rng=np.random.default_rng(0), clock=lambda: 0, tables=tables, shape=form
    )  # fmt: skip


def plans_of(binding: JoinBinding, data: st.DataObject, count: int = 2) -> list[Shape]:
    """The plan that keeps nothing, and some others, which may be the same."""
    graph = binding.plan.graph
    drawn = [data.draw(shapes(graph))[0] for _ in range(count)]
    return [graph.aliases, *(shape if keeps(shape) else graph.aliases for shape in drawn)]


def keeps(shape: Shape) -> bool:
    """Whether a plan keeps sub-joins."""
    return not all(isinstance(part, str) for part in shape)


def live_ends(loop: WindowedJoin, alias: str) -> list[int]:
    """The ends of the rows of a window that may still have partners."""
    mark, ends = loop.watermarks.query, loop.contents(alias).ends
    return sorted(ends.tolist() if mark is None else ends[ends >= mark].tolist())


def admitted(loop: WindowedJoin, alias: str) -> int:
    counts = loop.counts[alias].stream
    return counts.rows - counts.late - counts.no_time - counts.no_key - counts.filtered


@examples(50, long=2_000)
@given(case=cases(), seed=SEEDS, policy=st.sampled_from(POLICIES), snapshots=st.booleans(), data=st.data())
def test_a_loop_rebuilt_after_any_round_goes_on_as_before(
    case: Case, seed: int, policy: str, snapshots: bool, data: st.DataObject
) -> None:
    r, rng = random.Random(seed), np.random.default_rng(seed)
    binding = case.binding
    plans = plans_of(binding, data)
    loop = loop_of(binding, r.choice(plans), case.tables, policy, snapshots)
    steady = loop_of(binding, binding.plan.graph.aliases, case.tables, policy, snapshots)
    out, out_steady = list[pa.RecordBatch](), list[pa.RecordBatch]()
    for rows in rounds_of(case, r):
        for alias, batch in rows:
            out += loop.process(alias, batch)
            out_steady += steady.process(alias, batch)
            if r.random() < 0.2:  # also within a round
                loop = rebuilt(loop, r.choice(plans), rng)
        loop.end_round()
        steady.end_round()
        loop = rebuilt(loop, r.choice(plans), rng)
        for alias in binding.plan.graph.aliases:
            assert live_ends(loop, alias) == live_ends(steady, alias)
            counts, expected = loop.counts[alias], steady.counts[alias]
            assert counts.stream == expected.stream, alias
            assert counts.matches.results == expected.matches.results, alias
            assert counts.matches.most_matches == expected.matches.most_matches, alias
        for each in (loop, steady):
            stored = len(each.streams) > 1  # the rows of one stream that is joined with tables have no partners later
            for alias in each.streams:
                expired = each.counts[alias].window.expired
                assert not stored or admitted(each, alias) == expired + len(each.windows[alias])
    assert case.found(out) == case.expected() == case.found(out_steady)


@examples(30, long=2_000)
@given(
    seed=SEEDS,
    lateness=st.fixed_dictionaries({alias: st.sampled_from([0, 3, 12]) for alias in "abc"}),
    windows=st.fixed_dictionaries({alias: st.sampled_from([0, 4, 30, 100]) for alias in "abc"}),
    disorder=st.sampled_from([0, 5, 30]),
    data=st.data(),
)
def test_late_rows_are_the_same_whatever_the_plans(
    seed: int, lateness: dict[str, int], windows: dict[str, int], disorder: int, data: st.DataObject
) -> None:
    """Which rows are late is worked out here, round by round; DuckDB joins the others."""
    r, rng = random.Random(seed), np.random.default_rng(seed)
    plan = JoinPlan.of(CYCLE_AND_TABLE, windows, dict.fromkeys("abc", "t"), lateness)
    binding = JoinBinding.of(plan, dict.fromkeys("abc", SCHEMA) | {"t": TABLE.schema})
    plans = plans_of(binding, data, 3)
    loop = loop_of(binding, r.choice(plans), {"t": TABLE})
    rows: dict[str, list[tuple[int, ...]]] = {alias: [] for alias in "abc"}
    late: dict[str, list[bool]] = {alias: [] for alias in "abc"}
    latest, mark, out = dict[str, int](), None, list[pa.RecordBatch]()
    for clock in range(0, 80, 8):
        for alias in r.choices("abc", k=4):
            times = [clock + r.randint(0, 8) - r.randint(0, disorder) for _ in range(r.randint(0, 3))]
            first = len(rows[alias])
            new = [(r.randint(0, 1), r.randint(0, 1), r.randint(0, 1), t, first + n) for n, t in enumerate(times)]
            rows[alias] += new
            late[alias] += [mark is not None and t < mark for t in times]
            if times:
                latest[alias] = max([*times, latest.get(alias, min(times))])
            columns = [pa.array([row[n] for row in new], pa.int64()) for n in range(5)]
            out += loop.process(alias, pa.RecordBatch.from_arrays(columns, schema=SCHEMA))
        loop.end_round()
        if len(latest) == 3:
            mark = min(latest[alias] - lateness[alias] for alias in "abc")
        loop = rebuilt(loop, r.choice(plans), rng)
        for alias in "abc":
            assert loop.counts[alias].stream.late == sum(late[alias])
            assert admitted(loop, alias) == loop.counts[alias].window.expired + len(loop.windows[alias])
    tables = {
        a: pa.table({name: pa.array([row[n] for row in rows[a]], pa.int64()) for n, name in enumerate("kmu")})
        for a in "abc"
    } | {"t": TABLE}
    # a row without a time is in no result of DuckDB's
    ticks = {a: [None if lost else row[3] for row, lost in zip(rows[a], late[a], strict=True)] for a in "abc"}
    names = ("a_id", "b_id", "c_id", "t_id", "event_time")
    found = [tuple(row[name] for name in names) for batch in out for row in batch.to_pylist()]
    assert sorted(found) == expected_ids(tables, ticks | {"t": [None] * 3}, CYCLE_AND_TABLE, windows)


def watch_of(binding: JoinBinding, max_bytes: float) -> PlanWatch:
    stay: dict[str, int | None] = dict.fromkeys(binding.plan.streams)
    return PlanWatch(binding.plan.graph, stay, max_bytes)


@examples(40, long=2_000)
@given(case=cases(), seed=SEEDS, max_bytes=st.sampled_from([math.inf, 300_000.0, 700_000.0]), data=st.data())
def test_switches_restarts_and_replays_give_the_same_rows(
    case: Case, seed: int, max_bytes: float, data: st.DataObject
) -> None:
    """Each round is run by one of three processes, whose copy may be gone, may lag, or may have seen a round that was
    not kept. After each round another plan is chosen, as the watch of a bucket does."""
    r, binding = random.Random(seed), case.binding
    plans = plans_of(binding, data)
    store, warm, out = DictChunks(), dict[int, KeptJoin](), list[pa.RecordBatch]()
    joined = dict.fromkeys(binding.plan.streams, 0)

    def fresh() -> WindowedJoin:
        return loop_of(binding, plans[0], case.tables)

    for rows in rounds_of(case, r):
        while True:
            process = r.randrange(3)
            before = store.copy()
            copy = warm.pop(process, None) if r.random() < 0.7 else None
            kept = KeptJoin.open(store, QUERY, copy, fresh, lambda: watch_of(binding, max_bytes))
            assert kept.watch is not None
            assert kept.loop.shape == kept.watch.shape
            if kept.head.plan:  # the plan that the last round to be kept has chosen, or none that needs less
                assert kept.head.plan["rows"] == sum(joined.values())
                assert max_bytes < math.inf or kept.watch.snapshot()["plan"] == kept.head.plan["plan"]
            made = list[pa.RecordBatch]()
            for alias, batch in rows:
                made += kept.loop.process(alias, batch)
                kept.stay_within_limit()
                tables = sum(kept.loop.windows[alias].nbytes for alias in binding.plan.tables)
                assert kept.loop.nbytes - tables <= max_bytes or kept.loop.shape == plans[0]
            kept.loop.end_round()
            taken = observed(take_counters(kept.loop))
            kept.watch.observe(kept.loop, taken)
            kept.watch.shape = r.choice(plans)
            kept.keep(store)
            assert kept.loop.shape == kept.watch.shape
            warm[process] = kept
            if r.random() < 0.75:
                break
            store = before  # the round is run again, by another process
        out += made
        for one in taken:
            if one.alias in joined:
                joined[one.alias] += one.stream.joined
        check_store(store, kept, case.tables)
    assert case.found(out) == case.expected()


@examples(30, long=1_000)
@given(case=cases(), seed=SEEDS, data=st.data())
def test_chunks_are_the_same_bytes_with_and_without_switches(case: Case, seed: int, data: st.DataObject) -> None:
    binding = case.binding
    plans = plans_of(binding, data)
    rng, stores = np.random.default_rng(seed), []
    for switches in (False, True):
        store, r, which = DictChunks(), random.Random(seed), random.Random(seed + 1)
        kept = KeptJoin.open(store, QUERY, None, lambda: loop_of(binding, plans[0], case.tables))
        for rows in rounds_of(case, r):
            run(kept, rows)
            if switches and which.random() < 0.5:  # before the rows of the round are saved
                kept.loop = rebuilt(kept.loop, which.choice(plans), rng)
            kept.keep(store)
            if switches:
                kept.loop = rebuilt(kept.loop, which.choice(plans), rng)
        head = StateHeader.read(store.data or b"")
        in_store = [kept.in_store(alias) for alias in binding.plan.streams]
        stores.append((store.chunks, head.chunks, head.marks, in_store))
    assert stores[0] == stores[1]


@examples(20, long=500)
@given(case=cases(), seed=SEEDS, data=st.data())
def test_orders_that_were_learned_survive_switches(case: Case, seed: int, data: st.DataObject) -> None:
    """A tree passes on what a multiway join has learned before."""
    r, rng = random.Random(seed), np.random.default_rng(seed)
    plans = plans_of(case.binding, data)
    loop = loop_of(case.binding, plans[0], case.tables)
    for rows in rounds_of(case, r):
        for alias, batch in rows:
            list(loop.process(alias, batch))
        loop.end_round()
    learned, orders = loop.learned(), loop.orders()
    for plan in (plans[1], plans[2], plans[1], plans[0]):
        loop = rebuilt(loop, plan, rng)
        assert dict(loop.learned()) == dict(learned)
    assert loop.orders() == orders


def test_a_window_without_columns_keeps_its_rows() -> None:
    """Nothing of b is selected, so its window holds keys and times only."""
    plan = JoinPlan.of("a.k = b.k AND b.m = c.m", 10, "t", 0, ["a.id", "c.id"])
    binding = JoinBinding.of(plan, dict.fromkeys("abc", SCHEMA))
    assert binding.stored["b"].names == []
    rows = pa.RecordBatch.from_arrays(
        [pa.array([1, 2, 2], pa.int64())] * 3 + [pa.array([0] * 3, pa.int64())] * 2, schema=SCHEMA
    )
    loop = loop_of(binding, ("a", "b", "c"), {})
    for alias in "bc":
        assert not list(loop.process(alias, rows))
    for shape in ((("b", "c"), "a"), ("a", "b", "c"), (("a", "b"), "c"), ("a", "b", "c")):
        loop = rebuilt(loop, shape, np.random.default_rng(0))
        assert len(loop.windows["b"]) == 3
    assert sum(out.num_rows for out in loop.process("a", rows)) == 1 + 2**3
