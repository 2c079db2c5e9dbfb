r"""Makes text from files and data safe to print: characters that are invisible or control a terminal become escapes.

Names, reasons, values and messages of others may hold sequences that move the cursor, set colors, reverse the order of
letters or hide a part of a text. All text forms of reports, explanations and errors pass through `printable`; JSON
forms keep the original text.

>>> print(printable("size\x1b[2J \u202egnp.exe"), printable("two\nlines"), printable("Größe 大小 📏"))
size\x1b[2J \u202egnp.exe two\nlines Größe 大小 📏

A joiner stays between two emoji, and one variation selector stays after the character that it selects a form of, since
these make up one visible sign. Anywhere else they are invisible, and are escaped:

>>> print(printable("👩‍🚀 ❤️"), printable("a\u200db\ufe0f\ufe0f"))
👩‍🚀 ❤️ a\u200db️\ufe0f
"""

from __future__ import annotations

import re

_CONTROL = (
    "\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"  # categories Cc, Zl, Zp and Cs
    "\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e00ff"  # Cf, with the whole block of tags
    "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"  # letters and marks without a shape
    "\ufdd0-\ufdef" + "".join(f"{chr(plane + 0xFFFE)}-{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))
)  # and noncharacters, of which XML forbids U+FFFE and U+FFFF
_SELECTORS = "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
_EMOJI = "\u2190-\u2bff\U0001f000-\U0001faff"
_ESCAPED = re.compile(
    f"(?!(?<=[{_EMOJI}])\u200d(?=[{_EMOJI}])|(?<=[{_EMOJI}]\ufe0f)\u200d(?=[{_EMOJI}]))[{_CONTROL}]"
    f"|(?<![^\\s{_CONTROL}{_SELECTORS}])[{_SELECTORS}]"
)
_SIGNS = re.compile(f"[\U0001f1e6-\U0001f1ff]{{2}}|.(?:[{_SELECTORS}\U0001f3fb-\U0001f3ff]|\u200d.)*", re.DOTALL)


def printable(text: str, keep: str = "") -> str:
    r"""Return a text with escapes, as in a Python string, for everything that has no shape of its own. `keep`:
    characters that stay, such as the line breaks of a text of several lines.

    A text that has passed through it does not change when it passes again.

    >>> printable("tab\t, bell\a"), printable("one\ntwo\r", keep="\n")
    ('tab\\t, bell\\x07', 'one\ntwo\\r')
    """
    if text.isascii() and text.isprintable():
        return text
    return _ESCAPED.sub(lambda found: found[0] if found[0] in keep else _escape(found[0]), text)


def signs_of(text: str) -> list[str]:
    """Return the visible signs of a printable text, which must not be divided: characters with their joiners and
    selectors, and flags.

    >>> [len(sign) for sign in signs_of("a👩‍🚀❤️")]
    [1, 3, 2]
    """
    return _SIGNS.findall(text)


def columns_of(text: str) -> int:
    """Return the number of columns that a terminal needs for a printable text.

    >>> columns_of("size"), columns_of("大きさ"), columns_of("👩‍🚀")
    (4, 6, 2)
    """
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # Spark's workers print nothing, and do not have to load it

    return cell_len(text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()
