"""What a chain is: predicates with their true costs, the outcome of every predicate on every row, phases and batches.

Everything is fixed before anything runs. Bit k of a row's code is set where predicate k passes. Predicates are numbered
in the order in which they are written.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.runtime.filters.filter_loop import MOST_SLICE_ROWS, next_slice

Codes = NDArray[np.int64]
Order = tuple[int, ...]
GROUPS = ("predicates", "fixed", "drift", "columns", "written", "limits")
"""What chains are grouped by in the summary."""


@dataclass(frozen=True, slots=True)
class Part:
    """One predicate: `cost_ns` per row, and `fixed_ns` per call besides."""

    name: str
    cost_ns: float
    fixed_ns: float = 0.0
    vectorized: bool = True
    after: tuple[int, ...] = ()
    profile: bool = True
    condition: str = ""
    """What it asks, for people."""


@dataclass(frozen=True, slots=True)
class Phase:
    """Rows within which nothing changes on purpose. `factors`: what the costs per row are multiplied by."""

    start: int
    rows: int
    factors: tuple[float, ...]


@dataclass(frozen=True)
class Chain:
    """Drawn from `seed` and `number` alone."""

    seed: int
    number: int
    parts: tuple[Part, ...]
    codes: Codes
    phases: tuple[Phase, ...]
    batch_rows: int
    groups: dict[str, str]
    """Its group in each of `GROUPS`."""
    short: bool = False
    """Drawn with a tenth of a second of work."""
    many: bool = False
    """Ten million rows: only few policies run on it."""
    about: dict[str, Any] = field(default_factory=dict)
    """What else was drawn, for people."""
    scale: float = 1.0
    """What the drawn work was multiplied by, for quick runs."""

    @property
    def name(self) -> str:
        """As in `1000/7`."""
        return f"{self.seed}/{self.number}"

    @property
    def rows(self) -> int:
        """All of them."""
        return len(self.codes)

    @cached_property
    def guards(self) -> tuple[tuple[int, ...], ...]:
        """Of each predicate, the predicates that must have passed before."""
        return tuple(part.after for part in self.parts)

    @cached_property
    def cost_ns(self) -> NDArray[np.float64]:
        """One row per phase: what a row costs each predicate."""
        costs = np.array([[p.cost_ns for p in self.parts]])
        found: NDArray[np.float64] = costs * np.array([phase.factors for phase in self.phases])
        return found

    @cached_property
    def fixed_ns(self) -> NDArray[np.float64]:
        """What a call costs each predicate besides."""
        return np.array([p.fixed_ns for p in self.parts])

    @cached_property
    def kept(self) -> NDArray[np.int64]:
        """The numbers of the rows that pass."""
        return np.flatnonzero(self.codes == (1 << len(self.parts)) - 1)

    @cached_property
    def batches(self) -> list[tuple[int, pa.RecordBatch]]:
        """The rows as they arrive, each batch with the number of its phase; no batch is of two phases."""
        found = []
        for number, phase in enumerate(self.phases):
            for start in range(phase.start, phase.start + phase.rows, self.batch_rows):
                end = min(start + self.batch_rows, phase.start + phase.rows)
                columns = {"id": np.arange(start, end), "bits": self.codes[start:end]}
                found.append((number, pa.record_batch({name: pa.array(c) for name, c in columns.items()})))
        return found

    def only(self, number: int) -> Chain:
        """The rows of one phase."""
        phase = self.phases[number]
        rows = self.codes[phase.start : phase.start + phase.rows]
        return replace(self, codes=rows, phases=(replace(phase, start=0),))

    def slice_starts(self, phase: Phase) -> NDArray[np.int64]:
        """Where the slices of a phase start, counted from the start of the phase, when nothing is learned."""
        starts, start = [], 0
        while start < phase.rows:
            left = min(self.batch_rows, phase.rows - start)
            while left:
                starts.append(start)
                length = next_slice(left, MOST_SLICE_ROWS)
                start, left = start + length, left - length
        return np.array(starts, dtype=np.int64)


def reordered(parts: tuple[Part, ...], order: Order) -> tuple[Part, ...]:
    """The predicates in another order, each still naming the same guards, by their new numbers."""
    place = {k: i for i, k in enumerate(order)}
    found = []
    for k in order:
        p = parts[k]
        after = tuple(sorted(place[g] for g in p.after))
        found.append(Part(p.name, p.cost_ns, p.fixed_ns, p.vectorized, after, p.profile, p.condition))
    return tuple(found)


def recoded(codes: Codes, order: Order) -> Codes:
    """Codes whose bit i is what bit `order[i]` was."""
    found = np.zeros_like(codes)
    for i, k in enumerate(order):
        found |= (codes >> k & 1) << i
    return found


def as_written(chain: Chain, order: Order) -> Chain:
    """The same chain with its predicates written in another order."""
    phases = tuple(Phase(p.start, p.rows, tuple(p.factors[k] for k in order)) for p in chain.phases)
    return replace(chain, parts=reordered(chain.parts, order), codes=recoded(chain.codes, order), phases=phases)
