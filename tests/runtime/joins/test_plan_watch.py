"""A join that watches its plan: when it changes it and why, when it does not, what it does without memory, and that its
counts survive restarts and replays."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from tests.long_run import examples
from tests.optimizer.joins.test_choose_plan import drawn_estimates
from tests.optimizer.joins.test_search_plans import graphs
from tests.runtime.joins.dict_chunks import DictChunks
from tests.runtime.joins.oracle import expected
from tests.runtime.joins.start_plans import start_knowing_nothing
from thalweg.cost.join_bytes import part_bytes
from thalweg.cost.join_work import work_ns
from thalweg.events import JoinObserved, PlanObserved
from thalweg.optimizer.joins.search_plans import all_plans, cheapest_plan
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.plan.joins.shape import Shape, nodes_of, of_text, plan_text, streams_of
from thalweg.report.plan_history import PlanHistory
from thalweg.runtime.joins import edge_sample, plan_watch
from thalweg.runtime.joins.edge_sample import PairCount, count_pairs, sample_pair
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_counts import JoinCounts
from thalweg.runtime.joins.join_loop import make_join_loop
from thalweg.runtime.joins.join_options import JoinLimits, JoinOptions
from thalweg.runtime.joins.join_protocol import WindowedJoin
from thalweg.runtime.joins.join_record import observed as observed_in
from thalweg.runtime.joins.join_record import take_counters
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.runtime.joins.join_state import KeptJoin, StateHeader
from thalweg.runtime.joins.plan_watch import PlanWatch

ON = "a.k = b.k AND b.m = c.m"
ROWS = {"a": 20_000, "b": 3_000, "c": 300}
SPAN, WINDOW = 100_000, 20_000
KEEPS_AB: Shape = (("a", "b"), "c")
KEEPS_BC: Shape = ("a", ("b", "c"))
MULTIWAY: Shape = ("a", "b", "c")
REFUSED = {"(a (b c))": [["b", "c"]]}
SCHEMA = pa.schema([(name, pa.int64()) for name in ("t", "k", "m", "id")])


@pytest.fixture(autouse=True)
def can_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of samples depends on the machine, and must not decide a test."""
    monkeypatch.setattr(plan_watch, "LOAN_NS", 10**15)


@cache
def streams(partners: int = 60, found: float = 0.02, calm_until: int = 0, rows: float = 1.0) -> dict[str, pa.Table]:
    """A row of a finds so many partners in the window of b, and such a share of b one in that of c. Until a time, keys
    of a and b are distinct."""
    rng = np.random.default_rng(partners)
    sizes = {alias: round(count * rows) for alias, count in ROWS.items()}
    held = {alias: count * WINDOW / SPAN for alias, count in sizes.items()}
    keys = max(round(held["b"] / partners), 1)
    others = round(held["c"] / found)
    made = {}
    for n, (alias, count) in enumerate(sizes.items()):
        times = np.sort(rng.integers(0, SPAN, count))
        k = np.where(times < calm_until, (n + 1) * 10**6 + np.arange(count), rng.integers(0, keys, count))
        made[alias] = pa.table([times, k, rng.integers(0, others, count), np.arange(count)], schema=SCHEMA)
    return made


