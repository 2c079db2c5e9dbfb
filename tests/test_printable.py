"""What is escaped: all that Unicode calls a control or a format, and nothing that can be read."""

from __future__ import annotations

import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hostile_texts import HOSTILE, READABLE, hidden, hostile_texts
from tests.long_run import examples
from thalweg.printable import columns_of, printable, signs_of

SHAPELESS = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
"""Letters and marks that Unicode lists as ignorable."""
SELECTORS = "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"


def test_all_characters() -> None:
    by_category: dict[str, list[str]] = {}
    for code in range(sys.maxunicode + 1):
        by_category.setdefault(unicodedata.category(chr(code)), []).append(chr(code))
    escaped = [each for name in ("Cc", "Cf", "Cs", "Zl", "Zp") for each in by_category.pop(name)]
    escaped += [each for each in by_category.pop("Cn") if ord(each) & 0xFFFE == 0xFFFE or "\ufdd0" <= each <= "\ufdef"]
    assert len(escaped) > 2_300
    assert [each for each in (*escaped, *SHAPELESS) if each in printable(f"a{each}b")] == []
    shown = "".join(each for some in by_category.values() for each in some)
    shown = re.sub(f"[{SHAPELESS}{SELECTORS}]", "", shown)
    assert printable(shown) == shown


@pytest.mark.parametrize("name", READABLE)
def test_names_stay_readable(name: str) -> None:
    assert printable(f"of {name}: {name}, {name}") == f"of {name}: {name}, {name}"


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_hostile_is_left(text: str) -> None:
    assert hidden(printable(f"a{text}b")) == []
    assert printable(f"a{text}b").startswith("a")
    assert "\n" not in printable(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\u200d", "\\u200d"),
        ("a\u200db", "a\\u200db"),
        ("👩\u200d", "👩\\u200d"),
        ("👩\u200d\u200d🚀", "👩\\u200d\\u200d🚀"),
        ("👩\u200d🚀", "👩\u200d🚀"),
        ("\ufe0f", "\\ufe0f"),
        (" \ufe0f", " \\ufe0f"),
        ("☎\ufe0f\ufe0f", "☎\ufe0f\\ufe0f"),
        ("\u200b\ufe0f", "\\u200b\\ufe0f"),
        ("😀\U000e0161\U000e0162", "😀\U000e0161\\U000e0162"),
    ],
)
def test_joiners_and_selectors_stay_only_where_they_make_a_sign(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(hostile_texts | st.text())
@examples(100, long=20_000)
def test_only_escapes_are_put_in(text: str) -> None:
    shown = printable(text)
    assert printable(shown) == shown
    assert hidden(shown.replace("\u200d", "")) == []
    assert "".join(signs_of(shown)) == shown
    escapes = re.compile(r"\\(?:x(..)|u(....)|U(........)|([tnr]))")
    plain = text.replace("\\", "/")
    letters = {"t": "\t", "n": "\n", "r": "\r"}
    undone = escapes.sub(
        lambda found: letters[found[4]] if found[4] else chr(int(found[found.lastindex or 0], 16)), printable(plain)
    )
    assert undone == plain


def test_line_breaks_are_kept_on_request() -> None:
    assert printable("one\ntwo\r\n\x1b", keep="\n") == "one\ntwo\\r\n\\x1b"


def test_columns() -> None:
    assert [columns_of(text) for text in ("", "abc", "大きさ", "e\u0301", "📏", "👩‍🚀")] == [0, 3, 6, 1, 2, 2]
