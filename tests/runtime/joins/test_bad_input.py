"""Errors about a join name the argument, its value, and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import thalweg as tw

ROWS = pa.table({"k": [1, 2], "t": [1, 2]})
STAMPED = pa.table({"k": [1], "t": pa.array([5], pa.timestamp("us"))})


def joined(
    on: str = "a.k = b.k",
    *,
    a: Any = ROWS,
    b: Any = ROWS,
    window: Any = 10,
    time: Any = "t",
    lateness: Any = 0,
    **more: Any,
) -> list[dict[str, Any]]:
    join = tw.join(on=on, window=window, time=time, lateness=lateness, **more)
    return [row for batch in join.over(a=a, b=b) for row in batch.to_pylist()]


def column(kind: pa.DataType, name: str = "k") -> pa.Table:
    """An empty table with one column of that type."""
    return pa.table({name: pa.array([], kind), "t": pa.array([], pa.int64())})


def refused(call: Callable[[], Any], *parts: str) -> None:
    """Check that the error is one of Thalweg's, and that its message contains every part."""
    with pytest.raises(tw.ThalwegError) as caught:
        call()
    message = str(caught.value)
    assert not [part for part in parts if part not in message], message


@pytest.mark.parametrize(
    ("on", "parts"),
    [
        ("a.k = b.k AND c.k = d.k", ["{a, b} and {c, d}", "add one"]),
        ("a.k = b.k AND c.k = d.k AND e.x = f.x", ["{a, b} and {c, d} and {e, f}"]),
        ("a.k = b.k AND a.x < c.x", ["{a, b} and {c}"]),  # no equality connects c
        ("a.k < b.k", ["{a} and {b}"]),
        ("a.k = a.m", ["at least two streams", "a.k = b.k"]),
        ("lower(a.k) = b.k", ["LOWER(a.k)", "not supported", "tw.filters"]),
        ("a.k = b.k AND a.k IN (SELECT 1)", ["SELECT 1", "not supported"]),
        ("a.k = b.k AND a.k / 2 = 1", ["a.k / 2", "not supported"]),
        ("a.k <=> b.k", ["<=>", "not supported"]),
        ("k = b.k", ["k has no stream", "write a.k"]),
        ("a.k = b.k AND 1 = 1", ["1 = 1", "reads no stream", "remove it"]),
        ("a.k = b.k AND", ["cannot be parsed", "column 13"]),
        ("a.k == = b.k", ["cannot be parsed"]),
        ("x.a.k = b.k", ["x.a.k", "is not alias.column"]),
        ("a.* = b.k", ["a.*"]),
        ("", ["on=''", "'a.k = b.k'"]),
        (None, ["on=None", "'a.k = b.k'"]),
        (7, ["on=7"]),
    ],
)
def test_conditions(on: Any, parts: list[str]) -> None:
    refused(lambda: tw.join(on=on, window=1, time="t"), *parts)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ({"on": "a.key = b.k", "a": pa.table({"keys": [1], "t": [1]})}, ["a has no column 'key'", "'keys'", "keys, t"]),
        ({"on": "a.k = b.k AND a.z > 1"}, ["a has no column 'z'", "k, t"]),
        ({"on": "a.k = b.k AND a.k = a.z"}, ["a has no column 'z'"]),
        ({"time": "tt"}, ["time=", "a has no column 'tt'", "'t'"]),
        ({"time": {"a": "t", "b": "when"}}, ["time=", "b has no column 'when'"]),
        ({"time": None}, ["time of a=None", "name of the column"]),
        ({"time": {"a": "t", "b": 3}}, ["time of b=3", "name of the column"]),
        (
            {"time": {"a": "t"}, "window": {"a": 1, "b": 1}},
            ["time: b is missing", "add 'b': ... to time", "remove it from both"],
        ),
        ({"time": {"a": "t", "b": "t"}, "window": {"b": 1}}, ["window: a is missing", "to window"]),
        ({"a": pa.table([[1], [2], [3]], names=["k", "k", "t"])}, ["several columns 'k'", "rename"]),
        ({"a": pa.table([[1], [2], [3]], names=["k", "t", "t"])}, ["several columns 't'", "rename"]),
        ({"a": pa.table({"k": [1], "t": ["noon"]})}, ["a.t is string", "cast"]),
        ({"a": STAMPED}, ["a.t is timestamp[us]", "b.t is int64", "cast"]),
        (
            {"a": STAMPED, "b": pa.table({"k": [1], "t": pa.array([5], pa.timestamp("us", "UTC"))}), "window": "1 s"},
            ["a.t is timestamp[us]", "b.t is timestamp[us, tz=UTC]", "cast"],
        ),
        ({"a": pa.table({"k": [1], "t": pa.array([2**63], pa.uint64())})}, ["a.t", "does not fit into int64"]),
    ],
)  # fmt: skip
def test_columns_and_times(arguments: dict[str, Any], parts: list[str]) -> None:
    refused(lambda: joined(**arguments), *parts)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.string(), pa.int64()),
        (pa.binary(), pa.string()),
        (pa.date32(), pa.timestamp("us")),
        (pa.timestamp("us"), pa.timestamp("us", "UTC")),
        (pa.decimal128(5, 2), pa.int32()),
        (pa.bool_(), pa.int8()),
        (pa.dictionary(pa.int8(), pa.string()), pa.int8()),
    ],
)
def test_types_that_are_never_equal(one: pa.DataType, other: pa.DataType) -> None:
    refused(lambda: joined(a=column(one), b=column(other)), f"a.k is {one}", f"b.k is {other}", "cast")
    a = pa.table({"k": pa.array([], one), "m": pa.array([], other), "t": pa.array([], pa.int64())})
    refused(lambda: joined("a.k = b.k AND a.m = a.k", a=a, b=column(one)), f"a.k is {one}", f"a.m is {other}")


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.list_(pa.int8()), pa.struct([("f", pa.int8())])])
def test_types_that_are_no_keys(kind: pa.DataType) -> None:
    refused(lambda: joined(a=column(kind), b=column(kind)), f"a.k is {kind}", "cannot be a join key", "cast")


