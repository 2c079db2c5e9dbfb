"""The lottery of uncertain routes: which operator of an open set a ruster visits next.

Answers: the next operator of a ruster on a route such as `<2, 3|1, 4>`, in which the order of some neighbors is open
(`draw`). The operators whose guards the ruster has passed take part. Each has a slice of the wheel, and the one that is
drawn leaves the set.
Guarantee: every operator that takes part has a slice of at least `LEAST` of the wheel divided by 1 plus `LEAST` per
operator, so that none is ruled out by what it did long ago. A guard comes before what it guards.
Cost: one random number per decision. A set of which one operator can be next needs no decision.
Differs from the paper: slices are passed in, and are not learned here.

>>> lottery = Lottery(np.random.default_rng(1), slices=[[0.0, 5.0, 0.0]], open_sets=[[(0, 2)]], guards=[(), (), ()])
>>> order = [0, 1, 2]
>>> lottery.draw(0, order, passed=0)
>>> order, lottery.decisions
([1, 0, 2], 1)

Reference: Nehme et al. 2013, section 5.4; Avnur and Hellerstein: Eddies: continuously adaptive query processing. SIGMOD
2000, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEAST = 0.01
"""What each operator gets besides its own slice, as a share of the slices of all that take part."""
OpenSets = Sequence[Sequence[tuple[int, int]]]
"""By route, the sets: the first position of each, and the one after its last."""


@dataclass(slots=True)
class Lottery:
    """Slices by route and operator, and the open sets of routes."""

    rng: np.random.Generator
    slices: Sequence[Sequence[float]]
    open_sets: OpenSets
    guards: Sequence[Sequence[int]]
    decisions: int = 0
    """How often an operator was drawn among several."""

    def draw(self, route: int, order: list[int], passed: int) -> None:
        """Draw the next operator of a ruster, and move it to the position `passed` of its order.

        Parameters
        ----------
        route
            The route of the ruster.
        order
            The operators it has passed, and then those that are left.
        passed
            How many it has passed.
        """
        end = next((end for begin, end in self.open_sets[route] if begin <= passed < end), passed)
        if end - passed < 2:
            return
        before = order[:passed]
        places = [i for i in range(passed, end) if all(guard in before for guard in self.guards[order[i]])]
        if len(places) < 2:
            return  # the first one: its guards are not among those after it
        self.decisions += 1
        of_route = self.slices[route]
        wheel = wheel_of([of_route[order[i]] for i in places])
        ball = self.rng.random() * sum(wheel)
        chosen = places[-1]
        for place, slice_ in zip(places, wheel, strict=True):
            ball -= slice_
            if ball < 0.0:
                chosen = place
                break
        order.insert(passed, order.pop(chosen))


def wheel_of(slices: Sequence[float]) -> list[float]:
    """Return the slices of a wheel, none of which is zero. Slices of which nothing is known are equal.

    >>> wheel_of([3.0, 1.0, 0.0])
    [3.04, 1.04, 0.04]
    >>> wheel_of([0.0, 0.0])
    [1.0, 1.0]
    """
    total = sum(slices)
    if not 0.0 < total < math.inf:
        return [1.0] * len(slices)
    return [slice_ + LEAST * total for slice_ in slices]
