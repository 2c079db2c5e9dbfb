"""What travels back from the workers: one nullable text a row.

Null: the row is dropped; nearly every row, so nearly nothing travels. Otherwise one letter, `k` for kept and `d` for
dropped, and behind it what the task did, on the few rows that carry it. A text is half the work of a struct of a flag
and a text: the JVM has one column to take over and to test for null.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import Column
from pyspark.sql import functions as F

TYPE = "string"
KEPT, DROPPED = "k", "d"
_KEPT, _NULL = pa.scalar(KEPT), pa.scalar(None, pa.string())


def verdicts(keep: NDArray[np.bool_], work: str | None) -> pa.Array:
    """The column of one batch; `work` travels on its first row, so it is lost when there is none."""
    texts = pc.if_else(pa.array(keep), _KEPT, _NULL)
    if work is None or not len(keep):
        return texts
    first = pa.array([(KEPT if keep[0] else DROPPED) + work])
    return pa.concat_arrays([first, texts[1:]])


def work(verdict: Column) -> Column:
    """What the task did, where the row carries it; else null."""
    return F.when(F.length(verdict) > 1, F.substring(verdict, 2, 1 << 30))


def kept(verdict: Column) -> Column:
    """Whether the row passes; of rows whose verdict is not null."""
    return F.startswith(verdict, F.lit(KEPT))
