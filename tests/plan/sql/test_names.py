"""Names match without regard to case and keep their spelling; an unknown name is reported with similar ones."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pytest

import thalweg as tw
from tests.plan.sql.small_streams import at, oracle, rows_of, small_session

ODD = pa.table(
    {
        "ts": at(0, 1, 2),
        "a b": [1, 2, 3],
        "x.y": [4, 5, 6],
        "t`k": ["p", "q", None],
        "order": [7, 8, 9],
        "größe": [1, 1, 2],
        "it's": [3, 3, 4],
        "5": [5, 6, 7],
        "computed 0": [1, 0, 1],
        "key 0": [2, 2, 3],
        "agg 0": [9, 8, 7],
        "event_time": [1, 2, 3],
        'q"u<o>te': [0, 1, 0],
    }
)
NAMES = ["odd names", "order", "straße", "a.b", "t`k", "select", "5", "it's", "window"]
SESSION = small_session()


@pytest.fixture(scope="module")
def odd() -> tuple[Any, duckdb.DuckDBPyConnection]:
    """A session and an oracle whose streams have odd names."""
    s, other = tw.session(), duckdb.connect()
    for name in NAMES:
        s.stream(name, ODD, time="ts")
        other.register("rows", ODD)
        other.execute(f'CREATE TABLE "{name}" AS SELECT * FROM rows')
    s.function("doppelt", lambda x: None if x is None else 2 * x, returns="bigint")
    return s, other


def theirs(text: str) -> str:
    """In DuckDB's quotes, without windows (the rows are within seconds of each other)."""
    return (
        text.replace('"', '""').replace("``", "\0").replace("`", '"').replace("\0", "`").replace(" [RANGE 1 HOUR]", "")
    )


@pytest.mark.parametrize("name", NAMES)
def test_streams_of_any_name(odd: Any, name: str) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    text = f"SELECT {quoted}.`a b` FROM {quoted} WHERE {quoted}.`x.y` > 4"
    query = odd[0].query(text)
    assert rows_of(query.dataframe()) == rows_of(odd[1].sql(theirs(text)).to_arrow_table())
    assert name in str(query.explain()) or name.replace("`", "``") in str(query.explain())


@pytest.mark.parametrize("name", [n for n in ODD.column_names if n != "ts"])
def test_columns_of_any_name_everywhere(odd: Any, name: str) -> None:
    c = "`" + name.replace("`", "``") + "`"
    same = "`a b`" if name != "t`k" else c
    for text in (
        f"SELECT {c} FROM `order`",
        f"SELECT o.{c} AS {c}, o.{c} AS `x y.z` FROM `order` AS o WHERE o.{c} <> o.{c} OR o.{c} = o.{c}",
        f"SELECT l.{c}, r.ts AS `r.ts` FROM `order` [RANGE 1 HOUR] AS l, `a.b` [RANGE 1 HOUR] AS r WHERE l.{c} = r.{c}",
        f"SELECT `l l`.{c}, `r.r`.{c} AS other FROM `order` [RANGE 1 HOUR] AS `l l`, `a.b` [RANGE 1 HOUR] AS `r.r` "
        f"WHERE `l l`.`a b` = `r.r`.`a b` AND `l l`.{c} <= `r.r`.{c}",
        f"SELECT l.{c}, count(*) AS n FROM `order` [RANGE 1 HOUR] AS l GROUP BY l.{c}",
        f"SELECT l.{c}, max(l.{same}) AS `größtes` FROM `order` [RANGE 1 HOUR] AS l GROUP BY l.{c} "
        f"HAVING max(l.{c}) IS NOT NULL",
    ):
        query = odd[0].query(text)
        got = query.dataframe()
        assert rows_of(got) == rows_of(odd[1].sql(theirs(text)).to_arrow_table()), text
        assert got.schema == query.schema
        str(query.explain()), query.explain()._repr_html_(), query.explain().to_mermaid()


