"""Numbers in words, the same in every report and view."""

from __future__ import annotations

from collections.abc import Sequence


def many(count: int, one: str, several: str = "") -> str:
    """A count and its noun.

    >>> many(1, "switch", "switches"), many(1200, "switch", "switches"), many(0, "worker")
    ('1 switch', '1,200 switches', '0 workers')
    """
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join([*([", ".join(names[:-1])] if len(names) > 1 else []), *names[-1:]])


def duration(ns: float | None) -> str:
    """What one row costs, in ns, µs or ms.

    >>> duration(4.9), duration(3_210.0), duration(45e6), duration(None)
    ('5 ns', '3.2 µs', '45.0 ms', 'unknown')
    """
    if ns is None:
        return "unknown"
    if round(ns) < 1_000:
        return f"{ns:.0f} ns"
    return f"{ns / 1e3:,.1f} µs" if ns < 999_950 else f"{ns / 1e6:,.1f} ms"


def what_moved(before: Sequence[str], after: Sequence[str]) -> str:
    """One change of order, in as few words as it takes.

    >>> what_moved("abcd", "dabc"), what_moved("abcd", "acdb"), what_moved("abcde", "acbed")
    ('d moves from 4 to 1', 'b moves from 2 to 4', 'from 2 on now c, b, e, d')
    """
    movers = [
        (after.index(name) - place, place, name)
        for place, name in enumerate(before)
        if after.index(name) != place and _without(before, name) == _without(after, name)
    ]
    if movers:
        by, place, name = min(movers)  # of two that change places: the one that comes forward
        return f"{name} moves from {place + 1} to {place + by + 1}"
    first = next((i for i, (old, new) in enumerate(zip(before, after, strict=True)) if old != new), None)
    return "as before" if first is None else f"from {first + 1} on now {', '.join(after[first:])}"


def _without(names: Sequence[str], one: str) -> list[str]:
    return [name for name in names if name != one]
