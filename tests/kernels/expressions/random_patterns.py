"""Random regular expressions and LIKE patterns, and texts that are hard to match."""

from __future__ import annotations

import random

from thalweg.plan.expressions.re2_text import is_portable

TEXTS = [
    "", "a", "A", "ab", "aab", "abab", "b", "abc", "aXb", "0", "a0_b", "\n", "\r", "\r\n", "\n\r", "a\n", "a\r",
    "a\r\n", "a\n\n", "a\r\r", "\na", "a\nb", "a\rb", "a\r\nb", "a\x85", "a\x85b", "a\u2028", "a\u2029", "a\u2028b",
    "\x0b", "a\x0bb", "\x0c", "\t", " ", "a b", " a ", "\xa0", "a\xa0b", "\u1680", "\u180e", "\u2003", "\u3000",
    "\x00", "a\x00b", "\x1b", "\x07", "k", "K", "\u212a", "s", "ſ", "ß", "ẞ", "ss", "é", "É", "e\u0301", "\u0301",
    "İ", "i", "ı", "Σ", "ς", "٣", "५", "１", "😀", "a😀b", "😀😀", "😀\r\n", "\U0001d400", "\ufffd", "\ufeff", "本",
    "a本b", "_", "-", "a-b", "]", "[", "^", "$", ".", "\\", "{", "}", "a{2}", "&", "&&", "(", ")", "|", "*", "+", "?",
    "a+b", "ab\r\n", "aaaa", "abcdefghij", "xxabcdefghij\r\n", "a😀bcdefghij", "aé\r\n", " \r\n", "5\r\n", "\u2028\n",
    "\r\u2028", "\x85\n", "\n\x85", "#", " #", "\"", "'", "%", "~", "\x7f",
]  # fmt: skip
LETTERS = [
    "a", "b", "A", "k", "s", "i", "0", "_", " ", "é", "ß", "😀", "本", "-", "]", "}", "&", "#", "\n", "\r", "\t",
    "\x00", "\x85", "\u2028", "\u212a", "ſ", "abcdefghij", ",", "<", ">", ":", "=", "!", "'", "%", "~", "@",
]  # fmt: skip
ESCAPES = [
    r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\h", r"\H", r"\v", r"\V", r"\n", r"\r", r"\t", r"\f", r"\a", r"\e",
    r"\x41", r"\x0a", r"\x{1F600}", r"\x{d}", r"\u0061", r"\u212A", r"\.", r"\\", r"\[", r"\]", r"\{", r"\-", r"\^",
    r"\$", r"\_", r"\ ", r"\é", r"\😀", r"\p{Lower}", r"\p{Upper}", r"\P{Alpha}", r"\p{Punct}", r"\p{Cntrl}",
    r"\p{Space}", r"\P{ASCII}", r"\p{XDigit}", r"\p{Graph}", r"\p{Print}", r"\p{Blank}", r"\p{Alnum}",
]  # fmt: skip
STRANGE = [
    r"\b", r"\B", r"\R", r"\X", r"\G", r"\C", r"\K", r"\1", r"\01", r"\N{DIGIT ONE}", r"\cA", r"\pL", r"\p{L}",
    r"\p{IsAlphabetic}", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?P<n>", "(?#c)", "(?m)", "(?x)", "(?U)", "(?u)",
    "(?d)", "++", "*+", "{,2}", "{", "[[:alpha:]]", "[a[b]]", "[a&&b]", "[]a]", "[^]a]", r"[\w-z]", "[z-a]",
    "a{2000}", "\\", "(", ")", "[", "**", "^*", "$+", "a{1}{2}", "[a-c-e]", r"\Q\E", r"\E", r"\u12", r"\x{}", r"\8",
    "(?i", "(?<n", "[^", r"\z*", "(?^i)", "(?-)", "(?i-s)", "[--a]", "[a^b]", r"[\[^a]", "[&&a]", "[a&&]",
]  # fmt: skip


class PatternWriter:
    """Writes patterns, most of them portable, some with an unusual part."""

    def __init__(self, chance: random.Random) -> None:
        self.chance, self.names = chance, 0

    def write(self) -> str:
        """Return one random pattern."""
        made = self._either(self.chance.randint(0, 3))
        if self.chance.random() < 0.25:
            made = "^" + made
        if self.chance.random() < 0.3:
            made += self.chance.choice(["$", r"\z", r"\Z"])
        if self.chance.random() < 0.2:
            made = self.chance.choice(["(?i)", "(?s)", "(?is)", "(?i-s)"]) + made
        if self.chance.random() < 0.08:
            place = self.chance.randint(0, len(made))
            made = made[:place] + self.chance.choice(STRANGE) + made[place:]
        return made

    def _either(self, depth: int) -> str:
        return "|".join(self._run(depth) for _ in range(self.chance.choice([1, 1, 1, 2, 3])))

    def _run(self, depth: int) -> str:
        return "".join(self._part(depth) for _ in range(self.chance.choice([0, 1, 1, 2, 2, 3])))

    def _part(self, depth: int) -> str:
        way = self.chance.random()
        if way < 0.05:
            return self.chance.choice(["^", "$", r"\A", r"\z", r"\Z", "(?i)", "(?-i)", "(?s)"])
        made = self._atom(depth)
        if self.chance.random() < 0.3:
            made += self.chance.choice(["*", "+", "?", "{2}", "{1,}", "{0,2}", "{0}", "{1,3}", "{2,5}"])
            if self.chance.random() < 0.2:
                made += "?"
        return made

    def _atom(self, depth: int) -> str:
        way = self.chance.random()
        if depth > 0 and way < 0.35:
            return f"{self._opening()}{self._either(depth - 1)})"
        if way < 0.5:
            return self._class()
        if way < 0.6:
            return "."
        if way < 0.75:
            return self.chance.choice(ESCAPES)
        if way < 0.78:
            return f"\\Q{self.chance.choice(LETTERS)}{self.chance.choice('.*[(0a')}\\E"
        return self.chance.choice(LETTERS)

    def _opening(self) -> str:
        self.names += 1
        return self.chance.choice(["(", "(", "(?:", f"(?<n{self.names}>", "(?i:", "(?s:", "(?s-i:"])

    def _class(self) -> str:
        parts = [self._member() for _ in range(self.chance.randint(1, 4))]
        sign = self.chance.choice(["", "", "^"])
        ends = self.chance.choice([("", ""), ("", ""), ("-", ""), ("", "-")])
        return f"[{sign}{ends[0]}{''.join(parts)}{ends[1]}]"

    def _member(self) -> str:
        way = self.chance.random()
        if way < 0.3:
            return self.chance.choice([
                "a-c", "A-Z", "0-9", "\t-\r", "!-~", "é-ü", "\x00-\x1f", r"\x{0}-\x{ffff}", r"\n-\r", "J-L", "ſ-ƀ",
                "\u2000-\u2030", "😀-😂",
            ])  # fmt: skip
        if way < 0.6:
            return self.chance.choice(ESCAPES)
        return self.chance.choice([*(letter for letter in LETTERS if letter not in "]-"), ".", "*", "$", "(", "|", "{"])


def random_patterns(seed: int, count: int) -> list[str]:
    """Return this many different patterns that are accepted."""
    writer = PatternWriter(random.Random(seed))
    found: dict[str, None] = {}
    while len(found) < count:
        pattern = writer.write()
        if is_portable(pattern):
            found[pattern] = None
    return list(found)
