"""What queries are given from Python: values of parameters, functions, iterators; and where they meet joins."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from thalweg.optimizer import optimize
from thalweg.report.explain.query import QueryRun, explain_query

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def table(seconds: list[int], **columns: Any) -> pa.Table:
    times = pa.array([NOON + timedelta(seconds=s) for s in seconds], pa.timestamp("us", "UTC"))
    return pa.table({"ts": times, **columns})


def fetched(text: str, **tables: pa.Table) -> list[tuple[Any, ...]]:
    """Return the rows of a query in DuckDB."""
    with duckdb.connect(":memory:") as connection:
        for name, each in tables.items():
            connection.register(name, each)
        return connection.execute(text).fetchall()


def test_conditions_of_joined_rows_keep_zones_types_and_quotes() -> None:
    """They are checked as they were read, and not as they are shown."""
    a = table([0, 1, 2], k=[1, 1, 1], x=["it's", "a\\b", "c"], d=[1.0, float("nan"), 2.0])
    b = table([0, 1, 2], k=[1, 1, 1], y=[7, 8, 9], e=[1.0, float("nan"), 3.0])
    s = tw.session()
    s.stream("a", a, time="ts")
    s.stream("b", b, time="ts")
    for condition in (
        "(a.ts > '2026-01-01 12:00:00' OR b.y = 8)",
        r"(a.x = 'it\'s' OR b.y = 9)",
        r"(a.x = 'a\\b' OR b.y = 9)",
        "a.d = b.e",
        "NOT (a.d < b.e OR b.y = 7)",
    ):
        query = s.query(f"SELECT a.x, b.y FROM a, b WHERE a.k = b.k AND {condition} WINDOW 1 MINUTE")
        assert query.plan.join is not None
        assert len(query.plan.join.residuals) == 1
        theirs = condition.replace(r"\\", "\x00").replace(r"\'", "''").replace("\x00", "\\")
        theirs = theirs.replace("'2026-01-01 12:00:00'", "'2026-01-01 12:00:00+00'")
        oracle = f"SELECT a.x, b.y FROM a, b WHERE a.k = b.k AND {theirs} ORDER BY ALL"
        got = sorted((row["x"], row["y"]) for row in query.dataframe().to_pylist())
        assert got == sorted(fetched(oracle, a=a, b=b)), condition


def test_the_last_rows_may_be_old() -> None:
    s = tw.session()
    s.stream("a", table([-(50 * 366 * 86_400)], k=[1]), time="ts")
    s.stream("b", table([0], k=[1]), time="ts")
    query = s.query("SELECT a.k FROM a [ROWS 2], b [RANGE 1 HOUR] WHERE a.k = b.k")
    assert query.dataframe().to_pylist() == [{"k": 1}]


@pytest.mark.parametrize("value", [np.int64(2), np.int8(2), np.float32(2), 2])
def test_numbers_of_numpy_are_numbers(value: np.number | int) -> None:
    s = tw.session()
    s.stream("a", table([0, 1], k=[1, 2]), time="ts")
    assert s.query("SELECT k FROM a WHERE k = :k", args={"k": value}).dataframe().to_pylist() == [{"k": 2}]


def test_a_generator_is_read_once() -> None:
    s = tw.session()
    s.stream("a", (batch for batch in table([0, 1, 2], k=[1, 2, 3]).to_batches(max_chunksize=1)), time="ts")
    query = s.query("SELECT k FROM a")
    assert query.dataframe().column("k").to_pylist() == [1, 2, 3]
    with pytest.raises(tw.PlanError, match="was already read"):
        query.dataframe()
    with pytest.raises(tw.PlanError, match="has no batches"):
        s.stream("b", iter([]), time="ts")
    with pytest.raises(tw.PlanError, match="yields a int"):
        s.stream("b", iter([1]), time="ts")


def test_a_time_with_a_zone_is_not_compared_with_one_without() -> None:
    s = tw.session()
    s.stream("a", pa.table({"ts": pa.array([NOON.replace(tzinfo=None)], pa.timestamp("us"))}), time="ts")
    with pytest.raises(tw.SqlError, match="has a time zone"):
        s.query("SELECT ts FROM a WHERE ts > '2026-01-01 12:00:01+02:00'")


@pytest.mark.parametrize(
    "text", ["SELECT f(k) AS x FROM a", "SELECT sum(f(k)) AS x FROM a [RANGE 1 MINUTE]",
             "SELECT a.k FROM a, b WHERE f(a.k) = b.k WINDOW 1 MINUTE"],
)  # fmt: skip
def test_a_function_that_raises_is_told_with_what_it_was_given(text: str) -> None:
    s = tw.session()
    s.stream("a", table([0, 1], k=[3, 0]), time="ts")
    s.stream("b", table([0, 1], k=[3, 0]), time="ts")
    s.function("f", lambda k: 6 // k, returns="bigint")
    with pytest.raises(
        tw.FunctionError, match=r"'f' raised ZeroDivisionError.*test_values.*given 0; make it return"
    ) as e:
        s.query(text).dataframe()
    assert isinstance(e.value.__cause__, ZeroDivisionError)


def test_the_error_of_a_condition_names_its_row() -> None:
    s = tw.session()
    s.stream("a", table([0, 1], k=[3, 0]), time="ts")
    s.function("f", lambda k: 6 // k, returns="bigint")
    with pytest.raises(
        tw.FailedRowError,
        match=r"'f\(a.k\) > 1' raised ZeroDivisionError: .*k=0.*add a condition to WHERE that is false",
    ):
        s.query("SELECT k FROM a WHERE f(k) > 1").dataframe()


def test_a_function_that_raises_on_spark_is_told_too(spark: SparkSession) -> None:
    s = tw.session(spark)
    s.stream("a", spark.createDataFrame(table([0, 1], k=[3, 0])), time="ts")
    s.function("f", lambda k: 6 // k, returns="bigint")
    with pytest.raises(Exception, match=r"function 'f' raised ZeroDivisionError: .*given 0; make it return None"):
        s.query("SELECT f(k) AS x FROM a").dataframe().collect()


@pytest.mark.parametrize("other", [pa.int64(), pa.uint64(), pa.int8(), pa.uint32(), pa.decimal128(20, 0)])
def test_whole_numbers_of_any_kind_are_keys(other: pa.DataType) -> None:
    values = [2**63, 1, None, 0] if other in (pa.uint64(), pa.decimal128(20, 0)) else [1, 2, None, 0]
    a = table([0] * 4, k=pa.array([2**64 - 1, 1, 2**63, 0], pa.uint64()))
    b = table([0] * 4, k=pa.array(values, other))
    s = tw.session()
    s.stream("a", a, time="ts")
    s.stream("b", b, time="ts")
    found = s.query("SELECT a.k FROM a [NOW], b [NOW] WHERE a.k = b.k").dataframe().column("k").to_pylist()
    assert sorted(map(int, found)) == [
        int(k) for (k,) in fetched("SELECT a.k FROM a, b WHERE a.k = b.k ORDER BY 1", a=a, b=b)
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT s.k FROM a [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE a.k = s.k",
         r"column 37: the time columns of the streams differ in type"),
        ("SELECT x.k FROM n [RANGE 500 MILLISECONDS] AS x, n [NOW] AS y WHERE x.k = y.k",
         r"column 17: .*not a whole number"),
        ("SELECT count(*) FROM n [RANGE 3 SECONDS SLIDE 1500 MILLISECONDS]",
         r"column 22: the slide of .*not a whole number"),
        ("SELECT count(*) FROM n AS x, n AS y WHERE x.k = y.k GROUP BY TUMBLE(500 MILLISECONDS) WINDOW 1 SECOND",
         r"column 22: TUMBLE\(500 MILLISECONDS\) is not a whole number"),
        ("SELECT a.b_k, a_b.k FROM a, a_b WHERE a.ts = a_b.ts WINDOW 1 SECOND", r"column 29: .*both be named 'a_b_k'"),
    ],
)  # fmt: skip
def test_what_the_plan_refuses_has_a_place_in_the_text(text: str, words: str) -> None:
    s = tw.session()
    s.stream("a", table([0], k=[1], b_k=[1]), time="ts")
    s.stream("a_b", table([0], k=[1]), time="ts")
    for name, kind in (("s", pa.timestamp("us")), ("n", pa.timestamp("s", "UTC"))):
        s.stream(name, pa.table({"ts": pa.array([0], kind), "k": [1]}), time="ts")
    with pytest.raises(tw.SqlError, match=words):
        s.query(text)


def test_columns_called_as_what_is_made_on_the_way() -> None:
    s = tw.session()
    names = {"end of row": [5, 6], "computed time": [7, 8]}
    s.stream("a", table([0, 1], k=[1, 1], **names), time="ts")
    s.stream("b", table([0, 1], k=[1, 1]), time="ts")
    s.table("t", pa.table({"k": [1]}))
    last = s.query("SELECT a.`end of row` AS e FROM a [ROWS 1], b [NOW] WHERE a.k = b.k").dataframe()
    assert sorted(last.column("e").to_pylist()) == [5, 6]
    timeless = s.query("SELECT a.`computed time` AS c FROM a, t WHERE a.k = t.k").dataframe()
    assert sorted(timeless.column("c").to_pylist()) == [7, 8]


def test_parameters_may_be_lists_in_in() -> None:
    s = tw.session()
    s.stream("a", table([0, 1, 2], k=[1, 2, 3]), time="ts")
    for given in ([1, 3], (3, 1), {1, 3}, np.array([1, 3]).tolist()):
        found = s.query("SELECT k FROM a WHERE k IN (:some)", args={"some": given}).dataframe()
        assert found.column("k").to_pylist() == [1, 3]
    assert s.query("SELECT k FROM a WHERE k IN (2, :some)", args={"some": [1]}).dataframe().num_rows == 2
    with pytest.raises(tw.SqlError, match="an empty list"):
        s.query("SELECT k FROM a WHERE k IN (:some)", args={"some": []})
    with pytest.raises(tw.SqlError, match="SQL cannot represent"):
        s.query("SELECT k FROM a WHERE k IN (:some)", args={"some": [object()]})
    with pytest.raises(tw.SqlError, match="is a list"):
        s.query("SELECT k FROM a WHERE k = :some", args={"some": [1]})


@pytest.mark.parametrize("answer", [1, "yes", 0.5])
def test_a_function_that_is_no_boolean_is_refused_anywhere(answer: float | str) -> None:
    s = tw.session()
    s.stream("a", table([0, 1], k=[1, 2]), time="ts")
    s.function("f", lambda k: answer, returns="boolean")
    for text in ("SELECT k FROM a WHERE f(k)", "SELECT k FROM a WHERE f(k) = true", "SELECT f(k) AS x FROM a"):
        with pytest.raises(tw.PredicateError, match=r"^(function 'f'|f\(a.k\)) is registered to return BOOLEAN and "):
            s.query(text).dataframe()


@pytest.mark.parametrize("answers", [[True, None], [None, None], [np.True_, np.False_]])
def test_a_function_may_not_know(answers: list[bool | np.bool_ | None]) -> None:
    s = tw.session()
    s.stream("a", table([0, 1], k=[0, 1]), time="ts")
    s.function("f", lambda k: answers[k], returns="boolean")
    expected = [k for k, answer in enumerate(answers) if answer]
    for text in ("SELECT k FROM a WHERE f(k)", "SELECT k FROM a WHERE f(k) = true"):
        assert s.query(text).dataframe().column("k").to_pylist() == expected


@pytest.mark.parametrize("kind", [pa.dictionary(pa.int8(), pa.string()), pa.string_view(), pa.large_string()])
def test_a_vectorized_function_gets_plain_columns_anywhere(kind: pa.DataType) -> None:
    import pyarrow.compute as pc

    s = tw.session()
    s.stream("a", table([0, 1], k=[1, 2], w=pa.array(["ab", "cd"]).cast(kind)), time="ts")
    s.function("has_a", lambda w: pc.match_substring(w, "a"), returns="boolean", vectorized=True)
    for text in (
        "SELECT k FROM a WHERE has_a(w)",
        "SELECT k FROM a WHERE has_a(w) = true",
        "SELECT k FROM a WHERE w = 'ab'",
    ):
        assert s.query(text).dataframe().column("k").to_pylist() == [1]


def test_the_policy_written_keeps_the_written_order() -> None:
    s = tw.session()
    known = {"rows_per_second": 1, "distinct": {"k": 5}}
    s.stream("a", table([0], k=[1]), time="ts", statistics={**known, "rows_per_second": 100})
    s.stream("b", table([0], k=[1]), time="ts", statistics=known)
    s.function("slow", lambda k: True, "boolean", cost=500, safe=True)
    s.function("fast", lambda k: True, "boolean", cost=1, safe=True)
    text = "SELECT a.k FROM a, b WHERE slow(a.k) AND fast(a.k) AND a.k = b.k WINDOW 1 MINUTE"
    for policy, filters, order in (("auto", ["fast(a.k)", "slow(a.k)"], ("b", "a")),
                                   ("static", ["slow(a.k)", "fast(a.k)"], ("a", "b"))):  # fmt: skip
        plan = s.query(text, policy=policy).plan
        assert [c.text for c in plan.scan("a").conditions] == filters
        assert plan.join is not None
        assert plan.join.order == order


def test_batches_with_other_columns_are_told() -> None:
    s = tw.session()
    one = table([0], k=[1], x=[1]).to_batches()[0]
    for other in (table([1], k=[1]).to_batches()[0], table([1], k=[1], x=["a"]).to_batches()[0]):
        s.stream("a", iter([one, other]), time="ts")
        with pytest.raises(
            tw.PlanError, match=r"batches of a differ in their columns: x is (missing|string) after int64"
        ):
            s.query("SELECT x FROM a").dataframe()
        s.stream("a", iter([one, other]), time="ts")
        assert s.query("SELECT k FROM a").dataframe().num_rows == 2  # x is not read


def test_the_last_rows_of_one_stream_are_all_of_them() -> None:
    """Each is the last at its own time, whenever that was."""
    s = tw.session()
    s.stream("old", table([-(40 * 366 * 86_400) + n for n in range(3)], k=[1, 1, 1]), time="ts")
    s.table("t", pa.table({"k": [1]}))
    assert s.query("SELECT old.k FROM old [ROWS 1], t WHERE old.k = t.k").dataframe().num_rows == 3


def test_rows_too_late_for_a_window_of_rows_are_reported() -> None:
    s = tw.session()
    batches = [batch for t in (table([1, 9, 10], k=[7] * 3), table([2], k=[7])) for batch in t.to_batches()]
    s.stream("a", batches, time="ts")
    s.stream("b", table([10], k=[7]), time="ts")
    q = s.query("SELECT a.k FROM a [ROWS 1], b [NOW] WHERE a.k = b.k")
    with pytest.warns(UserWarning, match="1 of 4 rows of a came later"):
        q.dataframe()
    assert "a: 1 row arrived later than its lateness allows and is in no window of rows" in str(q.report())
    assert q.report().to_dict()["left_out"] == {"a": 1}


def test_windows_of_centuries_and_the_least_number() -> None:
    s = tw.session()
    s.stream("a", table([0], k=[-(2**63)]), time="ts")
    found = s.query("SELECT count(*) AS n FROM a [RANGE 100000 DAYS] WHERE k = -9223372036854775808").dataframe()
    assert found.to_pylist() == [{"n": 1}]
    literals = {"-9223372036854775808": pa.int64(), "-9223372036854775808.0": pa.decimal128(20, 1),
                "-9.223372036854775808E18": pa.float64()}  # fmt: skip
    for text, kind in literals.items():
        assert s.query(f"SELECT {text} AS x FROM a").schema.field("x").type == kind


def test_the_index_of_pandas_is_no_column() -> None:
    import pandas as pd

    s = tw.session()
    df = pd.DataFrame({"ts": pd.to_datetime([0, 1, 2], unit="s"), "k": [1, 2, 1]})
    s.stream("a", df[df.k == 1], time="ts", statistics={"distinct": {"K": 2}})
    assert s.query("SELECT * FROM a").schema.names == ["ts", "k"]
    assert s.query("SELECT * FROM a").dataframe().num_rows == 2
    mixed = pd.DataFrame({"ts": df.ts, "k": [1, "a", None]})
    with pytest.raises(tw.PlanError, match="cannot be read as an Arrow table"):
        s.stream("a", mixed, time="ts")


def test_what_is_fixed_does_not_adapt() -> None:
    s = tw.session()
    s.stream("a", table([0], k=[1]), time="ts")
    s.function("risky", lambda k: True, "boolean")
    free = s.query("SELECT k FROM a WHERE risky(k) AND 1 / k > 0 AND risky(k + 1)")
    assert free.explain().adapts == ("the order of the 3 filters of a",)
    guarded = s.query("SELECT k FROM a WHERE k <> 0 AND 1 / k > 0")
    assert guarded.explain().adapts == ("the order of the 2 filters of a",)
    # the JVM fails the query where a condition raises, so there it waits
    fixed = explain_query(optimize(guarded.plan.query, "spark"), QueryRun("Spark", parts=guarded.report().parts))
    assert fixed.adapts == ("nothing: only one order is possible",)
    assert "in this order, because the later ones can raise" in str(fixed)


def test_a_stream_beside_tables_has_an_estimate_of_its_own() -> None:
    s = tw.session()
    s.stream("a", table([0], k=[1]), time="ts", statistics={"rows_per_second": 5})
    s.table("t", pa.table({"k": [1]}), statistics={"rows": 10, "distinct": {"k": 20}})
    told = s.query("SELECT a.k FROM a, t WHERE a.k = t.k AND a.k > 1").explain()
    assert told.estimates == (
        "a: declared: 5 rows per second, of which filters keep 33.3 %, assumed",
        "t: 0.5 partners per row of a, 39.3 % of rows find one, declared: 20 distinct values of k, 10 rows",
    )
