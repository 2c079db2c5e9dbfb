"""The column that workers return: one nullable text per row.

Null means that the row is dropped. This is the case for nearly every row, so almost no data is sent. Otherwise the text
is one letter, `k` for kept, `d` for dropped and `f` for failed. On a few rows, what the task did follows at the end.
After `f` come the errors as JSON, and a separator that JSON never contains. A text is half the work of a struct with a
flag and a text, because the JVM receives and tests only one column.
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
    """Return the column of one batch. `work` is put on its first row, so it is lost if the batch has no rows."""
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
    raised = [{"predicate": name, "error": text} for name, text in failure.raised]
    return FAILED + json.dumps(raised, separators=(",", ":")) + _SEPARATOR


def work(verdict: Column, tagged: bool = False) -> Column:
    """Return what the task did, on rows that contain it; null on others. `tagged`: there may be rows that failed."""
    after_letter = F.when(F.length(verdict) > 1, F.substring(verdict, 2, 1 << 30))
    if not tagged:
        return after_letter
    text = F.substring_index(verdict, _SEPARATOR, -1)
    return F.when(_failed(verdict), F.when(F.length(text) > 0, text)).otherwise(after_letter)


def wanted(verdict: Column, tagged: bool = False) -> Column:
    """Return whether a row whose verdict is not null is in the result."""
    kept = F.startswith(verdict, F.lit(KEPT))
    return kept | _failed(verdict) if tagged else kept


def errors(verdict: Column) -> Column:
    """Return what was raised on a row that failed; null on others."""
    text = F.substring_index(F.substring(verdict, 2, 1 << 30), _SEPARATOR, 1)
    return F.when(_failed(verdict), F.from_json(text, ERRORS_TYPE))


def _failed(verdict: Column) -> Column:
    return F.startswith(verdict, F.lit(FAILED))
