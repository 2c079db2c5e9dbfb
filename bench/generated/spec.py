"""A chain: predicates with their true costs, the outcome of every predicate for every row, phases and batches.

Everything is fixed before anything runs. Bit k of a row's code is set if predicate k passes. Predicates are numbered
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
"""The properties by which the summary groups chains."""


@dataclass(frozen=True, slots=True)
class Part:
    """One predicate, with a cost per row (`cost_ns`) and per call (`fixed_ns`)."""

    name: str
    cost_ns: float
    fixed_ns: float = 0.0
    vectorized: bool = True
    after: tuple[int, ...] = ()
    profile: bool = True
    condition: str = ""
    """A readable description of the condition."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A range of rows without an intended change. `factors` multiply the costs per row."""

    start: int
    rows: int
    factors: tuple[float, ...]


@dataclass(frozen=True)
class Chain:
    """A chain, drawn only from `seed` and `number`."""

    seed: int
    number: int
    parts: tuple[Part, ...]
    codes: Codes
    phases: tuple[Phase, ...]
    batch_rows: int
    groups: dict[str, str]
    """The group of the chain in each of `GROUPS`."""
    short: bool = False
    """Whether it was drawn with a tenth of a second of work."""
    many: bool = False
    """Whether it has ten million rows, so that only few policies run on it."""
    about: dict[str, Any] = field(default_factory=dict)
    """Readable descriptions of other drawn properties."""
    scale: float = 1.0
    """The factor of the drawn work, for quick runs."""

    @property
    def name(self) -> str:
        """The name of the chain, such as `1000/7`."""
        return f"{self.seed}/{self.number}"

    @property
    def rows(self) -> int:
        """The total number of rows."""
        return len(self.codes)

    @cached_property
    def guards(self) -> tuple[tuple[int, ...], ...]:
        """For each predicate, the predicates that must have passed before it."""
        return tuple(part.after for part in self.parts)

    @cached_property
    def cost_ns(self) -> NDArray[np.float64]:
        """The cost per row of each predicate, with one row per phase."""
        costs = np.array([[p.cost_ns for p in self.parts]])
        found: NDArray[np.float64] = costs * np.array([phase.factors for phase in self.phases])
        return found

    @cached_property
    def fixed_ns(self) -> NDArray[np.float64]:
        """The fixed cost per call of each predicate."""
        return np.array([p.fixed_ns for p in self.parts])

    @cached_property
    def kept(self) -> NDArray[np.int64]:
        """Return the numbers of the rows that pass."""
        return np.flatnonzero(self.codes == (1 << len(self.parts)) - 1)

    @cached_property
    def batches(self) -> list[tuple[int, pa.RecordBatch]]:
        """Yield the batches as they arrive, each with the number of its phase; no batch is in two phases."""
        found = []
        for number, phase in enumerate(self.phases):
            for start in range(phase.start, phase.start + phase.rows, self.batch_rows):
                end = min(start + self.batch_rows, phase.start + phase.rows)
                columns = {"id": np.arange(start, end), "bits": self.codes[start:end]}
                found.append((number, pa.record_batch({name: pa.array(c) for name, c in columns.items()})))
        return found

    def only(self, number: int) -> Chain:
        """Return the rows of one phase."""
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
    """Return the predicates in another order; each has the same guards, with their new numbers."""
    place = {k: i for i, k in enumerate(order)}
    found = []
    for k in order:
        p = parts[k]
        after = tuple(sorted(place[g] for g in p.after))
        found.append(Part(p.name, p.cost_ns, p.fixed_ns, p.vectorized, after, p.profile, p.condition))
    return tuple(found)


def recoded(codes: Codes, order: Order) -> Codes:
    """Return codes whose bit i is the previous bit `order[i]`."""
    found = np.zeros_like(codes)
    for i, k in enumerate(order):
        found |= (codes >> k & 1) << i
    return found


def as_written(chain: Chain, order: Order) -> Chain:
    """Return the same chain with its predicates written in another order."""
    phases = tuple(Phase(p.start, p.rows, tuple(p.factors[k] for k in order)) for p in chain.phases)
    return replace(chain, parts=reordered(chain.parts, order), codes=recoded(chain.codes, order), phases=phases)
