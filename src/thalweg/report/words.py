"""How reports write numbers, times and names."""

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
    """A cost per row, in ns, µs or ms.

    >>> duration(4.9), duration(3_210.0), duration(45e6), duration(None)
    ('5 ns', '3.2 µs', '45.0 ms', 'unknown')
    """
    if ns is None:
        return "unknown"
    if round(ns) < 1_000:
        return f"{ns:.0f} ns"
    return f"{ns / 1e3:,.1f} µs" if ns < 999_950 else f"{ns / 1e6:,.1f} ms"


def trial_lines(trials: int, rows: int, ns: int, loss_ns: int) -> list[str]:
    """A sentence about the slices that were run in another order to measure it; no line if there were none.

    >>> trial_lines(3, 4096, 2_100_000, 400_000)
    ['3 trials on 4,096 rows took 2.1 ms, 0.4 ms more than the order in force would have']
    >>> trial_lines(1, 512, 2_100_000, 0), trial_lines(0, 0, 0, 0)
    (['1 trial on 512 rows took 2.1 ms, no more than the order in force would have'], [])
    """
    if not trials:
        return []
    more = f"{spent(loss_ns)} more" if loss_ns else "no more"
    return [
        f"{many(trials, 'trial')} on {many(rows, 'row')} took {spent(ns)}, {more} than the order in force would have"
    ]


TRIALS = ("trials", "trial_rows", "trial_ns", "trial_loss_ns")
"""The arguments of `trial_lines`, by their names in sections and records."""
NOTICED_NS = 50_000_000
"""Less compile time than this is not shown."""


def compiling_lines(ns: int) -> list[str]:
    """A sentence about the time numba took; no line if it took less than `NOTICED_NS`.

    >>> compiling_lines(12_400_000_000), compiling_lines(3_000_000)
    (['another 12.40 s for numba to compile or load functions at their first call'], [])
    """
    if ns < NOTICED_NS:
        return []
    return [f"another {ns / 1e9:.2f} s for numba to compile or load functions at their first call"]


def spent(ns: float) -> str:
    """A total time, in ns, µs, ms or s.

    >>> spent(400), spent(90_000), spent(400_000), spent(2_100_000), spent(1_500_000_000)
    ('400 ns', '90.0 µs', '0.4 ms', '2.1 ms', '1.50 s')
    """
    if ns < 100_000:
        return duration(ns)
    return f"{ns / 1e6:,.1f} ms" if ns < 1e9 else f"{ns / 1e9:,.2f} s"


def what_moved(before: Sequence[str], after: Sequence[str]) -> str:
    """A short description of one change of order.

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
