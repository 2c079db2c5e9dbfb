r"""The regular expressions of RLIKE: the part of Java's syntax that has the same meaning here and on Spark.

Spark passes a pattern to java.util.regex unchanged. This process uses RE2, whose syntax differs in many small points,
so the pattern is parsed as Java parses it and translated for RE2 (`re2_text`). Everything else is refused with its
position: what RE2 cannot do (look-around, back references), what depends on the version of Java or of Unicode (`\b`,
`\p{L}`), and syntax that is easily misread (`[a[b]]`, `a**`).

>>> Reader("(?i)[b-c]{2,}").read()
Repeat(part=Chars(set=CharacterSet(ranges=((66, 67), (98, 99)))), least=2, most=None)
>>> Reader("ab(?=c)").read()
Traceback (most recent call last):
thalweg.plan.expressions.regex_subset.RegexError: (?= at character 3 looks ahead, which RE2 cannot do; write two conditions

Reference: the documentation of java.util.regex.Pattern, Java 17 and later.
"""  # noqa: E501 - a message in full

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from thalweg.plan.expressions.character_set import (
    BLANKS,
    DIGITS,
    HORIZONTAL,
    LINE_ENDS,
    POSIX,
    VERTICAL,
    WORDS,
    CharacterSet,
)

MOST_REPEATS = 1000
"""The maximum number of repetitions in RE2."""
MOST_NESTED = 100
"""The maximum depth of nested groups: both engines recurse into them."""
_CLASSES = {"d": DIGITS, "w": WORDS, "s": BLANKS, "h": HORIZONTAL, "v": VERTICAL}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_ALL = CharacterSet.of((0, 0x10FFFF))
_GROUPS = {
    "=": ("looks ahead, which RE2 cannot do", "write two conditions"),
    "!": ("looks ahead, which RE2 cannot do", "write two conditions, one with NOT"),
    "<=": ("looks behind, which RE2 cannot do", "write two conditions"),
    "<!": ("looks behind, which RE2 cannot do", "write two conditions, one with NOT"),
    ">": ("is an atomic group, which RE2 does not have", "write (?:...)"),
    "P": ("is not Java syntax", "write (?<name>...) or (...)"),
    "#": ("is not Java syntax", "remove the comment"),
}
_FLAGS = {
    "m": "write (^|[\\n\\r]) or ([\\n\\r]|$) for the ends of lines",
    "d": "write [^\\n] for a character that is not the end of a line",
    "u": "write both cases, as in [éÉ]",
    "U": "write the characters that are meant, as in [A-Za-zÀ-ÿ]",
    "x": "remove spaces and comments",
}
_ESCAPES = {
    "b": ("depends on the version of Java next to non-ASCII letters", r"(^|\W) before a word and (\W|$) after it"),
    "B": ("depends on the version of Java next to non-ASCII letters", r"\w where a word continues"),
    "G": ("is the end of the previous match, and there is none", r"\A"),
    "R": ("matches more than one character only in Java", r"(\r\n|[\n\r])"),
    "X": ("matches more than one character only in Java", "."),
    "N": ("names characters only in Java", r"\x{1F600}"),
    "C": ("is a byte in RE2 and has no meaning in Java", "."),
    "k": ("is a back reference, which RE2 does not have", "the text itself"),
    "c": ("is a control character only in Java", r"\x01"),
    "0": ("is an octal number, which Java and RE2 read differently", r"\x00"),
    "p": ("has characters that depend on the version of Unicode", "ranges, as in [A-Za-zÀ-ÿ]"),
    "P": ("has characters that depend on the version of Unicode", "ranges, as in [^A-Za-zÀ-ÿ]"),
    "E": (r"does not end a \Q", r"\\E for the two characters"),
}  # fmt: skip


class RegexError(ValueError):
    """Raised if a pattern is not supported. The message says what is wrong, where, and what to write instead."""


@dataclass(frozen=True)
class Chars:
    """A part that matches one character of a set."""

    set: CharacterSet


@dataclass(frozen=True)
class Edge:
    """The start of the text (^), its end (z), or its end before or after a final line end ($)."""

    kind: str
    place: int


@dataclass(frozen=True)
class Repeat:
    """A repeated part; if `most` is None, without a limit. Whether it is greedy does not change what matches."""

    part: RegexPart
    least: int
    most: int | None


@dataclass(frozen=True)
class Run:
    """Several parts, one after the other."""

    parts: tuple[RegexPart, ...]


@dataclass(frozen=True)
class Either:
    """Alternatives, of which one matches."""

    options: tuple[RegexPart, ...]


RegexPart = Chars | Edge | Repeat | Run | Either


