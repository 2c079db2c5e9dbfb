"""CQL's windows: found where they are windows, left alone elsewhere, and nothing else moves."""

from __future__ import annotations

from pathlib import Path

import pytest

import thalweg as tw
from tests.plan.sql.small_streams import TCP, oracle, rows_of, small_session
from tests.plan.sql.statements import marked
from thalweg.plan.sql.windows import find_windows

SESSION, ORACLE = small_session(), oracle()
REFUSED = [
    line.split(" ==> ") for line in (Path(__file__).parent / "window_refusals.txt").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize(("line", "words"), REFUSED)
def test_what_is_no_window_is_refused_at_its_place(line: str, words: str) -> None:
    text, begin, end = marked(line)
    with pytest.raises(tw.SqlError) as told:
        SESSION.query(text)
    assert words in told.value.sentence
    assert begin is not None
    assert begin < told.value.column <= end, str(told.value)


@pytest.mark.parametrize(
    ("written", "window"),
    [
        ("[RANGE 60 SECONDS]", "[RANGE 1 MINUTE]"),
        ("[range 90 s]", "[RANGE 90 SECONDS]"),
        ("[ RANGE\n1 HOUR 30 MINUTES ]", "[RANGE 90 MINUTES]"),
        ("[RANGE 1.5 SECONDS]", "[RANGE 1500 MILLISECONDS]"),
        ("[RANGE 250 us]", "[RANGE 250 MICROSECONDS]"),
        ("[RANGE 2 WEEKS]", "[RANGE 14 DAYS]"),
        ("[RANGE 0 SECONDS]", "[NOW]"),
        ("[NOW]", "[NOW]"),
        ("[now]", "[NOW]"),
        ("[ROWS 1000]", "[ROWS 1000]"),
        ("[RANGE 10 MINUTES SLIDE 1 MINUTE]", "[RANGE 10 MINUTES SLIDE 1 MINUTE]"),
        ("[RANGE /* ten */ 10 -- minutes\nMINUTES]", None),
    ],
)
def test_forms_of_a_streams_window(written: str, window: str | None) -> None:
    text = f"SELECT x FROM tcp {written} AS t"
    if window is None:  # a length is read as it is
        with pytest.raises(tw.SqlError, match="write a number and a unit"):
            find_windows(text)
        return
    found = find_windows(text)
    assert [(offset, str(each)) for offset, each in found.streams] == [(18, window)]
    assert len(found.text) == len(text)
    assert found.text.split() == ["SELECT", "x", "FROM", "tcp", "AS", "t"]
    assert found.text.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT '[RANGE 5 SECONDS]' AS a FROM tcp",
        'SELECT "[NOW]" AS a FROM tcp',
        "SELECT size FROM tcp -- [RANGE nonsense] WINDOW 5 SECONDS",
        "SELECT size /* [ROWS] TUMBLE(x) WINDOW 5 */ FROM tcp",
        "SELECT size AS `[NOW]` FROM tcp",
        "SELECT size AS `WINDOW` FROM tcp",
        "SELECT 'WINDOW 5 SECONDS' AS a, 'TUMBLE(5 s)' AS b FROM tcp",
        "SELECT size AS `TUMBLE` FROM tcp",
        "SELECT 'it\\'s [NOW]' AS a FROM tcp",
    ],
)
def test_brackets_in_texts_comments_and_names_are_left_alone(text: str) -> None:
    found = find_windows(text)
    assert (found.text, found.streams, found.trailing, dict(found.groups)) == (text, (), None, {})
    assert SESSION.query(text).dataframe().num_rows == TCP.num_rows


def test_texts_with_brackets_stay_what_they_are() -> None:
    got = SESSION.query(
        "SELECT '[NOW] ''x''' AS `[ROWS 5]`, size FROM tcp [NOW] WHERE host <> '[RANGE 1 s]'"
    ).dataframe()
    assert got.column_names == ["[ROWS 5]", "size"]
    assert rows_of(got) == rows_of(
        ORACLE.sql("SELECT '[NOW] ''x''', size FROM tcp WHERE host <> '[RANGE 1 s]'").to_arrow_table()
    )


@pytest.mark.parametrize("quoted", ["'it''s'", '"it""s"', "''''", "'a''''b'", "'\\\\''x'", "'a' 'b'"])
def test_doubled_quotes_are_quotes_as_in_spark(quoted: str) -> None:
    meant = {
        "'it''s'": "it's",
        '"it""s"': 'it"s',
        "''''": "'",
        "'a''''b'": "a''b",
        "'\\\\''x'": "\\'x",
        "'a' 'b'": "ab",
    }
    got = SESSION.query(f"SELECT {quoted} AS a FROM tcp").dataframe()
    assert got.column("a").to_pylist() == [meant[quoted]] * TCP.num_rows


