"""Made columns: outcomes of predicates that are independent, correlated or duplicated, with set selectivities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.generated.drift import Drift
from bench.generated.spec import Codes

CHUNK_ROWS = 1 << 20


@dataclass(frozen=True)
class Made:
    """Predicate k passes where a uniform number is below its selectivity, `shares[scene, k]`. Predicates of one group
    use the same number, each on the share `agree[k]` of the rows."""

    shares: NDArray[np.float64]
    group: tuple[int, ...]
    agree: tuple[float, ...]
    drift: Drift

    def codes(self, numbers: NDArray[np.int64], rows: int, rng: np.random.Generator) -> Codes:
        """Return the outcomes of the predicates for these rows of a stream of `rows` rows."""
        found = [
            self._codes(numbers[start : start + CHUNK_ROWS], rows, rng) for start in range(0, len(numbers), CHUNK_ROWS)
        ]
        return np.concatenate(found)

    def conditions(self) -> list[str]:
        """Return a readable description."""
        named = []
        for k, group in enumerate(self.group):
            text = f"u{group} < {self.shares[0, k]:.3f}"
            named.append(text if self.group.count(group) == 1 else f"{text}, {self.agree[k]:.0%} of it shared")
        return named

    def _codes(self, numbers: NDArray[np.int64], rows: int, rng: np.random.Generator) -> Codes:
        at = self.drift.position(numbers, rows)
        low = np.floor(at).astype(np.int64)
        high = np.minimum(low + 1, len(self.shares) - 1)
        weight = at - low
        shared = {g: rng.random(len(at), dtype=np.float32) for g in sorted(set(self.group)) if self.group.count(g) > 1}
        codes = np.zeros(len(at), dtype=np.int64)
        for k, group in enumerate(self.group):
            if group in shared and self.agree[k] >= 1.0:
                drawn = shared[group]
            else:
                drawn = rng.random(len(at), dtype=np.float32)
                if group in shared:
                    drawn = np.where(rng.random(len(at), dtype=np.float32) < self.agree[k], shared[group], drawn)
            share = self.shares[low, k] * (1.0 - weight) + self.shares[high, k] * weight
            codes |= (drawn < share).astype(np.int64) << k
        return codes


def draw_made(rng: np.random.Generator, n: int, structure: str, drift: Drift) -> Made:
    """Draw selectivities between 0.02 and 0.98; `structure` is independent, correlated or duplicated."""
    shape = float(rng.choice([1.0, 0.5, 0.3]))  # below 1 most predicates pass most rows
    shares = np.empty((drift.scenes, n))
    shares[0] = selectivities(rng, n, shape)
    for scene in range(1, drift.scenes):
        moves = rng.random(n) < 0.6
        moves[rng.permutation(n)[:2]] = True
        shares[scene] = np.where(moves, selectivities(rng, n, shape), shares[scene - 1])
    group, agree = list(range(n)), [0.0] * n
    if structure != "independent":
        members = rng.permutation(n)[: max(2, round(n * float(rng.uniform(0.4, 1.0))))]
        for first in range(0, len(members) - 1, 3):
            block = members[first : first + 3].tolist()
            for k in block:
                group[k] = block[0]
                agree[k] = 1.0 if structure == "duplicated" else float(rng.uniform(0.5, 0.95))
            if structure == "duplicated":
                shares[:, block] = shares[:, block[:1]]
    return Made(shares, tuple(group), tuple(agree), drift)


def selectivities(rng: np.random.Generator, n: int, shape: float) -> NDArray[np.float64]:
    """Return the share of the rows that passes."""
    drawn: NDArray[np.float64] = 0.02 + 0.96 * rng.random(n) ** shape
    return drawn
