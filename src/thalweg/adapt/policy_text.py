"""Reads a policy and its settings from text: `mesh(routes=4, search='sa')`.

The grammar is that of a call in Python with named arguments whose values are numbers, texts in quotes, True, False or
None. Nothing is evaluated. Between two words there may be blanks, and after the last setting a comma:

    policy  = name [ "(" [ setting { "," setting } [ "," ] ] ")" ]
    setting = name "=" value
    value   = number | text | "True" | "False" | "None"

>>> read_policy("mesh(routes=4, search='sa')")
('mesh', {'routes': 4, 'search': 'sa'})
>>> read_policy("mesh(routes 4)")
Traceback (most recent call last):
thalweg.errors.PlanError: expected '=' at character 13, before '4)'; write it as in mesh(routes=4, search='sa')
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

from thalweg.errors import PlanError

MOST_CHARACTERS = 1_000
SHOWN = 20
"""The characters that an error shows of what it did not expect."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_INTEGER = re.compile(r"[+-]?[0-9]+(?![0-9.eE])")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_TEXT = re.compile(r"""'[^'\\]*'|"[^"\\]*\"""")
_WORDS = {"True": True, "False": False, "None": None}


def read_policy(text: str) -> tuple[str, dict[str, Any]]:
    """Return the name of a policy and its settings. Text without a parenthesis is a name, whatever it is.

    Raises a PlanError that says what was expected where.
    """
    if len(text) > MOST_CHARACTERS:
        raise PlanError(f"the text of a policy has {len(text):,} characters; at most {MOST_CHARACTERS:,} are possible")
    return (text, {}) if "(" not in text else _Reader(text).policy()


def shown(text: str) -> str:
    """Return a text as errors show it: its beginning, if it is too long for a policy."""
    return repr(text) if len(text) <= MOST_CHARACTERS else f"{text[:SHOWN]!r}..."


def as_text(name: str, settings: dict[str, Any]) -> str:
    """Return a policy and its settings as the text that is read as them.

    >>> as_text("mesh", {"routes": 4, "search": "sa"}), as_text("auto", {})
    ("mesh(routes=4, search='sa')", 'auto')
    """
    return f"{name}({', '.join(f'{key}={_written(value)}' for key, value in settings.items())})" if settings else name


def _written(value: Any) -> str:
    """Return a value as text. Types that are derived from a number, as NumPy's are, have a longer `repr`."""
    for kind in (int, float, str):
        if isinstance(value, kind) and not isinstance(value, bool):
            return kind.__repr__(value)
    return repr(value)


class _Reader:
    """Reads one text from left to right."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def policy(self) -> tuple[str, dict[str, Any]]:
        name, settings = self._name("the name of a policy"), dict[str, Any]()
        self._sign("(")
        while not self._next(")"):
            at, key = self._at + 1, self._name("the name of a setting or ')'")
            if key in settings:
                raise PlanError(f"{key} is given twice, again at character {at}; leave one of them out")
            self._sign("=")
            settings[key] = self._value()
            if not self._next(")"):
                self._sign(",", "',' or ')'")
        self._sign(")")
        if self._at < len(self._text):
            self._refuse("the end")
        return name, settings

    def _name(self, expected: str) -> str:
        return self._take(_NAME) or self._refuse(expected)

    def _value(self) -> Any:
        if (found := self._take(_INTEGER)) is not None:
            return int(found)
        if (found := self._take(_NUMBER)) is not None:
            return float(found)
        if (found := self._take(_TEXT)) is not None:
            return found[1:-1]
        before = self._at
        if (found := self._take(_NAME)) in _WORDS:
            return _WORDS[found]
        self._at = before
        self._refuse("a number, a text in quotes, True, False or None")

    def _next(self, sign: str) -> bool:
        return self._text.startswith(sign, self._at)

    def _sign(self, sign: str, expected: str = "") -> None:
        if not self._next(sign):
            self._refuse(expected or repr(sign))
        self._at += len(sign)
        self._skip()

    def _take(self, pattern: re.Pattern[str]) -> str | None:
        """Take what matches here, and the blanks after it."""
        self._skip()
        found = pattern.match(self._text, self._at)
        if found is None:
            return None
        self._at = found.end()
        self._skip()
        return found[0]

    def _skip(self) -> None:
        while self._text[self._at : self._at + 1].isspace():
            self._at += 1

    def _refuse(self, expected: str) -> NoReturn:
        rest = self._text[self._at :]
        before = repr(rest) if len(rest) <= SHOWN else f"{rest[:SHOWN]!r}..."
        where = f"character {self._at + 1}, before {before}" if rest else "the end"
        raise PlanError(f"expected {expected} at {where}; write it as in mesh(routes=4, search='sa')")
