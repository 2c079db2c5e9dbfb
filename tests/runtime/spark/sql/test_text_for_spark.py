"""Texts and names of the user reach Spark as they are: nothing is substituted, unescaped or parsed, in any clause."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import thalweg as tw
from tests.plan.sql.nasty_texts import TEXTS, like_pattern, quoted_name, quoted_text

COUNT = len(TEXTS)
TIMES = pa.array([datetime(2026, 1, 1) + timedelta(seconds=n) for n in range(COUNT)], pa.timestamp("us", "UTC"))
ROWS = pa.table({"ts": TIMES, "n": pa.array(range(COUNT), pa.int64()), "s": TEXTS})
ALL = {f"a{n}": text for n, text in enumerate(TEXTS)}
WIDE = pa.table({"ts": TIMES[:2], "k": [1, 1], **{name: [n, None] for n, name in enumerate(TEXTS)}})


@pytest.fixture(params=["plain", "raw literals"])
def there(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[tw.Session]:
    """A session on Spark, with its parser as it is by default and as it can be set."""
    strange = {"spark.sql.parser.escapedStringLiterals": "true", "spark.sql.parser.quotedRegexColumnNames": "true"}
    if request.param != "plain":
        for key, value in strange.items():
            spark.conf.set(key, value)
    s = tw.session(spark)
    s.stream("s", spark.createDataFrame(ROWS), time="ts")
    s.table("t", spark.createDataFrame(ROWS.select(["n", "s"])))
    yield s
    for key in strange:
        spark.conf.unset(key)


@pytest.fixture
def here() -> tw.Session:
    s = tw.session()
    s.stream("s", ROWS, time="ts")
    s.table("t", ROWS.select(["n", "s"]))
    return s


def each(pattern: str, between: str = ", ") -> str:
    """The pattern for every text: `{n}` is its number, `{text}` its literal, `{like}` that of its pattern."""
    return between.join(
        pattern.format(n=n, text=quoted_text(text), like=quoted_text(like_pattern(text)))
        for n, text in enumerate(TEXTS)
    )


def asked(session: tw.Session, text: str, args: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    found = session.query(text, args=args).dataframe()
    rows: list[dict[str, Any]] = (found if isinstance(found, pa.Table) else found.toArrow()).to_pylist()
    return rows


WHOLE = {  # each has every n once, in any order
    "WHERE =": f"SELECT n FROM s WHERE {each('(n = {n} AND s = {text})', ' OR ')}",
    "WHERE <>": f"SELECT n FROM s WHERE NOT ({each('(n = {n} AND s <> {text})', ' OR ')})",
    "IN": f"SELECT n FROM s WHERE s IN ({each('{text}')})",
    "LIKE": f"SELECT n FROM s WHERE {each('(n = {n} AND s LIKE {like})', ' OR ')}",
    "CASE": f"SELECT CASE {each('WHEN s = {text} THEN {n}', ' ')} ELSE -1 END AS n FROM s",
    "functions": f"SELECT n FROM s WHERE {each('(n = {n} AND instr(s, {text}) = instr({text}, s))', ' OR ')}",
    "GROUP BY": f"SELECT max(n) AS n, s || {quoted_text(TEXTS[0])} AS g FROM s GROUP BY s || {quoted_text(TEXTS[0])}, "
    "TUMBLE(1 HOUR)",
    "HAVING": f"SELECT max(n) AS n FROM s GROUP BY s, TUMBLE(1 HOUR) HAVING max(s) IN ({each('{text}')})",
    "table": f"SELECT s.n FROM s, t WHERE s.s = t.s AND s.s || t.s IN ({each('{text} || {text}')})",
    "join": f"SELECT a.n FROM s [RANGE 1 HOUR] AS a, s [NOW] AS b WHERE a.s = b.s AND a.s IN ({each('{text}')})",
}  # fmt: skip


@pytest.mark.parametrize("there", ["plain"], indirect=True)
@pytest.mark.parametrize("clause", WHOLE)
def test_literals_in_every_clause(there: tw.Session, here: tw.Session, clause: str) -> None:
    for session in (here, there):
        assert sorted(row["n"] for row in asked(session, WHOLE[clause])) == list(range(COUNT))


def test_literals_in_all_clauses_at_once(there: tw.Session, here: tw.Session) -> None:
    """In few queries, so that Spark's parser can be tried with other settings too."""
    own = each("WHEN a.n = {n} THEN a.s = {text} AND a.s LIKE {like} AND instr(a.s, {text}) = instr({text}, a.s)", " ")
    listed, added = each("{text}"), f"a.s || {quoted_text(TEXTS[0])}"
    text = (
        f"SELECT max(a.n) AS n, {added} AS g FROM s AS a, t WHERE a.s = t.s AND a.s IN ({listed}) AND CASE {own} END "
        f"GROUP BY {added}, TUMBLE(1 HOUR) HAVING max(a.s) IN ({listed})"
    )
    for session in (here, there):
        found = {row["n"]: row["g"] for row in asked(session, text)}
        assert found == {n: value + TEXTS[0] for n, value in enumerate(TEXTS)}
        for clause in ("WHERE <>", "join"):  # what the query above does not have
            assert sorted(row["n"] for row in asked(session, WHOLE[clause])) == list(range(COUNT))


def test_parameters_come_back_as_they_were_given(there: tw.Session, here: tw.Session) -> None:
    text = f"SELECT {each(':a{n} AS c{n}')}, {each('{text} AS d{n}')} FROM s WHERE s = :a0"
    for session in (here, there):
        assert [list(row.values()) for row in asked(session, text, ALL)] == [TEXTS + TEXTS]


