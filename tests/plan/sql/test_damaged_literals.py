"""Damaged numbers, texts, times and signs, wherever a value can be: read, or refused with line and column."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

import thalweg as tw
from tests.plan.sql.small_streams import small_session

SESSION = small_session()
NUMBERS = [
    "1e", "1E", "1e+", "1e-", "1.e", "1e5.5", "1ee5", "1e1e1", "1e400", "-1e400", "1e-400", "0e99999999999",
    "1e" + "0" * 30 + "1", ".", "..", "1..2", ".5", "5.", "0x", "0xG", "0x1F", "1_000", "9" * 100, "9" * 5000,
    "0." + "1" * 39, "1L", "1S", "1Y", "1.0BD", "1D", "1F", "1.5L", "²", "1²", "٣", "½", "-9223372036854775808",
    "-9223372036854775809", "-123456789012345678901234567890123456789", "- - 5", "+-5", "nan",
    "round(1e0, 99999999999)", "CAST(5 AS DECIMAL(99, 2))", "CAST(5 AS DECIMAL(2, 5))", "CAST(1e300 AS INT)",
    "CAST('1e' AS DOUBLE)",
]  # fmt: skip
OTHERS = [
    "X'1'", "X'zz'", "b'1'", "'open", "\"open", "'\\", "'\\'", "'\\u12'", "'\0'", "'\ud800'", "`\ud800`", "\ud800",
    "\0", "a\0b", "`\0`", "``", "DATE '2026-02-30'", "DATE ''", "DATE '10000-01-01'", "DATE 5",
    "TIMESTAMP '2026-01-01T25:00'", "TIMESTAMP '0001-01-01 00:00:00+14:00'", "TIMESTAMP '9999-12-31 23:59:59-14:00'",
    "TIMESTAMP '2026-01-01 12:00:00+99:00'", "TIME '12:00'", "INTERVAL", "INTERVAL ''", "INTERVAL 'x' DAY",
    "INTERVAL '1' FOO", "INTERVAL 1e400 DAYS", "INTERVAL '99999999999999999999' DAYS", "INTERVAL '--5' SECONDS",
    "INTERVAL '٣' SECONDS", "INTERVAL 99999999 WEEKS", ":", ":1", ":'a'", "::", "5::", "5::FOO", "CAST(5 AS)",
    "{d '2026-01-01'}", "{", "[", "#", "\\", "/*", "*/", "((1))", "(1,)", "date_trunc('', ts)",
    "date_trunc(NULL, ts)", "'a' LIKE NULL", "'a' LIKE 'a' ESCAPE NULL", "'a' LIKE '\\\\'", "'a' RLIKE NULL",
    "'a' RLIKE 5", "extract(FROM ts)", "trim(FOO FROM host)", "TIMESTAMP '2026-01-01' + INTERVAL 99999 WEEKS",
]  # fmt: skip
PLACES = [
    "SELECT # AS y FROM tcp", "SELECT size FROM tcp WHERE # = size", "SELECT size FROM tcp WHERE ts > #",
    "SELECT ts + # AS y FROM tcp", "SELECT size FROM tcp [RANGE #]", "SELECT size FROM tcp [ROWS #]",
    "SELECT count(*) AS n FROM tcp GROUP BY TUMBLE(#)", "SELECT size FROM tcp WINDOW #",
    "SELECT round(ratio, #) AS y FROM tcp", "SELECT substring(host, #) AS y FROM tcp",
    "SELECT size FROM tcp WHERE host LIKE #", "SELECT size FROM tcp WHERE host RLIKE #", "SELECT size AS # FROM tcp",
    "SELECT size FROM tcp WHERE size IN (#, 1)", "SELECT size FROM tcp AS #", "#", "SELECT #",
    "SELECT size FROM tcp #",
]  # fmt: skip


def refusal(text: str) -> tw.PlanError | None:
    try:
        SESSION.query(text).explain()
    except tw.PlanError as error:
        return error
    return None


@pytest.mark.parametrize("place", PLACES)
def test_what_is_damaged_is_read_or_refused_at_its_place(place: str) -> None:
    for damaged in NUMBERS + OTHERS:
        text = place.replace("#", damaged, 1)
        error = refusal(text)
        if error is not None and text.strip():
            assert isinstance(error, tw.SqlError), text
            assert error.line == 1, text
            assert 1 <= error.column <= len(text) + 1, text
            assert str(error).encode(), "can be printed"


@pytest.mark.parametrize("word", ["1e", "1E", "1.e", "1e5.5"])
def test_a_number_that_is_none_is_refused_where_it_stands(word: str) -> None:
    with pytest.raises(tw.SqlError, match=r"is not a number; write it as 10, 0\.5 or 1e3") as told:
        SESSION.query(f"SELECT size,\n  {word} AS y FROM tcp")
    assert (told.value.line, told.value.column) == (2, 3)


def test_a_number_of_thousands_of_digits_is_shown_in_part() -> None:
    with pytest.raises(tw.SqlError, match=r"9999\.\.\. has more than 38 digits or is larger than 1\.8e308") as told:
        SESSION.query(f"SELECT {'9' * 5000} AS y FROM tcp")
    assert len(told.value.sentence) < 200


@pytest.mark.parametrize(
    "given",
    [
        "\ud800",
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
        10**5000,
        [1],
        {"a": 1},
        object(),
        b"x",
        1j,
        timedelta.max,
    ],
    ids=["surrogate", "before year 1", "digits", "list", "mapping", "object", "bytes", "complex", "length"],
)
def test_a_parameter_that_is_no_literal_is_refused(given: object) -> None:
    with pytest.raises(tw.SqlError, match=r"; (pass|write) ") as told:
        SESSION.query("SELECT size FROM tcp WHERE size = :a", args={"a": given})
    assert (told.value.line, told.value.column) == (1, 35)
    with pytest.raises(tw.SqlError, match="; pass "):
        SESSION.query("SELECT size FROM tcp WHERE size IN (:a)", args={"a": [1, given]})


def test_times_at_the_ends_of_the_calendar_are_read() -> None:
    for text in ("TIMESTAMP '0001-01-01 00:00:00'", "TIMESTAMP '9999-12-31 23:59:59'", "DATE '9999-12-31'"):
        SESSION.query(f"SELECT {text} AS y FROM tcp")
    SESSION.query("SELECT :a AS y FROM tcp", args={"a": datetime(9999, 12, 31, tzinfo=UTC)})
