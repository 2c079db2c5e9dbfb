"""The error for a failed row suggests what the user can write: filters and SQL queries have different names for it."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import thalweg as tw

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

IN_FILTERS = ('tw.filters(..., on_error="dead-letter")', "keep.failed(df)", "keep.failed_over(...)", "after=")
IN_SQL = ('s.query(..., on_error="dead-letter")', "q.failed()", "WHERE")
NOON = datetime.datetime(2026, 1, 1, 12)
ROWS = pa.table({"ts": [NOON] * 3, "code": ["7", "1", "x7"]})
ONE = "SELECT code FROM codes WHERE large(code)"
JOINED = "SELECT a.code FROM codes [RANGE 1 MINUTE] AS a, codes [RANGE 1 MINUTE] AS b WHERE a.code = b.code AND "
BEFORE_JOIN, AFTER_JOIN = f"{JOINED} large(a.code)", f"{JOINED} larger(a.code, b.code)"


def large(code: str) -> bool:
    return int(code) > 5


def larger(one: str, other: str) -> bool:
    return int(one) >= int(other)


def session(spark: SparkSession | None = None) -> tw.Session:
    made = tw.session(spark)
    made.stream("codes", ROWS if spark is None else spark.createDataFrame(ROWS.to_pandas()), time="ts")
    made.function("large", large, returns="boolean")
    made.function("larger", larger, returns="boolean")
    return made


def check_in_sql(said: str) -> None:
    assert "condition 'large" in said
    assert all(words in said for words in IN_SQL), said
    assert not any(words in said for words in (*IN_FILTERS, "predicate")), said


def test_of_filters() -> None:
    keep = tw.filters(tw.predicate(large, "code"))
    with pytest.raises(tw.FailedRowError) as caught:
        list(keep.over(ROWS))
    said = str(caught.value)
    assert said.startswith("predicate 'large' raised ValueError")
    assert all(words in said for words in IN_FILTERS), said
    assert not any(words in said for words in IN_SQL), said
    aside = tw.filters(tw.predicate(large, "code"), on_error="dead-letter")
    assert [row["code"] for batch in aside.failed_over(ROWS) for row in batch.to_pylist()] == ["x7"]


@pytest.mark.parametrize("text", [ONE, BEFORE_JOIN, AFTER_JOIN])
def test_of_a_query(text: str) -> None:
    with pytest.raises(tw.FailedRowError) as caught:
        session().query(text).dataframe()
    check_in_sql(str(caught.value))
    aside = session().query(text, on_error="dead-letter")
    assert aside.dataframe()["code"].to_pylist()[0] == "7"
    assert aside.failed().num_rows == 1
    with pytest.raises(tw.FailedRowError) as started:
        session().query(text).start(format="noop").awaitTermination()
    check_in_sql(str(started.value))


def test_of_filters_on_spark(spark: SparkSession) -> None:
    df = spark.createDataFrame(ROWS.to_pandas())
    with pytest.raises(Exception, match="predicate 'large' raised ValueError") as caught:
        df.transform(tw.filters(tw.predicate(large, "code"))).collect()
    assert all(words in str(caught.value) for words in IN_FILTERS)


@pytest.mark.parametrize("text", [ONE, BEFORE_JOIN, AFTER_JOIN])
def test_of_a_query_on_spark(spark: SparkSession, text: str) -> None:
    with pytest.raises(tw.QueryError) as caught:
        session(spark).query(text).start(format="noop").awaitTermination()
    check_in_sql(str(caught.value))