def batches(tables: Mapping[str, pa.Table], parts: int = 20) -> dict[str, list[pa.RecordBatch]]:
    return {alias: table.to_batches(max_chunksize=-(-len(table) // parts)) for alias, table in tables.items()}


def ids(out: pa.Table) -> list[tuple[int, ...]]:
    return sorted(zip(*(out[f"{alias}_id"].to_pylist() for alias in "abc"), strict=True))


@cache
def by_duckdb(**given: Any) -> list[tuple[int, ...]]:
    return ids(expected(streams(**given), ON, dict.fromkeys("abc", WINDOW)))


def join(**given: Any) -> tw.Join:
    return tw.join(ON, WINDOW, "t", **given)


def run(j: tw.Join, **given: Any) -> PlanHistory:
    """Join the streams, compare the results with DuckDB's, and return the history of the plans."""
    out = pa.Table.from_batches(j.over(**batches(streams(**given))))
    assert ids(out) == by_duckdb(**given)
    assert out.num_rows > 100
    (section,) = j.report().sections
    assert section.results == out.num_rows
    return section.plans


def kept_by(plan: str) -> set[frozenset[str]]:
    """The sub-joins that a plan keeps, whatever the order in which it is written."""
    shape = of_text(plan)
    return {frozenset(streams_of(part)) for part in shape if not isinstance(part, str)}


def test_a_fan_out_join_keeps_the_small_sub_join_and_says_why() -> None:
    history = run(join())
    assert kept_by(history.plan) == {frozenset("bc")}
    (change,) = history.changes
    assert (change.before, change.after) == ("multiway", history.plan)
    assert "ns per row instead of" in change.reason
    assert "% less; building it pays after" in change.reason
    assert history.all_changes == 1
    report = join()
    run(report)
    assert f"plan multiway changed to {history.plan}" in str(report.report())


def test_names_that_are_not_one_word_are_watched_too() -> None:
    """Names of plans are texts, in which these streams must be found again."""
    names = {"a": "a b", "b": "b(c", "c": "c,d"}
    on = "`a b`.k = `b(c`.k AND `b(c`.m = `c,d`.m"
    j = tw.join(on, WINDOW, "t", select=[f"{name}.id" for name in names.values()])
    given = {names[alias]: rows for alias, rows in batches(streams()).items()}
    out = pa.Table.from_batches(j.over(**given))
    found = sorted(zip(*(out[f"{name}_id"].to_pylist() for name in names.values()), strict=True))
    assert found == by_duckdb()
    plan = j.report().sections[0].plans.plan
    assert plan.count("(") - plan.count("b(c") == 2  # it keeps a sub-join
    pinned = tw.join(on, WINDOW, "t", plan=plan)
    assert sum(batch.num_rows for batch in pinned.over(**given)) == len(found)


@pytest.mark.parametrize(
    "given",
    [{"plan": "multiway"}, {"plan": "((a b) c)"}, {"plan": "((b c) a)"}, {"policy": "static"}],
    ids=str,
)
def test_a_plan_that_is_set_or_static_never_changes(given: dict[str, Any]) -> None:
    history = run(join(**given))
    assert (history.plans, history.all_changes) == ({}, 0)


def test_no_change_is_reported_after_the_last_row() -> None:
    """The reader stops in the middle of a batch, when enough was counted for another plan but none was built."""
    j = join()
    parts: Any = j.over(**batches(streams(), parts=3))
    results = next(parts).num_rows
    parts.close()
    (section,) = j.report().sections
    assert section.results == results
    assert section.streams["a"].stream.rows > plan_watch.LEAST_ROWS
    assert (section.plans.plan, section.plans.all_changes) == ("multiway", 0)


def test_two_streams_have_one_plan() -> None:
    j = tw.join("a.k = b.k", WINDOW, "t")
    tables = {alias: streams(rows=0.2)[alias] for alias in "ab"}
    assert sum(batch.num_rows for batch in j.over(**batches(tables))) > 1000
    assert j.report().sections[0].plans.plans == {}


def test_a_plan_that_would_not_pay_is_not_built() -> None:
    """A row of a finds one row of b in a hundred times."""
    j = join()
    list(j.over(**batches(streams(partners=1, found=5.0))))
    assert j.report().sections[0].plans.plan == "multiway"


def test_names_may_contain_what_separates_them_in_a_plan() -> None:
    session = tw.Session()
    for alias, table in streams().items():
        times = pa.array(table["t"].to_numpy() * 1000, pa.timestamp("us"))
        session.stream(alias, table.set_column(0, "t", times), time="t")
    text = (
        "SELECT `an a`.id AS a_id, `b)`.id AS b_id, `c, (`.id AS c_id FROM a AS `an a`, b AS `b)`, c AS `c, (` "
        "WHERE `an a`.k = `b)`.k AND `b)`.m = `c, (`.m WINDOW 20 SECONDS"
    )
    query = session.query(text)
    assert ids(pa.Table.from_batches(query.batches())) == by_duckdb()
    assert "plan multiway changed to (`an a` (`b)` `c, (`))" in " ".join(str(query.report()).split())


def wrong(first: float, second: float) -> dict[str, Any]:
    """Statistics that say so many partners of a in b, and of b in c. What is not true is the partners."""
    rates = {alias: {"rows_per_second": rows / SPAN} for alias, rows in ROWS.items()}
    back = {"a.k = b.k": (first, first * ROWS["a"] / ROWS["b"]), "b.m = c.m": (second, second * ROWS["b"] / ROWS["c"])}
    return {**rates, "partners": back}


def test_a_declared_plan_that_outgrows_its_memory_is_given_up() -> None:
    """a and b are declared to have few partners, so that they are kept; these would take tens of MB."""
    limit = 4_000_000
    statistics = wrong(0.001, 40.0)
    free = join(statistics=statistics)
    assert "keeps (a b)" in str(free.explain())
    history = run(join(statistics=statistics, max_bytes=limit))
    first = history.changes[0]
    assert (kept_by(first.before), first.after) == ({frozenset("ab")}, "multiway")
    assert first.reason == f"{first.before} needs more memory than max_bytes allows"
    assert all(kept_by(change.after) != {frozenset("ab")} for change in history.changes if change.after != "multiway")
    with pytest.raises(tw.JoinLimitError, match=r"\(a b\) .* rows"):  # what the user has asked for is not given up
        run(join(plan="((a b) c)", max_bytes=limit))


def test_a_static_plan_keeps_its_limit() -> None:
    """Nothing gives a sub-join up that was chosen before the start if the policy is static, so it must count."""
    with pytest.raises(tw.JoinLimitError, match=r"\(a b\) .* rows"):
        run(join(statistics=wrong(0.001, 40.0), max_bytes=4_000_000, policy="static"))


@pytest.mark.filterwarnings("ignore:every plan of the join")
def test_windows_that_are_too_large_fail_under_every_plan() -> None:
    for statistics in (None, wrong(0.001, 40.0), wrong(40.0, 0.001)):
        with pytest.raises(tw.JoinLimitError, match=r"the windows would hold more than"):
            run(join(statistics=statistics, max_bytes=400_000))


# loops and watches below the public face


def binding_of(lateness: int = 0) -> JoinBinding:
    return JoinBinding.of(JoinPlan.of(ON, WINDOW, "t", lateness), dict.fromkeys("abc", SCHEMA))


def loop_of(shape: Shape | None = None, max_bytes: int | None = None, snapshots: bool = True) -> WindowedJoin:
    options = JoinOptions("a-greedy", limits=JoinLimits(max_bytes=max_bytes, inner=False), snapshots=snapshots)
    return make_join_loop(binding_of(), options, rng=np.random.default_rng(0), shape=shape)


def observed_of(loop: WindowedJoin) -> list[JoinObserved]:
    """The records of what a loop did since the last call."""
    return observed_in(take_counters(loop))


def watch_of(max_bytes: float = math.inf, shape: Shape | None = None) -> PlanWatch:
    stay: dict[str, int | None] = dict.fromkeys("abc", WINDOW)
    return PlanWatch(binding_of().plan.graph, stay, max_bytes, shape=shape)


def rounds(parts: int = 20, **given: Any) -> Iterator[list[tuple[str, pa.RecordBatch]]]:
    """The rows of all streams, from the same time to the same time in each round."""
    tables = streams(**given)
    for start in range(0, SPAN, SPAN // parts):
        found = []
        for alias, table in tables.items():
            times = table["t"].to_numpy()
            first, last = np.searchsorted(times, [start, start + SPAN // parts])
            found.append((alias, table.slice(first, last - first).combine_chunks().to_batches()[0]))
        yield found


def joined(loop: WindowedJoin, rows: list[tuple[str, pa.RecordBatch]]) -> int:
    made: int = sum(out.num_rows for alias, batch in rows for out in loop.process(alias, batch))
    loop.end_round()
    return made


@pytest.mark.parametrize("checked", ["while it is built", "when it is built"])
def test_a_plan_that_does_not_fit_when_it_is_built_is_refused(checked: str) -> None:
    """There is room for the windows, and none for a and b."""
    plain = loop_of()
    some, rest = list(rounds())[:8], list(rounds())[8:10]
    for rows in some:
        joined(plain, rows)
    limit = 2 * plain.nbytes
    loop, watch = loop_of(max_bytes=limit if checked == "while it is built" else None), watch_of(limit)
    for rows in some:
        joined(loop, rows)
    expired = {alias: loop.counts[alias].window.expired for alias in "abc"}
    held = {alias: len(loop.windows[alias]) for alias in "abc"}
    watch.shape = KEEPS_AB
    again = watch.applied(loop)
    assert (again is loop) == (checked == "while it is built")
    assert again.shape == watch.shape == MULTIWAY
    assert watch.snapshot()["refused"] == {"((a b) c)": [["a", "b"]]}
    assert watch.change is not None
    assert (watch.change.before, watch.change.after) == ("((a b) c)", "multiway")
    assert {alias: len(again.windows[alias]) for alias in "abc"} == held
    assert {alias: again.counts[alias].window.expired for alias in "abc"} == expired
    assert {alias: again.windows[alias].next_chunk for alias in "abc"} == dict.fromkeys("abc", 8)
    assert [joined(again, rows) for rows in rest] == [joined(plain, rows) for rows in rest]
    record = watch.observe(again, observed_of(again))
    assert (record.plan, record.next_plan) == ("((a b) c)", "multiway")
    assert watch.change is None


def test_a_plan_that_needs_more_memory_later_is_given_up_then() -> None:
    """As long as keys of a and b are distinct, keeping them costs nothing."""
    limit, calm = 4_000_000, SPAN // 2
    given = {"calm_until": calm}
    watch, loop = watch_of(limit, KEEPS_AB), loop_of(KEEPS_AB, limit)
    out, shapes = list[pa.RecordBatch](), list[Shape]()
    for rows in rounds(**given):
        for alias, batch in rows:
            out += loop.process(alias, batch)
            loop = watch.within_limit(loop)
            assert loop.nbytes <= limit
        loop.end_round()
        shapes.append(loop.shape)
    assert ids(pa.Table.from_batches(out)) == by_duckdb(**given)
    assert shapes[:9] == [KEEPS_AB] * 9
    assert shapes[-1] == MULTIWAY
    assert watch.snapshot()["plan"] == "multiway"
    assert sum(loop.counts[alias].matches.results for alias in "abc") == len(by_duckdb(**given)) > 100


def test_one_batch_cannot_use_more_memory_than_the_limit() -> None:
    """All rows of a and b have the same key, so that a and b together would have 16 million rows."""
    limit, rows = 4_000_000, 4_000
    numbers = np.arange(rows)
    a, b = (pa.record_batch([numbers // 8, 0 * numbers, m, numbers], schema=SCHEMA) for m in (numbers, 5 + numbers))
    c = pa.record_batch([np.array([600, 610]), np.array([0, 0]), np.array([5, 6]), np.array([0, 1])], schema=SCHEMA)
    store, out = DictChunks(), list[pa.RecordBatch]()
    kept = KeptJoin.open(store, "one", None, partial(loop_of, KEEPS_AB, limit), lambda: watch_of(limit, KEEPS_AB))
    out += kept.loop.process("c", c.slice(0, 1))
    out += kept.loop.process("a", a)
    outgrown = [kept.loop.outgrown]
    out += kept.loop.process("b", b)
    assert [*outgrown, kept.loop.outgrown] == [False, True]
    assert kept.loop.nbytes < 2 * limit
    kept.keep(store)  # with this plan, before it is given up
    again = KeptJoin.open(store, "one", None, partial(loop_of, KEEPS_AB, limit), lambda: watch_of(limit, KEEPS_AB))
    kept.stay_within_limit()
    results = []
    for each in (kept, again):
        assert each.loop.shape == MULTIWAY
        assert {alias: len(each.loop.windows[alias]) for alias in "abc"} == {"a": rows, "b": rows, "c": 1}
        results.append(sum(batch.num_rows for batch in each.loop.process("c", c.slice(1, 1))))
    assert sum(batch.num_rows for batch in out) == rows  # one row of b has a partner in c
    assert results == [rows, rows]


def observed(watch: PlanWatch, loop: WindowedJoin, **given: Any) -> WindowedJoin:
    """Run all rounds, as a bucket does. Return the loop at the end."""
    for rows in rounds(**given):
        joined(loop, rows)
        watch.observe(loop, observed_of(loop))
        loop = watch.applied(loop)
    return loop


def test_a_refused_plan_is_not_chosen_again() -> None:
    free = watch_of()
    assert observed(free, loop_of()).shape == KEEPS_BC
    watch = watch_of()
    watch.restore({**watch.snapshot(), "refused": REFUSED})
    assert observed(watch, loop_of()).shape == MULTIWAY


@given(graphs(3, 5), st.integers(0, 2**32), st.floats(12, 36))
@examples(60, long=2000)
def test_the_best_plan_is_searched_among_those_that_fit(graph: JoinGraph, seed: int, bits: float) -> None:
    """A sub-join that needs too much memory does not hide the next best plan, and none of a refused plan is kept."""
    estimates = drawn_estimates(graph, seed)
    numbers = estimates.numbers(estimates.expected())
    plans = {plan: [frozenset(streams_of(node)) for node in nodes_of(plan)][:-1] for plan in all_plans(graph)}
    watch = PlanWatch(graph, dict.fromkeys(graph.aliases, 1), 2.0**bits)
    refused = random.Random(seed).choice([plan for plan, kept in plans.items() if kept])
    names = {plan_text(refused): [sorted(part) for part in plans[refused]]}
    watch.restore({**watch.snapshot(), "refused": names})

    def fits(part: frozenset[str]) -> bool:
        return part not in plans[refused] and part_bytes(part, numbers) <= plan_watch.SPARE * 2.0**bits

    least = min(float(work_ns(plan, numbers)) for plan, kept in plans.items() if all(map(fits, kept)))
    best, cost = cheapest_plan(graph, watch.costs(numbers))
    assert all(map(fits, plans[best]))
    assert cost == pytest.approx(least)


def test_with_more_memory_a_refused_plan_is_tried_again() -> None:
    watch = watch_of(1000)
    watch.restore({**watch.snapshot(), "refused": REFUSED})
    for limit, refused in ((1000, REFUSED), (500, REFUSED), (2000, {})):
        again = watch_of(limit)
        again.restore(json.loads(json.dumps(watch.snapshot())))
        assert again.snapshot()["refused"] == refused


def test_a_plan_that_was_refused_is_not_in_the_store() -> None:
    """Otherwise a process that has no copy would build it again, from all chunks, before it checks the limit."""
    store, watch = DictChunks(), watch_of()
    kept = KeptJoin.open(store, "one", None, loop_of, lambda: watch)
    for rows in list(rounds())[:8]:
        joined(kept.loop, rows)
    watch.max_bytes, watch.shape = 2 * kept.loop.nbytes, KEEPS_AB
    kept.keep(store)
    assert kept.loop.shape == MULTIWAY
    plan = StateHeader.read(store.data or b"").plan
    assert (plan["plan"], plan["refused"]) == ("multiway", {"((a b) c)": [["a", "b"]]})


def test_tables_do_not_count_against_the_limit() -> None:
    plan = JoinPlan.of(ON, {"a": WINDOW, "b": WINDOW}, {"a": "t", "b": "t"}, 0)
    binding = JoinBinding.of(plan, dict.fromkeys("abc", SCHEMA))
    table = pa.table([np.arange(50_000)] * 4, schema=SCHEMA)
    loop: WindowedJoin = make_join_loop(
        binding, JoinOptions("a-greedy"), rng=np.random.default_rng(0), shape=KEEPS_AB, tables={"c": table}
    )
    size = loop.nbytes - loop.windows["c"].nbytes
    assert loop.windows["c"].nbytes > size
    watch = PlanWatch(plan.graph, dict.fromkeys("ab", WINDOW), size, shape=KEEPS_AB)
    assert watch.within_limit(loop) is loop
    watch.max_bytes = size - 1
    assert watch.within_limit(loop).shape == MULTIWAY


def test_tables_that_are_too_large_together_are_not_kept() -> None:
    """All rows of both have the same m, so that together they would have four million rows."""
    plan, limit, numbers = JoinPlan.of(ON, {"a": WINDOW}, {"a": "t"}, 0), 300_000, np.arange(2_000)
    binding = JoinBinding.of(plan, dict.fromkeys("abc", SCHEMA))
    options = JoinOptions("a-greedy", limits=JoinLimits(max_bytes=limit, inner=False), snapshots=True)
    table = pa.table([numbers, numbers, 0 * numbers, numbers], schema=SCHEMA)

    def fresh() -> WindowedJoin:
        tables = {"b": table, "c": table}
        return make_join_loop(binding, options, rng=np.random.default_rng(0), shape=KEEPS_BC, tables=tables)

    assert fresh().outgrown
    store = DictChunks()
    for _ in range(2):  # a new bucket, and one that is restored
        watch = PlanWatch(plan.graph, {"a": WINDOW}, limit, shape=KEEPS_BC)
        kept = KeptJoin.open(store, "one", None, fresh, lambda watch=watch: watch)  # type: ignore[misc]
        assert kept.loop.shape == MULTIWAY
        one = pa.record_batch([[1], [7], [0], [0]], schema=SCHEMA)
        assert sum(batch.num_rows for batch in kept.loop.process("a", one)) == 2_000


def test_no_plan_is_chosen_in_the_last_report() -> None:
    """Nothing would be joined with it."""
    watch, loop = watch_of(), loop_of()
    for rows in list(rounds())[:-1]:
        joined(loop, rows)
    taken = observed_of(loop)
    assert not watch.observe(loop, taken, is_last=True).next_plan
    assert watch.shape == MULTIWAY
    assert not any(sum(one.matches.sampled) for one in taken)
    joined(loop, list(rounds())[-1])
    assert watch.observe(loop, observed_of(loop)).next_plan == "(a (b c))"


def test_a_search_that_takes_too_long_is_put_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 12 streams it may take half a second, and a short join would not win it back."""
    monkeypatch.setattr(plan_watch, "SEARCH_NS", 10**15)
    assert observed(watch_of(), loop_of()).shape == MULTIWAY


def test_wrong_times_do_not_count() -> None:
    loop = loop_of()
    loop.watermarks.bound = 10_000
    for times in ([1_000, 2_000], [3_000, 10**12, 9_000], [10**11]):
        list(loop.process("a", pa.record_batch([times, times, times, times], schema=SCHEMA)))
    loop.watermarks.query = 500
    list(loop.process("a", pa.record_batch([[-(10**9), 4_000]] * 4, schema=SCHEMA)))
    list(loop.process("a", pa.record_batch([[-(10**9)]] * 4, schema=SCHEMA)))
    counted = observed_of(loop)[0].stream
    assert (counted.first_time, counted.last_time) == (1_000, 9_000)
    assert (counted.late, counted.ahead) == (2, 2)


def test_a_plan_that_is_expected_to_need_too_much_is_not_tried() -> None:
    """Windows alone take more than a third of this."""
    size = observed(watch_of(), loop_of()).nbytes
    assert observed(watch_of(size / 2), loop_of()).shape == MULTIWAY


def test_a_kept_sub_join_that_stops_paying_is_given_up() -> None:
    """b and c have 20 partners each; a has few in b, so that nothing is saved by keeping them."""
    watch = watch_of(shape=KEEPS_BC)
    given = {"partners": 1, "found": 20.0}
    assert observed(watch, loop_of(KEEPS_BC), **given).shape != KEEPS_BC


def test_what_a_watch_has_counted_is_what_came() -> None:
    watch, loop = watch_of(), loop_of()
    observed(watch, loop)
    tables = streams()
    snapshot = watch.snapshot()
    assert snapshot["rows"] == sum(ROWS.values())
    times = [table["t"].to_numpy() for table in tables.values()]
    assert (snapshot["begun"], snapshot["latest"]) == (min(t.min() for t in times), max(t.max() for t in times))
    for alias in ROWS:  # of the last ten rounds, the second half of the time
        counted = np.array(snapshot["rates"][alias])
        later = (tables[alias]["t"].to_numpy() >= SPAN / 2).sum()
        assert counted[:, 0].sum() == later
        assert counted[:, 1].sum() == pytest.approx(SPAN / 2, rel=0.02)
    keys, others = (len(set(tables["b"][name].to_pylist())) for name in "km")
    for pair, values in ((("a", "b"), keys), (("b", "c"), others)):
        share = watch.counts.share(pair)
        assert share is not None
        assert share == pytest.approx(1 / values, rel=0.4 if values > 1000 else 0.1)


def test_rows_of_reports_without_time_count_in_the_next() -> None:
    """Streams whose batches arrive one after the other: only the first of them advances the event time."""
    counts, loop = JoinCounts(binding_of().plan.graph, dict.fromkeys("abc", WINDOW)), loop_of()
    size, seconds = {"a": 150, "b": 100, "c": 200}, 20
    for n in range(seconds):
        for alias, rows in size.items():
            batch = pa.record_batch([np.full(rows, 1_000 * n)] * 4, schema=SCHEMA)
            list(loop.process(alias, batch))
            counts.count(loop, observed_of(loop))
            counts = again(counts)
    for alias, rows in size.items():
        assert counts.rates()[alias] == pytest.approx(rows / 1_000, rel=0.01)
        assert counts.observed[alias] == pytest.approx(rows / 1_000)


def again(counts: JoinCounts) -> JoinCounts:
    """The counts of another process, which has read the snapshot."""
    other = JoinCounts(counts.graph, counts.stay)
    other.restore(json.loads(json.dumps(counts.snapshot())))
    other.observed = counts.observed
    return other


def test_a_watch_goes_on_from_its_snapshot() -> None:
    watch, loop = watch_of(), loop_of()
    for n, rows in enumerate(rounds()):
        joined(loop, rows)
        watch.observe(loop, observed_of(loop))
        loop = watch.applied(loop)
        again = watch_of()
        again.restore(json.loads(json.dumps(watch.snapshot())))
        assert again.snapshot() == watch.snapshot()
        assert again.shape == watch.shape
        if n % 3 == 0:
            watch = again
    assert watch.shape == KEEPS_BC
    nothing = watch_of(shape=KEEPS_AB)
    nothing.restore({})  # a checkpoint from before plans were watched
    assert nothing.shape == KEEPS_AB


COUNTED = ("rows", "begun", "latest", "elapsed", "rates", "batches")


@pytest.mark.parametrize("seed", range(3))
def test_a_replayed_round_counts_once(seed: int) -> None:
    """Copies see rounds that are not kept. What is counted is what would be without them."""
    r = random.Random(seed)
    once, loop = watch_of(), loop_of()
    store, copies, made = DictChunks(), dict[int, KeptJoin](), 0
    for rows in rounds(rows=0.5):
        before = joined(loop, rows)
        once.observe(loop, observed_of(loop))
        loop = once.applied(loop)
        while True:
            saved, process = store.copy(), r.randrange(2)
            kept = KeptJoin.open(store, "one", copies.pop(process, None), loop_of, partial(watch_of))
            assert kept.watch is not None
            found = joined(kept.loop, rows)
            kept.watch.observe(kept.loop, observed_of(kept.loop))
            kept.keep(store)
            copies[process] = kept
            if r.random() < 0.6:
                break
            store = saved
        assert found == before
        made += found
        for name in COUNTED:
            assert kept.head.plan[name] == json.loads(json.dumps(once.snapshot()[name])), name
    assert made > 100


# samples


def test_no_watch_where_there_is_nothing_to_choose() -> None:
    def watched(on: str, **given: Any) -> bool:
        """Whether plans are reported, which is as the plan that it begins with says."""
        join = tw.join(on, 10, "t", **given)
        rows = pa.table({name: pa.array([1, 2]) for name in "tkm"})
        seen: list[Any] = []
        join._receiver.listeners.append(seen.append)
        list(join.over(**dict.fromkeys(join._plan.graph.aliases, rows)))
        is_watched = any(isinstance(record, PlanObserved) for record in seen)
        assert is_watched == start_knowing_nothing(join._plan, JoinSettings.resolve(given, environ={})).may_change
        return is_watched

    assert watched(ON)
    assert not watched(ON, plan="multiway")
    assert not watched(ON, policy="static")
    assert not watched(ON, objective="least_memory")
    assert not watched("a.k = b.k")
    assert watched(" AND ".join(f"a.k = s{n}.k" for n in range(11)))
    assert not watched(" AND ".join(f"a.k = s{n}.k" for n in range(12)))


Row = tuple[int, int, int]


def words(rows: list[Row]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    keys, times, lengths = np.array(rows, np.int64).T
    return keys, times, times + lengths


def one_by_one(one: list[Row], other: list[Row]) -> PairCount:
    found = [
        sum(k == k2 and t <= t2 + n2 and t2 <= t + n for k2, t2, n2 in other) for k, t, n in one
    ]  # fmt: skip
    return PairCount(len(one) * len(other), sum(found), len(one), sum(count > 0 for count in found))


ROW = st.tuples(st.integers(-3, 3), st.integers(-5, 20), st.integers(0, 6))
SOME = st.lists(ROW, min_size=1, max_size=40)


@examples(100, long=5_000)
@given(one=SOME, other=SOME)
def test_pairs_are_counted_as_one_by_one(one: list[Row], other: list[Row]) -> None:
    assert count_pairs(words(one), words(other)) == one_by_one(one, other)


def smaller(one: list[Row], other: list[Row], most: int) -> tuple[list[Row], list[Row]]:
    """The larger one is halved until so many pairs of equal keys are expected."""
    left: float = sum(k == k2 for k, *_ in one for k2, *_ in other)
    rows, steps = (len(one), len(other)), [1, 1]
    while left > most:
        n = 0 if rows[0] / steps[0] >= rows[1] / steps[1] else 1
        left, steps[n] = left / 2, steps[n] * 2
    return one[:: steps[0]], other[:: steps[1]]


@examples(50, long=2_000)
@given(one=SOME, other=SOME, most=st.integers(1, 200))
def test_if_there_are_too_many_pairs_samples_are_smaller(one: list[Row], other: list[Row], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edge_sample, "MOST_PAIRS", most)
        found = count_pairs(words(one), words(other))
    while sum(k == k2 for k, *_ in one for k2, *_ in other) > most:
        one, other = smaller(one, other, most)
    assert found == one_by_one(one, other)


@pytest.mark.parametrize("shape", [None, KEEPS_AB, KEEPS_BC], ids=str)
def test_samples_do_not_depend_on_the_plan(shape: Shape | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows of small windows are in the sample; of larger ones, so many that the share is near."""
    monkeypatch.setattr(edge_sample, "MOST_PAIRS", 10**9)
    loop = loop_of(shape)
    for rows in list(rounds())[:6]:
        joined(loop, rows)
    tables = streams()
    mark = loop.watermarks.query
    assert mark is not None
    held = {
        alias: [
            row for row in table.filter(pa.compute.less(table["t"], 6 * SPAN // 20)).to_pylist()
            if row["t"] + WINDOW >= mark
        ]
        for alias, table in tables.items()
    }  # fmt: skip
    rng = np.random.default_rng(0)
    for one, other, key in (("c", "b", "m"), ("b", "a", "k")):
        pairs = one_by_one(
            [(row[key], row["t"], WINDOW) for row in held[one]], [(row[key], row["t"], WINDOW) for row in held[other]]
        )
        found = sample_pair(loop, one, other, rng)
        assert found == pairs
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(edge_sample, "SEARCHED", 300)
            patch.setattr(edge_sample, "PROBES", 200)
            some = [sample_pair(loop, one, other, rng) for _ in range(50)]
        share = sum(each.joined for each in some) / sum(each.pairs for each in some)
        assert share == pytest.approx(pairs.joined / pairs.pairs, rel=0.25 if key == "m" else 0.05)


def test_recorded_partners_are_those_of_full_windows(tmp_path: Path) -> None:
    """Pairs are sampled while windows are filling, but a row of b finds 2,000 * 10 / 100 rows in a full window of a."""
    rng = np.random.default_rng(3)

    def rows(count: int, **keys: int) -> list[pa.RecordBatch]:
        times = pa.array(np.sort(rng.integers(0, 30_000_000, count)), pa.timestamp("us"))
        columns = {name: rng.integers(0, values, count) for name, values in keys.items()}
        batches: list[pa.RecordBatch] = pa.table({**columns, "ts": times}).to_batches(max_chunksize=count // 60)
        return batches

    events = tmp_path / "run.jsonl"
    join = tw.join("a.k = b.k AND b.m = c.m", "10 seconds", "ts", seed=1, events=events)
    for _ in join.over(a=rows(60_000, k=100), b=rows(9_000, k=100, m=3_000), c=rows(900, m=3_000)):
        pass
    of_a, of_b = tw.statistics_from(events)["partners"]["a, b"]
    found = of_b.value if of_b is not None else of_a.value * 60_000 / 9_000
    assert found == pytest.approx(200, rel=0.3)
