"""What it costs `auto` if meshes are allowed where they gain nothing: the scenarios of bench-filters.

They are classified by columns that a user might name: the row number, or the protocol in `kdd`. The column with the
outcomes of drawn scenarios is not used, because it contains the answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.agenda import AGENDA as FILTERS
from bench.kdd_checks import kdd_file
from bench.mesh.classed import Classed
from bench.mesh.contenders import AGAIN, AUTO, AUTO_MESH
from bench.mesh.drawn import kdd
from bench.mesh.measured import measure

ROUNDS = 5

Line = dict[str, Any]


def allowed(seed: int, steps: float, rows: int | None = None, rounds: int | None = None) -> Iterator[Line]:
    """Yield the figures of each scenario; those without data are left out. The data does not depend on the seed."""
    for name, items in FILTERS.items():
        for item in items:
            if not item.local_rounds or (name == "kdd" and kdd_file() is None):
                continue
            if name == "kdd":
                classed = kdd(rows or item.rows, steps, seed)
            else:
                scenario = item.make(rows or item.rows, steps)
                classed = Classed(scenario, ("id",), np.zeros(scenario.table.num_rows, np.int64))
            # a scenario with phases is long: few rounds, as in its own benchmark
            usual = item.local_rounds if len(classed.scenario.phases) > 1 else max(item.local_rounds, ROUNDS)
            yield measure(classed, rounds or usual, (AUTO, AGAIN, AUTO_MESH)).figures()
