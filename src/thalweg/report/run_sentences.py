"""Sentences about what a run did besides filtering and joining: trials, compilation, changes of order."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg.events.parts import TrialCounts
from thalweg.formatting import in_seconds, plural, total_duration


def trial_lines(counts: TrialCounts) -> list[str]:
    """Return a sentence about the slices that were run in another order to measure it; no line if there were none.

    >>> trial_lines(TrialCounts(3, 4096, 2_100_000, 400_000))
    ['3 trials on 4,096 rows took 2.1 ms, 0.4 ms more than the order in force would have']
    >>> trial_lines(TrialCounts(1, 512, 2_100_000, 0)), trial_lines(TrialCounts())
    (['1 trial on 512 rows took 2.1 ms, no more than the order in force would have'], [])
    """
    if not counts.trials:
        return []
    more = f"{total_duration(counts.loss_ns)} more" if counts.loss_ns else "no more"
    return [
        f"{plural(counts.trials, 'trial')} on {plural(counts.rows, 'row')} took {total_duration(counts.ns)}, "
        f"{more} than the order in force would have"
    ]


NOTICED_NS = 50_000_000
"""Less compile time than this is not shown."""


def compiling_lines(ns: int) -> list[str]:
    """Return a sentence about the time numba took; no line if it took less than `NOTICED_NS`.

    >>> compiling_lines(12_400_000_000), compiling_lines(3_000_000)
    (['numba took another 12.40 s to compile or load functions at their first call'], [])
    """
    if ns < NOTICED_NS:
        return []
    return [f"numba took another {in_seconds(ns)} to compile or load functions at their first call"]


def what_moved(before: Sequence[str], after: Sequence[str]) -> str:
    """Return a short description of one change of order.

    >>> what_moved("abcd", "dabc"), what_moved("abcd", "acdb"), what_moved("abcde", "acbed")
    ('d moves from 4 to 1', 'b moves from 2 to 4', 'from position 2 the order is c, b, e, d')
    """
    movers = [
        (after.index(name) - place, place, name)
        for place, name in enumerate(before)
        if after.index(name) != place and _without(before, name) == _without(after, name)
    ]
    if movers:
        by, place, name = min(movers)  # if two predicates swap places, the one that moves forward
        return f"{name} moves from {place + 1} to {place + by + 1}"
    first = next((i for i, (old, new) in enumerate(zip(before, after, strict=True)) if old != new), None)
    return "as before" if first is None else f"from position {first + 1} the order is {', '.join(after[first:])}"


def _without(names: Sequence[str], one: str) -> list[str]:
    return [name for name in names if name != one]
