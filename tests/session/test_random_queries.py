"""Random queries over random data give DuckDB's rows in this process, however the streams are cut."""

from __future__ import annotations

from hypothesis import HealthCheck, given

import thalweg as tw
from tests.long_run import examples
from tests.session.corpus_query import assert_same, by_duckdb, cut
from tests.session.random_queries import TABLE, RandomQuery, queries


@examples(40, long=2_000, suppress_health_check=[HealthCheck.too_slow])
@given(query=queries())
def test_same_as_duckdb(query: RandomQuery) -> None:
    session = tw.session()
    for name, table in query.streams.items():
        batches = [b for piece in cut(table, query.pieces, name) for b in piece.combine_chunks().to_batches()]
        session.stream(name, batches or table, time="ts", lateness=f"{query.lateness_us} microseconds")
    session.table(TABLE, query.table)
    asked = session.query(query.ours)
    assert_same(asked.dataframe(), by_duckdb(query.duckdb, {**query.streams, TABLE: query.table}), asked.schema)
