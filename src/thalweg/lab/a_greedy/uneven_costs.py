"""Filters of two prices: which four of eight are dear, and how the chain is written, drawn for each stream.

The paper says only that four filters cost one unit and four cost c (sections 9.3 and 9.4). Which share a group, and in
which order they stand at the beginning, decides much: so neither is chosen, both are drawn, the same for every
algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

N = 8


@dataclass(frozen=True, slots=True)
class Chain:
    """What each filter costs, and the written order."""

    costs: tuple[float, ...]
    written: tuple[int, ...]


def chain(c: float, seed: int) -> Chain:
    """The chain of a stream; the same filters are dear whatever c is."""
    rng = np.random.default_rng([seed, 14])
    dear = rng.permutation(N) < N // 2
    return Chain(tuple(np.where(dear, c, 1.0).tolist()), tuple(rng.permutation(N).tolist()))
