"""Three layouts of the synthetic streams, and how claims are read; all fixed before any result was seen.

The paper gives ten joins, six attributes, three skewed partitions per stream, and the two distributions of values. It
gives no windows, keys, costs or selectivities, and no temperature (tau) and cooling (rho) of its annealing. So there
are three layouts, and all of them are shown.

- The stream that is looked at is S0. Each of its tuples probes ten windows, in any order, and is dropped by the first
  probe that finds no match. A probe finds one match or none, so that a probe is a filter with a selectivity.
- **Poisson data**: six attributes with values of a Poisson distribution (mean 1). Their values decide which of
  the three partitions each tuple is in, and a partition has its own selectivities.
- **Uniform data**: six attributes with values from 0 to 100. They say nothing: every tuple has the selectivities that
  the three partitions together have.
- Probes of a tuple are independent of each other within a partition.

| layout | partitions by | selectivities | cost of a probe |
|---|---|---|---|
| `shifted` | a1 = 0, 1, or more | a list from 0.1 to 0.95, shifted by three places in each partition | the same |
| `reversed` | a1 = 0; else a2 = 0; else the rest | the list, its reverse, the list shifted by five | 1 : 2 : 4 |
| `mild` | a1 = 0, 1, or more | from 0.5 to 0.95; six of ten probes change places, by two in each partition | the same |

>>> stream = LAYOUTS["shifted"].stream("poisson", 4, np.random.default_rng(0))
>>> stream.values.shape, stream.passes.shape
((4, 6), (4, 10))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Data = Literal["poisson", "uniform"]

ATTRIBUTES = 6
PROBES = 10
SAMPLE = 1_000
"""Tuples of the sample from which plans and meshes are made (table 1)."""
WINDOW = 1_000
"""Tuples that are classified together (tables 1 and 3)."""
RUSTER = 100
"""The minimum size of a ruster, and the size of a batch of Eddies (tables 1 and 3, section 6.2)."""
PROBE_NS = 10_000.0
"""What a probe costs in the mean. Claims are judged at this cost; `PROBE_RANGE_NS` shows how they depend on it."""
PROBE_RANGE_NS = (1_000.0, 10_000.0, 100_000.0)
FACTOR = 2.0
"""A number of percent agrees with the paper's if it is within this factor, in the mean of the layouts and streams."""

STEEP = (0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.9, 0.95, 0.95)
FLAT = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)


@dataclass(frozen=True)
class Stream:
    """Tuples with their values, and which of the probes find a match."""

    values: NDArray[np.int64]
    passes: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Layout:
    """Selectivities by partition and probe, and relative costs of probes."""

    name: str
    attributes: int
    """How many attributes decide the partition: a1 alone, or a1 and a2."""
    selectivities: tuple[tuple[float, ...], ...]
    relative_costs: tuple[float, ...] = (1.0,) * PROBES

    def partition_of(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the partition of each tuple."""
        if self.attributes == 1:
            return np.minimum(values[:, 0], 2)
        return np.where(values[:, 0] == 0, 0, np.where(values[:, 1] == 0, 1, 2))

    def shares(self) -> Numbers:
        """Return the share of Poisson data that each partition has."""
        none, one = np.exp(-1.0), np.exp(-1.0)
        if self.attributes == 1:
            return np.array([none, one, 1.0 - none - one])
        return np.array([none, (1.0 - none) * none, (1.0 - none) ** 2])

    def costs_ns(self, probe_ns: float = PROBE_NS) -> Numbers:
        """Return what each probe costs, if one costs `probe_ns` in the mean."""
        costs = np.array(self.relative_costs)
        return np.asarray(costs * (probe_ns / costs.mean()))

    def stream(self, data: Data, tuples: int, rng: np.random.Generator) -> Stream:
        """Return random tuples.

        Parameters
        ----------
        data
            The distribution of the values.
        tuples
            How many tuples.
        rng
            The source of random numbers.

        Returns
        -------
        Stream
            The tuples.
        """
        by_partition = np.array(self.selectivities)
        if data == "poisson":
            values = rng.poisson(1.0, (tuples, ATTRIBUTES)).astype(np.int64)
            chances = by_partition[self.partition_of(values)]
        else:
            values = rng.integers(0, 101, (tuples, ATTRIBUTES))
            chances = np.broadcast_to(self.shares() @ by_partition, (tuples, PROBES))
        return Stream(values, rng.random((tuples, PROBES)) < chances)


def _shifted(chances: tuple[float, ...], places: int) -> tuple[float, ...]:
    return chances[-places:] + chances[:-places] if places else chances


LAYOUTS = {
    layout.name: layout
    for layout in (
        Layout("shifted", 1, (STEEP, _shifted(STEEP, 3), _shifted(STEEP, 6))),
        Layout(
            "reversed", 2, (STEEP, STEEP[::-1], _shifted(STEEP, 5)), (1.0, 2.0, 4.0, 1.0, 2.0, 4.0, 1.0, 2.0, 4.0, 1.0)
        ),
        Layout("mild", 1, tuple(_shifted(FLAT[:6], 2 * i) + FLAT[6:] for i in range(3))),
    )
}
