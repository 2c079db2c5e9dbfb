"""Streams of classes through a loop whose clock only filters move, to count what a policy evaluates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

import thalweg as tw
from tests.optimizer.mesh.streams_of_classes import Stream
from thalweg.adapt import make_policy
from thalweg.kernels import FilterChain
from thalweg.plan import FilterPlan
from thalweg.runtime.filters.filter_loop import FilterLoop

BATCH = 2_000


@dataclass
class Run:
    """What a policy did with a stream."""

    policy: Any
    loop: FilterLoop[pa.RecordBatch]
    kept: list[bool] = field(default_factory=list)
    calls: list[tuple[int, int]] = field(default_factory=list)
    """Each call: the filter and its rows."""

    @property
    def evaluations(self) -> int:
        """The evaluations of all filters, with profiling, as filters counted them."""
        return sum(rows for _, rows in self.calls)


def run(
    policy: str, stream: Stream, costs_ns: Sequence[int] | None = None, seed: int = 1, slice_rows: int | None = None,
    **settings: Any,
) -> Run:  # fmt: skip
    """Run a stream under a policy, in batches of `BATCH` rows; all classifier columns may be used."""
    n = stream.passes.shape[1]
    costs = costs_ns or [1_000] * n
    now = [0]
    calls: list[tuple[int, int]] = []

    def predicate(k: int) -> Callable[[pa.Array], pa.Array]:
        def passes(column: pa.Array) -> pa.Array:
            calls.append((k, len(column)))
            now[0] += costs[k] * len(column)
            return column

        return passes

    plan = FilterPlan(
        tuple(tw.predicate(predicate(k), f"p{k}", name=f"f{k}", vectorized=True) for k in range(n)),
        classify_by=tuple(stream.values) or None,
    )
    rng = np.random.default_rng(seed)
    chain = FilterChain(plan, lambda: now[0])
    made = make_policy(policy, plan.pipeline, tw.policy(policy, **settings).settings, rng)
    done = Run(made, FilterLoop(chain, made, rng, slice_rows), calls=calls)
    columns = {f"p{k}": pa.array(stream.passes[:, k] > 0.0) for k in range(n)}
    for batch in pa.table({**columns, **stream.values}).to_batches(max_chunksize=BATCH):
        done.kept += done.loop.process(batch).tolist()
    return done