@pytest.mark.parametrize(
    ("window", "parts"),
    [
        (-1, ["window=-1", "not be negative"]),
        ({"a": 1, "b": -1}, ["window of b=-1", "not be negative"]),
        ("10 seconds", ["window of a='10 seconds'", "whole number"]),
        (timedelta(seconds=1), ["window of a=", "whole number"]),
        (1.5, ["1.5", "whole number"]),
        (float("inf"), ["inf", "whole number"]),
        (float("nan"), ["nan", "whole number"]),
        (2**62, [str(2**62), "longer than"]),
        (True, ["True", "length of time"]),
        (None, ["None", "length of time"]),
        ([1], ["[1]", "length of time"]),
        ({"a": 1, "bb": 1}, ["window: 'bb' is not a stream", "a, b"]),
        ({}, ["all inputs are tables", "at least one stream"]),
        ({1: 1}, ["window: 1 is not a stream"]),
    ],
)
def test_windows_over_whole_numbers(window: Any, parts: list[str]) -> None:
    refused(lambda: joined(window=window), *parts)


@pytest.mark.parametrize(
    ("window", "parts"),
    [
        (10, ["window of a=10", "'10 seconds'"]),
        ("ten seconds", ["'ten seconds'", "a number and a unit"]),
        ("10", ["'10'", "a number and a unit"]),
        ("", ["''", "a number and a unit"]),
        ("10 secnds", ["'secnds' is not a unit", "did you mean 'second'"]),
        ("10 months", ["'months' is not a unit", "week"]),
        ("-5 seconds", ["'-5 seconds'", "not be negative"]),
        (timedelta(seconds=-5), ["not be negative"]),
        ("1000000000 weeks", ["longer than"]),
    ],
)
def test_windows_over_timestamps(window: Any, parts: list[str]) -> None:
    refused(lambda: joined(a=STAMPED, b=STAMPED, window=window, lateness="0 s"), *parts)


@pytest.mark.parametrize("name", ["window", "lateness", "max_ahead", "idle_after"])
@pytest.mark.parametrize(
    ("length", "said"),
    [
        ("10 secnds", "did you mean 'second'"),
        ("soon", "a number and a unit"),
        ("-1 s", "not be negative"),
        ([10], "a length of time"),
        (True, "a length of time"),
        (2.5, "seconds'"),
    ],
)
def test_an_invalid_length_is_reported_before_there_is_data(name: str, length: Any, said: str) -> None:
    refused(
        lambda: tw.join(**{"on": "a.k = b.k", "window": 1, "time": "t", name: length}), f"{name}={length!r}: ", said
    )


