"""Predicates that spend a set time: steps per row, and a fixed number of steps per call.

Each returns one bit of the column `bits`, which holds the outcomes of the conditions for every row, and counts its rows
and calls in the ledger. Vectorized ones get Arrow arrays; row functions get one value, and run compiled code.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numba import boolean, int64, njit
from numpy.typing import NDArray

import thalweg as tw
from bench.check import UNIT_NS
from bench.generated.ledger import Ledger
from bench.generated.spec import Chain
from bench.work import burn, calibrate

ONE_ROW = np.ones(1, dtype=np.int64)
CALIBRATION_CALLS = 50_000


@njit(boolean(int64, int64, int64), cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def burn_one(bits, k, steps):  # type: ignore[no-untyped-def]
    """Do what `burn` does, for one row."""
    x = np.uint64(bits) | np.uint64(1)
    for _ in range(steps):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
    return ((bits >> k) & 1) != 0 and x != np.uint64(0)


@dataclass(frozen=True, slots=True)
class Speed:
    """The speed of this machine: the time of a step, and the time of calling a row function without its steps."""

    step_ns: float
    row_call_ns: float

    def steps(self, cost_ns: float, vectorized: bool) -> int:
        """Return the number of steps that take this long."""
        return max(0, round((cost_ns if vectorized else cost_ns - self.row_call_ns) / self.step_ns))


def measure() -> Speed:
    """Measure the speed of this machine."""
    step_ns = UNIT_NS / calibrate()
    values = list(range(CALIBRATION_CALLS))
    taken = []
    for _ in range(5):
        function = ByRow(0, [0])
        begun = time.process_time_ns()
        list(map(function, values))
        taken.append((time.process_time_ns() - begun) / CALIBRATION_CALLS)
    return Speed(step_ns, sorted(taken)[2])


class Vectorised:
    """A predicate of Arrow arrays."""

    def __init__(self, k: int, steps: list[int], fixed_steps: int, ledger: Ledger) -> None:
        self.k, self.steps, self.fixed_steps, self.ledger = k, steps, fixed_steps, ledger

    def __call__(self, bits: pa.Array) -> NDArray[np.bool_]:
        """Return one bit per row."""
        ledger = self.ledger
        ledger.charge(self.k, len(bits))
        if self.fixed_steps:
            burn(ONE_ROW, 0, self.fixed_steps)
        column = np.ascontiguousarray(bits.to_numpy(zero_copy_only=False))
        answer: NDArray[np.bool_] = burn(column, self.k, self.steps[ledger.phase])
        return answer


class ByRow:
    """A predicate of one value. To do little per row, it enters its count into the ledger only when the phase changes,
    when the phase ends, and before the limit could be exceeded by much."""

    __slots__ = ("all_steps", "check_at", "k", "ledger", "rows", "steps")

    def __init__(self, k: int, steps: list[int], ledger: Ledger | None = None) -> None:
        self.k, self.all_steps, self.ledger = k, steps, ledger
        self.rows, self.check_at = 0, 1 << 62
        self.steps = steps[0]
        if ledger is not None:
            ledger.row_functions.append(self)
            self.enter()

    def __call__(self, bits: int) -> bool:
        """Whether the row passes."""
        self.rows += 1
        if self.rows >= self.check_at:
            self.enter()
        return burn_one(bits, self.k, self.steps)  # type: ignore[no-any-return, unused-ignore]

    def enter(self) -> None:
        """Enter the count into the ledger, which may end the run."""
        assert self.ledger is not None
        rows, self.rows = self.rows, 0
        self.check_at = self.ledger.enter_rows(self.k, rows)
        self.steps = self.all_steps[self.ledger.phase]


def burning(chain: Chain, speed: Speed, ledger: Ledger) -> list[tw.Predicate]:
    """Return the predicates of a chain in the written order, for `tw.filters`."""
    made = []
    for k, part in enumerate(chain.parts):
        steps = [speed.steps(float(costs[k]), part.vectorized) for costs in chain.cost_ns]
        function: Vectorised | ByRow
        if part.vectorized:
            function = Vectorised(k, steps, round(part.fixed_ns / speed.step_ns), ledger)
        else:
            function = ByRow(k, steps, ledger)
        made.append(
            tw.predicate(
                function, "bits", name=part.name, vectorized=part.vectorized, profile=part.profile,
                after=[chain.parts[g].name for g in part.after],
            )
        )  # fmt: skip
    return made
