"""The words for the branches of a mesh: which values of a column take them.

Values are data, and may be anything. They are shown as Python shows texts: quoted, on one line, with escapes for
characters that are not visible, so that no value can look like another one or like words of the report. Long texts are
shortened in the middle.

>>> value_text("web"), value_text("it's\\n"), value_text(True)
("'web'", "'it\\\\'s\\\\n'", 'true')
>>> value_text("a" * 1_000 + "b")
"'aaaaaaaaaaaaaaaaaaaa…aaaaaaaaaaaaaaaaaab'"
>>> alternatives(["'a'", "'b'", "'c'", "'d'", "'e'"], ["null"]), alternatives(["'a'"], ["null", "any other value"])
("'a', 'b', 'c' and 2 more, or null", "'a', null or any other value")
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from thalweg.formatting import few_digits, listed, plural
from thalweg.printable import columns_of, printable
from thalweg.stats.training_set import ends_of_long_text

LONGEST = 40
"""The most columns of a text within its quotes."""
NAMED = 3
"""Of more values than `NAMED + 1`, so many are named."""
_LARGE = 1e15
"""From here on, numbers are shown with an exponent."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NOT = {"number": "not a number", "time": "not a time"}
"""What values of another type than the threshold are."""


def value_text(value: str | bool) -> str:
    """Return a value of `RouteTree.to_dict` as text on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    ends = ends_of_long_text(value.encode("utf-8", "surrogateescape")) if _may_be_key(value) else None
    if ends is None:
        return f"'{_shortened(value)}'"
    # the ends of a long text may begin or end within a character
    head, tail = (end.decode("utf-8", "ignore") for end in ends[:2])
    return f"'{_ends(head, tail)}' ({plural(ends[2], 'byte')})"


def cut_text(cut: float, kind: str, *, exact: bool = False) -> str:
    """Return a threshold as text: a number with few digits, or a time (UTC). `exact`: with all digits of the number.

    >>> cut_text(1234.5, "number"), cut_text(-0.25, "number"), cut_text(1e300, "number")
    ('1,234', '-0.25', '1e+300')
    >>> cut_text(86_400e6, "time"), cut_text(1.5e6, "time"), cut_text(1e30, "time")
    ('1970-01-02', '1970-01-01 00:00:01.500000', '1e+30 µs since 1970')
    """
    if kind == "time":
        return _time_text(cut)
    if exact:
        return repr(cut)
    return few_digits(cut) if 0 <= cut < _LARGE else f"-{few_digits(-cut)}" if -_LARGE < cut < 0 else f"{cut:.3g}"


def condition(column: str, branches: Sequence[str], others: Sequence[str]) -> str:
    """Return which rows take a branch.

    >>> condition("size", ["at most 10"], ["null"])
    'size is at most 10 or null'
    """
    return f"{printable(column)} is {alternatives(branches, others)}"


def alternatives(values: Sequence[str], others: Sequence[str]) -> str:
    """Join values, and what other rows take the same branch. Of many values, the first ones are named."""
    if len(values) <= NAMED + 1:
        return listed([*values, *others], "or")
    some = f"{', '.join(values[:NAMED])} and {len(values) - NAMED:,} more"
    return f"{some}, or {listed(others, 'or')}" if others else some


def others_text(kind: str) -> str:
    """Return the word for unseen values and values of another type."""
    return _NOT.get(kind, "any other value")


def cut_texts(tree: Mapping[str, Any]) -> dict[tuple[str, float], str]:
    """Return the text of each threshold of a tree, by column and threshold. Different thresholds of a column have
    different texts.

    >>> leaf = {"route": 0}
    >>> low = {"column": "x", "kind": "number", "cut": 1.0001, "low": leaf, "high": leaf, "null": leaf, "other": leaf}
    >>> cut_texts(low), cut_texts({**low, "cut": 1.0002, "low": low})
    ({('x', 1.0001): '1'}, {('x', 1.0002): '1.0002', ('x', 1.0001): '1.0001'})
    """
    kinds: dict[tuple[str, float], str] = {}
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if node.get("cut") is not None and not node.get("redacted"):
            kinds.setdefault((node["column"], float(node["cut"])), node["kind"])
        waiting += below(node)
    short = {key: cut_text(key[1], kind) for key, kind in kinds.items()}
    seen: dict[tuple[str, str], int] = {}
    for (column, _), text in short.items():
        seen[column, text] = seen.get((column, text), 0) + 1
    return {key: cut_text(key[1], kinds[key], exact=seen[key[0], text] > 1) for key, text in short.items()}


def below(node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the nodes that follow a test; none if it is a leaf. A branch that no value takes is left out."""
    groups = [branch for values, branch in node.get("branches", ()) if values]
    names = ("low", "high", "null", "other") if node.get("cut") is not None else ("low", "null", "other")
    return [*groups, *(node[name] for name in names if name in node)]


def _may_be_key(text: str) -> bool:
    """Whether a text is short, and its surrogates stand for single bytes."""
    return len(text) < 2 * LONGEST and not any(
        "\ud800" <= letter <= "\udfff" and not "\udc80" <= letter <= "\udcff" for letter in text
    )


def _time_text(us: float) -> str:
    if not math.isfinite(us):
        return f"{us:.3g} µs since 1970"
    try:
        return str((_EPOCH + timedelta(microseconds=us)).replace(tzinfo=None)).removesuffix(" 00:00:00")
    except OverflowError:  # a time that Python's calendar does not have
        return f"{us:.3g} µs since 1970"


def _visible(letter: str) -> str:
    """Return a character as it is, or its escape if it is not visible or has a meaning within quotes."""
    if letter in "\\'":
        return f"\\{letter}"
    if "\udc80" <= letter <= "\udcff":  # a byte that is not part of a character
        return f"\\x{ord(letter) - 0xDC00:02x}"
    return letter if letter.isprintable() else letter.encode("unicode_escape").decode()


def _shortened(text: str) -> str:
    if len(text) <= LONGEST:
        whole = "".join(map(_visible, text))
        if columns_of(whole) <= LONGEST:
            return whole
    return _ends(text[:LONGEST], text[-LONGEST:])


def _ends(head: str, tail: str) -> str:
    """Return the visible beginning of one text and the end of another, with an ellipsis between them."""
    return f"{''.join(_fitting(head, LONGEST // 2))}…{''.join(reversed(_fitting(tail[::-1], LONGEST // 2 - 1)))}"


def _fitting(text: str, columns: int) -> list[str]:
    """Return the first characters, as they are shown, that fit into so many columns."""
    fitting, used = [], 0
    for letter in text:
        shown = _visible(letter)
        used += columns_of(shown)
        if used > columns:
            break
        fitting.append(shown)
    return fitting
