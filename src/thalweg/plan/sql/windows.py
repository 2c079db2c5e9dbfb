"""Find CQL's windows in the text of a query with sqlglot's tokenizer, and blank them out to leave plain SQL.

sqlglot reads `[RANGE 60 SECONDS]` as a subscript and a trailing `WINDOW 60 SECONDS` as a named window. Each window is
replaced by spaces of the same length, so that every other word keeps its position.

>>> found = find_windows("SELECT * FROM a [RANGE 1 MINUTE] AS b GROUP BY TUMBLE(5 s) WINDOW 2 HOURS;")
>>> found.text
'SELECT * FROM a                  AS b GROUP BY TUMBLE(   )               ;'
>>> [(offset, str(window)) for offset, window in found.streams], {k: str(w) for k, w in found.groups.items()}
([(16, '[RANGE 1 MINUTE]')], {47: 'TUMBLE(5 SECONDS)'})
>>> str(found.trailing[1])
'[RANGE 2 HOURS]'
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NoReturn

from thalweg.errors import PlanError
from thalweg.plan.joins.window import GroupWindow, StreamWindow, as_written, length_of
from thalweg.plan.sql.source_text import SourceText, tokens_of

MOST_EXACT_US = 2**50
"""Longer lengths are not checked for a fraction of a microsecond."""
MOST_WINDOWS = 1_000_000
"""The most windows that a row may be in. Each of them is a result."""
_EXAMPLE = "[RANGE 60 SECONDS], [ROWS 1000] or [NOW]"


@dataclass(frozen=True)
class Windows:
    """The windows in the text of a query, with the offsets at which they begin."""

    text: str
    """The text without the windows."""
    streams: tuple[tuple[int, StreamWindow], ...]
    trailing: tuple[int, StreamWindow] | None
    """The WINDOW clause, for streams that have no other window."""
    groups: Mapping[int, GroupWindow]
    """TUMBLE and HOP, by the offset of the word."""


def find_windows(text: str) -> Windows:
    """Return all windows in a text. A window with a syntax error is refused."""
    return _Finder(text).found()


class _Finder:
    def __init__(self, text: str) -> None:
        self.source = SourceText(text)
        self.tokens = tokens_of(self.source)
        self.blanked = list(text)
        self._join_quotes()

    def found(self) -> Windows:
        streams: list[tuple[int, StreamWindow]] = []
        groups: dict[int, GroupWindow] = {}
        trailing = None
        n = 0
        while n < len(self.tokens):
            word = self._word(n)
            if word == "[" and self._word(n + 1) in ("RANGE", "ROWS", "NOW", "PARTITION", "PARTITION BY", "UNBOUNDED"):
                end = self._closing(n, "[", "]")
                streams.append((self.tokens[n].start, self._stream_window(n + 1, end)))
                self._blank(self.tokens[n].start, self.tokens[end].end)
                n = end
            elif word == "WINDOW" and self._word(n + 1) == "(" and self._kind(n + 2) == "NUMBER":
                self._refuse(n + 1, "WINDOW takes a length without parentheses; write WINDOW 1 MINUTE")
            elif word in ("WINDOW", "SESSION", "SESSION_WINDOW") and self._word(n + 1) == "(":
                self._refuse(n, f"{word}(...) is not supported; write TUMBLE(1 MINUTE) or HOP(10 MINUTES, 1 MINUTE)")
            elif word == "," and self._word(n + 1) in ("FROM", "WHERE", "GROUP BY", "HAVING", ")", ";", ""):
                if self._kind(n + 1) not in ("STRING", "IDENTIFIER"):
                    self._refuse(n, "nothing follows this comma; remove it")
            elif word in ("TUMBLE", "HOP") and self._word(n + 1) == "(" and self._word(n + 2) != ")":
                end = self._closing(n + 1, "(", ")")
                groups[self.tokens[n].start] = self._group_window(n, end)
                self._blank(self.tokens[n + 2].start, self.tokens[end].start - 1)
                n = end
            elif word == "WINDOW" and self._kind(n + 1) == "NUMBER":
                last = len(self.tokens) - 1
                while last > n and self._word(last) == ";":
                    last -= 1
                trailing = self.tokens[n].start, StreamWindow(self._length(n + 1, last + 1))
                self._blank(self.tokens[n].start, self.tokens[last].end)
                n = last
            n += 1
        return Windows("".join(self.blanked), tuple(streams), trailing, groups)

    def _join_quotes(self) -> None:
        """Escape doubled quotes. Spark reads 'it''s' as one string with a quote in it; sqlglot reads two strings, and
        the quote is lost."""
        for one, other in pairwise(self.tokens):
            if one.token_type.name == other.token_type.name == "STRING" and one.end + 1 == other.start:
                quote = self.source.text[one.end]
                if quote == self.source.text[other.start]:
                    self.blanked[one.end] = "\\"

    def _stream_window(self, first: int, end: int) -> StreamWindow:
        word = self._word(first)
        if word == "NOW" and end == first + 1:
            return StreamWindow(0)
        if word == "ROWS":
            if (
                end != first + 2
                or not re.fullmatch("[0-9]{1,18}", self.tokens[first + 1].text)
                or (int(self.tokens[first + 1].text) < 1)
            ):
                self._refuse(first, "ROWS takes a whole number greater than 0; write [ROWS 1000]")
            return StreamWindow(rows=int(self.tokens[first + 1].text))
        if word != "RANGE":
            self._refuse(first, f"the window [{word} ...] is not supported; write {_EXAMPLE}")
        slide = next((n for n in range(first + 1, end) if self._word(n) == "SLIDE"), None)
        length = self._length(first + 1, slide or end)
        if slide is None:
            return StreamWindow(length)
        every = self._length(slide + 1, end)
        self._check_slide(slide, length, every, "[RANGE 10 MINUTES SLIDE 1 MINUTE]")
        return StreamWindow(length, slide_us=every)

    def _group_window(self, word: int, end: int) -> GroupWindow:
        comma = next((n for n in range(word + 2, end) if self._word(n) == ","), None)
        if self._word(word) == "TUMBLE":
            if comma is not None and self._kind(word + 2) == "NUMBER":
                self._refuse(comma, "TUMBLE takes one length; write HOP(10 MINUTES, 1 MINUTE) for windows that overlap")
            if comma is not None:
                self._refuse(
                    word + 2, "TUMBLE takes one length and no column, as a stream has one time; write TUMBLE(1 MINUTE)"
                )
            length = self._length(word + 2, end)
            self._check_slide(word, length, length, "TUMBLE(10 MINUTES)")
            return GroupWindow(length, length)
        if comma is None:
            self._refuse(word, "HOP takes the length of a window and a slide; write HOP(10 MINUTES, 1 MINUTE)")
        length, every = self._length(word + 2, comma), self._length(comma + 1, end)
        self._check_slide(word, length, every, "HOP(10 MINUTES, 1 MINUTE)")
        return GroupWindow(length, every)

    def _check_slide(self, at: int, length: int, every: int, example: str) -> None:
        if not length or not every:
            self._refuse(at, f"the length and the slide of a window must be greater than 0; write {example}")
        if every > length:
            self._refuse(at, f"the slide is longer than the window, so rows would be in no window; write {example}")
        if (count := -(-length // every)) > MOST_WINDOWS:
            self._refuse(
                at, f"each row would be in {count:,} windows, because a window is {as_written(length)} long and one "
                f"begins every {as_written(every)}; write a longer slide, so that they are at most {MOST_WINDOWS:,}"
            )  # fmt: skip

    def _length(self, first: int, end: int) -> int:
        """Return the length that the tokens from `first` to before `end` describe, in microseconds."""
        if first >= end:
            self._refuse(first, "a length of time is missing; write 60 SECONDS")
        if self._word(first) in ("INTERVAL", ":") or self._kind(first) == "STRING":
            wrong = {"INTERVAL": "must not begin with INTERVAL", ":": "cannot be a parameter"}
            why = wrong.get(self._word(first), "must not be in quotes")
            self._refuse(first, f"the length of a window {why}; write a number and a unit, such as 60 SECONDS")
        begin, stop = self.tokens[first].start, self.tokens[end - 1].end + 1
        try:
            us = length_of(self.source.text[begin:stop], "us", "window length")
            part = us < MOST_EXACT_US and length_of(self.source.text[begin:stop], "ns") % 1000
        except PlanError as error:
            raise self.source.error(begin, str(error).replace("'10 seconds'", "10 SECONDS")) from None  # without quotes
        if part:
            self._refuse(first, "a length is measured in microseconds; write a whole number of microseconds")
        return us

    def _closing(self, n: int, opens: str, closes: str) -> int:
        depth = 0
        for end in range(n, len(self.tokens)):
            depth += (self._word(end) == opens) - (self._word(end) == closes)
            if not depth:
                return end
        self._refuse(n, f"{opens} is never closed; write {closes}")

    def _word(self, n: int) -> str:
        if n >= len(self.tokens) or self._kind(n) in ("STRING", "IDENTIFIER"):
            return ""
        return str(self.tokens[n].text).upper()

    def _kind(self, n: int) -> str:
        return str(self.tokens[n].token_type.name) if n < len(self.tokens) else ""

    def _blank(self, first: int, last: int) -> None:
        for n in range(first, last + 1):
            if self.blanked[n] != "\n":
                self.blanked[n] = " "

    def _refuse(self, token: int, sentence: str) -> NoReturn:
        offset = self.tokens[token].start if token < len(self.tokens) else len(self.source.text)
        raise self.source.error(offset, sentence)
