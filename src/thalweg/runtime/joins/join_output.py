"""Results of a join as record batches: gathers the columns, and checks by value what words and indexes cannot decide.

Hashed keys are compared by value, and further conditions are evaluated. So equal hashes of different keys never produce
a result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.kernels.key_words import same
from thalweg.kernels.residual import ResidualCheck
from thalweg.plan.joins.select import TIME
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_intake import only


class JoinOutput:
    """Makes the record batches of the results of one join."""

    def __init__(self, binding: JoinBinding) -> None:
        self.binding = binding
        # conditions on a single stream were checked when its rows arrived
        self._checks = [ResidualCheck(residual) for residual in binding.plan.residuals if not residual.at_intake]
        self._twins = {alias: self._equal_columns(alias) for alias in binding.plan.graph.aliases}

    def of(
        self, column: Callable[[str, str], pa.Array], latest: NDArray[np.int64], root: str | None = None
    ) -> pa.RecordBatch:
        """Return the results as a record batch. `column` gathers a stream's column for the results; `latest` is the
        largest time of each result. `root`: the stream whose columns are cheapest to gather; key columns that are equal
        to one of its columns are not gathered."""
        binding = self.binding
        gathered: dict[tuple[str, str], pa.Array] = {}
        twins = self._twins[root] if root is not None else {}

        def once(alias: str, name: str) -> pa.Array:
            alias, name = twins.get((alias, name), (alias, name))
            if (alias, name) not in gathered:
                gathered[alias, name] = column(alias, name)
            return gathered[alias, name]

        right: Any = None
        for c in binding.hashed:
            members = list(binding.plan.graph.column_of[c].items())
            first = binding.kinds[c].canonical(once(*members[0]))
            for member in members[1:]:
                equal = same(first, binding.kinds[c].canonical(once(*member)))
                right = equal if right is None else right & equal
        for check in self._checks:
            # a condition must not raise on rows that the keys or an earlier condition rule out
            passed = check({(a, n): once(a, n) for a, n in check.residual.columns}, right)
            right = passed if right is None else right & passed
        times = pa.Array.from_buffers(binding.time_type, len(latest), [None, pa.py_buffer(latest)])
        arrays = [times if (alias, name) == TIME else once(alias, name) for alias, name in binding.columns]
        out = pa.RecordBatch.from_arrays(arrays, schema=binding.output)
        return out if right is None or right.all() else only(out, right)

    def _equal_columns(self, root: str) -> Mapping[tuple[str, str], tuple[str, str]]:
        """Return, for key columns, the column that has the same value in every result; a column of the root if there is
        one. The columns are of the same class and type, and equal words of the class are equal values."""
        binding = self.binding
        found: dict[tuple[str, str], tuple[str, str]] = {}
        held = {alias: stored.names for alias, stored in binding.stored.items()}
        held[root] = binding.schemas[root].names  # its rows are the batch being processed
        for c, columns in enumerate(binding.plan.graph.column_of):
            if c in binding.hashed:
                continue
            first: dict[pa.DataType, tuple[str, str]] = {}
            for member in sorted(columns.items(), key=lambda member: member[0] != root):
                if member[1] in held[member[0]]:
                    kind = binding.schemas[member[0]].field(member[1]).type
                    found[member] = first.setdefault(kind, member)
        return found
