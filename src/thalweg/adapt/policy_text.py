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
from collections.abc import Mapping
from typing import Any

from thalweg.errors import PlanError

MOST_CHARACTERS = 1_000
SHOWN = 20
"""The characters that an error shows of what it did not expect."""
_NAME = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_-]*)\s*")
_OPEN, _CLOSE, _EQUALS, _COMMA = (re.compile(rf"({sign})\s*") for sign in (r"\(", r"\)", "=", ","))
_END = re.compile(r"(\Z)")
_VALUE = re.compile(
    r"""([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|'[^'\\]*'|"[^"\\]*"|(?:True|False|None)\b)\s*"""
)
_WORDS = {"True": True, "False": False, "None": None}


def read_policy(text: str) -> tuple[str, dict[str, Any]]:
    """Return the name of a policy and its settings. Text without a parenthesis is a name, whatever it is.

    Raises a PlanError that says what was expected where.
    """
    if len(text) > MOST_CHARACTERS:
        raise PlanError(f"the text of a policy has {len(text):,} characters; at most {MOST_CHARACTERS:,} are possible")
    if "(" not in text:
        return text, {}
    name, at = _take(_NAME, text, 0, "the name of a policy")
    _, at = _take(_OPEN, text, at, "'('")
    settings: dict[str, Any] = {}
    while not _CLOSE.match(text, at):
        place, (key, at) = at + 1, _take(_NAME, text, at, "the name of a setting or ')'")
        if key in settings:
            raise PlanError(f"{key} is given twice, again at character {place}; leave one of them out")
        _, at = _take(_EQUALS, text, at, "'='")
        value, at = _take(_VALUE, text, at, "a number, a text in quotes, True, False or None")
        settings[key] = _value_of(value)
        if not _CLOSE.match(text, at):
            _, at = _take(_COMMA, text, at, "',' or ')'")
    _, at = _take(_CLOSE, text, at, "')'")
    _take(_END, text, at, "the end")
    return name, settings


def shown(text: str) -> str:
    """Return a text as errors show it: its beginning, if it is too long for a policy."""
    return repr(text) if len(text) <= MOST_CHARACTERS else f"{text[:SHOWN]!r}..."


def as_text(name: str, settings: Mapping[str, Any]) -> str:
    """Return a policy and its settings as the text that is read as them.

    >>> as_text("mesh", {"routes": 4, "search": "sa"}), as_text("auto", {})
    ("mesh(routes=4, search='sa')", 'auto')
    """
    return f"{name}({', '.join(f'{key}={_written(value)}' for key, value in settings.items())})" if settings else name


def _take(pattern: re.Pattern[str], text: str, at: int, expected: str) -> tuple[str, int]:
    """Return what a pattern matches at a place, and the place after it and its blanks."""
    if (found := pattern.match(text, at)) is not None:
        return found[1], found.end()
    rest = text[at:]
    before = repr(rest) if len(rest) <= SHOWN else f"{rest[:SHOWN]!r}..."
    where = f"character {at + 1}, before {before}" if rest else "the end"
    raise PlanError(f"expected {expected} at {where}; write it as in mesh(routes=4, search='sa')")


def _value_of(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in "'\"":
        return text[1:-1]
    return float(text) if {*text} & {*".eE"} else int(text)


def _written(value: Any) -> str:
    """Return a value as text. Types that are derived from a number, as NumPy's are, have a longer `repr`."""
    for kind in (int, float, str):
        if isinstance(value, kind) and not isinstance(value, bool):
            return kind.__repr__(value)
    return repr(value)
