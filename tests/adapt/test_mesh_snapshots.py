"""Snapshots of a mesh that were damaged, or written by something else, are refused; none changes the rows."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from thalweg import PlanError
from thalweg.adapt.mesh import MeshSettings
from thalweg.kernels import FilterChain
from thalweg.plan import FilterPlan
from thalweg.runtime.filters.filter_loop import FilterLoop, LoopOptions, make_filter_loop

PREDICATES = tuple(tw.predicate(lambda v: v, f"p{k}", name=f"r{k}", vectorized=True) for k in range(2))
PLAN = replace(FilterPlan.of(PREDICATES), classify_by=("c",))
ROWS = pa.RecordBatch.from_pydict({"p0": [True] * 500, "p1": [True, False] * 250, "c": ["a", "b"] * 250})
LEAF = {"route": 0, "share": 0.5}
BRANCHES = {"column": "c", "kind": "text", "branches": [[["a"], LEAF]], "null": LEAF, "other": {"route": 1}}


def new_loop() -> FilterLoop[pa.RecordBatch]:
    chain = FilterChain(PLAN, time.perf_counter_ns)
    return make_filter_loop(chain, LoopOptions("mesh", MeshSettings()), np.random.default_rng(0))


def mesh(tree: Any, **given: Any) -> dict[str, Any]:
    return {"tree": tree, "routes": [[0, 1], [1, 0]], "version": 1, "default": 0, "least_rows": 1, **given}


def restored(**changes: Any) -> FilterLoop[pa.RecordBatch]:
    snapshot = json.loads(json.dumps({**new_loop().snapshot(), **changes}))
    loop = new_loop()
    loop.restore(snapshot)
    return loop


def deep(levels: int) -> dict[str, Any]:
    tree: dict[str, Any] = LEAF
    for _ in range(levels):
        tree = {**BRANCHES, "other": tree}
    return tree


DAMAGED: dict[str, dict[str, Any]] = {
    "a value is a number": {"mesh": mesh({**BRANCHES, "branches": [[[5], LEAF]]})},
    "no such route": {"mesh": mesh({"route": 7})},
    "a negative route": {"mesh": mesh({"route": -1})},
    "no such default": {"mesh": mesh(LEAF, default=9)},
    "no routes": {"mesh": mesh(LEAF, routes=[])},
    "routes of three filters": {"mesh": mesh(LEAF, routes=[[0, 1, 2]])},
    "too deep": {"mesh": mesh(deep(300))},
    "a threshold no float can hold": {
        "mesh": mesh({"column": "c", "kind": "number", "cut": 10**400, "low": LEAF, "high": LEAF, "null": LEAF,
                      "other": LEAF})
    },
    "learned numbers are a list": {"learned": []},
    "a learned number is a text": {"learned": {**new_loop().snapshot()["learned"], "rows": "x"}},
}  # fmt: skip


@pytest.mark.parametrize("what", DAMAGED)
def test_a_damaged_snapshot_is_refused(what: str) -> None:
    with pytest.raises((PlanError, KeyError, ValueError, TypeError, ArithmeticError)):
        restored(**DAMAGED[what])


def test_a_snapshot_sets_nothing_but_what_was_learned() -> None:
    learned = {**new_loop().snapshot()["learned"], "account": 1, "trainer": None}
    assert restored(learned=learned).process(ROWS).tolist() == [True, False] * 250


@pytest.mark.parametrize(
    "given", [{"least_rows": -5}, {"version": -5}, {"open_sets": [[[0, 5]], []]}, {"least_rows": 10**6}]
)
def test_odd_numbers_change_no_row(given: dict[str, Any]) -> None:
    learned = {**new_loop().snapshot()["learned"], "row_ns": 1_000.0}
    loop = restored(mesh=mesh(BRANCHES, **given), learned=learned)
    assert all(loop.process(ROWS).tolist() == [True, False] * 250 for _ in range(3))
