"""Whatever the plan decides about a join, its rows are DuckDB's: any probe trees, and any class that spreads rows."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import thalweg as tw
from tests.long_run import examples
from tests.runtime.spark.joins.streams import frame
from tests.session.corpus_query import assert_same, by_duckdb, cut
from tests.session.random_queries import TABLE, RandomQuery, queries
from thalweg.plan.joins.graph import JoinGraph, Trees
from thalweg.plan.joins.join_plan import join_graph
from thalweg.plan.query.nodes import SpreadBy, WindowJoin
from thalweg.plan.query.query_plan import QueryPlan
from thalweg.runtime.spark.joins.attach import SparkJoinLayout


def random_trees(graph: JoinGraph, roots: list[str], r: random.Random) -> Trees:
    """Any source may be looked in from any that it shares a column with, as long as all are reached."""
    trees = []
    for root in roots:
        reached, parents = [root], {}
        while len(reached) < len(graph.aliases):
            edges = [(a, b) for a in reached for b in graph.aliases if b not in reached and graph.shared(a, b)]
            parent, child = r.choice(edges)
            parents[child] = parent
            reached.append(child)
        trees.append((root, tuple(r.sample(sorted(parents.items()), len(parents)))))
    return tuple(trees)


def with_trees(plan: QueryPlan, r: random.Random) -> QueryPlan:
    join = plan.join
    assert isinstance(join, WindowJoin)
    roots = [root for root, _ in join.probe_trees]
    order = tuple(r.sample(join.order, len(join.order)))
    graph = join_graph(replace(join, order=order, probe_trees=()))
    return plan.with_join(replace(join, order=order, probe_trees=random_trees(graph, roots, r)))


def run_with(asked: tw.ContinuousQuery, plan: QueryPlan) -> Any:
    asked._plans[plan.policy] = plan
    return asked.dataframe()


@examples(60, long=2_000, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(query=queries(), seed=st.integers(0, 2**32))
def test_any_probe_trees_in_this_process(query: RandomQuery, seed: int) -> None:
    session = tw.session()
    for name, table in query.streams.items():
        batches = [b for piece in cut(table, query.pieces, name) for b in piece.combine_chunks().to_batches()]
        session.stream(name, batches or table, time="ts", lateness=f"{query.lateness_us} microseconds")
    session.table(TABLE, query.table)
    asked = session.query(query.ours)
    assume(asked.plan.join is not None)
    found = run_with(asked, with_trees(asked.plan, random.Random(seed)))
    assert_same(found, by_duckdb(query.duckdb, {**query.streams, TABLE: query.table}), asked.schema)


def has_a_choice(query: RandomQuery) -> bool:
    """Whether several streams are joined by several classes of columns."""
    session = tw.session()
    for name, table in query.streams.items():
        session.stream(name, table, time="ts")
    session.table(TABLE, query.table)
    plan = session.query(query.ours).plan
    return isinstance(plan.join, WindowJoin) and len(plan.query.streams) > 1 and len(join_graph(plan.join).classes) > 1


@pytest.fixture
def laid(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> list[SparkJoinLayout]:
    """How joins are laid out. Spark does not report sizes, so the plan decides, as it does for streams."""
    module, found = sys.modules[SparkJoinLayout.__module__], list[SparkJoinLayout]()
    lay_out = module.lay_out

    def noted(*given: Any) -> SparkJoinLayout:
        found.append(lay_out(*given))
        return found[-1]

    monkeypatch.setattr(module, "_sizes", lambda frames: None)
    monkeypatch.setattr(module, "lay_out", noted)
    return found


@examples(3, long=60, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(query=queries().filter(has_a_choice), seed=st.integers(0, 2**32))
def test_any_class_and_any_probe_trees_on_spark(
    spark: SparkSession, laid: list[SparkJoinLayout], query: RandomQuery, seed: int
) -> None:
    session = tw.session(spark)
    for name, table in query.streams.items():
        session.stream(name, frame(spark, table), time="ts")
    session.table(TABLE, frame(spark, query.table))
    asked = session.query(query.ours)
    plan = asked.plan
    assert isinstance(plan.join, WindowJoin)
    expected = by_duckdb(query.duckdb, {**query.streams, TABLE: query.table})
    r = random.Random(seed)
    streams = [root for root, _ in plan.join.probe_trees]
    for members in join_graph(plan.join).classes:
        columns = tuple((alias, column) for alias, column in members if alias in streams)
        if not columns:
            continue
        changed = with_trees(plan, r)
        assert isinstance(changed.join, WindowJoin)
        made = run_with(asked, changed.with_join(replace(changed.join, spread_by=SpreadBy(columns))))
        assert set(laid[-1].partitioning.columns) == set(dict(columns))
        assert laid[-1].binding.plan.graph.trees == changed.join.probe_trees
        assert_same(made.toArrow().cast(asked.schema), expected, asked.schema)
