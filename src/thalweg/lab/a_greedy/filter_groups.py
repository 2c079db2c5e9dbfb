"""The outcomes of correlated filters: groups of Γ that agree on 80 % of the tuples (a-greedy, section 9.2).

Answers: a stream of outcomes, with one bit per filter in each number (1: the tuple passes); and their exact joint
distribution, from which the best order is computed instead of estimated.
Guarantee: each filter passes the share of tuples given by its group's selectivity; two filters of a group agree on 80 %
of the tuples; filters of different groups are independent.
Differs from the paper, where the paper says nothing: selectivity and agreement determine the joint distribution of two
filters, but not of more. Here each filter of a group copies the group's hidden bit with the same probability and draws
its own otherwise. Independent filters of selectivity below 0.12 or above 0.88 already agree on more than 80 %, so the
rule would require negative correlation; such selectivities are refused.

>>> patterns(2, 0.5).round(3).tolist()  # neither, first only, second only, both
[0.4, 0.1, 0.1, 0.4]

Reference: Babu et al., SIGMOD 2004, section 9.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

AGREE = 0.8
"""The share of tuples on which two filters of one group agree (section 9.2)."""

Codes = NDArray[np.int64]
Bits = NDArray[np.bool_]


def patterns(size: int, selectivity: float) -> NDArray[np.float64]:
    """Return the probability of each outcome of one group: bit i of the index is the outcome of its filter i."""
    alone = selectivity**2 + (1 - selectivity) ** 2  # what two independent filters agree on
    if size > 1 and not alone <= AGREE:
        raise ValueError(f"filters of selectivity {selectivity} agree on more than {AGREE:.0%} when independent")
    copies = math.sqrt((AGREE - alone) / (1 - alone)) if size > 1 else 0.0
    says = (np.arange(1 << size)[:, None] >> np.arange(size)) & 1
    own = np.where(says == 1, selectivity, 1 - selectivity) * (1 - copies)
    hidden = [np.prod(own + copies * (says == z), axis=1) for z in (0, 1)]
    probability: NDArray[np.float64] = (1 - selectivity) * hidden[0] + selectivity * hidden[1]
    return probability


@dataclass(frozen=True, slots=True)
class FilterGroups:
    """Filters F1..Fn, numbered group by group."""

    sizes: tuple[int, ...]
    selectivities: tuple[float, ...]
    """One selectivity per group."""

    @classmethod
    def of(cls, n: int, gamma: int, selectivity: float = 0.5) -> FilterGroups:
        """Return n filters in groups of gamma; the last group is smaller if gamma does not divide n.

        >>> FilterGroups.of(8, 3).sizes
        (3, 3, 2)
        """
        sizes = tuple(min(gamma, n - first) for first in range(0, n, gamma))
        return cls(sizes, (selectivity,) * len(sizes))

    @property
    def n(self) -> int:
        """The number of filters in all groups."""
        return sum(self.sizes)

    def draw(self, rng: np.random.Generator, rows: int) -> Codes:
        """Draw the outcomes of `rows` tuples."""
        codes = np.zeros(rows, dtype=np.int64)
        first = 0
        for size, selectivity in zip(self.sizes, self.selectivities, strict=True):
            edges = np.cumsum(patterns(size, selectivity))[:-1]
            codes |= np.searchsorted(edges, rng.random(rows), side="right") << first
            first += size
        return codes

    def joint(self) -> tuple[Bits, NDArray[np.float64]]:
        """Return every outcome of all filters (True: dropped, as `thalweg.cost` expects) and its probability."""
        probability: NDArray[np.float64] = np.ones(1)
        for size, selectivity in zip(self.sizes, self.selectivities, strict=True):
            probability = np.kron(patterns(size, selectivity), probability).astype(np.float64)
        passes = (np.arange(1 << self.n)[:, None] >> np.arange(self.n)) & 1
        return passes == 0, probability


def batches(codes: Codes, rows: int = 1 << 16) -> Iterator[Codes]:
    """Split a stream into batches."""
    for start in range(0, len(codes), rows):
        yield codes[start : start + rows]


def permuted(rng: np.random.Generator, selectivities: Sequence[float], changes: int) -> list[tuple[float, ...]]:
    """Return the selectivities of the groups before and after each of `changes` changes. They are random permutations;
    each differs from the previous one in every place, so that every group changes."""
    made = [tuple(rng.permutation(selectivities).tolist())]
    while len(made) <= changes:
        drawn = tuple(rng.permutation(selectivities).tolist())
        if all(a != b for a, b in zip(made[-1], drawn, strict=True)):
            made.append(drawn)
    return made
