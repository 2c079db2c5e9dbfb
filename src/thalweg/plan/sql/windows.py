"""CQL's windows in a query's text: found with sqlglot's tokenizer, and overwritten so that the rest is plain SQL.

sqlglot takes `[RANGE 60 SECONDS]` for a subscript and a trailing `WINDOW 60 SECONDS` for a named window. Blanks of the
same length take their place, so that every other word stays where it was.

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
from thalweg.plan.sql.source_text import SourceText, tokens_of
from thalweg.plan.window import GroupWindow, StreamWindow, length_of

MOST_EXACT_US = 2**50
"""Longer ones are not asked for their nanoseconds."""
_EXAMPLE = "[RANGE 60 SECONDS], [ROWS 1000] or [NOW]"


@dataclass(frozen=True)
class Windows:
    """What was found, by where it begins."""

    text: str
    """Without them."""
    streams: tuple[tuple[int, StreamWindow], ...]
    trailing: tuple[int, StreamWindow] | None
    """For the streams that have none of their own."""
    groups: Mapping[int, GroupWindow]
    """TUMBLE and HOP, by where the word begins."""


def find_windows(text: str) -> Windows:
    """All of them; one that is not well written is refused."""
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
                self._refuse(n + 1, "the length of all windows stands without brackets; write WINDOW 1 MINUTE")
            elif word in ("WINDOW", "SESSION", "SESSION_WINDOW") and self._word(n + 1) == "(":
                self._refuse(
                    n, f"{word} is no window here; write TUMBLE(1 MINUTE) or HOP(10 MINUTES, 1 MINUTE) instead"
                )
            elif word == "," and self._word(n + 1) in ("FROM", "WHERE", "GROUP BY", "HAVING", ")", ";", ""):
                if self._kind(n + 1) not in ("STRING", "IDENTIFIER"):
                    self._refuse(n, "nothing stands behind this comma; leave it out")
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
        """'it''s' is one text with a quote in it, to Spark; sqlglot takes it for two, and the quote is lost."""
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
                self._refuse(first, "a window of rows has a whole number of them, above 0; write [ROWS 1000]")
            return StreamWindow(rows=int(self.tokens[first + 1].text))
        if word != "RANGE":
            self._refuse(first, f"{word} is no window here; write {_EXAMPLE}")
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
                self._refuse(word + 2, "TUMBLE takes one length, and its time is the stream's; write TUMBLE(1 MINUTE)")
            length = self._length(word + 2, end)
            self._check_slide(word, length, length, "TUMBLE(10 MINUTES)")
            return GroupWindow(length, length)
        if comma is None:
            self._refuse(word, "HOP takes a length and how often a window begins; write HOP(10 MINUTES, 1 MINUTE)")
        length, every = self._length(word + 2, comma), self._length(comma + 1, end)
        self._check_slide(word, length, every, "HOP(10 MINUTES, 1 MINUTE)")
        return GroupWindow(length, every)

    def _check_slide(self, at: int, length: int, every: int, example: str) -> None:
        if not length or not every:
            self._refuse(at, f"a window of groups is longer than nothing; write {example}")
        if every > length:
            self._refuse(at, f"windows begin less often than they are long, so rows would be in none; write {example}")

    def _length(self, first: int, end: int) -> int:
        """Of the words from `first` to before `end`, in microseconds."""
        if first >= end:
            self._refuse(first, "a length of time is missing; write 60 SECONDS")
        if self._word(first) in ("INTERVAL", ":") or self._kind(first) == "STRING":
            what = {"INTERVAL": "INTERVAL is left out", ":": "no parameter can stand there"}
            told = what.get(self._word(first), "quotes are left out")
            self._refuse(first, f"of a window's length {told}; write a number and a unit, 60 SECONDS")
        begin, stop = self.tokens[first].start, self.tokens[end - 1].end + 1
        try:
            us = length_of(self.source.text[begin:stop], "us", "a window's length")
            part = us < MOST_EXACT_US and length_of(self.source.text[begin:stop], "ns") % 1000
        except PlanError as error:
            raise self.source.error(begin, str(error)) from None
        if part:
            self._refuse(first, "times are told in microseconds; write a length of whole ones")
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
