"""The caret of an SQL error is at the first letter of what is refused: a clause's keyword, a function's name.

In the texts, a tilde marks the position after it, and errors show what the user wrote, not how sqlglot rewrites it.
"""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

import thalweg as tw

ROWS = pa.table({"ts": [datetime.datetime(2026, 1, 1)], "size": [1], "host": ["a"], "ok": [True]})
CLAUSES = [
    "SELECT ~DISTINCT size FROM tcp",
    "SELECT ~DISTINCT ON (size) size FROM tcp",
    "SELECT size FROM tcp ~LIMIT 5",
    "SELECT size FROM tcp ~LIMIT ALL",
    "SELECT size FROM tcp ~LIMIT (2 + 3) OFFSET 2",
    "SELECT size FROM tcp ~OFFSET 5",
    "SELECT size FROM tcp ~FETCH FIRST 3 ROWS ONLY",
    "SELECT size FROM tcp ~ORDER BY size DESC",
    "SELECT size FROM tcp ~ORDER   BY 1",
    "SELECT size FROM tcp ~ORDER BY ALL",
    "SELECT size AS `order by`, 'order by' AS a FROM tcp ~order by size",
    "SELECT size FROM tcp ~SORT BY size",
    "SELECT size FROM tcp ~CLUSTER BY size",
    "SELECT size FROM tcp ~DISTRIBUTE BY size",
    "~WITH t AS (SELECT size FROM tcp) SELECT size FROM tcp",
    "SELECT size FROM tcp ~UNION ALL SELECT size FROM udp",
    "SELECT size FROM tcp ~EXCEPT SELECT size FROM udp",
    "SELECT size FROM tcp ~INTERSECT SELECT size FROM udp",
    "SELECT size, x FROM tcp ~LATERAL VIEW explode(array(1, 2)) t AS x",
    "SELECT * FROM tcp ~PIVOT (sum(size) FOR host IN ('ann', 'bob'))",
    "SELECT size FROM tcp ~TABLESAMPLE (10 PERCENT)",
    "SELECT size FROM tcp WINDOW ~w AS (PARTITION BY host)",
    "SELECT size FROM tcp ~QUALIFY row_number() OVER (ORDER BY ts) = 1",
    "SELECT size FROM tcp ~VERSION AS OF 3",
    "SELECT size FROM tcp ~TIMESTAMP AS OF '2026-01-01'",
    "SELECT size FROM tcp ~FOR UPDATE",
    "SELECT size ~INTO x FROM tcp",
    "SELECT * ~EXCEPT (size) FROM tcp",
    "SELECT * ~REPLACE (size + 1 AS size) FROM tcp",
    "SELECT host, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY ~CUBE (host)",
    "SELECT host, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY host WITH ~ROLLUP",
    "SELECT host, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY host ~GROUPING SETS ((host), ())",
    "SELECT host, count(*) AS n FROM tcp [RANGE 1 MINUTE] ~GROUP BY ALL",
    "SELECT tcp.size FROM tcp [NOW] ~LEFT JOIN udp [NOW] ON tcp.size = udp.size",
    "SELECT tcp.size FROM tcp [NOW] ~RIGHT OUTER JOIN udp [NOW] ON tcp.size = udp.size",
    "SELECT tcp.size FROM tcp [NOW] ~full join udp [NOW] ON tcp.size = udp.size",
    "SELECT tcp.size FROM tcp [NOW] ~LEFT SEMI JOIN udp [NOW] ON tcp.size = udp.size",
    "SELECT tcp.size FROM tcp [NOW] ~NATURAL JOIN udp [NOW]",
    "SELECT tcp.size FROM tcp [NOW] JOIN udp [NOW] ~USING (size)",
    "SELECT size FROM ~(SELECT size FROM tcp) AS t",
    "SELECT ~FROM tcp",
    "SELECT size FROM tcp; ~SELECT size FROM tcp",
    "~INSERT INTO tcp VALUES (1)",
    "~EXPLAIN SELECT size FROM tcp",
]
EXPRESSIONS = [
    ("SELECT size FROM tcp WHERE ~EXISTS (SELECT 1 FROM udp)", "EXISTS (SELECT 1 FROM udp) is not supported"),
    ("SELECT size FROM tcp WHERE size > ~(SELECT max(size) FROM udp)", "(SELECT max(size) FROM udp) is not supported"),
    ("SELECT size FROM tcp WHERE size = ~SOME (SELECT size FROM udp)", "SOME (SELECT size FROM udp) is not supported"),
    ("SELECT ~sum(size) OVER () FROM tcp", "sum(size) OVER () is not supported"),
    ("SELECT ~TRY_CAST(host AS INT) AS y FROM tcp", "try_cast is not supported"),
    ("SELECT ~extract(dow FROM ts) AS y FROM tcp", "extract does not support dow"),
    ("SELECT ts + ~INTERVAL 1 MONTH AS y FROM tcp", "'MONTH' is not a unit of time"),
    ("SELECT size FROM tcp WHERE size = ~:nope", ":nope has no value"),
    ("SELECT ~(size, host) AS y FROM tcp", "(size, host) is not supported"),
    ("SELECT ~size << 1 AS y FROM tcp", "size << 1 is not supported"),
    ("SELECT ~[1, 2] AS y FROM tcp", "[1, 2] is not supported"),
    ("SELECT size FROM tcp WHERE ~host COLLATE utf8 = 'a'", "host COLLATE utf8 is not supported"),
    ("SELECT size FROM tcp WHERE ~ok <=> size < 5", "ok <=> size < 5 is ambiguous"),
    ("SELECT ~transform(array(1), x -> x) AS y FROM tcp", "the function transform is not supported"),
    ("SELECT ~current_date AS y FROM tcp", "current_date returns a different value"),
    ("~size > 5", "size > 5 is not a query"),
    ("~TRUNCATE TABLE tcp", "TRUNCATE is not a query"),
]
AGGREGATES = [
    "percentile(size, 0.5)",
    "percentile_approx(size, 0.5)",
    "approx_percentile(size, 0.5)",
    "PERCENTILE( (size), 0.5)",
    "quantile(size, 0.5)",
    "median(size)",
    "max_by(size, ts)",
    "max_by(percentile(size, 0.5), ts)",
    "stddev(size)",
]


