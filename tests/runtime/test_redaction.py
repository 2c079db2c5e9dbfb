"""With `redact`, no value of a row leaves in errors, reports, event records, warnings or explanations."""

from __future__ import annotations

import json
import traceback
import warnings
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import thalweg as tw

SECRET = "s3cret"
NUMBER = 987654321
TIMES = pa.array([datetime(2026, 1, 1, 0, 0, n) for n in range(4)], pa.timestamp("us"))
TABLE = pa.table({"ts": TIMES, "k": [SECRET] * 4, "n": [NUMBER] * 4})
SCHEMA = "ts timestamp_ntz, k string, n long"
JOIN: dict[str, Any] = {"on": "a.k = b.k", "window": "1 minute", "time": "ts"}


def fails(text: object) -> bool:
    raise ValueError(f"cannot use {text}")


def fails_on_arrays(texts: pa.Array) -> pa.Array:
    raise ValueError(f"cannot use {texts[0]}")


def large(number: int) -> int:
    return number


def a_session(spark: Any = None) -> tw.Session:
    s = tw.session(spark)
    for name in ("a", "b"):
        s.stream(name, TABLE if spark is None else spark.createDataFrame(TABLE, SCHEMA), time="ts")
    s.function("fails", fails, "boolean")
    s.function("vector_fails", fails_on_arrays, "boolean", vectorized=True)
    s.function("large", large, "tinyint")
    return s


QUERIES = {
    "cast in SELECT": "SELECT CAST(k AS INT) AS x FROM a",
    "number in SELECT": "SELECT CAST(n AS TINYINT) AS x FROM a",
    "function in SELECT": "SELECT fails(k) AS x FROM a",
    "array function in SELECT": "SELECT vector_fails(k) AS x FROM a",
    "result of a function": "SELECT large(n) AS x FROM a",
    "function in WHERE": "SELECT n FROM a WHERE fails(k)",
    "cast in WHERE": "SELECT n FROM a WHERE CAST(k AS INT) > 0",
    "function on joined rows": "SELECT a.n FROM a, b WHERE a.k = b.k AND fails(concat(a.k, b.k)) WINDOW 1 MINUTE",
    "cast on joined rows": "SELECT a.n FROM a, b WHERE a.k = b.k AND CAST(concat(a.k, b.k) AS INT) > 0 WINDOW 1 MINUTE",
    "function in GROUP BY": "SELECT count(*) AS c FROM a GROUP BY fails(k), TUMBLE(1 MINUTE)",
    "cast in HAVING": "SELECT max(k) AS m FROM a GROUP BY TUMBLE(1 MINUTE) HAVING CAST(max(k) AS INT) > 0",
    "cast in a key": "SELECT a.n FROM a, b WHERE CAST(a.k AS INT) = b.n WINDOW 1 MINUTE",
}


def everything(error: BaseException) -> str:
    """All that can be found in an error: itself, and what is chained to it, whether shown or not."""
    told = []
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        each = waiting.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            told += [repr(each), str(each), "".join(traceback.format_exception(each))]
            waiting += [each.__cause__, each.__context__]
    return "\n".join(told)


def raised(work: Callable[[], Any]) -> str:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - of several kinds, looked at by the caller
        work()
    return everything(caught.value)


def joined(join: tw.Join, a: pa.Table, b: pa.Table) -> list[pa.RecordBatch]:
    return list(join.over(a=a, b=b))


def gives_away(text: str) -> bool:
    return SECRET in text or str(NUMBER) in text


@pytest.fixture(autouse=True)
def _warnings_are_looked_at() -> Iterator[None]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield
    assert not [str(each.message) for each in found if gives_away(str(each.message))]


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_that_fails_gives_no_value_away(name: str) -> None:
    s = a_session()
    assert gives_away(raised(s.query(QUERIES[name]).dataframe)), "without redact the value helps"
    text = raised(s.query(QUERIES[name], redact=True).dataframe)
    assert not gives_away(text)
    assert "thalweg.errors" in text or "thalweg.kernels.answer" in text


@pytest.mark.parametrize("further", ["CAST(a.k AS INT) > b.n", "CAST(a.k AS INT) > 1", "a.n * 100000000000 > b.n"])
def test_conditions_of_a_join_give_no_value_away(further: str) -> None:
    """On joined rows, on the rows of one stream, and one whose error holds no value in any case."""
    for redact in (False, True):
        join = tw.join(f"a.k = b.k AND {further}", window="1 minute", time="ts", redact=redact)
        told = raised(partial(joined, join, TABLE, TABLE))
        assert f"on=: {further}: " in told
        assert not (redact and gives_away(told))


def test_conditions_of_a_join_on_spark_give_no_value_away(spark: SparkSession) -> None:
    df = spark.createDataFrame(TABLE, SCHEMA)
    join = tw.join("a.k = b.k AND CAST(a.k AS INT) > b.n", window="1 minute", time="ts", redact=True)
    told = raised(join(a=df, b=df).collect)
    assert "a text value is not a valid INT in CAST(a.k AS INT)" in told
    assert not gives_away(told)


def test_the_type_of_a_result_gives_no_value_away() -> None:
    s = a_session()
    s.function("fields", lambda texts: pa.array([{text: 1} for text in texts.to_pylist()]), "bigint", vectorized=True)
    assert gives_away(raised(s.query("SELECT fields(k) AS x FROM a").dataframe))
    assert not gives_away(raised(s.query("SELECT fields(k) AS x FROM a", redact=True).dataframe))


