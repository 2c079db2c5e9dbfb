"""Chains drawn from a seed, with known costs and a known best order, for a virtual stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.adapt.virtual_stream import BATCH, UNIT_NS, VirtualStream
from thalweg.cost.pipeline import best_order

WORK_NS, LEAST_ROWS, MOST_ROWS = 1e9, 5_000, 250_000


@dataclass(frozen=True)
class DrawnChain:
    """Filters with costs, and rows with the same distribution throughout."""

    per_row_ns: np.ndarray
    fixed_ns: np.ndarray
    passed: np.ndarray

    @classmethod
    def of(cls, seed: int, least: int = 2, most_rows: int = MOST_ROWS) -> DrawnChain:
        """2 to 10 filters, 60 ns to 60 µs per row, 0 to 1 ms per call; some filters agree with another on many rows.
        About a second of work in the best order, unless that takes too many rows. In long chains (`least`) trials are
        more frequent."""
        rng = np.random.default_rng(seed)
        n = int(rng.integers(least, 11))
        per_row = np.exp(rng.uniform(np.log(60), np.log(60_000), n))
        fixed = rng.choice([0.0, 3e4, 1.5e5, 1e6], n, p=[0.4, 0.3, 0.2, 0.1])
        shares = rng.uniform(0.02, 0.98, n)

        def draw(rows: int) -> np.ndarray:
            uniform = rng.random((rows, n))
            for k in range(1, n):
                if rng.random() < 0.3:
                    same = rng.random(rows) < 0.7
                    uniform[same, k] = uniform[same, k - 1]
            return uniform < shares

        some = draw(BATCH)
        _, row_ns = best_order(~some, per_row.tolist(), fixed=fixed.tolist(), starts=np.array([0]))
        rows = int(np.clip(WORK_NS / row_ns, LEAST_ROWS, most_rows))
        return cls(per_row, fixed, draw(rows))

    @property
    def best_ns(self) -> float:
        """What filters cost in the best fixed order, in slices as long as batches."""
        starts = np.arange(0, len(self.passed), BATCH)
        _, row_ns = best_order(~self.passed, self.per_row_ns.tolist(), fixed=self.fixed_ns.tolist(), starts=starts)
        return row_ns * len(self.passed)

    def stream(self, seed: int, noise: float = 0.0, **settings: Any) -> VirtualStream:
        """Run the chain with `auto`. Calls cost exactly what is declared."""
        units = self.per_row_ns / UNIT_NS
        stream = VirtualStream(units.tolist(), "auto", seed, fixed_ns=self.fixed_ns.tolist(), noise=noise, **settings)
        stream.call_ns = 0
        return stream
