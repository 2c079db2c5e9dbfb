"""Windows and lateness of simulated joins. Here plain numbers count time units, even if times are timestamps.

Other joins refuse plain numbers with timestamps, because the unit would be unclear. In a simulation a time unit is one
second of the timestamps.

>>> plan = JoinPlan.of("a.k = b.k", 0.5, "ts", "2 ms")
>>> times = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("ms"))])
>>> bound = bind(plan, {"a": times, "b": times})
>>> bound.windows["a"], bound.lateness["a"]
(500, 2)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from thalweg.cost.ticks import ticks
from thalweg.errors import PlanError, nearest
from thalweg.kernels.salt import NO_SALT
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.plan.joins.window import Length
from thalweg.runtime.joins.join_binding import JoinBinding


def plan_of(
    on: str,
    window: Length | Mapping[str, Length],
    time: str | Mapping[str, str],
    lateness: Length | Mapping[str, Length],
) -> JoinPlan:
    """Return the plan of a simulated join, from the arguments of `tw.join`. Tables are refused, because all simulated
    rows arrive at some time."""
    plan = JoinPlan.of(on, window, time, lateness)
    if plan.tables:
        table = plan.tables[0]
        raise PlanError(f"window, time: {table} is missing, and simulated joins take no tables; add {table!r}")
    return plan


def bind(plan: JoinPlan, schemas: Mapping[str, pa.Schema]) -> JoinBinding:
    """Bind a plan to the columns of its streams."""

    def in_time(lengths: Mapping[str, Length], what: str) -> Mapping[str, Length]:
        found = dict(lengths)
        for alias, length in lengths.items():
            at = schemas[alias].get_field_index(plan.times[alias])
            timed = at >= 0 and pa.types.is_timestamp(schemas[alias].field(at).type)
            if timed and isinstance(length, (int, float)) and not isinstance(length, bool):
                found[alias] = f"{ticks(length, f'{what} of {alias}')} ns"
        return found

    timed = replace(plan, windows=in_time(plan.windows, "window"), lateness=in_time(plan.lateness, "lateness"))
    return JoinBinding.of(timed, schemas, NO_SALT)  # without salt, the count of index entries is reproducible


def read_by(aliases: tuple[str, ...], reads: Mapping[str, str] | None) -> Mapping[str, str]:
    """Return the source or operator that each stream of a join reads. The default is the one with the same name."""
    if reads is not None and not isinstance(reads, Mapping):
        raise PlanError(f"reads={reads!r}: must be a mapping such as {{{aliases[0]!r}: 'name of a source'}}")
    for alias in reads or ():
        if alias not in aliases:
            raise PlanError(f"reads: {alias!r} is not one of {', '.join(aliases)}{nearest(str(alias), aliases)}")
    return {alias: (reads or {}).get(alias, alias) for alias in aliases}