def test_an_invalid_length_of_one_stream_is_reported_early() -> None:
    refused(lambda: tw.join("a.k = b.k", {"a": 1, "b": "x"}, "t"), "window of b='x'", "a number and a unit")
    lateness: Any = {"a": None, "b": 1}
    refused(lambda: tw.join("a.k = b.k", 1, "t", lateness), "lateness of a=None", "a length of time")


def test_lateness_is_a_length_too() -> None:
    refused(lambda: joined(lateness=-2), "lateness=-2", "not be negative")
    refused(lambda: joined(lateness={"a": 1, "c": 2}), "lateness: 'c' is not a stream")
    refused(lambda: joined(lateness={"a": 1}), "lateness: b is missing", "add 'b'", "window as a dict")
    refused(
        lambda: joined(window={"a": 1}, lateness={"a": 1, "b": 1}), "lateness: b is a table", "remove it from lateness"
    )


@pytest.mark.parametrize(
    ("select", "parts"),
    [
        ("a.k", ["select='a.k'", "must be a list"]),
        ({"a.k"}, ["must be a list"]),
        (7, ["select=7", "must be a list"]),
        ([], ["names no column", "['event_time']"]),
        (["a.k", 7], ["7 is not a column"]),
        (["a.k", ""], ["'' is not a column"]),
        (["a.k", None], ["None is not a column"]),
        (["a.k", "b.k", "a.k"], ["'a.k' is listed twice"]),
        (["event_time", "event_time"], ["'event_time' is listed twice"]),
        (["k"], ["'k' has no stream", "write 'a.k'"]),
        (["*"], ["'*' has no stream"]),
        (["c.k"], ["'c' of 'c.k' is not a stream", "a, b"]),
        (["aa.*"], ["'aa' of 'aa.*' is not a stream", "did you mean 'a'"]),
    ],
)
def test_selections_that_no_columns_are_needed_to_refuse(select: Any, parts: list[str]) -> None:
    refused(lambda: tw.join(on="a.k = b.k", window=1, time="t", select=select), *parts)


@pytest.mark.parametrize(
    ("select", "parts"),
    [
        (["a.kk"], ["a has no column 'kk'", "did you mean 'k'", "it has k, t"]),
        (["b_tt"], ["'b_tt' is not a column of the result", "did you mean 'b_t'", "a_k, a_t, b_k, b_t"]),
        (["a.k", "a.*"], ["'a.k' and 'a.*' both give a.k", "remove one"]),
        (["a.k", "a_k"], ["'a.k' and 'a_k' both give a.k"]),
        (["a.`k`", "a.k"], ["'a.`k`' and 'a.k' both give a.k"]),
    ],
)
def test_selections_that_fit_no_columns(select: list[str], parts: list[str]) -> None:
    join = tw.join(on="a.k = b.k", window=1, time="t", lateness=0, select=select)
    refused(lambda: join.over(a=ROWS, b=ROWS), *parts)


def test_a_selection_of_one_of_two_columns_with_one_name() -> None:
    twice = pa.table([[1], [2], [3], [4]], names=["k", "x", "x", "t"])
    refused(lambda: joined(a=twice, select=["a.x"]), "a has several columns 'x'", "rename")
    refused(lambda: joined(a=twice), "a.x and a.x would both be 'a_x'", "rename")
    assert joined(a=twice, b=pa.table({"k": [1], "t": [4]}), select=["a.k"]) == [{"a_k": 1, "event_time": 4}]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ({"policy": "a-gredy"}, ["'a-gredy'", "did you mean 'a-greedy'"]),
        ({"max_matches": 0}, ["max_matches=0", "1 or more"]),
        ({"max_matches": True}, ["max_matches=True"]),
        ({"slice_rows": 1.5}, ["slice_rows=1.5"]),
        ({"seed": -1}, ["seed=-1"]),
        ({"events": 5}, ["events=5", "path"]),
    ],
)
def test_settings_of_a_join(arguments: dict[str, Any], parts: list[str]) -> None:
    refused(lambda: joined(**arguments), *parts)


