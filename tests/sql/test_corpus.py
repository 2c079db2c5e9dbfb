"""A corpus of queries gives the same rows in this process, on Spark's finished data and on Spark streams: DuckDB's.

Streams are cut into batches and files at places of their own; a Spark stream is stopped and started again from its
checkpoint in between. No row of the data is late, however they are cut.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pyarrow as pa
import pytest

import thalweg as tw
from tests.joins.spark.streams import Files, frame, results
from tests.sql.corpus_query import CorpusQuery, all_queries, assert_same
from tests.sql.corpus_streams import Stream, register, streams, tables

QUERIES = {query.name: query for query in all_queries()}
WHOLE = "THALWEG_WHOLE_CORPUS"
"""Set, it runs all queries on Spark streams, which takes some minutes; else those that say `-- streams: yes`."""
STREAMED = [
    q.name
    for q in QUERIES.values()
    if q.told("streams") == "yes" or (os.environ.get(WHOLE) and q.told("streams") != "no")
]
SECONDS = 120.0


def cut(table: pa.Table, pieces: int, seed: str) -> list[pa.Table]:
    """At random places; some pieces may be empty."""
    r = random.Random(seed)
    ends = sorted(r.randint(0, table.num_rows) for _ in range(pieces - 1))
    return [table.slice(a, b - a) for a, b in zip([0, *ends], [*ends, table.num_rows], strict=True)]


@pytest.mark.parametrize("name", QUERIES)
def test_in_this_process(name: str) -> None:
    query = QUERIES[name]

    def batches(stream: str, each: Stream) -> pa.RecordBatchReader | list[pa.RecordBatch]:
        pieces = cut(each.table, 9, f"{name} {stream}")
        return [batch for piece in pieces for batch in piece.combine_chunks().to_batches()]

    session = register(tw.session(), batches, lambda table: table)
    asked = session.query(query.ours, args=query.args)
    assert_same(asked.dataframe(), query.expected(), asked.schema)


@pytest.fixture(scope="module")
def on_finished_data(spark):
    """A session that all queries share, as a user's do."""
    return register(tw.session(spark), lambda _, each: frame(spark, each.table), lambda table: frame(spark, table))


@pytest.mark.parametrize("name", QUERIES)
def test_on_finished_data(on_finished_data, name: str) -> None:
    query = QUERIES[name]
    asked = on_finished_data.query(query.ours, args=query.args)
    assert_same(asked.dataframe().toArrow(), query.expected(), asked.schema)


@pytest.mark.parametrize("name", STREAMED)
def test_on_streams(spark, tmp_path: Path, name: str) -> None:
    query = QUERIES[name]
    read = _relations_of(query)
    files = {stream: Files(tmp_path / stream, streams()[stream].table.schema) for stream in read if stream in streams()}

    def asked() -> tw.session.ContinuousQuery:
        session = register(
            tw.session(spark),
            lambda stream, each: files[stream].stream(spark) if stream in files else frame(spark, each.table),
            lambda table: frame(spark, table),
        )
        return session.query(query.ours, args=query.args)

    grouped = asked().plan.query.grouping is not None
    for half in range(2):
        for stream, its in files.items():
            # A window is given out when the watermark has passed it, the largest time minus the lateness of the stream
            # that is furthest behind. One last row of every stream, weeks ahead, closes all windows of the others, so
            # that what comes out is DuckDB's answer without that row: its own windows stay open.
            whole = streams()[stream].with_last() if grouped else streams()[stream]
            for piece in cut(whole.table, 4, f"{name} {stream}")[2 * half : 2 * half + 2]:
                its.add(piece)
        handle = asked().start(
            path=str(tmp_path / "out"), checkpoint=str(tmp_path / "checkpoint"), trigger="availableNow"
        )
        try:
            assert handle.awaitTermination(SECONDS)
        finally:
            handle.stop()
    assert_same(results(spark, tmp_path), query.expected(), asked().schema)


def _relations_of(query: CorpusQuery) -> set[str]:
    session = register(tw.session(), lambda _, each: each.table, lambda table: table)
    return {scan.source.relation.name for scan in session.query(query.ours, args=query.args).plan.scans}


def test_the_corpus_is_worth_running() -> None:
    """Nearly every query has an answer, and every stream and table is asked."""
    empty = [query.name for query in QUERIES.values() if not query.expected().num_rows]
    assert len(QUERIES) >= 50
    assert sorted(empty) == ["contradiction", "contradiction_in_a_group", "in_list_with_null", "never_true"]
    assert {name for query in QUERIES.values() for name in _relations_of(query)} == {*streams(), *tables()}
