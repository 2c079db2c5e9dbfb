"""Says in which words two texts of queries differ."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import SequenceMatcher

MOST = 3
"""The number of differences that are quoted."""


def changed_words(before: str, now: str) -> str:
    """Return the first differences of two texts as a part of a sentence, each with the words around it; empty if there
    are none. Upper and lower case count only if nothing else differs.

    >>> print(changed_words("SELECT a FROM s [RANGE 5 SECONDS] WHERE a > 1", "select a from s [range 6 seconds]"))
    it had 'RANGE 5 SECONDS'; now there is 'range 6 seconds'; it had '] WHERE a > 1'; now there is ']'
    >>> print(changed_words("SELECT 'A'", "SELECT 'a'"))
    it had "'A'"; now there is "'a'"
    """
    return _changed(before, now, str.casefold) or _changed(before, now, str)


def _changed(before: str, now: str, folded: Callable[[str], str]) -> str:
    old, new = ([*re.finditer(r"\w+|[^\w\s]", text)] for text in (before, now))
    compared = SequenceMatcher(None, [folded(word[0]) for word in old], [folded(word[0]) for word in new], False)
    parts = compared.get_opcodes()
    return "; ".join(
        f"it had {_quoted(old, a, b)!r}; now there is {_quoted(new, c, d)!r}"
        for kind, a, b, c, d in [part for part in parts if part[0] != "equal"][:MOST]
    )


def _quoted(words: list[re.Match[str]], begin: int, end: int) -> str:
    """Return these words, and one before and after them, as they are written."""
    around = words[max(begin - 1, 0) : end + 1]
    return around[0].string[around[0].start() : around[-1].end()] if around else ""
