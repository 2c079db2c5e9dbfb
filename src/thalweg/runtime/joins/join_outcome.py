"""The rows that a join returns, and how rows that were not joined are distinguished from results.

A row that is late or has no time has its own columns, and nulls in all others. The column `lost` says why it was not
joined, and is null in results. This is the same locally and on Spark.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import pyarrow as pa

from thalweg.errors import PlanError
from thalweg.plan.joins.select import LOST, Column, result_name
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_intake import SetAside


class JoinRows(Enum):
    """The rows that a join returns."""

    RESULTS = "results"
    TAGGED = "tagged"
    """Results, and the rows that are not joined because they are late or have no time."""
    LATE = "late"
    """Only the rows that are not joined. Nothing is probed, joined or stored for them."""


@dataclass(frozen=True)
class TaggedColumns:
    """The columns of the output if rows that are not joined are requested."""

    binding: JoinBinding
    wanted: JoinRows

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The streams and columns: those of results, then the others that are read. `lost` comes after them."""
        binding = self.binding
        # not those by which rows are only classified: a policy does not change the columns of an answer
        carried = [
            (a, name) for a in binding.plan.streams for name in binding.schemas[a].names if name in binding.read[a]
        ]
        columns = (*binding.columns, *(column for column in carried if column not in binding.columns))
        found: dict[str, Column] = {}
        for column in columns:
            before = found.setdefault(result_name(column), column)
            if before != column:
                both = " and ".join(".".join(filter(None, each)) for each in (before, column))
                raise PlanError(f"{both} would both be {result_name(column)!r} in {self.wanted.value} rows; rename one")
        return columns

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema of the output."""
        more = self.columns[len(self.binding.columns) :]
        fields = [self.binding.schemas[a].field(name).with_name(result_name((a, name))) for a, name in more]
        # every column of a stream is null in rows of the others
        return pa.schema(
            [*(field.with_nullable(True) for field in (*self.binding.output, *fields)), (LOST, pa.string())]
        )

    def results(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return results in these columns."""
        nothing = [pa.nulls(batch.num_rows, field.type) for field in list(self.schema)[batch.num_columns :]]
        return pa.RecordBatch.from_arrays([*batch.columns, *nothing], schema=self.schema)

    def lost(self, part: SetAside) -> pa.RecordBatch:
        """Return rows that are not joined, in these columns."""
        rows = part.batch.num_rows
        own = {result_name((part.stream, name)): part.batch.column(name) for name in part.batch.schema.names}
        own[LOST] = pa.repeat(pa.scalar(f"{part.stream}: {part.why}"), rows)
        columns = [own[field.name] if field.name in own else pa.nulls(rows, field.type) for field in self.schema]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)
