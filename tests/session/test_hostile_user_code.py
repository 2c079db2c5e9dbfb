"""What user code raises and returns, however hostile, gives rows or one of our errors, at every place that calls it."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import thalweg as tw
from tests.long_run import examples
from tests.session.hostile_code import EXCEPTIONS, RESULTS, HostileObject, WithoutClass, cyclic_list
from thalweg.errors import ThalwegError

ROWS = pa.table({"ts": pa.array([1, 2, 3], pa.timestamp("us")), "n": [1, 2, 3]})
JOINED = "SELECT t.n FROM t [RANGE 1 SECOND], u [RANGE 1 SECOND] WHERE t.n = u.n AND"
QUERIES = {
    "select": "SELECT f(n) AS y FROM t",
    "branch": "SELECT CASE WHEN n > 1 THEN f(n) END AS y FROM t",
    "where": "SELECT n FROM t WHERE f(n) = f(n)",
    "aggregate": "SELECT max(f(n)) AS y FROM t GROUP BY TUMBLE(1 SECOND)",
    "key": "SELECT f(n) AS y, count(*) AS c FROM t GROUP BY f(n), TUMBLE(1 SECOND)",
    "having": "SELECT count(*) AS c FROM t GROUP BY TUMBLE(1 SECOND) HAVING f(count(*)) = f(1)",
    "join condition": f"{JOINED} f(t.n) <= f(u.n)",
    "join key": "SELECT t.n FROM t [RANGE 1 SECOND], u [RANGE 1 SECOND] WHERE f(t.n) = f(u.n)",
    "table": "SELECT t.n FROM t, k WHERE t.n = k.n AND f(t.n) = f(k.n)",
}
TYPES = ["string", "bigint", "double", "boolean", "binary", "timestamp", "decimal(5, 2)"]
MOST = 3_000
"""The most characters of a message: that of an exception, what it is about, and a remedy."""

Function = Callable[..., Any]


def session_with(func: Function, returns: str, vectorized: bool, spark: Any = None) -> tw.Session:
    s = tw.session(spark)
    s.function("f", func, returns, vectorized=vectorized)
    for name in ("t", "u"):
        s.stream(name, ROWS if spark is None else spark.createDataFrame(ROWS), time="ts")
    s.table("k", ROWS.select(["n"]) if spark is None else spark.createDataFrame(ROWS.select(["n"])))
    return s


def in_query(place: str, func: Function, returns: str, vectorized: bool, **options: Any) -> Any:
    return session_with(func, returns, vectorized).query(QUERIES[place], name="q", **options).dataframe()


def in_filter(func: Function, returns: str, vectorized: bool, **options: Any) -> Any:
    return list(tw.filters(tw.predicate(func, "n", name="f", vectorized=vectorized), **options).over(ROWS))


def set_aside(func: Function, returns: str, vectorized: bool, **options: Any) -> Any:
    keep = tw.filters(tw.predicate(func, "n", name="f", vectorized=vectorized), on_error="dead-letter", **options)
    return list(keep.failed_over(ROWS))


def in_setup(func: Function, returns: str, vectorized: bool, **options: Any) -> Any:
    ready = tw.predicate(lambda value, n: True, "n", name="f", setup=partial(func, None))
    return list(tw.filters(ready, **options).over(ROWS))


def set_aside_in_sql(func: Function, returns: str, vectorized: bool, **options: Any) -> Any:
    asked = session_with(func, "boolean", vectorized).query(f"{JOINED} f(t.n)", on_error="dead-letter", **options)
    return asked.failed()


PLACES: dict[str, Any] = {
    **{place: partial(in_query, place) for place in QUERIES},
    "filter": in_filter, "set aside": set_aside, "setup": in_setup, "set aside in SQL": set_aside_in_sql,
}  # fmt: skip


def message_of(work: Callable[[], Any]) -> str:
    """Return the message of our error; empty if there is none. Any other exception is raised. Message and traceback
    can be printed."""
    try:
        work()
    except ThalwegError as error:
        text = str(error)
        written = "".join(traceback.format_exception(error)).encode() + text.encode()
    else:
        return ""
    assert len(text) < MOST
    assert len(written) < 300_000
    return text


def raises(exception: Callable[[], Exception]) -> Function:
    def func(*values: Any) -> Any:
        raise exception()

    return func


def returns_always(result: Callable[[], Any], as_list: bool = False) -> Function:
    return lambda *values: [result()] * len(values[0]) if as_list else result()


@pytest.mark.parametrize("place", PLACES)
@examples(len(EXCEPTIONS), long=300)
@given(exception=st.sampled_from(EXCEPTIONS), vectorized=st.booleans())
def test_whatever_is_raised_is_an_error_that_names_the_function(
    place: str, exception: Callable[[], Exception], vectorized: bool
) -> None:
    call = partial(PLACES[place], raises(exception), "bigint", vectorized)
    kind = type(exception()).__name__
    message = message_of(call)
    assert message == "" if place.startswith("set aside") else "f" in message and f" raised {kind}" in message
    hidden = message_of(partial(call, redact=True))
    if place != "setup":  # which has seen no row
        assert not any(word in hidden for word in ("half a pair", "xxx", "deep", "mine"))


@pytest.mark.parametrize("place", PLACES)
@examples(40, long=1_000)
@given(result=st.sampled_from(RESULTS), returns=st.sampled_from(TYPES), vectorized=st.booleans(), as_list=st.booleans())
def test_whatever_is_returned_gives_rows_or_an_error_that_names_the_function(
    place: str, result: Callable[[], Any], returns: str, vectorized: bool, as_list: bool
) -> None:
    func = returns_always(result, as_list and vectorized and place != "setup")
    for redact in (False, True):
        message = message_of(partial(PLACES[place], func, returns, vectorized, redact=redact))
        assert not message or "f" in message.split()[:9] or "'f'" in message or "f(" in message
        assert not (redact and "half a pair" in message)


def test_a_text_that_cannot_be_encoded_names_the_row() -> None:
    for func, named in ((lambda n: "\ud800" if n > 1 else "a", "given 2"), (lambda n: "\ud800", "given 1")):
        message = message_of(partial(in_query, "select", func, "string", False))
        assert message.startswith("function 'f' returned text that UTF-8 cannot encode")
        assert f", {named};" in message


FAR = {
    "time": (pa.array([1, 2**62], pa.timestamp("us")), "4,611,686,018,427,387,904 µs after 1970"),
    "zoned time": (pa.array([1, -(2**62)], pa.timestamp("us", "UTC")), "-4,611,686,018,427,387,904 µs after 1970"),
    "date": (pa.array([1, 2**31 - 1], pa.int32()).cast(pa.date32()), "2,147,483,647 days after 1970"),
    "text": (pa.array([b"a", b"\xffb"]).view(pa.string()), "b'\\xffb'"),
}  # fmt: skip
"""A value that Python does not have, after one that it has, and how an error shows it."""


@pytest.mark.parametrize("kind", FAR)
def test_a_row_without_a_python_value_is_shown_and_its_function_is_not_called(kind: str) -> None:
    values, shown = FAR[kind]
    rows = pa.table({"ts": pa.array([1, 1], pa.timestamp("us")), "n": [1, 2], "far": values})
    calls: list[Any] = []

    def f(value: object) -> bool:
        calls.append(value)
        return True

    s = tw.session()
    s.stream("t", rows, time="ts")
    s.stream("u", rows, time="ts")
    s.function("f", f, "boolean")
    s.function("g", lambda n: 1 // (n - 2) < 1, "boolean")
    message = message_of(s.query("SELECT f(far) AS y FROM t").dataframe)
    assert message.startswith(f"function 'f' cannot be called for a row: Python has no value for {shown};")
    assert len(calls) == 1
    hidden = message_of(s.query("SELECT f(far) AS y FROM t", redact=True).dataframe)
    assert hidden.startswith("function 'f' cannot be called for a row: Python has no such value")
    joined = "SELECT t.n, t.far FROM t [NOW], u [NOW] WHERE t.n = u.n AND"
    for text in ("SELECT n, far FROM t WHERE f(far)", f"{joined} f(t.far)", f"{joined} g(t.n)"):
        message = message_of(s.query(text).dataframe)
        assert "o condition drops" in message
        assert f"far={shown}" in message
        failed = s.query(text, on_error="dead-letter").failed()
        assert failed.column("t_n" if "u [NOW]" in text else "n").to_pylist() == [2]


def test_keys_without_a_python_value_are_shown() -> None:
    rows = pa.table({"ts": pa.array([1] * 4, pa.timestamp("us")), "k": pa.array([2**62] * 4, pa.timestamp("us"))})
    join = tw.join("a.k = b.k", window="1 s", time="ts", max_matches=2)
    message = message_of(lambda: list(join.over(a=rows, b=rows)))
    assert "(k=4,611,686,018,427,387,904 µs after 1970)" in message


@pytest.mark.long(sample="test_whatever_is_raised_is_an_error_that_names_the_function")
@pytest.mark.parametrize("place", PLACES)
def test_a_text_of_100_megabytes_is_cut(place: str) -> None:
    for func in (raises(lambda: ValueError("x" * 10**8)), lambda *values: "x" * 10**8):
        message_of(partial(PLACES[place], func, "bigint", False))


def hostile_by_row(n: int) -> bool:
    raise EXCEPTIONS[n % len(EXCEPTIONS)]()


def test_hostile_exceptions_on_spark(spark: SparkSession) -> None:
    """One row per exception, all of which are set aside; and one error at each place that raises."""
    from thalweg.runtime.spark.sql.failures import sentence_of

    rows = spark.range(len(EXCEPTIONS)).selectExpr("id AS n", "timestamp_micros(id) AS ts").coalesce(1)
    found = tw.filters(tw.predicate(hostile_by_row, "n", name="f"), on_error="dead-letter").failed(rows).collect()
    texts = {row.n: row.thalweg_errors[0].error for row in found}
    assert [texts[n].partition(":")[0] for n in range(len(EXCEPTIONS))] == [type(e()).__name__ for e in EXCEPTIONS]
    s = tw.session(spark)
    s.stream("t", rows.filter("n = 7"), time="ts")
    s.function("f", hostile_by_row, "boolean")
    s.function("half", lambda n: "\ud800", "string")
    s.function("cyclic", lambda n: cyclic_list(), "string")
    s.function("without", lambda n: WithoutClass(), "string")
    for text, words in (
        (
            "SELECT cyclic(n) AS y FROM t",
            "function 'cyclic' is registered to return STRING and returned values of list",
        ),
        ("SELECT without(n) AS y FROM t", "function 'without' is registered to return STRING and returned values of W"),
        ("SELECT f(n) AS y FROM t", "function 'f' raised ValueError: half a pair: ?"),
        ("SELECT n FROM t WHERE f(n)", "condition 'f(t.n)' raised ValueError: half a pair: ?"),
        ("SELECT half(n) AS y FROM t", "function 'half' returned text that UTF-8 cannot encode"),
    ):
        with pytest.raises(Exception, match="Error") as caught:
            s.query(text).dataframe().collect()
        assert sentence_of(str(caught.value)).startswith(words)
    hostile = HostileObject()
    s.function("f", lambda n: hostile is None, "boolean")
    for text in ("SELECT f(n) AS y FROM t", "SELECT n FROM t WHERE f(n)"):
        message = message_of(s.query(text).dataframe)
        assert "cannot be sent to Spark's workers: RuntimeError: asked a hostile object" in message
        assert message.startswith(("function 'f'", "predicate 'f(t.n)'"))
