"""Three scopes of profiling: what is evaluated on a sampled row, and so which other orders can be judged by it.

`everything` (A-Greedy): all filters behind the one that dropped the row; any order can be judged. `one_filter` (Sweep):
the filter at one position; moving it forward can be judged. `neighbours` (LocalSwaps): the filter behind; swapping
neighbours can be judged. Each next one costs less a row and sees less.

Rows of the answer are positions that drop a row, columns are filters. Filters that may not be profiled never are.

>>> order, pipeline = (1, 0, 2), Pipeline(("a", "b", "c"))
>>> everything(order, pipeline).astype(int).tolist()
[[1, 0, 1], [0, 0, 1], [0, 0, 0]]
>>> one_filter(order, pipeline, position=1).astype(int).tolist()
[[1, 0, 0], [0, 0, 0], [0, 0, 0]]
>>> neighbours(order, pipeline).astype(int).tolist()
[[1, 0, 0], [0, 0, 1], [0, 0, 0]]

Reference: Babu et al., SIGMOD 2004, sections 4.1.1, 5 and 7, figure 7.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thalweg.plan.pipeline import Pipeline

Bits = NDArray[np.bool_]


def everything(order: Sequence[int], pipeline: Pipeline) -> Bits:
    """Every filter behind the one that dropped the row (a-greedy, section 4.1.1)."""
    n = len(pipeline)
    position = np.empty(n, dtype=np.int64)
    position[list(order)] = np.arange(n)
    evaluate: Bits = (position[None, :] > np.arange(n)[:, None]) & np.array(pipeline.profiled)[None, :]
    return evaluate


def one_filter(order: Sequence[int], pipeline: Pipeline, position: int) -> Bits:
    """Only the filter at `position`, on rows that some filter before it dropped (a-greedy, section 5)."""
    n = len(pipeline)
    evaluate = np.zeros((n, n), dtype=bool)
    evaluate[:position, order[position]] = pipeline.profiled[order[position]]
    return evaluate


def neighbours(order: Sequence[int], pipeline: Pipeline) -> Bits:
    """The filter behind the one that dropped the row (a-greedy, section 7)."""
    n = len(pipeline)
    evaluate = np.zeros((n, n), dtype=bool)
    for position, k in enumerate(order[1:]):
        evaluate[position, k] = pipeline.profiled[k]
    return evaluate
