"""Rows with values by which they may be classified, through a loop under policy mesh, on a clock that filters move.

Each of eight filters costs `ROW_NS` per row and `CALL_NS` per call. Training takes no time on this clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import thalweg as tw
from tests.optimizer.mesh.streams_of_classes import Stream
from thalweg import predicate
from thalweg.adapt.mesh import MeshPolicy
from thalweg.kernels import FilterChain
from thalweg.plan import FilterPlan
from thalweg.runtime.filters.filter_loop import FilterLoop

ROW_NS, CALL_NS = 20_000, 15_000
BATCH = 8_192
Passes = NDArray[np.float64]


class ClassifiedStream:
    """One loop with eight filters, and how many evaluations they counted."""

    def __init__(
        self, columns: tuple[str, ...], seed: int = 0, *, filters: int = 8, hidden: tuple[int, ...] = (),
        guards: Mapping[int, str] | None = None, batch: int = BATCH, **settings: Any,
    ) -> None:  # fmt: skip
        self.now_ns = 0
        self.evaluated = np.zeros(filters, dtype=np.int64)
        self.rows = 0
        self.batch = batch
        guarded = guards or {}
        predicates = tuple(
            predicate(
                self._filter(k), "bits", name=f"F{k}", vectorized=True, profile=k not in hidden,
                after=guarded.get(k, ()),
            )
            for k in range(filters)
        )  # fmt: skip
        self.plan = FilterPlan(predicates, classify_by=columns)
        self.settings, self.seed = settings, seed
        self.policy = self.fresh()
        self.loop = self.new_loop(self.policy)

    def fresh(self) -> MeshPolicy:
        """Return a policy that has learned nothing."""
        made = tw.policy("mesh", **self.settings).settings
        rng = np.random.default_rng(self.seed)
        return MeshPolicy(self.plan.pipeline, made, rng, lambda: self.now_ns)  # type: ignore[arg-type]

    def new_loop(self, policy: MeshPolicy) -> FilterLoop[pa.RecordBatch]:
        chain = FilterChain(self.plan, lambda: self.now_ns)
        return FilterLoop(chain, policy, np.random.default_rng(self.seed))

    def _filter(self, k: int) -> Callable[[pa.Array], np.ndarray]:
        def call(bits: pa.Array) -> np.ndarray:
            self.now_ns += CALL_NS + ROW_NS * len(bits)
            self.evaluated[k] += len(bits)
            passes: np.ndarray = (bits.to_numpy() >> k) & 1 == 1
            return passes

        return call

    def process(self, values: Mapping[str, pa.Array], passes: Passes) -> float:
        """Process these rows, check which pass, and return the evaluations per row, profiling included."""
        bits = passes.astype(np.int64) @ (1 << np.arange(passes.shape[1]))
        batch = pa.record_batch({"bits": pa.array(bits), **values})
        before = self.evaluated.sum()
        kept = [self.loop.process(batch.slice(i, self.batch)) for i in range(0, len(bits), self.batch)]
        assert np.concatenate(kept).tolist() == passes.all(axis=1).tolist()
        self.rows += len(bits)
        return float(self.evaluated.sum() - before) / len(bits)

    def run(self, stream: Stream) -> float:
        return self.process(stream.values, stream.passes)

    @property
    def routes(self) -> int:
        """The routes in force."""
        return 1 if self.policy.mesh is None else len(self.policy.mesh.routes)
