"""The filters that a policy orders: their names, which must come before which, and which may be profiled.

The filters are those of a filter chain, or the probes of a multiway join (a-greedy, section 8).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thalweg.errors import PlanError


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The names of filters, the guards of each (as indices), and which may be evaluated only for profiling.

    >>> Pipeline(("parses", "has_payload"), guards=((1,), ())).start
    (1, 0)
    """

    names: tuple[str, ...]
    guards: tuple[tuple[int, ...], ...] = ()
    profiled: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        size = len(self.names)
        if not self.guards:
            object.__setattr__(self, "guards", ((),) * size)
        if not self.profiled:
            object.__setattr__(self, "profiled", (True,) * size)
        assert len(self.guards) == len(self.profiled) == size, "one entry per filter"

    def __len__(self) -> int:
        return len(self.names)

    @property
    def start(self) -> tuple[int, ...]:
        """The written order, in which a filter that is written before its guards is moved after them."""
        placed: list[int] = []
        waiting = list(range(len(self)))
        while waiting:
            ready = next((k for k in waiting if all(g in placed for g in self.guards[k])), None)
            if ready is None:
                names = ", ".join(self.names[k] for k in self._cycle(waiting))
                raise PlanError(f"these predicates wait for each other: {names}; remove one of them from an after=")
            placed.append(ready)
            waiting.remove(ready)
        return tuple(placed)

    def _cycle(self, waiting: Sequence[int]) -> list[int]:
        """Return the filters of one cycle. Each of the waiting filters waits for another one of them."""
        trail = [waiting[0]]
        while True:
            following = next(g for g in self.guards[trail[-1]] if g in waiting)
            if following in trail:
                return trail[trail.index(following) :]
            trail.append(following)

    def respects(self, order: Sequence[int]) -> bool:
        """Whether `order` is a permutation in which every guard comes first."""
        if sorted(order) != list(range(len(self))):
            return False
        place = {k: i for i, k in enumerate(order)}
        return all(place[g] < place[k] for k in order for g in self.guards[k])

    def missing(self, k: int, placed: Collection[int]) -> list[int]:
        """Return the guards of a filter, and their guards, that are not placed yet. Each comes after its own guards.

        >>> Pipeline(("a", "b", "c"), guards=((), (0,), (1, 0))).missing(2, placed=[])
        [0, 1]
        """
        found: list[int] = []

        def visit(filter_: int) -> None:
            for guard in self.guards[filter_]:
                if guard not in placed and guard not in found:
                    visit(guard)
                    found.append(guard)

        visit(k)
        return found

    @property
    def movable(self) -> tuple[str, ...]:
        """The filters that can be before or after another one. The others must be before or after all others.

        >>> Pipeline(("parses", "large", "recent"), guards=((), (0,), (0,))).movable
        ('large', 'recent')
        """
        before = [set(self.missing(k, ())) for k in range(len(self))]
        return tuple(
            name
            for k, name in enumerate(self.names)
            if any(j != k and j not in before[k] and k not in before[j] for j in range(len(self)))
        )

    def label(self, order: Sequence[int]) -> list[str]:
        """Return the names in the given order."""
        return [self.names[k] for k in order]


def eligible_from(order: Sequence[int], guards: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Return for each position the first position its filter could have: the one after its last guard.

    >>> eligible_from((1, 0, 2), guards=((1,), (), ())).tolist()
    [0, 1, 0]
    """
    place = {k: i for i, k in enumerate(order)}
    return np.array([max((place[g] + 1 for g in guards[k]), default=0) for k in order], dtype=np.int64)
