"""Places for labels in a column: in their order, without overlap, as near as possible to what they belong to.

Answers: the y coordinate of each label.
Guarantee: the least sum of squared distances to the wanted places, among all places in this order that are at least
`apart` and within the bounds. Cost: linear (pool adjacent violators).

>>> label_places([10.0, 12.0, 80.0], apart=20.0, low=0.0, high=100.0)
[1.0, 21.0, 80.0]
>>> label_places([95.0, 99.0], apart=20.0, low=0.0, high=100.0)
[80.0, 100.0]
"""

from __future__ import annotations

from collections.abc import Sequence


def label_places(wanted: Sequence[float], *, apart: float, low: float, high: float) -> list[float]:
    """Return where to put labels whose wanted places are ascending.

    Parameters
    ----------
    wanted
        The coordinates that the labels belong to, ascending.
    apart
        The least distance of two labels.
    low, high
        The bounds. They must be far enough apart for all labels.

    Returns
    -------
    list of float

    Examples
    --------
    >>> label_places([5.0, 5.0], apart=2.0, low=0.0, high=10.0)
    [4.0, 6.0]
    """
    # without the distances that must lie between them, the places only have to be ascending
    groups: list[tuple[float, int]] = []
    for n, place in enumerate(wanted):
        total, members = place - n * apart, 1
        while groups and groups[-1][0] / groups[-1][1] >= total / members:
            total, members = total + groups[-1][0], members + groups[-1][1]
            groups.pop()
        groups.append((total, members))
    end = high - (len(wanted) - 1) * apart
    free = [min(max(total / members, low), end) for total, members in groups for _ in range(members)]
    return [place + n * apart for n, place in enumerate(free)]
