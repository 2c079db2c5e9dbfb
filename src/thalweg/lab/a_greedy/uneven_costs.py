"""Filters of two costs: which four of eight are expensive, and how the chain is written, is drawn for each stream.

The paper says only that four filters cost one unit and four cost c (sections 9.3 and 9.4). Which of them share a group,
and in which order they are written, affects the results strongly. So both are drawn at random instead of chosen, and
are the same for every algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

N = 8


@dataclass(frozen=True, slots=True)
class Chain:
    """The cost of each filter, and the written order."""

    costs: tuple[float, ...]
    written: tuple[int, ...]


def chain(c: float, seed: int) -> Chain:
    """Return the chain of a stream; the same filters are expensive whatever c is."""
    rng = np.random.default_rng([seed, 14])
    expensive = rng.permutation(N) < N // 2
    return Chain(tuple(np.where(expensive, c, 1.0).tolist()), tuple(rng.permutation(N).tolist()))
