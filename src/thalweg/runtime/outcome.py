"""Which rows of a filter chain are asked for, and how rows that failed are told apart from those that passed."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.errors import PlanError
from thalweg.kernels.columns import filter_rows
from thalweg.runtime.failed_row import FailedRow
from thalweg.runtime.settings import FilterSettings

ERRORS_COLUMN = "thalweg_errors"
ERRORS_TYPE = pa.list_(pa.struct([("predicate", pa.string()), ("error", pa.string())]))


class Wanted(Enum):
    """What comes out."""

    KEPT = "kept"
    """The rows that pass."""
    TAGGED = "tagged"
    """They and the rows that failed, with a column of errors that is null where the row passed."""
    ERRORS = "errors"
    """The rows that failed, with that column."""


def check_wanted(wanted: Wanted, settings: FilterSettings, column: str, names: Sequence[str]) -> None:
    """Refuse what cannot be given."""
    if wanted is Wanted.KEPT:
        return
    if not settings.dead_letter:
        raise PlanError(
            f'{wanted.value} rows are asked for, but on_error={settings.on_error!r}: use on_error="dead-letter"'
        )
    if not isinstance(column, str) or not column:
        raise PlanError(f"column={column!r}: must be the name of the column for the errors")
    if column.lower() in (name.lower() for name in names):
        raise PlanError(f"there is a column {column!r} already: choose another name for the errors with column=")


def rows_and_errors(
    batch: pa.RecordBatch, keep: NDArray[np.bool_], failures: Sequence[FailedRow], wanted: Wanted, column: str
) -> pa.RecordBatch:
    """The wanted rows of a batch, in its order."""
    if wanted is Wanted.KEPT:
        return filter_rows(batch, keep)
    chosen = np.zeros_like(keep) if wanted is Wanted.ERRORS else keep.copy()
    told: list[list[dict[str, str]] | None] = [None] * len(keep)
    for failure in failures:
        chosen[failure.row] = True
        told[failure.row] = [{"predicate": name, "error": text} for name, text in failure.raised]
    return filter_rows(batch.append_column(column, pa.array(told, ERRORS_TYPE)), chosen)
