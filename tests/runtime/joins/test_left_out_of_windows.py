"""A source that a dict of windows leaves out is a table. If it has the time column of all streams, there is a warning,
in this process and on Spark."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import thalweg as tw
from thalweg.runtime.joins import join_binding

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOON = datetime.datetime(2026, 1, 1, 12)
CLICKS = pa.table({"k": [1, 2], "ts": [NOON, NOON]})
BUYS = pa.table({"k": [1, 2], "ts": [NOON, NOON + datetime.timedelta(days=3)]})
SAID = (
    "buys is missing from window=, so it is used as a table: its rows join with rows of any time, although it has the "
    "column ts. If it is a stream, add 'buys': ... to window=; if it is a table, make time= a dict without buys"
)
ON = "clicks.k = buys.k"


@pytest.fixture(autouse=True)
def nothing_was_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join_binding, "_WARNED", set())


def warned(apply: Callable[[], object]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        apply()
    ours = [warning for warning in caught if "used as a table" in str(warning.message)]
    assert all(warning.filename == __file__ for warning in ours), "the line that the user can change"
    return [str(warning.message) for warning in ours]


def rows(join: tw.Join, buys: Any = BUYS) -> int:
    return sum(batch.num_rows for batch in join.over(clicks=CLICKS, buys=buys))


def test_there_is_one_warning() -> None:
    join = tw.join(on=ON, window={"clicks": "1 minute"}, time="ts")
    assert warned(lambda: rows(join)) == [SAID]
    assert warned(lambda: rows(join)) == []


def test_also_for_batches() -> None:
    join = tw.join(on=ON, window={"clicks": "1 minute"}, time="ts")
    assert warned(lambda: rows(join, iter(BUYS.to_batches()))) == [SAID]


@pytest.mark.parametrize(
    ("window", "time", "expected"),
    [
        ({"clicks": "1 minute", "buys": "1 minute"}, "ts", 1),
        ({"clicks": "1 minute"}, {"clicks": "ts"}, 2),
        ("1 minute", {"clicks": "ts"}, 2),
    ],
    ids=["the first remedy", "the second remedy", "a dict of times alone"],
)
def test_what_the_warning_suggests_gives_none(window: Any, time: Any, expected: int) -> None:
    found: list[int] = []
    assert warned(lambda: found.append(rows(tw.join(on=ON, window=window, time=time)))) == []
    assert found == [expected]


def test_a_table_without_the_column_gives_none() -> None:
    join = tw.join(on=ON, window={"clicks": "1 minute"}, time="ts")
    assert warned(lambda: rows(join, BUYS.drop_columns(["ts"]))) == []


def test_the_same_on_spark(spark: SparkSession) -> None:
    clicks, buys = (spark.createDataFrame(table.to_pandas()) for table in (CLICKS, BUYS))
    join = tw.join(on=ON, window={"clicks": "1 minute"}, time="ts")
    assert warned(lambda: join(clicks=clicks, buys=buys)) == [SAID]
    assert join(clicks=clicks, buys=buys).count() == 2
    stream = spark.readStream.format("rate").load().selectExpr("value AS k", "timestamp AS ts")
    with pytest.raises(tw.PlanError, match=r"buys is a stream, but window= or time= leaves it out; add 'buys': \.\.\."):
        join(clicks=stream, buys=stream)


def test_finished_data_next_to_a_stream_on_spark(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load().selectExpr("value AS k", "timestamp AS ts")
    buys = spark.createDataFrame(BUYS.to_pandas())
    (said,) = warned(lambda: tw.join(on=ON, window="1 minute", time="ts")(clicks=stream, buys=buys))
    assert said.startswith("buys is finished data in a join with streams, so it is used as a table")
    assert "spark.readStream" in said
