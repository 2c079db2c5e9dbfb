"""Registering: every wrong argument is reported with a remedy; names are replaced; what can be read once is."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import BooleanType

import thalweg as tw
from tests.plan.sql.small_streams import HOSTS, TCP, UDP, at, rows_of, small_session

ONE = "SELECT size FROM tcp WHERE size > 5"
TWICE = pa.table({"ts": at(0), "a": [1], "b": [2]}).rename_columns(["ts", "a", "a"])
Use = Callable[[Any], object]
WRONG: list[tuple[Use, str]] = [
    (lambda s: tw.session(5), "takes a SparkSession, not a int; leave it out to run without Spark"),
    (lambda s: tw.session("local"), "takes a SparkSession, not a"),
    (lambda s: tw.session(TCP), "takes a SparkSession, not a"),
    (lambda s: s.stream("", TCP, time="ts"), "must be a non-empty string, not ''"),
    (lambda s: s.stream(None, TCP, time="ts"), "must be a non-empty string, not None"),
    (lambda s: s.stream(5, TCP, time="ts"), "must be a non-empty string, not 5"),
    (lambda s: s.stream(" ", TCP, time="ts"), "must be a non-empty string"),
    (lambda s: s.stream("t", TCP, time="tss"), "did you mean 'ts'?); it has ts, size"),
    (lambda s: s.stream("t", TCP, time=None), "has no column time=None; it has ts"),
    (lambda s: s.stream("t", TCP, time=5), "has no column time=5; it has ts"),
    (lambda s: s.stream("t", TCP, time="size"), "the time column size is int32; cast it to a timestamp"),
    (lambda s: s.stream("t", TCP, time="day"), "cast it to a timestamp"),
    (lambda s: s.stream("t", TCP, time="ts", lateness="soon"), "lateness='soon': write a number and a unit"),
    (lambda s: s.stream("t", TCP, time="ts", lateness="5 secnds"), "is not a unit of time (did you mean 'second'?)"),
    (lambda s: s.stream("t", TCP, time="ts", lateness=5), "write for example '5 seconds'"),
    (lambda s: s.stream("t", TCP, time="ts", lateness=1e300), "write for example '10 seconds'"),
    (lambda s: s.stream("t", TCP, time="ts", lateness=float("nan")), "write for example '10 seconds'"),
    (lambda s: s.stream("t", TCP, time="ts", lateness="-5 seconds"), "must not be negative; write 0 or more"),
    (lambda s: s.stream("t", TCP, time="ts", lateness=None), "must be a length of time such as '10 seconds'"),
    (lambda s: s.stream("t", [], time="ts"), "has no batches, so its columns are not known; give an empty table"),
    (lambda s: s.stream("t", None, time="ts"), "not a NoneType; use pa.table(...) to make one"),
    (lambda s: s.stream("t", "file.parquet", time="ts"), "not a str; use pa.table(...) to make one"),
    (lambda s: s.stream("t", {"ts": [1]}, time="ts"), "not a dict; use pa.table(...) to make one"),
    (lambda s: s.stream("t", [1, 2], time="ts"), "not a list"),
    (lambda s: s.stream("t", [TCP], time="ts"), "not a list"),
    (lambda s: s.stream("t", iter([TCP]), time="ts"), "it must yield Arrow record batches"),
    (
        lambda s: s.stream("t", TCP.to_batches() + UDP.to_batches(), time="ts"),
        "batch 1 has other columns than the first; cast it to the schema of the first",
    ),
    (lambda s: s.stream("t", TWICE, time="ts"), "'t' has several columns 'a'; rename all but one"),
    (lambda s: s.stream("t", TCP, time="ts", statistics=5), "must be a dict, such as {'rows_per_second': 100}"),
    (lambda s: s.stream("t", TCP, time="ts", statistics={"row_per_second": 5}), "did you mean 'rows_per_second'?"),
    (lambda s: s.stream("t", TCP, time="ts", statistics={"rows": 5}), "it may have rows_per_second and distinct"),
    (lambda s: s.stream("t", TCP, time="ts", statistics={5: 5}), "it may have rows_per_second and distinct"),
    (lambda s: s.stream("t", TCP, time="ts", statistics={"rows_per_second": -1}), "must be a number above 0"),
    (lambda s: s.stream("t", TCP, time="ts", statistics={"rows_per_second": "x"}), "must be a number above 0"),
    (lambda s: s.stream("t", TCP, time="ts", statistics={"rows_per_second": float("nan")}), "must be a number above 0"),
    (lambda s: s.stream("t", TCP, time="ts", statistics={"distinct": 5}), "must be a dict: {'a column': 12}"),
    (lambda s: s.stream("t", TCP, time="ts", statistics={"distinct": {"sise": 5}}), "did you mean 'size'?"),
    (lambda s: s.stream("t", TCP, time="ts", statistics={"distinct": {5: 5}}), "unknown column 5; its columns are ts"),
    (lambda s: s.stream("t", TCP, time="ts", statistics={"distinct": {"size": 0}}), "must be a number above 0"),
    (
        lambda s: s.stream("t", TCP, time="ts", statistics={"distinct": {"size": 0.5}}),
        "has at least one distinct value",
    ),
    (lambda s: s.table("", HOSTS), "must be a non-empty string"),
    (lambda s: s.table("t", None), "use pa.table(...) to make one"),
    (lambda s: s.table("t", iter([])), "give an empty table"),
    (lambda s: s.table("t", TWICE), "rename all but one"),
    (lambda s: s.table("t", HOSTS, statistics={"rows": 0}), "must be a number above 0"),
    (lambda s: s.table("t", HOSTS, statistics={"rows_per_second": 3}), "it may have rows and distinct"),
    (lambda s: s.function("", len, returns="int"), "must be a non-empty string"),
    (lambda s: s.function(None, len, returns="int"), "must be a non-empty string"),
    (lambda s: s.function("f", 5, returns="int"), "5 is not callable; give a function"),
    (lambda s: s.function("f", len, returns="integr"), "is not a supported type; use for example"),
    (lambda s: s.function("f", len, returns=int), "is not a supported type; use for example"),
    (lambda s: s.function("f", len, returns=pa.list_(pa.int32())), "is not a supported type; use for example"),
    (lambda s: s.function("f", len, returns="array<int>"), "is not a supported type; use for example"),
    (lambda s: s.function("f", len, returns="int", cost=-1), "must be a number of microseconds per row"),
    (lambda s: s.function("f", len, returns="int", cost="x"), "must be a number of microseconds per row"),
    (lambda s: s.function("f", len, returns="int", cost=True), "must be a number of microseconds per row"),
    (lambda s: s.function("f", len, returns="int", cost=float("nan")), "must be a number of microseconds per row"),
    (lambda s: s.function("f", len, returns="int", vectorized="no"), "vectorized='no' must be True or False"),
    (lambda s: s.function("f", len, returns="int", safe=1), "safe=1 must be True or False"),
    (lambda s: s.query(ONE, name=5), "name=5 must be a non-empty string; leave it out"),
    (lambda s: s.query(ONE, name=""), "must be a non-empty string; leave it out"),
    (lambda s: s.query(ONE, args=5), "must be a dict of values by name, such as args={'limit': 5} for :limit"),
    (lambda s: s.query(ONE, args=[1]), "must be a dict of values by name"),
    (lambda s: s.query(ONE, args="limit"), "must be a dict of values by name"),
    (lambda s: s.query(ONE, args={5: 5}), "must be a dict of values by name"),
    (lambda s: s.query(ONE, args={"limit": 5}), "the query has no :limit; remove it from args="),
    (lambda s: s.query(ONE, policy="swep"), "there is no policy 'swep' (did you mean 'sweep'?)"),
    (lambda s: s.query(ONE, policy=7), "there is no policy 7; choose one of auto"),
    (lambda s: s.query(ONE, redact="yes"), "redact='yes': must be True or False"),
    (lambda s: s.query(ONE).start(), "needs a place for the results: give path=..."),
    (lambda s: tw.session().query(ONE), "there is no stream or table 'tcp'; register it: s.stream(...)"),
]


@pytest.mark.parametrize(("use", "words"), WRONG, ids=[str(n) for n in range(len(WRONG))])
def test_wrong_arguments_are_told_with_a_remedy(use: Use, words: str) -> None:
    session = small_session()
    with pytest.raises(tw.PlanError) as told:
        use(session)
    assert words in str(told.value)
    assert session.query(ONE).dataframe().num_rows == 5  # what was there still is


WORDS = ["upper", "SUM", "tumble", "Hop", "select", "date_trunc", "array", "case", "cast", "in", "interval", "year",
         "count", "if", "to_date", "explode", "current_date"]  # fmt: skip


@pytest.mark.parametrize("name", WORDS)
def test_functions_named_like_sqls_are_refused(name: str) -> None:
    with pytest.raises(tw.PlanError, match="SQL already has a function or keyword with this name; choose another"):
        tw.session().function(name, len, returns="int")


@pytest.mark.parametrize("name", ["a b", "a.b", "f;g", "f(x), g", "f--", "5f"])
def test_functions_are_named_by_words(name: str) -> None:
    with pytest.raises(tw.PlanError, match="only letters, digits and _, and must not begin with a digit"):
        tw.session().function(name, len, returns="int")


@pytest.mark.parametrize("returns", ["boolean", "bool", "BOOL", pa.bool_(), BooleanType(), BooleanType])
def test_types_of_functions_are_told_in_any_way(returns: Any) -> None:
    s = small_session()
    s.function("odd", lambda size: size % 2 == 1, returns)
    assert s.query("SELECT odd(size) AS x FROM tcp").schema.field("x").type == pa.bool_()


@pytest.mark.parametrize(
    "data",
    [
        TCP, TCP.to_pandas(), pl.from_arrow(TCP), TCP.to_batches(), tuple(TCP.to_batches()),
        TCP.combine_chunks().to_batches()[0],
        [TCP.slice(k, 2).to_batches()[0] for k in range(0, 8, 2)],
    ],
    ids=["table", "pandas", "polars", "list", "tuple", "batch", "many"],
)  # fmt: skip
def test_every_form_of_data_can_be_read_again_and_again(data: Any) -> None:
    s = tw.session()
    s.stream("tcp", data, time="ts", lateness=timedelta(seconds=1))
    query = s.query(ONE)
    expected = rows_of(small_session().query(ONE).dataframe())
    assert rows_of(query.dataframe()) == rows_of(query.dataframe()) == expected
    assert rows_of(s.query(ONE).dataframe()) == expected


def test_a_reader_gives_its_rows_once_and_says_so() -> None:
    s = tw.session()
    s.stream("tcp", TCP.to_reader(), time="ts")
    first, second = s.query(ONE), s.query(ONE)
    assert first.dataframe().num_rows == 5
    for query in (first, second):
        with pytest.raises(
            tw.PlanError, match=r"tcp is an iterator and was already read.*register it again, or register a table"
        ):
            query.dataframe()
    s.stream("tcp", TCP.to_reader(), time="ts")
    assert s.query(ONE).dataframe().num_rows == 5


def test_a_reader_joined_with_itself_is_told() -> None:
    s = tw.session()
    s.stream("tcp", TCP.to_reader(), time="ts")
    query = s.query("SELECT a.size FROM tcp [NOW] a, tcp [NOW] b WHERE a.size = b.size")
    with pytest.raises(tw.PlanError, match="tcp is an iterator and was already read"):
        query.dataframe()


def test_a_table_of_a_reader_is_read_at_once_and_stays() -> None:
    s = small_session()
    s.table("hosts", HOSTS.to_reader())
    query = s.query("SELECT kind FROM tcp, hosts WHERE tcp.host = hosts.host")
    assert query.dataframe().num_rows == query.dataframe().num_rows == 5


def test_registering_again_does_not_change_existing_queries() -> None:
    s = small_session()
    before = s.query("SELECT size FROM tcp")
    s.stream("TCP", UDP, time="ts")
    assert s.query("SELECT size FROM tcp").dataframe().num_rows == UDP.num_rows
    assert before.dataframe().num_rows == TCP.num_rows
    with pytest.raises(tw.SqlError, match="no column 'ratio'"):
        s.query("SELECT ratio FROM tcp")
    s.table("tcp", HOSTS)  # a table in place of a stream
    with pytest.raises(tw.SqlError, match="FROM has only tables"):
        s.query("SELECT kind FROM tcp")


def test_functions_are_replaced_too() -> None:
    s = small_session()
    before = s.query("SELECT size FROM tcp WHERE probe(host)")
    s.function("PROBE", lambda text: True, returns="boolean")
    assert s.query("SELECT size FROM tcp WHERE probe(host)").dataframe().num_rows == TCP.num_rows
    assert before.dataframe().num_rows == 2


@pytest.mark.parametrize("time", ["ts", "TS", "Ts"])
def test_the_time_column_in_any_spelling(time: str) -> None:
    s = tw.session()
    s.stream("tcp", TCP, time=time)
    assert s.query("SELECT count(*) AS n FROM tcp [RANGE 1 HOUR]").dataframe().to_pylist() == [{"n": 8}]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_of_any_unit(unit: str) -> None:
    s = tw.session()
    s.stream("tcp", TCP.set_column(0, "ts", TCP.column("ts").cast(pa.timestamp(unit))), time="ts")
    got = s.query("SELECT window_start, count(*) AS n FROM tcp [RANGE 1 MINUTE]").dataframe()
    assert [row["n"] for row in sorted(got.to_pylist(), key=lambda row: str(row["window_start"]))] == [3, 2, 1, 2]


def test_the_words_of_an_error_never_show_another_librarys() -> None:
    for use, _ in WRONG:
        with pytest.raises(tw.PlanError) as told:
            use(small_session())
        assert not re.search(r"Traceback|sqlglot|ArrowInvalid|object at 0x", str(told.value))


def test_a_spark_dataframe_in_a_session_without_spark_is_refused(spark: SparkSession) -> None:
    df = spark.range(3).selectExpr("timestamp_seconds(id) AS ts", "id AS k")
    with pytest.raises(tw.PlanError, match=r"'t' is a Spark DataFrame, .* write tw\.session\(spark\)"):
        tw.session().stream("t", df, time="ts")
    keep = tw.filters(tw.predicate(lambda k: k > 1, "k", name="large"))
    with pytest.raises(tw.PlanError, match=r"not pyspark's DataFrame: use df\.transform\(keep\)"):
        list(keep.over(df))
