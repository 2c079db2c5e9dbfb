"""A join that follows a drawn chart, with rounds that are run again, other processes, and restarts with other charts:
its rows are DuckDB's."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from tests.long_run import examples
from tests.runtime.joins.dict_chunks import DictChunks
from tests.runtime.joins.drawn_charts import always_changed, drawn_charts
from tests.runtime.joins.start_plans import start_knowing_nothing
from tests.runtime.joins.test_plan_watch import (
    ON,
    SPAN,
    WINDOW,
    batches,
    binding_of,
    by_duckdb,
    ids,
    loop_of,
    rounds,
    streams,
)
from thalweg.cost.plan_chart import Dimension, PlanChart
from thalweg.optimizer.charts.plan_chart import make_chart
from thalweg.optimizer.joins import start_plan
from thalweg.optimizer.joins.search_plans import all_plans
from thalweg.plan.joins.graph import JoinGraph
from thalweg.runtime.joins.join_record import observed, take_counters
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.runtime.joins.join_state import KeptJoin
from thalweg.runtime.joins.plan_watch import PlanWatch, plan_watch

FEW = 0.5
"""The share of the rows of the streams that is joined."""
GRAPH = JoinGraph.of([("a", "k", "b", "k"), ("b", "m", "c", "m")])


def drawn_chart(r: random.Random) -> PlanChart | None:
    """A chart of drawn plans whose ranges may be far from the rates; None: it is made while the join runs."""
    if r.random() < 0.3:
        return None
    rates = {alias: FEW * table.num_rows / SPAN for alias, table in streams().items()}
    dimensions = []
    for alias, rate in rates.items():
        low = rate * r.choice([0.0, 0.5, 1.1])
        dimensions.append(Dimension(alias, low, low + rate * r.choice([0.01, 0.5, 4.0]), r.randint(2, 6)))
    return PlanChart(tuple(dimensions), lambda _: r.choice(list(all_plans(GRAPH))))


def drawn_watch(r: random.Random) -> PlanWatch | None:
    """The watch of one start of the join, which may have other settings and another chart than the ones before."""
    policy = tw.policy(
        "chart", parts=r.choice([2, 10, 40]), rounds=r.choice([1, 3, 10]), decay=r.choice([0.0, 0.2]),
        threshold=r.choice([0.0, 0.2]),
    )  # fmt: skip
    settings = JoinSettings(policy, seed=r.randrange(100))
    binding = binding_of()
    start = start_knowing_nothing(binding.plan, settings)
    return plan_watch(binding, settings, start, r.choice([1 << 40, 1 << 40, 200_000]), drawn_chart(r))


def run(seed: int) -> tuple[list[tuple[int, ...]], int]:
    """Join all rounds, some of them several times, in processes that come and go. Return the rows, and how often the
    plan has changed."""
    r = random.Random(seed)
    store, copies, watched = DictChunks(), dict[int, KeptJoin](), r.randrange(2**32)
    out: list[pa.RecordBatch] = []
    with drawn_charts(seed), always_changed() as changes:
        for rows in rounds(parts=r.choice([5, 20]), rows=FEW):
            if r.random() < 0.2:  # the query is started again
                copies, watched = {}, r.randrange(2**32)
            while True:
                saved, process = store.copy(), r.randrange(2)
                made: Any = partial(drawn_watch, random.Random(watched))
                kept = KeptJoin.open(store, "one", copies.pop(process, None), loop_of, made)
                assert kept.watch is not None
                found = [batch for alias, each in rows for batch in kept.loop.process(alias, each)]
                kept.loop.end_round()
                kept.stay_within_limit()
                kept.watch.observe(kept.loop, observed(take_counters(kept.loop)))
                kept.keep(store)
                copies[process] = kept
                if r.random() < 0.7:
                    break
                store = saved  # the process has died before the round was kept, or another one has run it too
                if r.random() < 0.5:
                    del copies[process]
            out += found
    return ids(pa.Table.from_batches(out)), len(changes)


@examples(12, long=1_000)
@given(seed=st.integers(0, 2**32))
def test_restarts_with_other_charts_change_no_row(seed: int) -> None:
    assert run(seed)[0] == by_duckdb(rows=FEW)


def test_plans_do_change_with_the_rounds() -> None:
    """Otherwise the test above would show nothing."""
    changes = []
    for seed in range(3):
        rows, changed = run(seed)
        assert rows == by_duckdb(rows=FEW)
        assert len(rows) > 100
        changes.append(changed)
    assert max(changes) >= 5, changes


def test_each_start_makes_the_same_chart(monkeypatch: pytest.MonkeyPatch) -> None:
    """It follows from what is declared, so it need not be stored with the state of a join."""
    made = []

    def kept(*given: Any, **named: Any) -> PlanChart:
        made.append(make_chart(*given, **named))
        return made[-1]

    monkeypatch.setattr(start_plan, "make_chart", kept)
    rates = {alias: table.num_rows / SPAN for alias, table in streams().items()}
    known = {alias: {"rows_per_second": {"low": rate / 30, "high": 3 * rate}} for alias, rate in rates.items()}
    partners = {"partners": {"a.k = b.k": (10, None), "b.m = c.m": (0.3, None)}}
    for _ in range(2):
        j = tw.join(ON, WINDOW, "t", policy="chart", statistics={**known, **partners})
        assert sum(batch.num_rows for batch in j.over(**batches(streams(rows=FEW)))) == len(by_duckdb(rows=FEW))
    one, other = (chart.to_dict() for chart in made)
    assert one == other
    assert len(one["plans"]) > 1


def moves(copies: int) -> list[int]:
    """Whether each round was in another region than the one before, if the rounds are run by so many processes in
    turn; 0: by a new one each."""
    chart = PlanChart(tuple(Dimension(alias, 0.0, 1.0, 1000) for alias in "abc"), lambda _: GRAPH.aliases)
    settings = JoinSettings(tw.policy("chart", rounds=1), seed=0)
    store, kept, found = DictChunks(), list[KeptJoin | None]([None] * max(copies, 1)), list[int]()
    with always_changed():
        for n, rows in enumerate(rounds(rows=FEW)):
            process = n % copies if copies else 0
            warm = kept[process] if copies else None
            binding = binding_of()
            start = start_knowing_nothing(binding.plan, settings)
            watch: Any = partial(plan_watch, binding, settings, start, 1 << 40, chart)
            now = KeptJoin.open(store, "one", warm, loop_of, watch)
            assert now.watch is not None
            for alias, each in rows:
                list(now.loop.process(alias, each))
            now.loop.end_round()
            found.append(now.watch.observe(now.loop, observed(take_counters(now.loop))).chart.moves)
            now.keep(store)
            kept[process] = now
    return found


def test_moves_do_not_depend_on_the_processes() -> None:
    alone = moves(1)
    assert sum(alone) > 5
    assert moves(2) == alone
    assert moves(0) == alone