@pytest.mark.parametrize(
    "text",
    [
        "SELECT nope FROM tcp [RANGE 5 SECONDS]",
        "SELECT t.size FROM tcp [RANGE 5 SECONDS] AS t WHERE t.nope = 1",
        "SELECT t.size FROM tcp\n[RANGE 5\nSECONDS] AS t\n WHERE t.size = nope",
        "SELECT t.size FROM tcp [NOW] AS t, udp [RANGE 1 HOUR] AS u WHERE t.size = u.size AND 'ö' = nope WINDOW 5 s",
        "SELECT count(*) AS n FROM tcp WHERE host = '[NOW]' GROUP BY TUMBLE(5 MINUTES), nope",
        "SELECT count(*) AS n FROM tcp GROUP BY HOP(5 MINUTES, 1 MINUTE) HAVING max(nope) > 1",
        "SELECT 'it''s' AS a FROM tcp [NOW] WHERE nope = 1",
        "SELECT t.size FROM tcp [NOW] AS t WINDOW nope SECONDS",
    ],
)
def test_places_behind_windows_are_right(text: str) -> None:
    with pytest.raises(tw.SqlError) as told:
        SESSION.query(text)
    lines = text.split("\n")
    line = next(n for n, each in enumerate(lines) if "nope" in each)
    begin = lines[line].index("nope") + 1
    assert told.value.line == line + 1
    assert begin - 2 <= told.value.column <= begin + 5  # of t.nope the t counts; sqlglot may report the next word


@pytest.mark.parametrize(
    "source",
    [
        "tcp [RANGE 20 SECONDS] AS t", "tcp AS t [RANGE 20 SECONDS]", "tcp [RANGE 20 SECONDS] t",
        "tcp t [RANGE 20 SECONDS]",
        "tcp[RANGE 20 SECONDS]t", "tcp /* c */ [RANGE 20 SECONDS] t", "tcp -- c\n [RANGE 20 SECONDS] t",
        "`tcp` [RANGE 20 SECONDS] `t`", "tcp `t` [RANGE 20 SECONDS]", "TCP [Range 20 Seconds] T",
    ],
)  # fmt: skip
def test_a_window_stands_before_or_behind_the_alias(source: str) -> None:
    theirs = """SELECT t.size FROM tcp t, udp u WHERE t.size = u.size
                AND t.ts >= greatest(t.ts, u.ts) - INTERVAL 20 SECONDS
                AND u.ts >= greatest(t.ts, u.ts) - INTERVAL 5 SECONDS"""
    expected = rows_of(ORACLE.sql(theirs).to_arrow_table())
    assert 0 < len(expected) < 6  # windows decide
    for text in (
        f"SELECT t.size FROM {source}, udp [RANGE 5 SECONDS] u WHERE t.size = u.size",
        f"SELECT t.size FROM {source}, udp u WHERE t.size = u.size WINDOW 5 SECONDS;",
        f"SELECT t.size FROM udp u JOIN {source} ON t.size = u.size WINDOW 5 SECONDS",
    ):
        assert rows_of(SESSION.query(text).dataframe()) == expected


@pytest.mark.parametrize(
    ("source", "group", "length_s", "slide_s"),
    [
        ("tcp [RANGE 1 MINUTE]", "", 60, 60),
        ("tcp WINDOW 1 MINUTE", "", 60, 60),
        ("tcp", "GROUP BY TUMBLE(1 MINUTE)", 60, 60),
        ("tcp", "GROUP BY tumble ( 60 s )", 60, 60),
        ("tcp [RANGE 2 MINUTES SLIDE 30 SECONDS]", "", 120, 30),
        ("tcp", "GROUP BY HOP(2 MINUTES, 30 SECONDS)", 120, 30),
        ("tcp", "GROUP BY HOP(50 SECONDS, 30 SECONDS)", 50, 30),
        ("tcp", "GROUP BY TUMBLE(7 SECONDS)", 7, 7),
        ("tcp", "GROUP BY window_start, TUMBLE(7 SECONDS), window_end", 7, 7),
    ],
)
def test_windows_of_groups_are_aligned_to_the_epoch(source: str, group: str, length_s: int, slide_s: int) -> None:
    ours = f"SELECT window_start, window_end, count(*) AS n, sum(size) AS s FROM {source} {group}"
    theirs = f"""SELECT make_timestamp(w * {slide_s} * 1000000), make_timestamp((w * {slide_s} + {length_s}) * 1000000),
                 count(*), CAST(sum(size) AS BIGINT)
                 FROM tcp, (SELECT unnest(range(1767225600 // {slide_s} - 50, 1767225600 // {slide_s} + 300)) AS w)
                 WHERE epoch_us(ts) >= w * {slide_s} * 1000000 AND epoch_us(ts) < (w * {slide_s} + {length_s}) * 1000000
                 GROUP BY w"""
    assert rows_of(SESSION.query(ours).dataframe()) == rows_of(ORACLE.sql(theirs).to_arrow_table())