def test_sums_and_times_that_do_not_fit_give_no_value_away() -> None:
    s = tw.session()
    s.stream("a", pa.table({"ts": TIMES, "n": [4_611_000_000_987_654_321] * 4}), time="ts")
    text = "SELECT sum(n) AS x FROM a GROUP BY TUMBLE(1 MINUTE)"
    assert "18444000003950617284" in raised(s.query(text).dataframe)
    hidden = raised(s.query(text, redact=True).dataframe)
    assert "SumOverflowError" in hidden
    assert "18444000003950617284" not in hidden
    far = pa.table({"k": [1], "ts": pa.array([98765432101], pa.timestamp("s"))})
    near = pa.table({"k": [1], "ts": pa.array([1], pa.timestamp("ns"))})
    for redact in (False, True):
        join = tw.join(**JOIN, redact=redact)
        told = raised(partial(joined, join, far, near))
        assert "a.ts has a time that does not fit into timestamp[ns]" in told
        assert ("98765432101" in told) is not redact


def test_a_started_query_gives_no_value_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_REDACT", "true")
    handle = a_session().query(QUERIES["cast in SELECT"]).start(format="noop")
    text = raised(handle.awaitTermination)
    assert "a text value is not a valid INT in CAST(a.k AS INT)" in text
    error = handle.exception()
    assert error is not None
    assert not gives_away(text + everything(error))


ON_SPARK = ["cast in SELECT", "function in SELECT", "cast in HAVING", "cast on joined rows"]


@pytest.mark.parametrize("name", ON_SPARK)
def test_on_spark_a_query_that_fails_gives_no_value_away(spark: Any, name: str) -> None:
    handle = a_session(spark).query(QUERIES[name], redact=True).start(format="noop")
    text = raised(handle.awaitTermination)
    assert "QueryError" in text
    error = handle.exception()
    assert error is not None
    assert not gives_away(text + everything(error))


def test_an_error_names_kind_and_remedy_without_values() -> None:
    text = raised(a_session().query(QUERIES["function in SELECT"], redact=True).dataframe)
    assert "function 'fails' raised ValueError (test_redaction.py" in text
    assert "make it return None for such rows" in text


def test_filters_give_no_value_away() -> None:
    keep = tw.filters(tw.predicate(fails, "k"), redact=True)
    assert not gives_away(raised(lambda: list(keep.over(TABLE))))


def outputs(join: tw.Join, events: Path) -> str:
    report = join.report()
    return "\n".join([str(report), json.dumps(report.to_dict()), report._repr_html_(), events.read_text()])


def test_a_join_gives_no_value_away(tmp_path: Path) -> None:
    for redact in (False, True):
        events = tmp_path / f"{redact}.jsonl"
        join = tw.join(**JOIN, max_matches=5, events=events, redact=redact)
        list(join.over(a=TABLE, b=TABLE))
        assert "matches by its keys" in str(join.report())
        assert gives_away(outputs(join, events)) is not redact
        text = raised(partial(joined, tw.join(**JOIN, max_matches=2, redact=redact), TABLE, TABLE))
        assert "one row of " in text
        assert gives_away(text) is not redact


def test_a_join_of_a_query_gives_no_value_away() -> None:
    s = a_session()
    text = "SELECT a.n AS x FROM a, b WHERE a.k = b.k WINDOW 1 MINUTE"
    for redact in (False, True):
        q = s.query(text, redact=redact)
        q.dataframe()
        told = str([str(q.report()), q.report().to_dict(), q.events(), str(q.explain())])
        assert gives_away(told) is not redact


def test_on_spark_a_join_gives_no_value_away(spark: Any, tmp_path: Path) -> None:
    frames = {name: spark.createDataFrame(TABLE, SCHEMA) for name in ("a", "b")}
    events = tmp_path / "run.jsonl"
    join = tw.join(**JOIN, max_matches=5, events=events, redact=True)
    assert len(join(**frames).collect()) == 16
    assert "matches by its keys" in str(join.report())
    assert not gives_away(outputs(join, events))
    text = raised(tw.join(**JOIN, max_matches=2, redact=True)(**frames).collect)
    assert "JoinLimitError: one row of " in text
    assert not gives_away(text)


def test_a_value_that_looks_like_an_error_of_ours_is_a_value(spark: SparkSession, tmp_path: Path) -> None:
    """Spark quotes the value in its message, with the ends of its lines."""
    forged = f"x\nthalweg.errors.FailedRowError: card {SECRET} of somebody"
    s = tw.session(spark)
    table = pa.table({"ts": TIMES, "k": ["1", forged, "2", "3"]})
    s.stream("a", spark.createDataFrame(table, "ts timestamp_ntz, k string"), time="ts")
    for redact in (True, False):
        handle = s.query("SELECT CAST(k AS INT) AS x FROM a", redact=redact).start(path=str(tmp_path / str(redact)))
        told = raised(handle.awaitTermination)
        assert "CAST_INVALID_INPUT" in told.splitlines()[0]
        assert not (redact and gives_away(told))


def test_errors_that_are_not_ours_give_no_value_away() -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield TABLE.to_batches()[0]
        raise OSError(f"cannot read after {SECRET}")

    s = tw.session()
    s.stream("a", batches(), time="ts")
    told = raised(s.query("SELECT n FROM a", redact=True).dataframe)
    assert "QueryError: the run failed with OSError" in told
    assert not gives_away(told)


def test_a_date_that_python_does_not_have_is_an_error_of_its_row() -> None:
    s = tw.session()
    s.stream("a", pa.table({"ts": TIMES[:1], "d": pa.array([2**31 - 1], pa.date32())}), time="ts")
    with pytest.raises(tw.ExpressionError, match="does not fit in TIMESTAMP"):
        s.query("SELECT CAST(d AS TIMESTAMP) AS x FROM a").dataframe()
