"""LIKE: find the cheapest way to match a pattern.

>>> LikePattern.read("ab%").kind, LikePattern.read("%a\\\\%b%").kind, LikePattern.read("a_c").text
('prefix', 'inside', '(?s)\\\\Aa.c\\\\z')
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from thalweg.plan.like_pattern import like_parts

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ ")


@dataclass(frozen=True)
class LikePattern:
    """The text to look for, and where in a value it must be."""

    kind: str
    """One of: whole, prefix, suffix, inside, regex."""
    text: str

    @staticmethod
    def read(pattern: str, escape: str = "\\") -> LikePattern:
        """Parse a pattern of literal characters and wildcards."""
        parts = like_parts(pattern, escape)
        ends = (bool(parts) and parts[0] == (True, "%"), bool(parts) and parts[-1] == (True, "%"))
        inner = parts[ends[0] : len(parts) - ends[1]] if parts != [(True, "%")] else []
        if not any(wild for wild, _ in inner):
            text = "".join(letter for _, letter in inner)
            if parts == [(True, "%")]:
                return LikePattern("inside", "")
            return LikePattern({(0, 0): "whole", (0, 1): "prefix", (1, 0): "suffix", (1, 1): "inside"}[ends], text)
        made = [(".*" if letter == "%" else ".") if wild else _quoted(letter) for wild, letter in parts]
        return LikePattern("regex", rf"(?s)\A{''.join(made)}\z")

    def matches(self, texts: pa.Array) -> pa.Array:
        """Return whether each text matches."""
        if self.kind == "whole":
            return pc.equal(texts, self.text)
        if self.kind == "prefix":
            return pc.starts_with(texts, pattern=self.text)
        if self.kind == "suffix":
            return pc.ends_with(texts, pattern=self.text)
        if self.kind == "inside":
            return pc.match_substring(texts, pattern=self.text)
        return pc.match_substring_regex(texts, pattern=self.text)


def _quoted(letter: str) -> str:
    if letter in _PLAIN or not letter.isascii():
        return letter
    return rf"\x{ord(letter):02x}"
