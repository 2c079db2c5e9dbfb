"""The texts of errors and warnings: printable, whatever values they contain; and unchanged by pickling."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given
from rich.cells import cell_len

import thalweg as tw
from tests.hostile_texts import HOSTILE, READABLE, hidden, hostile_texts
from tests.long_run import examples
from thalweg.errors import SqlError, ThalwegError, warn_user

ROWS = {"ts": pa.array([1, 2], pa.timestamp("us")), "size": [1, 2]}


def raised_in_a_filter(text: str) -> None:
    def stops(value: str) -> bool:
        raise ValueError(f"no size in {text}\ud800")

    list(tw.filters(tw.predicate(stops, f"name{text}")).over(pa.table({f"name{text}": [text]})))


def session() -> tw.Session:
    made = tw.Session()
    made.stream("s", pa.table(ROWS), time="ts")
    return made


def raised_in_a_function(text: str) -> None:
    def stops(value: int) -> str:
        raise ValueError(f"no size in {text}")

    made = session()
    made.function("stops", stops, "string")
    list(made.query("SELECT stops(size) AS size FROM s").batches())


def not_a_number(text: str) -> None:
    rows = pa.table({**ROWS, "name": [text, f"x{text}"]})
    made = tw.Session()
    made.stream("s", rows, time="ts")
    list(made.query("SELECT CAST(name AS INT) AS size FROM s").batches())


def unknown_column(text: str) -> None:
    session().query(f"SELECT size, '{text}' AS t, `{text}x` FROM s")


def unknown_words(text: str) -> None:
    session().query(f"SELECT size FROM s WHERE {text} size")


def unknown_stream(text: str) -> None:
    session().query(f"SELECT size FROM `s{text}`")


def unknown_policy(text: str) -> None:
    tw.filters(tw.predicate(str.isdigit, "name"), policy=f"x{text}")


def wrong_condition(text: str) -> None:
    tw.join(on=f"a.k = b.k AND {text}", window=10, time="ts")


def wrong_path(text: str) -> None:
    tw.filters(tw.predicate(str.isdigit, "name")).explain().save(f"/nowhere{text}/plan{text}.txt")


def events_in_a_file(text: str) -> None:
    list(tw.filters(tw.predicate(str.isdigit, "name"), events=f"/dev/null/{text}").over(pa.table({"name": ["1"]})))


DOORS: dict[str, Callable[[str], None]] = {
    each.__name__: each
    for each in (
        raised_in_a_filter, raised_in_a_function, not_a_number, unknown_column, unknown_words, unknown_stream,
        unknown_policy, wrong_condition, wrong_path, events_in_a_file,
    )
}  # fmt: skip


def message(door: str, text: str) -> str:
    with pytest.raises(ThalwegError) as caught:
        DOORS[door](text)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again), again.args) == (type(caught.value), str(caught.value), caught.value.args)
    return str(caught.value)


@pytest.mark.parametrize("door", DOORS)
def test_nothing_hostile_is_in_a_message(door: str) -> None:
    text = "".join(HOSTILE).replace("\x00", "")
    assert hidden(message(door, text)) == []


@pytest.mark.parametrize("door", [door for door in DOORS if door not in ("unknown_words", "wrong_condition")])
@given(text=hostile_texts)
@examples(10, long=1_000)
def test_nothing_hostile_is_in_a_message_with_a_drawn_text(door: str, text: str) -> None:
    plain = "".join(each for each in text if each not in "\x00`'\\")
    assert hidden(message(door, f"x{plain}").replace("\u200d", "")) == []


def test_readable_texts_are_in_messages() -> None:
    for name in READABLE:
        assert name in str(ThalwegError(f"there is no {name}; name another one"))
        assert hidden(str(ThalwegError(name)).replace("\u200d", "")) == []


def test_lines_of_a_message_stay_lines() -> None:
    error = ThalwegError("one\ntwo\x1b[1m").or_redacted("red\u202eacted").within("place\r")
    assert str(error) == "place\\r: one\ntwo\\x1b[1m"
    assert hidden(error.redacted or "") == ["\r", "\u202e"]
    assert str(ThalwegError(error.redacted)) == "place\\r: red\\u202eacted"


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("SELECT x, 大きさ, y", "y"),
        ("\tSELECT\ty", "y"),
        ("SELECT '\x1b[2J' AS z, y\r", "y"),
        ("SELECT '👩‍🚀', y", "y"),
    ],
)
def test_the_caret_is_below_the_word_in_a_terminal(line: str, word: str) -> None:
    _, excerpt, mark = str(SqlError("unknown", 1, line.index(word) + 1, line)).split("\n")
    before = excerpt[: excerpt.rindex(word)]
    assert mark == " " * cell_len(before) + "^"
    assert hidden(excerpt.replace("\u200d", "")) == []


def test_warnings_are_printable() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_user("late rows of \x1b]0;s\x07")
    assert [str(each.message) for each in caught] == ["late rows of \\x1b]0;s\\x07"]
