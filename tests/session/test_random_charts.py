"""Random queries that follow charts of drawn plans give DuckDB's rows, whatever the plans are and when they change."""

from __future__ import annotations

import random

from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

import thalweg as tw
from tests.long_run import examples
from tests.runtime.joins.drawn_charts import always_changed, drawn_charts
from tests.session.corpus_query import assert_same, by_duckdb, cut
from tests.session.random_queries import TABLE, RandomQuery, queries


def ask(query: RandomQuery, seed: int) -> tuple[tw.ContinuousQuery, int]:
    """Run a query under a drawn chart, and compare its rows with DuckDB's. Return it and the number of
    changes of its plan."""
    r = random.Random(seed)
    session, declared = tw.session(), r.random() < 0.5
    for name, table in query.streams.items():
        known = {"rows_per_second": 10.0 ** r.uniform(-2, 2), "distinct": {"k": 3, "j": 4, "n": 7}}  # or about so
        batches = [b for piece in cut(table, query.pieces, name) for b in piece.combine_chunks().to_batches()]
        session.stream(
            name, batches or table, time="ts", lateness=f"{query.lateness_us} microseconds",
            statistics=known if declared else None,
        )  # fmt: skip
    session.table(TABLE, query.table)
    asked = session.query(
        query.ours, seed=r.randrange(2**32), policy=tw.policy(
            "chart", parts=r.choice([2, 10, 1000]), rounds=r.choice([1, 10]), decay=r.choice([0.0, 0.2, 50.0]),
            threshold=r.choice([0.0, 0.2, 1e15]),
        ),
    )  # fmt: skip
    with drawn_charts(seed), always_changed() as changes:
        found = asked.dataframe()
    assert_same(found, by_duckdb(query.duckdb, {**query.streams, TABLE: query.table}), asked.schema)
    return asked, len(changes)


@examples(40, long=2_000, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(query=queries(), seed=st.integers(0, 2**32))
def test_same_as_duckdb_under_any_chart(query: RandomQuery, seed: int) -> None:
    asked, _ = ask(query, seed)
    assume(asked.plan.join is not None)


def test_plans_do_change_under_drawn_charts() -> None:
    """Otherwise the test above would show nothing."""
    changes = []

    @examples(15, long=15, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
    @given(query=queries().filter(lambda query: len(query.streams) >= 3), seed=st.integers(0, 2**32))
    def run(query: RandomQuery, seed: int) -> None:
        changes.append(ask(query, seed)[1])

    run()
    assert sum(each >= 2 for each in changes) >= 3, changes
