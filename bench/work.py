"""Predicates with a fixed cost: they spend a known number of steps per row, and return one bit of a column.

The outcome of every row is fixed when the data is created (bit k of the column `bits` is the result of filter k), and
the cost is fixed when the benchmark starts (`calibrate`). So all variants do the same kind of work and differ only in
its amount. The functions belong to this module and are compiled once for all processes; Spark's workers import them by
name.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numba import boolean, int64, njit, types
from numpy.typing import NDArray

from bench.check import UNIT_NS

CALIBRATION_ROWS = 20_000
CALIBRATION_STEPS = 200
CALIBRATION_TRIES = 7


# Arrow's memory is read-only. With a signature, the import compiles (or loads) the function, and no row waits for it.
_COLUMN = types.Array(int64, 1, "C", readonly=True)


@njit(boolean[::1](_COLUMN, int64, int64), cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def burn(bits, k, steps):  # type: ignore[no-untyped-def]
    """Return bit k of each row, after `steps` steps of xorshift64 per row. Each step needs the previous one."""
    out = np.empty(len(bits), dtype=np.bool_)
    for i in range(len(bits)):
        x = np.uint64(bits[i]) | np.uint64(1)
        for _ in range(steps):
            x ^= x << np.uint64(13)
            x ^= x >> np.uint64(7)
            x ^= x << np.uint64(17)
        # xorshift never reaches zero. The compiler does not know that, so it cannot remove the steps as dead code
        out[i] = ((bits[i] >> k) & 1) != 0 and x != np.uint64(0)
    return out


def bit_of(bits: pa.Array, *, k: int, steps: int) -> NDArray[np.bool_]:
    """Return filter k on an Arrow column; `functools.partial` turns it into a predicate."""
    answer: NDArray[np.bool_] = burn(np.ascontiguousarray(bits.to_numpy(zero_copy_only=False)), k, steps)
    return answer


def calibrate(clock: Callable[[], int] = time.process_time_ns, tries: int = CALIBRATION_TRIES) -> float:
    """Return the number of steps that take one unit of CPU time on this machine: the median of several tries."""
    bits = np.arange(CALIBRATION_ROWS, dtype=np.int64)
    burn(bits, 0, CALIBRATION_STEPS)
    taken = []
    for _ in range(tries):
        begun = clock()
        burn(bits, 0, CALIBRATION_STEPS)
        taken.append((clock() - begun) / (CALIBRATION_ROWS * CALIBRATION_STEPS))
    return UNIT_NS / statistics.median(taken)
