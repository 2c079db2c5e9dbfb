"""What travels back from the workers: one nullable text a row.

Null: the row is dropped; nearly every row, so nearly nothing travels. Otherwise one letter, `k` for kept, `d` for
dropped and `f` for failed, and behind it what the task did, on the few rows that carry it. Between `f` and that stand
the errors, as JSON, and a separator that JSON never holds. A text is half the work of a struct of a flag and a text:
the JVM has one column to take over and to test for null.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import Column
from pyspark.sql import functions as F

from thalweg.runtime.filters.failed_row import FailedRow

TYPE = "string"
KEPT, DROPPED, FAILED = "k", "d", "f"
ERRORS_TYPE = "array<struct<predicate: string, error: string>>"
_SEPARATOR = "\x1e"
_KEPT, _NULL = pa.scalar(KEPT), pa.scalar(None, pa.string())


def verdicts(keep: NDArray[np.bool_], work: str | None, failures: Sequence[FailedRow] = ()) -> pa.Array:
    """The column of one batch; `work` travels on its first row, so it is lost when there is none."""
    texts = pc.if_else(pa.array(keep), _KEPT, _NULL)
    if failures:
        rows = pa.array([failure.row for failure in failures], pa.int64())
        failed = np.zeros(len(keep), dtype=bool)
        failed[rows.to_numpy()] = True
        texts = pc.replace_with_mask(texts, pa.array(failed), pa.array([_errors(failure) for failure in failures]))
    if work is None or not len(keep):
        return texts
    first = pa.array([(texts[0].as_py() or DROPPED) + work])
    return pa.concat_arrays([first, texts[1:]])


def _errors(failure: FailedRow) -> str:
    told = [{"predicate": name, "error": text} for name, text in failure.raised]
    return FAILED + json.dumps(told, separators=(",", ":")) + _SEPARATOR


def work(verdict: Column, tagged: bool = False) -> Column:
    """What the task did, where the row carries it; else null. `tagged`: there may be rows that failed."""
    behind = F.when(F.length(verdict) > 1, F.substring(verdict, 2, 1 << 30))
    if not tagged:
        return behind
    text = F.substring_index(verdict, _SEPARATOR, -1)
    return F.when(_failed(verdict), F.when(F.length(text) > 0, text)).otherwise(behind)


def wanted(verdict: Column, tagged: bool = False) -> Column:
    """Whether the row comes out; of rows whose verdict is not null."""
    kept = F.startswith(verdict, F.lit(KEPT))
    return kept | _failed(verdict) if tagged else kept


def errors(verdict: Column) -> Column:
    """What was raised on a row that failed; null on others."""
    text = F.substring_index(F.substring(verdict, 2, 1 << 30), _SEPARATOR, 1)
    return F.when(_failed(verdict), F.from_json(text, ERRORS_TYPE))


def _failed(verdict: Column) -> Column:
    return F.startswith(verdict, F.lit(FAILED))
