"""Input and predicates as they come, on Spark."""

from __future__ import annotations

import datetime
import math
import re
import socket
import threading
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import thalweg as tw

TYPES = (
    "i int, l long, f double, b boolean, s string, bin binary, d decimal(6,2), day date, ts timestamp, "
    "a array<int>, st struct<x:int,y:array<string>>, m map<string,int>, n string"
)
ROWS: list[tuple[Any, ...]] = [
    (1, 2, 0.5, True, "text", b"\x00", Decimal("1.10"), datetime.date(2024, 5, 1), datetime.datetime(2024, 5, 1),
     [1, None], (1, ["y"]), {"k": 1}, None),
    (None,) * 13,
    (-1, -2, math.nan, False, "x" * 100_000, b"", Decimal("0.00"), datetime.date(1, 1, 1),
     datetime.datetime(1970, 1, 1), [], (None, []), {}, None),
]  # fmt: skip
COLUMNS = [part.split()[0] for part in re.sub(r"<[^>]*(<[^>]*>)?[^>]*>", "", TYPES).split(", ")]


def test_every_type_every_null_and_long_text(spark: SparkSession) -> None:
    df = spark.createDataFrame(ROWS * 50, TYPES).repartition(2)
    assert df.columns == COLUMNS
    for column in COLUMNS:
        some = 100 if column != "n" else 0
        keep = tw.filters(
            tw.predicate(lambda v: v is not None, column, name="valid"),
            tw.predicate(lambda v: v.is_valid(), column, name="valid_array", vectorized=True),
            tw.predicate(lambda v: [str(v)], column, name="told"),
        )
        assert df.transform(keep).count() == some, column


def test_odd_answers_and_rude_predicates_in_one_chain(spark: SparkSession) -> None:
    df = spark.createDataFrame(
        [(i, [i, i + 1], {"k": i}) for i in range(200)], "i long, a array<long>, m map<string,long>"
    )

    def pops(a: list[int]) -> bool:
        a.pop()
        return a.pop(0) >= 0

    keep = tw.filters(
        tw.predicate(pops, "a"),
        tw.predicate(lambda a: len(a) == 2 and a.clear() is None, "a", name="two"),
        tw.predicate(lambda a: print("seen", a) is None and len(a), "a", name="prints"),
        tw.predicate(lambda i: re.search("[13579]$", str(i)), "i", name="match"),
        tw.predicate(lambda i: np.bool_(i > 5), "i", name="numpy"),
        tw.predicate(lambda i: None if i % 7 == 0 else math.nan, "i", name="null_or_nan"),
        slice_rows=16,
        policy="a-greedy(p=1.0)",
        on_error="dead-letter",
    )
    got = df.transform(keep.tagged).collect()
    assert [r for r in got if r.thalweg_errors] == []
    assert sorted(r.i for r in got) == [i for i in range(200) if i % 2 and i > 5 and i % 7]
    assert all(r.a == [r.i, r.i + 1] for r in got)


def test_an_empty_stream_of_rows_no_columns_and_one_row_a_batch(spark: SparkSession) -> None:
    assert spark.range(0).transform(tw.filters(tw.predicate(bool, "id"), on_error="dead-letter").tagged).collect() == []
    with pytest.raises(tw.PlanError, match="no column 'id'; there are none"):
        spark.range(3).select().transform(tw.filters(tw.predicate(bool, "id")))
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 1)
    try:
        keep = tw.filters(
            tw.predicate(lambda i: i % 2, "id", name="odd"), tw.predicate(lambda i: i % 3, "id", name="3")
        )
        assert spark.range(0, 60, 1, 2).transform(keep).count() == 20
        assert keep.report().sections[0].rows == 60
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


def test_text_that_is_no_utf_8_fails_its_row_alone(spark: SparkSession) -> None:
    df = spark.range(0, 10, 1, 1).select("id", F.expr("if(id = 4, cast(X'61ff' as string), 'ok')").alias("s"))
    keep = tw.filters(tw.predicate(lambda s: s == "ok", "s", name="ok"), on_error="dead-letter")
    got = df.transform(keep.tagged).select("id", "thalweg_errors").collect()
    assert len(got) == 10
    (bad,) = [r for r in got if r.thalweg_errors]
    assert bad.id == 4
    assert bad.thalweg_errors[0].error.startswith("ValueError: no Python value for column 's'")


@pytest.mark.parametrize(
    ("thing", "why"), [(threading.Lock(), "_thread.lock"), (socket.socket(), "socket")], ids=["lock", "socket"]
)
def test_a_predicate_that_cannot_be_pickled_is_named_early(spark: SparkSession, thing: object, why: str) -> None:
    good = tw.predicate(lambda i: True, "id", name="good")
    keep = tw.filters(good, tw.predicate(lambda i: thing is None, "id", name="holds_it"))
    with pytest.raises(tw.PlanError, match=rf"^predicate 'holds_it' cannot be sent .*{why}.*setup=") as caught:
        spark.range(3).transform(keep)
    assert caught.value.__cause__ is not None
    sets_up = tw.filters(good, tw.predicate(lambda v, i: True, "id", name="p", setup=lambda: thing))
    with pytest.raises(tw.PlanError, match=r"^the setup of predicate 'p' cannot be sent"):
        spark.range(3).transform(sets_up)


def test_the_session_in_a_predicate_is_told_too(spark: SparkSession) -> None:
    keep = tw.filters(tw.predicate(lambda i: spark.range(i).count() > 0, "id", name="asks_spark"))
    with pytest.raises(tw.PlanError, match="'asks_spark' cannot be sent"):
        spark.range(3).transform(keep)
