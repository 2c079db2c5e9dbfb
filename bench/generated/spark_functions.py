"""The predicates of a chain for Spark's workers: they spend the set time, and count their rows and calls in a file.

Workers cannot reach a ledger of the driver. Each worker process keeps the counts of a run in a memory-mapped file of
its own, which the driver sums up when the run has ended. A flag in the column says which costs hold for a row.
"""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.generated.burning import ONE_ROW, burn_one
from bench.work import burn

FLAG = 40
"""The bit of the column that is set for rows with the other costs; predicates use the bits below 16."""
_counters: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Burning:
    """The steps of a call: per row without the flag, per row with the flag, and per call."""

    k: int
    n: int
    steps: tuple[int, int]
    fixed_steps: int
    folder: str
    """The folder with the counters of the run."""


def by_array(bits: pa.Array, *, what: Burning) -> NDArray[np.bool_]:
    """Evaluate a predicate on an Arrow array."""
    column = np.ascontiguousarray(bits.to_numpy(zero_copy_only=False))
    if not len(column):
        return np.zeros(0, dtype=bool)
    if what.fixed_steps:
        burn(ONE_ROW, 0, what.fixed_steps)
    other = int(column[0]) >> FLAG & 1
    counters = _counters.get(what.folder) or _open(what)
    at = 2 * (other * what.n + what.k)
    counters[at] += len(column)
    counters[at + 1] += 1
    answer: NDArray[np.bool_] = burn(column, what.k, what.steps[other])
    return answer


def by_row(bits: int, *, what: Burning) -> bool:
    """Evaluate a predicate on one row."""
    other = bits >> FLAG & 1
    counters = _counters.get(what.folder) or _open(what)
    counters[2 * (other * what.n + what.k)] += 1
    return burn_one(bits, what.k, what.steps[other])  # type: ignore[no-any-return, unused-ignore]


def counts(folder: Path, n: int) -> NDArray[np.int64]:
    """Return the rows and calls of all workers of a run, by costs and predicate."""
    total = np.zeros((2, n, 2), dtype=np.int64)
    for file in folder.iterdir():
        total += np.frombuffer(file.read_bytes(), dtype=np.int64).reshape(2, n, 2)
    return total


def _open(what: Burning) -> Any:
    """Return the counters of this process for a run; those of earlier runs are released."""
    _counters.clear()
    size = 2 * what.n * 2 * 8
    path = Path(what.folder) / str(os.getpid())
    with open(path, "w+b") as file:
        file.truncate(size)
        mapped = mmap.mmap(file.fileno(), size)
    _counters[what.folder] = memoryview(mapped).cast("q")
    return _counters[what.folder]
