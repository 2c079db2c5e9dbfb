"""Predicates with a set cost: they burn a known number of steps a row, and answer with one bit of a column.

The outcome of every row is decided when the data is made (bit k of the column `bits` is what filter k says), the cost
when the benchmark starts (`calibrate`), so that all variants do the same work and differ only in how much of it. The
functions are of this module and compiled once for all processes, so that Spark's workers take them by name.
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


# Arrow's memory is read-only. With a signature, importing compiles (or loads) it, and no row ever waits for that.
_COLUMN = types.Array(int64, 1, "C", readonly=True)


@njit(boolean[::1](_COLUMN, int64, int64), cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def burn(bits, k, steps):  # type: ignore[no-untyped-def]
    """Bit k of each row, after `steps` steps of xorshift64 a row: each step waits for the last, so none is saved."""
    out = np.empty(len(bits), dtype=np.bool_)
    for i in range(len(bits)):
        x = np.uint64(bits[i]) | np.uint64(1)
        for _ in range(steps):
            x ^= x << np.uint64(13)
            x ^= x >> np.uint64(7)
            x ^= x << np.uint64(17)
        # xorshift never reaches zero, which the compiler does not know: so the steps are not dead code
        out[i] = ((bits[i] >> k) & 1) != 0 and x != np.uint64(0)
    return out


def bit_of(bits: pa.Array, *, k: int, steps: int) -> NDArray[np.bool_]:
    """Filter k on an Arrow column: what `functools.partial` makes a predicate of."""
    answer: NDArray[np.bool_] = burn(np.ascontiguousarray(bits.to_numpy(zero_copy_only=False)), k, steps)
    return answer


def calibrate(clock: Callable[[], int] = time.process_time_ns, tries: int = CALIBRATION_TRIES) -> float:
    """Steps that take one unit, on this machine now: the median of several tries, CPU time."""
    bits = np.arange(CALIBRATION_ROWS, dtype=np.int64)
    burn(bits, 0, CALIBRATION_STEPS)
    taken = []
    for _ in range(tries):
        begun = clock()
        burn(bits, 0, CALIBRATION_STEPS)
        taken.append((clock() - begun) / (CALIBRATION_ROWS * CALIBRATION_STEPS))
    return UNIT_NS / statistics.median(taken)
