"""Sets of characters, as used in regular expressions: sorted, disjoint ranges of code points.

>>> letters = CharacterSet.of((97, 99)).with_ascii_case()
>>> letters.ranges
((65, 67), (97, 99))
>>> CharacterSet.of((0, 65), (66, 200)).without(LINE_ENDS).written()
'[\\\\x{0}-\\\\x{9}\\\\x{b}-\\\\x{c}\\\\x{e}-\\\\x{84}\\\\x{86}-\\\\x{c8}]'
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

LAST = 0x10FFFF


@dataclass(frozen=True)
class CharacterSet:
    """A set of characters, as ranges of code points. Each range includes its first and its last code point."""

    ranges: tuple[tuple[int, int], ...]

    @staticmethod
    def of(*ranges: tuple[int, int]) -> CharacterSet:
        """Return the set of all characters in these ranges, which may overlap and be in any order."""
        merged: list[tuple[int, int]] = []
        for low, high in sorted(ranges):
            if merged and low <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(merged[-1][1], high))
            else:
                merged.append((low, high))
        return CharacterSet(tuple(merged))

    @staticmethod
    def letters(text: str) -> CharacterSet:
        """Return the set of the characters of a text."""
        return CharacterSet.of(*((ord(letter), ord(letter)) for letter in text))

    def union(self, other: CharacterSet) -> CharacterSet:
        """Return the characters that are in either set."""
        return CharacterSet.of(*self.ranges, *other.ranges)

    @cached_property
    def negated(self) -> CharacterSet:
        """The set of all other characters."""
        edges = [-1, *(edge for pair in self.ranges for edge in pair), LAST + 1]
        gaps = [(edges[n] + 1, edges[n + 1] - 1) for n in range(0, len(edges), 2)]
        return CharacterSet(tuple((low, high) for low, high in gaps if low <= high))

    def without(self, other: CharacterSet) -> CharacterSet:
        """Return the characters that are not in the other set."""
        return self.negated.union(other).negated

    def with_ascii_case(self) -> CharacterSet:
        """Return the set with both cases of its ASCII letters."""
        added = []
        for low, high in self.ranges:
            for first, last, step in ((65, 90, 32), (97, 122, -32)):
                if max(low, first) <= min(high, last):
                    added.append((max(low, first) + step, min(high, last) + step))
        return CharacterSet.of(*self.ranges, *added)

    def __contains__(self, letter: str) -> bool:
        return any(low <= ord(letter) <= high for low, high in self.ranges)

    def written(self) -> str:
        """Return the set in the syntax of RE2."""
        if self.ranges == ((0, LAST),):
            return "(?s:.)"
        if len(self.ranges) == 1 and self.ranges[0][0] == self.ranges[0][1]:
            return _letter(self.ranges[0][0])
        if self.ranges in _FOLDED:
            return _FOLDED[self.ranges]
        chosen, sign = (self.ranges, "") if len(self.ranges) <= len(self.negated.ranges) else (self.negated.ranges, "^")
        if not chosen:
            return r"[^\x{0}-\x{10ffff}]"
        parts = (_letter(low) if low == high else f"{_letter(low)}-{_letter(high)}" for low, high in chosen)
        return f"[{sign}{''.join(parts)}]"


def _letter(point: int) -> str:
    return chr(point) if point < 128 and chr(point).isalnum() else rf"\x{{{point:x}}}"


_FOLDED = {((75, 75), (107, 107)): "(?:K|k)", ((83, 83), (115, 115)): "(?:S|s)"}
"""Sets that are written as alternatives. RE2 reads [Ss] as a letter in any case, and adds the long s when it merges it
with other options; for [Kk] it adds the Kelvin sign."""
LINE_ENDS = CharacterSet.letters("\n\r\x85\u2028\u2029")
DIGITS = CharacterSet.of((48, 57))
WORDS = CharacterSet.of((48, 57), (65, 90), (95, 95), (97, 122))
BLANKS = CharacterSet.letters(" \t\n\x0b\f\r")
"""The characters that \\s matches in Java."""
VERTICAL = CharacterSet.letters("\n\x0b\f\r\x85\u2028\u2029")
HORIZONTAL = CharacterSet.of(*CharacterSet.letters(" \t\xa0\u1680\u180e\u202f\u205f\u3000").ranges, (0x2000, 0x200A))
POSIX = {
    "Lower": CharacterSet.of((97, 122)),
    "Upper": CharacterSet.of((65, 90)),
    "ASCII": CharacterSet.of((0, 127)),
    "Alpha": CharacterSet.of((65, 90), (97, 122)),
    "Digit": DIGITS,
    "Alnum": CharacterSet.of((48, 57), (65, 90), (97, 122)),
    "Punct": CharacterSet.of((33, 47), (58, 64), (91, 96), (123, 126)),
    "Graph": CharacterSet.of((33, 126)),
    "Print": CharacterSet.of((32, 126)),
    "Blank": CharacterSet.letters(" \t"),
    "Cntrl": CharacterSet.of((0, 31), (127, 127)),
    "XDigit": CharacterSet.of((48, 57), (65, 70), (97, 102)),
    "Space": BLANKS,
}
"""The names in \\p{...} that mean only ASCII characters in Java."""
