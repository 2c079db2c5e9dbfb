"""A corpus of queries gives the same rows in this process, on Spark's finished data and on Spark streams: DuckDB's.

Streams are cut into batches and files at places of their own; a Spark stream is stopped and started again from its
checkpoint in between. No row of the data is late, however they are cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.joins.streams import Files, frame, results
from tests.session.corpus_query import CorpusQuery, all_queries, assert_same, cut
from tests.session.corpus_streams import Stream, register, streams, tables

QUERIES = {query.name: query for query in all_queries()}
STREAMED = [
    name if query.told("streams") == "yes" else pytest.param(name, marks=pytest.mark.long)
    for name, query in QUERIES.items()
    if query.told("streams") != "no"
]
"""On Spark streams a query takes seconds, so `make test` runs a few kinds and `make test-long` the others."""
AT_ONCE = 3
Answer = tuple[pa.Table, pa.Schema]
"""And the columns that were promised."""
Answers = dict[str, Future[Answer]]
Ahead = Callable[[str, Callable[[str], Answer]], Answers]
SECONDS = 120.0


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
def ahead(request: pytest.FixtureRequest) -> Iterator[Ahead]:
    """Answers of the queries that a test is about to ask for, computed a few at a time: while Spark plans one, it has
    cores for another."""
    pool = ThreadPoolExecutor(AT_ONCE)

    def answers(test: str, run: Callable[[str], Answer]) -> Answers:
        asked = [item for item in request.session.items if item.path == request.path]
        mine = [item for item in asked if isinstance(item, pytest.Function) and item.originalname == test]
        names = [str(item.callspec.params["name"]) for item in mine]
        return {name: pool.submit(run, name) for name in names}

    yield answers
    pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="module")
def on_finished_data(spark: SparkSession, ahead: Ahead) -> Answers:
    """From a session that all queries share, as a user's do."""
    session = register(tw.session(spark), lambda _, each: frame(spark, each.table), lambda table: frame(spark, table))

    def answer(name: str) -> Answer:
        asked = session.query(QUERIES[name].ours, args=QUERIES[name].args)
        return asked.dataframe().toArrow(), asked.schema

    return ahead("test_on_finished_data", answer)


@pytest.mark.parametrize("name", QUERIES)
def test_on_finished_data(on_finished_data: Answers, name: str) -> None:
    found, schema = on_finished_data[name].result()
    assert_same(found, QUERIES[name].expected(), schema)


@pytest.fixture(scope="module")
def on_streams(spark: SparkSession, ahead: Ahead, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return ahead("test_on_streams", lambda name: streamed(spark, QUERIES[name], tmp_path_factory.mktemp(name)))


@pytest.mark.parametrize("name", STREAMED)
def test_on_streams(on_streams: Answers, name: str) -> None:
    found, schema = on_streams[name].result()
    assert_same(found, QUERIES[name].expected(), schema)


def streamed(spark: SparkSession, query: CorpusQuery, folder: Path) -> Answer:
    """Two runs to the end of what is there: of two files of each stream, and of one more from the checkpoint."""
    read = _relations_of(query)
    files = {name: Files(folder / name, each.table.schema) for name, each in streams().items() if name in read}

    def asked() -> tw.ContinuousQuery:
        session = register(
            tw.session(spark),
            lambda name, each: files[name].stream(spark) if name in files else frame(spark, each.table),
            lambda table: frame(spark, table),
        )
        found: tw.ContinuousQuery = session.query(query.ours, args=query.args)
        return found

    # A window is given out when the watermark has passed it: the largest time minus the lateness, of the stream that is
    # furthest behind. Last rows of every stream, weeks ahead, therefore close all windows of the others, and Spark
    # gives them out in the micro-batch without data that follows. The windows of the last rows themselves stay open, so
    # that what has come out is DuckDB's answer to the data without them.
    grouped = asked().plan.query.grouping is not None
    for run in (slice(0, 2), slice(2, 3)):
        for name, its in files.items():
            whole = streams()[name].with_last() if grouped else streams()[name]
            for piece in cut(whole.table, 3, f"{query.name} {name}")[run]:
                its.add(piece)
        handle = asked().start(path=str(folder / "out"), checkpoint=str(folder / "checkpoint"), trigger="availableNow")
        try:
            assert handle.awaitTermination(SECONDS)
        finally:
            handle.stop()
    return results(spark, folder), asked().schema


def _relations_of(query: CorpusQuery) -> set[str]:
    session = register(tw.session(), lambda _, each: each.table, lambda table: table)
    return {scan.source.relation.name for scan in session.query(query.ours, args=query.args).plan.scans}


def test_the_corpus_is_worth_running() -> None:
    """Nearly every query has an answer, and every stream and table is asked."""
    empty = [query.name for query in QUERIES.values() if not query.expected().num_rows]
    assert len(QUERIES) >= 50
    assert len(STREAMED) >= len(QUERIES) - 1
    assert sorted(empty) == ["contradiction", "contradiction_in_a_group", "in_list_with_null", "never_true"]
    assert {name for query in QUERIES.values() for name in _relations_of(query)} == {*streams(), *tables()}
