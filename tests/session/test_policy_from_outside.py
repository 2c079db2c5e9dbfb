"""A policy that is named in the environment and takes fewer settings than the query gives: the query still runs."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import thalweg as tw

ROWS = pa.table({"ts": [datetime(2026, 1, 1)] * 4, "x": [1, 2, 3, 4]})
TEXT = "SELECT x FROM rows WHERE odd(x) AND small(x)"
EXPECTED = [x for x in ROWS["x"].to_pylist() if x % 2 == 1 and x < 3]


def _asked(session: tw.Session) -> tw.ContinuousQuery:
    session.function("odd", lambda x: x % 2 == 1, "boolean")
    session.function("small", lambda x: x < 3, "boolean")
    return session.query(TEXT, budget=0.1)


def test_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_POLICY", "static")
    session = tw.session()
    session.stream("rows", ROWS, time="ts")
    query = _asked(session)
    assert query.dataframe()["x"].to_pylist() == EXPECTED
    assert "static" in str(query.report())


def test_on_spark(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_POLICY", "static")
    session = tw.session(spark)
    session.stream("rows", spark.createDataFrame(ROWS), time="ts")
    assert [row.x for row in _asked(session).dataframe().collect()] == EXPECTED
