"""Loops in which rows take uncertain routes: meshes with open sets, and Eddies. The oracle is brute force."""

from __future__ import annotations

import itertools
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from tests.long_run import examples
from tests.runtime.filters.outcomes import Outcomes, outcomes
from tests.runtime.filters.scripted import Scripted
from thalweg.adapt import Observation, Verdict, make_policy
from thalweg.adapt.peers import eddy_cbr
from thalweg.kernels import FilterChain
from thalweg.optimizer.mesh.mesh import Mesh
from thalweg.optimizer.mesh.tree import CutNode, Leaf, RouteTree
from thalweg.plan import Pipeline
from thalweg.runtime.filters.filter_loop import FilterLoop


class Uncertain(Scripted):
    """As `Scripted`, with another mesh after each update: two classes by the number of the row, with open sets."""

    def __init__(self, pipeline: Pipeline, seed: int, p: float) -> None:
        super().__init__(pipeline, seed, p, restless=1.0, lasting=bool(seed % 2))
        self.mesh: Mesh | None = None
        self.version = 0

    def update(self, seen: Observation) -> Verdict | None:
        self.version += 1
        n, rng = len(self.pipeline), self.rng
        sets = []
        for _ in range(2):
            cuts = np.unique(rng.integers(0, n + 1, 4)).tolist()
            sets.append(tuple(pair for pair in itertools.pairwise(cuts) if rng.random() < 0.7))
        middle = CutNode("row", "number", float(rng.integers(40)), Leaf(0, 0.5), Leaf(1, 0.5), Leaf(0), Leaf(0))
        routes = self._any_order(), self._any_order()
        slices = tuple(map(tuple, rng.random((2, n)).tolist())) if rng.random() < 0.5 else ()
        made = Mesh(RouteTree(middle), routes, self.version, 0, int(rng.integers(1, 4)), tuple(sets), slices)
        self.mesh = Mesh.from_dict(made.to_dict()) if rng.random() < 0.8 else None
        self.order = self._any_order()
        self._wish()
        return Verdict(self.order, "f0 says so")


def outcome(case: Outcomes, policy: Any, seed: int, slice_rows: int | None) -> list[Any]:
    """What became of each row: whether it passes, or what raised on it."""
    loop = FilterLoop(
        FilterChain(case.plan, lambda: 0), policy, np.random.default_rng(seed), slice_rows, dead_letter=True
    )
    batch = pa.RecordBatch.from_arrays([pa.array(range(len(case.table)), pa.int64())], ["row"])
    found: list[Any] = []
    for part in (batch.slice(0, 11), batch.slice(11, 19), batch.slice(30)):
        fates: list[Any] = loop.process(part).tolist()
        for failure in loop.take_failures():
            assert fates[failure.row] is False, "a row that fails does not pass"
            fates[failure.row] = list(failure.raised)
        found += fates
    assert loop.work.chain.rows == len(case.table)
    assert sum(loop.work.calls.profile_errors) <= sum(loop.work.chain.profiled)
    return found


@examples(150, long=3_000)
@given(
    case=outcomes(), seed=st.integers(0, 2**32), p=st.sampled_from([0.0, 0.5, 1.0]), rows=st.sampled_from([1, 3, 40])
)
def test_meshes_with_open_sets_answer_as_brute_force(case: Outcomes, seed: int, p: float, rows: int) -> None:
    found = outcome(case, Uncertain(case.pipeline, seed, p), seed, rows)
    assert found == [case.fate(row) for row in range(len(case.table))]
    assert all(case.may_be_called(row, k) for k, row in case.seen), "guards come first, also in profiling"


@examples(100, long=2_000)
@given(
    case=outcomes(), seed=st.integers(0, 2**32), policy=st.sampled_from(["eddy", "eddy-cbr"]),
    batch=st.sampled_from([1, 2, 100]), rows=st.sampled_from([None, 1, 7]),
)  # fmt: skip
def test_eddies_answer_as_brute_force(case: Outcomes, seed: int, policy: str, batch: int, rows: int | None) -> None:
    settings, rng = tw.policy(policy, batch=batch).settings, np.random.default_rng(seed)
    with mock.patch.multiple(eddy_cbr, FIRST=1.0, TOGETHER=1):
        made = make_policy(policy, case.pipeline, settings, rng)
        found = outcome(case, made, seed, rows)
    assert found == [case.fate(row) for row in range(len(case.table))]
    assert all(case.may_be_called(row, k) for k, row in case.seen), "guards come first, also in profiling"