def test_a_computed_key_beside_a_column_of_that_name(odd: Any) -> None:
    text = (
        "SELECT l.`computed 0`, r.`5` FROM `order` [RANGE 1 HOUR] AS l, `a.b` [RANGE 1 HOUR] AS r "
        "WHERE upper(l.`t``k`) = upper(r.`t``k`)"
    )
    assert rows_of(odd[0].query(text).dataframe()) == rows_of(odd[1].sql(theirs(text)).to_arrow_table())


def test_functions_by_any_spelling(odd: Any) -> None:
    for word in ("doppelt", "DOPPELT", "`Doppelt`"):
        got = odd[0].query(f"SELECT {word}(`a b`) AS x FROM `order`").dataframe()
        assert got.column("x").to_pylist() == [2, 4, 6]


def test_spelling_is_the_registered_one() -> None:
    query = SESSION.query("SELECT ISROBOT, Tcp.HOST, size AS SiZe2 FROM TCP WHERE isrobot AND tcp.SIZE > 0")
    assert query.dataframe().column_names == ["isRobot", "host", "SiZe2"]
    assert query.plan.query.conditions[0].text == "tcp.isRobot"
    star = SESSION.query("SELECT * FROM tcp [NOW] AS T, udp [NOW] U WHERE t.size = u.size")
    assert star.schema.names[:3] == ["T_ts", "T_size", "T_host"]
    assert star.schema.names[-3:] == ["U_ts", "U_size", "U_host"]


def test_columns_that_differ_in_case_alone_are_written_exactly() -> None:
    s = tw.session()
    s.stream("t", pa.table({"ts": at(0), "Ab": [1], "AB": [2]}), time="ts")
    assert s.query("SELECT Ab AS x, AB AS y, t.AB AS z FROM t").dataframe().to_pylist() == [{"x": 1, "y": 2, "z": 2}]
    for text in ("SELECT ab FROM t", "SELECT t.ab FROM t"):
        with pytest.raises(tw.SqlError, match="t has Ab and AB; write one of them exactly"):
            s.query(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT siez FROM tcp", "no column 'siez' (did you mean 'size'?)"),
        ("SELECT tcp.siez FROM tcp", "tcp has no column 'siez' (did you mean 'size'?)"),
        ("SELECT t.hsot FROM tcp AS t", "t has no column 'hsot' (did you mean 'host'?)"),
        ("SELECT size FROM tpc", "no stream or table 'tpc' (did you mean 'tcp'?)"),
        (
            "SELECT hots.kind FROM tcp, hosts WHERE tcp.host = hosts.host",
            "'hots' is not in FROM (did you mean 'hosts'?)",
        ),
        ("SELECT tcp.size FROM tcp AS t", "its alias is 't'"),
        ("SELECT uper(host) AS a FROM tcp", "no function 'uper' (did you mean 'upper'?)"),
        ("SELECT prbe(host) AS a FROM tcp", "no function 'prbe' (did you mean 'probe'?)"),
        ("SELECT summ(size) AS a FROM tcp [NOW]", "no function 'summ' (did you mean 'sum'?)"),
        ("SELECT size FROM tcp WHERE size > :limt", ":limt has no value (did you mean 'limit'?): args= has limit"),
        ("SELECT host FROM tcp, hosts WHERE tcp.host = hosts.host", "write tcp.host or hosts.host"),
        ("SELECT size AS z FROM tcp WHERE z > :limit", "no column 'z'"),
        ("SELECT size AS z, z + 1 AS y FROM tcp WHERE size > :limit", "no column 'z'"),
        ("SELECT * FROM tcp [NOW] a, udp [NOW] A WHERE a.size = :limit", "FROM has two sources named 'A'"),
        ("SELECT count(*) AS n FROM tcp [RANGE 1 s] WHERE size > :limit GROUP BY n", "count(*) is an aggregate"),
    ],
)
def test_what_is_unknown_or_meant_twice_is_told(text: str, words: str) -> None:
    with pytest.raises(tw.SqlError) as told:
        SESSION.query(text, args={"limit": 5})
    assert words in told.value.sentence