@pytest.fixture(scope="module")
def session() -> tw.Session:
    made = tw.session()
    made.stream("tcp", ROWS, time="ts")
    made.stream("udp", ROWS, time="ts")
    return made


def refused(session: tw.Session, marked: str) -> tw.SqlError:
    """Return the error of a text, whose place must be where the tilde is."""
    with pytest.raises(tw.SqlError) as caught:
        session.query(marked.replace("~", ""))
    assert (caught.value.line, caught.value.column) == (1, marked.index("~") + 1), str(caught.value)
    return caught.value


@pytest.mark.parametrize("marked", CLAUSES)
def test_at_the_keyword_of_a_clause(session: tw.Session, marked: str) -> None:
    refused(session, marked)


@pytest.mark.parametrize(("marked", "begins"), EXPRESSIONS)
def test_at_the_beginning_of_an_expression_as_it_is_written(session: tw.Session, marked: str, begins: str) -> None:
    assert begins in refused(session, marked).sentence


@pytest.mark.parametrize("call", AGGREGATES)
def test_an_aggregate_has_the_name_that_the_user_wrote(session: tw.Session, call: str) -> None:
    error = refused(session, f"SELECT ~{call} AS y FROM tcp [RANGE 1 MINUTE]")
    name = call.partition("(")[0].lower()
    assert error.sentence.startswith(f"the aggregate {name} is not supported; write one of count, ")
    error = refused(session, f"SELECT max(size) AS y FROM tcp [RANGE 1 MINUTE] HAVING size > 1 + ~{call}")
    assert error.sentence.startswith(f"the aggregate {name} is not supported")


@pytest.mark.parametrize(
    ("wrong", "says", "right"),
    [
        (
            "SELECT ~mean(size) AS y FROM tcp [RANGE 1 MINUTE]",
            "avg(x)",
            "SELECT avg(size) AS y FROM tcp [RANGE 1 MINUTE]",
        ),
        ("SELECT size FROM tcp WHERE ~isnull(size)", "x IS NULL", "SELECT size FROM tcp WHERE size IS NULL"),
    ],
)
def test_a_function_with_another_name_here_is_suggested(
    session: tw.Session, wrong: str, says: str, right: str
) -> None:  # fmt: skip
    assert refused(session, wrong).sentence.endswith(f"; write {says}")
    session.query(right)


def test_in_a_later_line(session: tw.Session) -> None:
    with pytest.raises(tw.SqlError) as caught:
        session.query("SELECT size\nFROM tcp\n  ORDER BY size")
    assert str(caught.value).splitlines()[1:] == ["    ORDER BY size", "    ^"]
