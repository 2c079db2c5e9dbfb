"""Tables and wrapped sentences, measured in columns of a terminal."""

from __future__ import annotations

import re
import string
import textwrap

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.hostile_texts import READABLE, hidden, hostile_texts
from tests.long_run import examples
from thalweg.formatting import aligned, wrapped
from thalweg.printable import printable

cells = st.sampled_from(READABLE) | hostile_texts


@given(st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=5))
@examples(50, long=5_000)
def test_columns_of_a_table_begin_and_end_at_the_same_place(rows: list[tuple[str, str, str]]) -> None:
    lines = aligned([(*row, "end") for row in rows], left=[0, 3])
    assert len({cell_len(line) for line in lines}) == 1
    for line, row in zip(lines, rows, strict=True):
        assert hidden(line.replace("\u200d", "")) == []
        assert line.startswith(printable(row[0]))
        assert line.endswith(f"{printable(row[2])}  end")
        assert printable(row[1]) in line


@pytest.mark.parametrize("name", READABLE)
def test_a_readable_name_is_aligned_with_another(name: str) -> None:
    head, line = aligned([("name", "rows"), (name, "7")], left=[0])
    assert line == name + " " * (cell_len(head) - cell_len(name) - 1) + "7"


words = st.text(st.sampled_from(string.ascii_letters + string.digits + "-.,()=%"), min_size=1, max_size=14)


@given(st.lists(words, max_size=30), st.integers(0, 6), st.integers(0, 4))
@examples(100, long=20_000)
def test_plain_words_are_wrapped_as_textwrap_does(text: list[str], indent: int, further: int) -> None:
    margins = {"initial_indent": " " * indent, "subsequent_indent": " " * (indent + further)}
    line = " ".join(text).replace(" %", "%")  # a number stays with its unit
    expected = textwrap.wrap(line, 30, break_on_hyphens=False, **margins)  # type: ignore[arg-type]
    assert wrapped(line, indent, further=further, width=30) == expected


@given(st.lists(cells, max_size=12), st.integers(0, 6))
@example(texts=["\u2028\nforged"], indent=0)
@examples(100, long=20_000)
def test_no_line_is_too_wide_and_no_sign_is_lost(texts: list[str], indent: int) -> None:
    line = " ".join(texts)
    lines = wrapped(line, indent, width=24)
    assert all(cell_len(each) <= 24 for each in lines)
    assert "".join("".join(lines).split()) == "".join(printable(re.sub(r"[\t\r ]*\n[\t\r\n ]*", " ", line)).split())
    assert hidden("".join(lines).replace("\u200d", "")) == []


def test_a_text_of_several_lines_becomes_one() -> None:
    assert wrapped("on a.k = b.k\n\t  AND b.m = c.m\r\n", 2) == ["  on a.k = b.k AND b.m = c.m"]


def test_a_line_does_not_end_within_an_emoji() -> None:
    assert wrapped("👩‍🚀" * 5, 0, width=5) == ["👩‍🚀👩‍🚀", "  👩‍🚀", "  👩‍🚀", "  👩‍🚀"]
