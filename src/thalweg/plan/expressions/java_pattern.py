"""Recognize regular expressions that Java certainly compiles and applies to any text without failing.

Answers: whether a pattern is in a well-known part of Java's syntax. False means unknown, not that the pattern fails.
This part excludes look-behind, back references, quoted parts, nested classes and flags other than i, m and s. It also
excludes groups that are repeated without a limit and have alternatives or repetitions inside: Java recurses once per
repetition there, and a long text exhausts its stack.

`regex_subset` accepts fewer patterns, those that mean the same in RE2, and says for the others what to write instead.
Native predicates run only in Java, and need only this check.

>>> surely_compiles(r"^GET /item/[0-9]+ (4|5)\\d\\d$"), surely_compiles("[a-z")
(True, False)
>>> surely_compiles("(?:ab)+"), surely_compiles("(a|b)+")
(True, False)
"""

from __future__ import annotations

import re
from math import inf

MOST_LETTERS, MOST_DEPTH = 2_000, 20
"""Longer patterns, and patterns with more nested groups, are not checked: Java compiles by recursion."""

_PLAIN = r"[^\\^$.|?*+()\[\]{}]"
_ESCAPE = r"\\(?:[dDwWsStnrf]|[!-/:-@\[-`{-~])"
_PROPERTY = r"\\[pP]\{(?:Alpha|Digit|Alnum|Upper|Lower|Punct|Space|L|Lu|Ll|N|Nd|P|S|Z)\}"
_MEMBER = rf"(?:[^\\\[\]&^-]|{_ESCAPE}|{_PROPERTY})"
_RANGE = "[0-9A-Za-z]-[0-9A-Za-z]"
_CLASS = rf"\[\^?-?(?:{_RANGE}|{_MEMBER}(?!-[^\]]))+-?\]"
_TOKEN = re.compile(
    rf"""(?P<open>\((?:\?:|(?!\?)))            # a group, capturing or not
    |(?P<flags>\(\?[ims]{{1,3}}\))
    |(?P<look>\(\?[=!])
    |(?P<close>\))
    |(?P<or>\|)
    |(?P<edge>[\^$]|\\[bBAzZ])
    |(?P<atom>\.|{_CLASS}|{_PROPERTY}|{_ESCAPE}|{_PLAIN})
    |(?P<times>[?*+]|\{{[0-9]{{1,3}}(?:,(?:[0-9]{{1,3}})?)?\}})""",
    re.VERBOSE | re.DOTALL,
)
PLAIN, CHOICES, REPEATED_CHOICES = range(3)
"""What a group contains: only atoms, alternatives or repetitions, or repetitions of these."""
_MOST_TIMES = {PLAIN: inf, CHOICES: 20, REPEATED_CHOICES: 1}
"""How often a group may be repeated without exhausting the stack, by what it contains."""


def surely_compiles(pattern: str) -> bool:
    """Whether Java certainly compiles this pattern, and searches for it in any text without failing."""
    if len(pattern) > MOST_LETTERS:
        return False
    groups: list[int] = [PLAIN]  # what is in each open group; the first is the whole pattern
    looks: list[bool] = []  # whether each looks ahead
    repeatable: int | None = None  # what may be repeated here, if anything
    at = 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            return False
        kind, at = token.lastgroup, token.end()
        if kind in ("open", "look"):
            groups.append(PLAIN)
            looks.append(kind == "look")
            if len(groups) > MOST_DEPTH:
                return False
            repeatable = None
        elif kind == "close":
            if not looks:
                return False
            inside = groups.pop()
            groups[-1] = max(groups[-1], inside)
            repeatable = None if looks.pop() else inside
        elif kind == "times":
            most = _most(token[0])
            if repeatable is None or most is None or most > _MOST_TIMES[repeatable]:
                return False
            inside = REPEATED_CHOICES if repeatable != PLAIN and most > 1 else CHOICES
            groups[-1] = max(groups[-1], inside)
            if pattern[at : at + 1] in ("?", "+"):  # reluctant, possessive
                at += 1
            repeatable = None
        else:
            if kind == "atom" and token[0][0] == "[" and any(r[0] > r[2] for r in re.findall(_RANGE, token[0])):
                return False
            if kind == "or":
                groups[-1] = max(groups[-1], CHOICES)
            repeatable = PLAIN if kind == "atom" else None
    return not looks


def _most(times: str) -> float | None:
    """Return the maximum number of repetitions, or None if the minimum is larger than the maximum."""
    if times in ("*", "+", "?"):
        return 1 if times == "?" else inf
    least, comma, most = times.strip("{}").partition(",")
    if not most:
        return inf if comma else int(least)
    return int(most) if int(least) <= int(most) else None
