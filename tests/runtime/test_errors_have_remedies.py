"""Errors that users can cause say what to do, and what they suggest is accepted."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import thalweg as tw

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOON = datetime.datetime(2026, 1, 1, 12)
ROWS = pa.table({"ts": [NOON] * 2, "k": [1, 0], "x": [2**62, 2**62], "i": pa.array([2**31 - 1] * 2, pa.int32())})
DROP = "filter out such rows with a condition written before it"
GROUPED = "FROM t GROUP BY TUMBLE(1 MINUTE)"


def session() -> tw.Session:
    made = tw.session()
    made.stream("t", ROWS, time="ts")
    made.function("inverse", lambda k: 1 // k, returns="bigint")
    return made


@pytest.mark.parametrize(
    ("wrong", "said", "right"),
    [
        (
            "SELECT x * x AS y FROM t",
            "t.x * t.x overflows BIGINT; CAST to DOUBLE first",
            "SELECT CAST(x AS DOUBLE) * x AS y FROM t",
        ),
        (
            "SELECT i + 1 AS y FROM t",
            "t.i + 1 overflows INT; CAST to a wider type first",
            "SELECT CAST(i AS BIGINT) + 1 AS y FROM t",
        ),
        (
            "SELECT floor(CAST(x AS DOUBLE) * x) AS y FROM t",
            f"floor(CAST(t.x AS DOUBLE) * t.x) overflows BIGINT; {DROP}",
            "SELECT floor(CAST(x AS DOUBLE) * x) AS y FROM t WHERE CAST(x AS DOUBLE) * x < 9e18",
        ),
        (
            f"SELECT max(x) * 4 AS y {GROUPED}",
            "max(t.x) * 4 overflows BIGINT; CAST to DOUBLE first",
            f"SELECT CAST(max(x) AS DOUBLE) * 4 AS y {GROUPED}",
        ),
        (
            f"SELECT count(*) AS n {GROUPED} HAVING sum(i) + max(x) * 4 > 0",
            "max(t.x) * 4 overflows BIGINT; CAST to DOUBLE first",
            f"SELECT count(*) AS n {GROUPED} HAVING sum(i) + CAST(max(x) AS DOUBLE) * 4 > 0",
        ),
        (
            f"SELECT k + 1 AS y, x * 4 AS z, count(*) AS n {GROUPED}, k + 1, x",
            "t.x * 4 overflows BIGINT; CAST to DOUBLE first",
            f"SELECT k + 1 AS y, CAST(x AS DOUBLE) * 4 AS z, count(*) AS n {GROUPED}, k + 1, x",
        ),
    ],
)
def test_of_expressions(wrong: str, said: str, right: str) -> None:
    with pytest.raises(tw.ExpressionError) as caught:
        session().query(wrong).dataframe()
    assert str(caught.value) == said
    session().query(right).dataframe()


def test_a_users_exception_stays_the_cause() -> None:
    with pytest.raises(tw.FunctionError, match=r"^function 'inverse' raised ZeroDivisionError") as caught:
        session().query(f"SELECT inverse(min(k)) AS y {GROUPED}").dataframe()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def failing_setup() -> None:
    raise FileNotFoundError("no model")


@pytest.mark.parametrize(
    ("wrong", "remedy"),
    [
        (
            lambda: tw.filters(tw.predicate(bool, "k")).explain({"k": [1]}),
            r"leave it out, or convert it with pa\.table",
        ),
        (
            lambda: tw.filters(tw.predicate(bool, "k")).tagged_over(ROWS),
            r'on_error="dead-letter" in tw\.filters\(\.\.\.\)',
        ),
        (lambda: tw.filters(tw.predicate(bool, "k")).learn(ROWS), r"spark\.createDataFrame"),
        (lambda: tw.predicate(bool, 5), "write 'line'"),  # type: ignore[call-overload]
        (lambda: tw.join(on="a.k = b.k", window=1, time="ts").over(c=ROWS), "; it has a, b$"),
        (
            lambda: list(tw.filters(tw.predicate(lambda _, k: True, "k", setup=failing_setup, name="p")).over(ROWS)),
            "once in each worker process, where the files and connections that it uses must be available",
        ),
    ],
)
def test_of_arguments(wrong: Callable[[], object], remedy: str) -> None:
    with pytest.raises(tw.ThalwegError, match=remedy):
        wrong()


def test_on_spark(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    with pytest.raises(tw.PlanError, match=r"df\.transform\(keep\), or write them as functions"):
        tw.filters(F.col("k") > 0).over(ROWS)
    made = tw.session(spark)
    made.stream("t", spark.createDataFrame(ROWS.to_pandas()), time="ts")
    with pytest.raises(tw.PlanError, match=r"use tw\.session\(\) and register Arrow tables"):
        made.query("SELECT k FROM t").operators()
    df = spark.createDataFrame([(1, 1)], "k int, ts int")
    with pytest.raises(tw.PlanError, match=r"; it has a, b$"):
        tw.join(on="a.k = b.k", window=1, time="ts")(a=df, c=df)