@pytest.mark.parametrize(
    "columns",
    [
        "size, size",
        "size, host AS SIZE",
        "size, *",
        "*, size AS Host",
        "size + 1, SIZE+1",
        "tcp.*, size",
        "1, 1",
        "'a', 'a'",
    ],
)
def test_two_columns_of_one_name_are_refused(columns: str) -> None:
    with pytest.raises(tw.SqlError, match=r"two columns of the result are named .*; rename one: ... AS another"):
        SESSION.query(f"SELECT {columns} FROM tcp")


def test_joined_columns_of_one_name_are_refused() -> None:
    s = tw.session()
    s.stream("x", pa.table({"ts": at(0), "k": [1], "b_size": [10]}), time="ts")
    s.stream("y", pa.table({"ts": at(0), "k": [1], "size": [100], "time": [1]}), time="ts")
    with pytest.raises(tw.PlanError, match=r"a_b.size and a.b_size would both be named 'a_b_size'; write another"):
        s.query("SELECT a.b_size AS p, a_b.size AS q FROM x [NOW] AS a, y [NOW] AS a_b WHERE a.k = a_b.k")
    with pytest.raises(tw.PlanError, match=r"event.time and the time of the result would both be named 'event_time'"):
        s.query("SELECT event.time AS p FROM x [NOW] AS a, y [NOW] AS event WHERE a.k = event.k")
    query = s.query("SELECT a.b_size AS p, b.size AS q FROM x [NOW] AS a, y [NOW] AS b WHERE a.k = b.k")
    assert query.dataframe().to_pylist() == [{"p": 10, "q": 100}]


@pytest.mark.parametrize(
    ("ours", "duckdb_sql"),
    [
        (
            "SELECT upper(host) AS h, count(*) AS n FROM tcp [RANGE 1 HOUR] GROUP BY H HAVING N > 1 AND h <> 'X'",
            "SELECT upper(host) AS h, count(*) AS n FROM tcp GROUP BY upper(host) HAVING count(*) > 1",
        ),
        # a column goes before an alias of the same name, as in Spark
        (
            "SELECT upper(host) AS host, count(*) AS n FROM tcp [RANGE 1 HOUR] GROUP BY host",
            "SELECT upper(t.host) AS other, count(*) AS n FROM tcp t GROUP BY t.host",
        ),
        (
            "SELECT size > 5 AS big, count(*) AS n FROM tcp [RANGE 1 HOUR] GROUP BY size > 5",
            "SELECT size > 5, count(*) FROM tcp GROUP BY size > 5",
        ),
        (
            "SELECT max(size) - min(size) AS spread, host FROM tcp [RANGE 1 HOUR] GROUP BY host HAVING spread > 0",
            "SELECT max(size) - min(size) AS spread, host FROM tcp GROUP BY host HAVING max(size) - min(size) > 0",
        ),
    ],
)
def test_aliases_in_group_by_and_having(ours: str, duckdb_sql: str) -> None:
    assert rows_of(SESSION.query(ours).dataframe()) == rows_of(oracle().sql(duckdb_sql).to_arrow_table())


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({}, "no value"),
        ({"limit": 5, "other": 6}, "args= has 'other'"),
        ({"limit": object()}, "has a value of type object that SQL cannot represent; pass a number"),
        ({"limit": [1]}, "is a list, which is allowed only in IN; write IN (:limit)"),
        ({"limit": "7"}, "write CAST('7' AS INT)"),
        ({"limit": "x"}, "write CAST(tcp.size AS STRING)"),
        ({"LIMIT": 5}, "args= has LIMIT"),
    ],
)
def test_parameters(args: dict[str, object], words: str) -> None:
    with pytest.raises(tw.PlanError) as told:
        SESSION.query("SELECT size FROM tcp WHERE size > :limit", args=args)
    assert words in str(told.value)


def test_a_parameter_is_a_value_and_never_text_of_the_query() -> None:
    got = SESSION.query("SELECT :x AS a FROM tcp WHERE host = :y", args={"x": "') OR 1=1 --", "y": "ann"}).dataframe()
    assert got.to_pylist() == [{"a": "') OR 1=1 --"}] * 2