def test_two_columns_with_one_name_in_the_result() -> None:
    join = tw.join(on="a.b_k = a_b.k", window=1, time="t", lateness=0)
    tables = {"a": pa.table({"b_k": [1], "t": [1]}), "a_b": ROWS}
    refused(lambda: join.over(**tables), "a.b_k and a_b.k", "'a_b_k'", "rename")
    both: dict[str, Any] = {"on": "a.b_k = a_b.k", "window": 1, "time": "t", "lateness": 0}
    refused(lambda: tw.join(**both, select=["a_b_k"]).over(**tables), "'a_b_k'", "write 'a.b_k' or 'a_b.k'")
    refused(lambda: tw.join(**both, select=["a.b_k", "a_b.k"]).over(**tables), "a.b_k and a_b.k", "rename")
    (one,) = tw.join(**both, select=["a_b.k"]).over(**tables)
    assert one.to_pylist() == [{"a_b_k": 1, "event_time": 1}]
    join = tw.join(on="event.k = b.k", window=1, time={"event": "time", "b": "t"}, lateness=0)
    refused(lambda: join.over(event=pa.table({"k": [1], "time": [1]}), b=ROWS), "event.time", "'event_time'", "rename")


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ([{"k": 1, "t": 1}], "dict"),
        ([ROWS], "Table"),
        ("file.parquet", "str"),
        (None, "NoneType"),
        (7, "int"),
        ({"k": [1]}, "dict"),
        ([None], "NoneType"),
        ([ROWS.to_batches()[0], None, ROWS.to_batches()[0]], "NoneType"),
    ],
)
def test_what_is_no_arrow_batch(source: Any, named: str) -> None:
    way = "pa.concat_tables" if named == "Table" else "pa.table"
    refused(lambda: joined(a=source), "a: over() takes", f"not {named}", way)