class Reader:
    """Reads one pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.at = pattern, 0
        self.flags: frozenset[str] = frozenset()
        self.nested = 0
        self.names: set[str] = set()

    def read(self) -> RegexPart:
        """Return the parsed pattern, or raise an error."""
        for place, letter in enumerate(self.pattern):
            if 0xD800 <= ord(letter) <= 0xDFFF:
                self._refuse(
                    place, "half of a surrogate pair", "is not a character", r"write the whole one, as in \x{1F600}"
                )
        made = self._either()
        if self.at < len(self.pattern):
            self._refuse(self.at, ")", "closes no group", r"write \) for the character")
        return made

    def _refuse(self, place: int, what: str, why: str, remedy: str) -> NoReturn:
        raise RegexError(f"{what} at character {place + 1} {why}; {remedy}")

    def _next(self, count: int = 1) -> str:
        return self.pattern[self.at : self.at + count]

    def _either(self) -> RegexPart:
        options = [self._run()]
        while self._next() == "|":
            self.at += 1
            options.append(self._run())
        return options[0] if len(options) == 1 else Either(tuple(options))

    def _run(self) -> RegexPart:
        parts: list[RegexPart] = []
        while self._next() not in ("", "|", ")"):
            if self._next(2) == "\\Q":
                parts += self._quotation()
                if parts and self._next() in ("*", "+", "?", "{"):
                    parts[-1] = self._repeated(parts[-1])
                continue
            part = self._atom()
            if part is not None:
                parts.append(self._repeated(part))
        return parts[0] if len(parts) == 1 else Run(tuple(parts))

    def _atom(self) -> RegexPart | None:
        """Return a part, or None if there are only flags."""
        place, letter = self.at, self._next()
        if letter == "(":
            return self._group()
        if letter == "[":
            return Chars(self._class())
        if letter == "\\":
            return self._escaped()
        if letter in ("*", "+", "?", "{"):
            self._refuse(place, letter, "repeats nothing", f"write \\{letter} for the character")
        self.at += 1
        if letter in ("^", "$"):
            return Edge(letter, place)
        if letter == ".":
            return Chars(_ALL if "s" in self.flags else LINE_ENDS.negated)
        return self._chars(ord(letter))

    def _chars(self, point: int) -> Chars:
        return Chars(self._cased(CharacterSet.of((point, point))))

    def _cased(self, chars: CharacterSet) -> CharacterSet:
        return chars.with_ascii_case() if "i" in self.flags else chars

    def _quotation(self) -> list[RegexPart]:
        end = self.pattern.find("\\E", self.at)
        text = self.pattern[self.at + 2 : end if end >= 0 else None]
        self.at = end + 2 if end >= 0 else len(self.pattern)
        if not text:
            self._refuse(self.at - 1, "\\Q", "quotes nothing", "remove it")
        return [self._chars(ord(letter)) for letter in text]

    def _repeated(self, part: RegexPart) -> RegexPart:
        place, letter = self.at, self._next()
        if letter == "{":
            found = re.compile(r"\{([0-9]{1,9})(,([0-9]{1,9})?)?\}").match(self.pattern, self.at)
            if found is None:
                self._refuse(place, "{", "is not a number of repetitions", r"write {2,5}, or \{ for the character")
            least = int(found[1])
            most = least if not found[2] else int(found[3]) if found[3] else None
            self.at = found.end()
            if max(least, most or 0) > MOST_REPEATS:
                self._refuse(place, found[0], f"is more than {MOST_REPEATS} repetitions", "write a smaller number")
            if most is not None and most < least:
                self._refuse(place, found[0], "is not a range", f"write {{{most},{least}}}")
        elif letter in ("*", "+", "?") and letter:
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[letter]
            self.at += 1
        else:
            return part
        if isinstance(part, Edge):
            self._refuse(place, letter, "repeats a position, not a character", "remove it")
        if self._next() == "?":
            self.at += 1
        elif self._next() == "+":
            self._refuse(self.at, "+", "makes the repetition possessive, which RE2 cannot do", "remove it")
        if self._next() in ("*", "+", "?", "{") and self._next():
            self._refuse(self.at, self._next(), "repeats a repetition", "put the inner one into (?:...)")
        return Repeat(part, least, most)

    def _group(self) -> RegexPart | None:
        place, before = self.at, self.flags
        self.at += 1
        if self._next() == "?":
            self.at += 1
            if not self._opened(place):
                return None
        self.nested += 1
        if self.nested > MOST_NESTED:
            self._refuse(place, "(", f"is nested more than {MOST_NESTED} deep", "write fewer groups")
        made = self._either()
        if self._next() != ")":
            self._refuse(place, "(", "is never closed", r"write ) at its end, or \( for the character")
        self.at += 1
        self.nested -= 1
        self.flags = before
        return made

    def _opened(self, place: int) -> bool:
        """Read what follows (?. Return False if it is only flags for the rest of the enclosing group."""
        if named := re.compile(r"<([A-Za-z][A-Za-z0-9]*)>").match(self.pattern, self.at):
            if named[1] in self.names:
                self._refuse(place, f"(?{named[0]}", "is the name of two groups", "choose another name")
            self.names.add(named[1])
            self.at = named.end()
            return True
        for sign, (why, remedy) in _GROUPS.items():
            if self.pattern.startswith(sign, self.at):
                self._refuse(place, f"(?{sign}", why, remedy)
        flags = re.compile(r"([A-Za-z]*)(?:-([A-Za-z]*))?([:)])").match(self.pattern, self.at)
        if flags is None:
            self._refuse(place, self.pattern[place : place + 3], "is not a group", "write (?:...) or (...)")
        on, off = frozenset(flags[1]), frozenset(flags[2] or "")
        for flag in sorted(on | off):
            if flag not in "is":
                remedy = _FLAGS.get(flag, "write (?i) or (?s)")
                self._refuse(place, f"flag {flag} of {self.pattern[place : flags.end()]}", "is not supported", remedy)
        self.flags = (self.flags | on) - off
        self.at = flags.end()
        return flags[3] == ":"

    def _escaped(self) -> RegexPart:
        place, letter = self.at, self.pattern[self.at + 1 : self.at + 2]
        if letter in ("A", "z", "Z") and letter:
            self.at += 2
            return Edge({"A": "^", "z": "z", "Z": "$"}[letter], place)
        found = self._escape()
        return Chars(found) if isinstance(found, CharacterSet) else self._chars(found)

    def _escape(self) -> CharacterSet | int:
        """Read an escape, inside or outside of brackets. Return its characters, or the code point of one character."""
        place, letter = self.at, self.pattern[self.at + 1 : self.at + 2]
        self.at += 2
        if not letter:
            self._refuse(place, "\\", "escapes nothing", r"write \\ for the character")
        if letter in "xu":
            return self._code_point(place)
        if letter in _CONTROLS:
            return ord(_CONTROLS[letter])
        if letter.lower() in _CLASSES:
            found = _CLASSES[letter.lower()]
            return found if letter.islower() else found.negated
        if letter in "pP" and (name := re.compile(r"\{(\w+)\}").match(self.pattern, self.at)) and name[1] in POSIX:
            if "i" in self.flags and name[1] in ("Lower", "Upper"):
                self._refuse(place, f"\\{letter}{name[0]}", "depends on case, which (?i) ignores", r"write \p{Alpha}")
            self.at = name.end()
            return POSIX[name[1]] if letter == "p" else POSIX[name[1]].negated
        if letter.isascii() and letter.isalnum():
            why, remedy = _ESCAPES.get(letter, ("has no meaning in Java", f"{letter} for the character"))
            if letter in "123456789":
                why, remedy = "is a back reference, which RE2 does not have", "the text itself"
            self._refuse(place, f"\\{letter}", why, f"write {remedy}")
        return ord(letter)

    def _code_point(self, place: int) -> int:
        hexadecimal = re.compile(r"u([0-9A-Fa-f]{4})|x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]{1,9})\})")
        found = hexadecimal.match(self.pattern, self.at - 1)
        if found is None:
            self._refuse(
                place, self.pattern[place : self.at], "is not the number of a character", r"write \x41 or \x{1F600}"
            )
        point = int(found[1] or found[2] or found[3], 16)
        self.at = found.end()
        if point > 0x10FFFF or 0xD800 <= point <= 0xDFFF:
            self._refuse(place, "\\" + found[0], "is not a character", r"write the whole one, as in \x{1F600}")
        return point

    def _class(self) -> CharacterSet:
        begin = self.at
        self.at += 1
        negated = self._next() == "^"
        self.at += negated
        first, made = self.at, CharacterSet(())
        while self._next() != "]" or self.at == first:
            place, low = self.at, self._member(begin, first)
            if isinstance(low, CharacterSet):
                # Java reads \v before any - as a single character
                if self._next() == "-" and (self._next(2) != "-]" or self.pattern[place : self.at] == "\\v"):
                    self._refuse(self.at, "-", "follows a set of characters", r"write \- for the character")
                made = made.union(low)
                continue
            high = low
            if self._next() == "-" and self._next(2) != "-]":
                self.at += 1
                last = self._member(begin, first)
                if isinstance(last, CharacterSet) or last < low:
                    self._refuse(
                        place, self.pattern[place : self.at], "is not a range", r"write \- for the character -"
                    )
                high = last
            made = made.union(self._cased(CharacterSet.of((low, high))))
        self.at += 1
        return made.negated if negated else made

    def _member(self, begin: int, first: int) -> CharacterSet | int:
        place, letter = self.at, self._next()
        if not letter:
            self._refuse(begin, "[", "is never closed", r"write ] at its end, or \[ for the character")
        if letter == "\\":
            return self._escape()
        if letter == "[" or (letter == "]" and place == first) or (letter == "^" and place > begin + 1):
            what = "[: at" if self._next(2) == "[:" else f"{letter} at"
            remedy = (
                r"write \p{Alpha} for [:alpha:]" if self._next(2) == "[:" else f"write \\{letter} for the character"
            )
            self._refuse(place, what.removesuffix(" at"), "inside brackets is read differently by Java and RE2", remedy)
        if self._next(2) == "&&":
            self._refuse(
                place, "&&", "inside brackets is an intersection only in Java", r"write \&\& for the characters"
            )
        if letter == "-" and place != first and self._next(2) != "-]":
            self._refuse(place, "-", "is not between two characters", r"write \- for the character")
        self.at += 1
        return ord(letter)
