"""The rows that a filter chain returns, and how failed rows are distinguished from those that passed.

Rows that failed before a join are joined like all others: the errors that conditions raised on them are text in a
column of their stream, null in all other rows. The text is JSON, a list of predicates and errors, so that windows and
checkpoints store it like any other text. After the join a row with errors fails the query, or is set aside.

>>> rows = pa.record_batch({"x": [0, 1, 2]})
>>> failed = [FailedRow(2, (("odd(a.x)", "ValueError: no number"),))]
>>> batch = rows_and_errors(rows, np.array([False, True, False]), failed, Wanted.CARRIED, "raised")
>>> batch.column("raised").to_pylist()
[None, '[{"predicate": "odd(a.x)", "error": "ValueError: no number"}]']
>>> passing(batch, ("raised",)).to_pylist()
[{'x': 1}]
>>> failing(batch, ("raised",), "errors").to_pylist()
[{'x': 2, 'errors': [{'predicate': 'odd(a.x)', 'error': 'ValueError: no number'}]}]
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.errors import FailedRowError, PlanError
from thalweg.kernels.columns import filter_rows, shown
from thalweg.runtime.filters.failed_row import REMEDY_IN_SQL, FailedRow
from thalweg.runtime.settings import FilterSettings

ERRORS_COLUMN = "thalweg_errors"
ERRORS_TYPE = pa.list_(pa.struct([("predicate", pa.string()), ("error", pa.string())]))

NOT_DROPPED = "No condition drops the joined row"
"""The part of the error message for a row that failed after a join; what was raised comes before it."""


class Wanted(Enum):
    """The rows that a filter chain returns."""

    KEPT = "kept"
    """The rows that pass."""
    TAGGED = "tagged"
    """The rows that pass and those that failed, with a column of errors that is null if the row passed."""
    CARRIED = "carried"
    """The same, with errors as text, for rows that are joined before their errors are handled."""
    FAILED = "failed"
    """The rows that failed, with a column of errors."""


@dataclass(frozen=True, slots=True)
class WantedRows:
    """The rows to return, and the name of their column of errors if they have one."""

    wanted: Wanted = Wanted.KEPT
    errors_column: str = ERRORS_COLUMN


def check_wanted(wanted: Wanted, settings: FilterSettings, column: str, names: Sequence[str]) -> None:
    """Raise `PlanError` if the wanted rows cannot be returned with these settings and columns."""
    if wanted is Wanted.KEPT:
        return
    if not settings.dead_letter:
        raise PlanError(
            f"{wanted.value} rows are requested, but on_error={settings.on_error!r}: use "
            'on_error="dead-letter" in tw.filters(...)'
        )
    if not isinstance(column, str) or not column:
        raise PlanError(f"column={column!r}: must be the name of a column for the errors")
    refuse_taken(column, names)


def refuse_taken(column: str, names: Sequence[str]) -> None:
    """Raise `PlanError` if another column already has the name of the column of errors."""
    if column.lower() in (name.lower() for name in names):
        raise PlanError(f"column {column!r} already exists: choose another name for the errors with column=")


def rows_and_errors(
    batch: pa.RecordBatch, keep: NDArray[np.bool_], failures: Sequence[FailedRow], wanted: Wanted, column: str
) -> pa.RecordBatch:
    """Return the wanted rows of a batch, in the order of the batch."""
    if wanted is Wanted.KEPT:
        return filter_rows(batch, keep)
    chosen = np.zeros_like(keep) if wanted is Wanted.FAILED else keep.copy()
    for failure in failures:
        chosen[failure.row] = True
    rows = filter_rows(batch, chosen)
    kind = pa.string() if wanted is Wanted.CARRIED else ERRORS_TYPE
    if not failures:
        return rows.append_column(column, pa.nulls(rows.num_rows, kind))
    place = chosen.cumsum() - 1
    values: list[str | list[dict[str, str]] | None] = [None] * rows.num_rows
    for failure in failures:
        errors = [{"predicate": name, "error": text} for name, text in failure.raised]
        values[place[failure.row]] = json.dumps(errors) if wanted is Wanted.CARRIED else errors
    return rows.append_column(column, pa.array(values, kind))


def passing(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    """Return the rows without errors in any of these columns, and remove the columns."""
    failed = _failed(batch, columns)
    batch = batch.drop_columns(list(columns))
    return batch if failed is None else filter_rows(batch, ~failed)


def refuse_failed(batch: pa.RecordBatch, columns: Sequence[str], redact: bool) -> pa.RecordBatch:
    """Return all rows without the columns of errors. Raise `FailedRowError` if there are errors."""
    failed = _failed(batch, columns)
    if failed is None:
        return batch.drop_columns(list(columns))
    row = failing(batch.slice(int(failed.argmax()), 1), columns, "errors")
    errors = row.column("errors")[0].as_py()
    what = "; ".join(f"condition {each['predicate']!r} raised {each['error']}" for each in errors)
    rest = row.drop_columns(["errors"])
    values = ", ".join(
        f"{name}={shown(column[0])}" for name, column in zip(rest.schema.names, rest.columns, strict=True)
    )
    raise FailedRowError(f"{what}. {NOT_DROPPED}; values: {'redacted' if redact else values}. {REMEDY_IN_SQL}")


def failing(batch: pa.RecordBatch, columns: Sequence[str], errors: str) -> pa.RecordBatch:
    """Return the rows with errors in any of these columns, with all their errors in the column `errors`."""
    failed = _failed(batch, columns)
    rows = batch.slice(0, 0) if failed is None else filter_rows(batch, failed)
    carried = [rows.column(column).to_pylist() for column in columns]
    values = [
        [each for text in texts if text is not None for each in json.loads(text)]
        for texts in zip(*carried, strict=True)
    ]
    return rows.drop_columns(list(columns)).append_column(errors, pa.array(values, ERRORS_TYPE))


def _failed(batch: pa.RecordBatch, columns: Sequence[str]) -> NDArray[np.bool_] | None:
    """Return one bit per row: whether it has errors. None if no row has."""
    some = [batch.column(column) for column in columns]
    some = [column for column in some if column.null_count < len(column)]
    if not some:
        return None
    masks = [~np.asarray(column.is_null().to_numpy(zero_copy_only=False)) for column in some]
    return np.asarray(np.logical_or.reduce(masks))