def test_whatever_gives_arrow_data_is_a_source(tmp_path: Path) -> None:
    dataset, parquet = pytest.importorskip("pyarrow.dataset"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(ROWS, tmp_path / "rows.parquet")
    files = dataset.dataset(tmp_path / "rows.parquet")
    frame = pytest.importorskip("polars").from_arrow(ROWS)
    for source in (files, files.scanner(), frame, pa.RecordBatchReader.from_batches(ROWS.schema, ROWS.to_batches())):
        assert joined(a=source) == joined(a=ROWS) != []


def test_one_iterator_under_two_names() -> None:
    batches = iter(ROWS.to_batches())
    refused(lambda: joined(a=batches, b=batches), "a and b are given the same iterator", "its own")


def test_streams_that_are_not_asked_for_or_not_given() -> None:
    join = tw.join(on="clicks.k = buys.k", window=1, time="t", lateness=0)
    refused(lambda: join.over(click=ROWS, buys=ROWS), "'click' is not a stream", "did you mean 'clicks'")
    refused(lambda: join.over(buys=ROWS), "no data is given for clicks", "over(clicks=")


def test_batches_that_differ_in_their_columns() -> None:
    batches = [pa.record_batch({"k": [1], "t": [1]}), pa.record_batch({"k": ["1"], "t": [1]})]
    refused(lambda: joined(a=batches), "the batches of a differ", "k string", "k int64", "cast")


def test_errors_about_tables_are_reported_early() -> None:
    join = tw.join(on="a.k = b.k", window=1, time="t", lateness=0)
    refused(lambda: join.over(a=column(pa.float32()), b=ROWS), "cannot be a join key")


@pytest.mark.parametrize(
    ("condition", "parts"),
    [
        ("a.k < 'x'", ["a.k < 'x'", "a.k is int64"]),
        ("a.k + b.k", ["a.k + b.k", "int64", "not BOOLEAN"]),
        ("a.k", ["a.k is int64", "not BOOLEAN"]),
        ("NOT a.k", ["NOT a.k", "a.k is int64"]),
        ("a.k * 9223372036854775807 * 9 > 0", ["overflow"]),
    ],
)
def test_conditions_that_fit_no_type(condition: str, parts: list[str]) -> None:
    refused(lambda: joined(f"a.k = b.k AND {condition}"), *parts)


def test_one_hot_key() -> None:
    """It is reported before it is an error, and the error names the key."""
    many = pa.table({"k": ["rare", *["hot"] * 40], "t": [1] * 41})
    one = pa.table({"k": ["hot"], "t": [2]})
    refused(
        lambda: joined(a=many, b=one, max_matches=39), "one row of b", "k='hot'", "more than 39 matches", "max_matches="
    )
    with pytest.raises(tw.JoinLimitError):
        joined(a=many, b=one, max_matches=39)
    join = tw.join(on="a.k = b.k", window=10, time="t", lateness=0, max_matches=40)
    assert sum(batch.num_rows for batch in join.over(a=many, b=one)) == 40
    report = join.report()
    assert report.sections[0].streams["b"].matches.most_matches == 40
    sentence = "b: a row (k='hot') had 40 matches by its keys; the join fails if there are more than 40 (max_matches=)"
    assert sentence in " ".join(str(report).split())  # the report wraps long lines
    far = tw.join(on="a.k = b.k", window=10, time="t", lateness=0, max_matches=400)
    assert sum(batch.num_rows for batch in far.over(a=many, b=one)) == 40
    assert "max_matches" not in str(far.report())


def test_late_rows_are_counted_and_not_joined() -> None:
    a = [pa.record_batch({"k": [1], "t": [t]}) for t in (100, 130, 119, 120, 150)]
    b = [pa.record_batch({"k": [1], "t": [t]}) for t in (120, 131, 160)]
    join = tw.join(on="a.k = b.k", window=1000, time="t", lateness={"a": 10, "b": 0})
    # read: a 100, b 120, a 130 (before b 131): the watermark is min(130 - 10, 120); a 119 is late and 120 is not
    with pytest.warns(UserWarning, match=r"1 of 5 rows of a were late and not joined, by up to 1 tick of time: "):
        times = {(row["a_t"], row["b_t"]) for batch in join.over(a=a, b=b) for row in batch.to_pylist()}
    assert times == {(x, y) for x in (100, 130, 120, 150) for y in (120, 131, 160)}
    counted = join.report().sections[0].streams
    assert (counted["a"].stream.rows, counted["a"].stream.late, counted["b"].stream.late) == (5, 1, 0)
    assert "a: 1 row late, by up to 1 tick of time, not joined" in str(join.report())


def test_late_rows_of_timestamps_are_reported_in_units_of_time() -> None:
    a = [pa.record_batch({"k": [1], "t": pa.array([t], pa.timestamp("ms"))}) for t in (0, 200_000, 106_300)]
    b = [pa.record_batch({"k": [1], "t": pa.array([t], pa.timestamp("s"))}) for t in (100, 300)]
    join = tw.join(on="a.k = b.k", window="1 hour", time="t", lateness={"a": "0 seconds", "b": "100 seconds"})
    # read: a 0, b 100, a 200, a 106.3 (before b 300): the watermark is min(200, 100 - 100) until b 300 is read
    assert sum(batch.num_rows for batch in join.over(a=a, b=b)) == 6
    join = tw.join(on="a.k = b.k", window="1 hour", time="t", lateness="0 seconds")
    b = [pa.record_batch({"k": [1], "t": pa.array([t], pa.timestamp("s"))}) for t in (199, 300)]
    # read: a 0, b 199 (before a 200), a 200: the watermark is min(200, 199), and a 106.3 is late by 92.7 s
    with pytest.warns(
        UserWarning, match=r"1 of 3 rows of a were late and not joined, by up to 92\.7 s: the stream is not in"
    ):
        assert sum(batch.num_rows for batch in join.over(a=a, b=b)) == 4
    assert "a: 1 row late, by up to 92.7 s, not joined" in str(join.report())


@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.decimal128(20, 0), pa.date32(), pa.bool_(), pa.binary()])
def test_a_batch_of_late_rows_only(kind: pa.DataType) -> None:
    key = {pa.string(): "x", pa.binary(): b"x", pa.bool_(): True}.get(kind, 1)

    def batch(*times: int) -> pa.RecordBatch:
        keys = pa.array([key] * len(times), pa.int32() if kind == pa.date32() else None).cast(kind)
        return pa.RecordBatch.from_arrays([keys, pa.array(times)], ["k", "t"])

    join = tw.join(on="a.k = b.k", window=5, time="t", lateness=0)
    with pytest.warns(UserWarning, match="2 of 3 rows of a were late"):
        made = list(join.over(a=[batch(100), batch(3, 4)], b=[batch(99), batch(101)]))
    out = [row for batch in made for row in batch.to_pylist()]
    assert sorted(row["event_time"] for row in out) == [100, 101]
    assert join.report().sections[0].streams["a"].stream.late == 2