def test_lists_of_parameters(there: tw.Session, here: tw.Session) -> None:
    for session in (here, there):
        assert len(asked(session, "SELECT n FROM s WHERE s IN (:all)", {"all": TEXTS})) == COUNT
        assert not asked(session, "SELECT n FROM s WHERE s NOT IN (:all)", {"all": TEXTS})


def test_names_of_results(there: tw.Session, here: tw.Session) -> None:
    named = ", ".join(f"n + {n} AS {quoted_name(text)}" for n, text in enumerate(TEXTS))
    expected = {text: n for n, text in enumerate(TEXTS)}
    for session in (here, there):
        assert asked(session, f"SELECT {named} FROM s WHERE n = 0") == [expected]


def test_names_of_columns(spark: SparkSession, here: tw.Session, there: tw.Session) -> None:
    """In a filter, a group, a join with a table and a join of windows."""
    here.stream("w", WIDE, time="ts")
    here.table("u", WIDE.drop(["ts"]))
    there.stream("w", spark.createDataFrame(WIDE), time="ts")
    there.table("u", spark.createDataFrame(WIDE.drop(["ts"])))
    some = ", ".join(f"a.{quoted_name(name)}" for name in TEXTS)
    same = " AND ".join(f"a.{quoted_name(name)} = {n}" for n, name in enumerate(TEXTS))
    expected = [{name: n for n, name in enumerate(TEXTS)}]
    for session in (here, there):
        assert asked(session, f"SELECT {some} FROM w AS a WHERE {same}") == expected
        assert asked(session, f"SELECT {some} FROM w AS a, u WHERE a.k = u.k AND a.{quoted_name(TEXTS[0])} = u.`$`"
                              f" + {-TEXTS.index('$')} AND {same}") == expected  # fmt: skip
        assert asked(session, f"SELECT {some} FROM w [NOW] AS a, w [NOW] AS b WHERE a.k = b.k AND {same}") == expected
        grouped = asked(session, f"SELECT {some} FROM w AS a WHERE {same} GROUP BY {some}, TUMBLE(1 HOUR)")
        assert grouped == expected


def test_name_of_the_time_column_of_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    """Its watermark is declared by this name."""
    name = "".join(TEXTS)
    (tmp_path / "in").mkdir()
    pq.write_table(ROWS.select(["ts", "n"]), tmp_path / "in" / "1.parquet")
    pq.write_table(pa.table({"ts": pa.array([datetime(2026, 1, 2)], TIMES.type), "n": [0]}), tmp_path / "in/2.parquet")
    stream = (
        spark.readStream.option("maxFilesPerTrigger", 1).schema("ts timestamp, n long").parquet(str(tmp_path / "in"))
    )
    s = tw.session(spark)
    s.stream("s", stream.select(F.col("ts").alias(name), "n"), time=name)
    places: dict[str, Any] = {
        "path": str(tmp_path / "out"),
        "checkpoint": str(tmp_path / "checkpoint"),
        "trigger": "availableNow",
    }
    s.query("SELECT sum(n) AS n FROM s GROUP BY TUMBLE(1 HOUR)").start(**places).awaitTermination()
    assert [row.n for row in spark.read.parquet(places["path"]).collect()] == [sum(range(COUNT))]


def test_names_in_a_join_of_streams(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(WIDE.rename_columns([f"c{n}" for n in range(WIDE.num_columns)]), tmp_path / "1.parquet")
    plain = spark.read.parquet(str(tmp_path))
    stream = spark.readStream.schema(plain.schema).parquet(str(tmp_path)).toDF(*WIDE.column_names)
    s = tw.session(spark)
    s.stream("a", stream, time="ts")
    s.stream("b", stream, time="ts")
    some = ", ".join(f"a.{quoted_name(name)} AS c{n}" for n, name in enumerate(TEXTS))
    same = " AND ".join(f"a.{quoted_name(name)} = b.{quoted_name(name)}" for name in TEXTS)
    places: dict[str, Any] = {
        "path": str(tmp_path / "out"),
        "checkpoint": str(tmp_path / "checkpoint"),
        "trigger": "availableNow",
    }
    s.query(f"SELECT {some} FROM a [NOW], b [NOW] WHERE {same}").start(**places).awaitTermination()
    assert [list(row) for row in spark.read.parquet(places["path"]).collect()] == [list(range(COUNT))]


def test_names_of_columns_that_filters_and_joins_read(spark: SparkSession) -> None:
    df = spark.createDataFrame(WIDE)
    keep = tw.filters(*(tw.predicate(partial(_equals, n), name, name=f"p{n}") for n, name in enumerate(TEXTS)))
    assert df.transform(keep).count() == 1
    on = " AND ".join(["a.k = b.k", *(f"a.{quoted_name(n)} = b.{quoted_name(n)}" for n in TEXTS)])
    joined = tw.join(on=on, window="1 minute", time="ts", select=[f"a.{quoted_name(name)}" for name in TEXTS])
    [row] = joined(a=df, b=df).drop("event_time").collect()
    assert list(row) == list(range(len(TEXTS)))


def _equals(n: int, value: int | None) -> bool:
    return value == n


def test_times_mean_the_same_whatever_the_word_timestamp_means(spark: SparkSession) -> None:
    """`spark.sql.timestampType` says what the word TIMESTAMP stands for in text that Spark parses."""
    s = tw.session(spark)
    s.stream("s", spark.createDataFrame(ROWS), time="ts")
    spark.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    try:
        found = s.query("SELECT n, CAST(CAST(ts AS DATE) AS TIMESTAMP) AS day FROM s WHERE ts < '2026-01-01 00:00:01'")
        assert found.dataframe().schema["day"].dataType.simpleString() == "timestamp"
        assert [row.n for row in found.dataframe().collect()] == [0]
    finally:
        spark.conf.unset("spark.sql.timestampType")