def test_nulls_are_counted_and_not_joined() -> None:
    a = pa.table({"k": [1, None, 1, None], "t": [1, 2, None, None]})
    join = tw.join(on="a.k = b.k", window=10, time="t", lateness=0)
    assert sum(batch.num_rows for batch in join.over(a=a, b=ROWS)) == 1
    counted = join.report().sections[0].streams["a"]
    assert (counted.stream.rows, counted.stream.no_time, counted.stream.no_key) == (4, 2, 1)
    text = str(join.report())
    assert "a: 2 rows without a time, not joined" in text
    assert "a: 1 row with a key that equals nothing, not joined" in text


def test_a_column_that_equals_itself_is_not_null() -> None:
    a = pa.table({"k": [1, 2], "n": [True, None], "t": [1, 2]})
    assert [row["a_k"] for row in joined("a.k = b.k AND a.n = a.n", a=a)] == [1]


def test_a_key_column_of_nulls_only() -> None:
    nothing = pa.table({"k": pa.nulls(2), "t": [1, 2]})
    assert joined(a=nothing) == []
    assert joined(a=nothing, b=nothing) == []


@pytest.mark.parametrize(
    "empty", [[], ROWS.slice(0, 0), ROWS.slice(0, 0).to_batches(), [ROWS.to_batches()[0].slice(0, 0)]]
)
def test_empty_streams(empty: Any) -> None:
    assert joined(a=empty) == []
    assert joined(b=empty) == []
    assert joined(a=empty, b=empty) == []
    assert joined(b=empty, window={"a": 1}) == []  # a table


def test_empty_batches_between_others() -> None:
    one, two = (pa.RecordBatch.from_pylist([row]) for row in ROWS.to_pylist())
    none = one.slice(0, 0)
    assert len(joined(a=[none, one, none, none, two, none], b=[one, none, two])) == 2


def test_times_at_the_ends_of_their_range() -> None:
    ends = pa.table({"k": [1, 1], "t": [-(2**63), 2**63 - 1]})
    assert sorted(row["event_time"] for row in joined(a=ends, b=ends, window=2**60)) == [-(2**63), 2**63 - 1]
    singles = [ends.slice(n, 1).to_batches()[0] for n in range(2)]
    out = joined(a=singles, b=singles, window=2**60, lateness=2**60)
    assert sorted(row["event_time"] for row in out) == [-(2**63), 2**63 - 1]


def test_dictionaries_that_differ_from_batch_to_batch() -> None:
    """Together they have more values than the index of one can represent."""

    def batch(time: int) -> pa.RecordBatch:
        words = pa.DictionaryArray.from_arrays(pa.array(range(100), pa.int8()), [f"{time} {i}" for i in range(100)])
        return pa.record_batch({"k": [1] * 100, "t": [time] * 100, "d": words})

    out = joined(a=[batch(1), batch(2), batch(3)], b=pa.table({"k": [1], "t": [4]}))
    assert {row["a_d"] for row in out} == {f"{time} {i}" for time in (1, 2, 3) for i in range(100)}


def test_a_column_whose_rows_cannot_be_gathered() -> None:
    kind = pa.map_(pa.string(), pa.string_view())
    rows = ROWS.append_column("m", pa.nulls(2, kind))
    refused(lambda: joined(a=rows), f"a.m is {kind}", "cast or drop it")
    assert len(joined(a=rows, select=["a.k"])) == 2  # the column is not gathered


def test_unions_are_payload_too() -> None:
    union = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])])
    assert [row["a_u"] for row in joined(a=ROWS.append_column("u", union))] == [1, "b"]
