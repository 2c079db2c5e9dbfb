"""Profiling evaluates what the paper says for each policy, and no more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thalweg as tw
from tests.kernels.watched import Watched
from tests.plan.filters.pipelines import pipelines
from tests.runtime.filters.scripted import Scripted
from thalweg.adapt import POLICIES, ProfileSettings, make_policy, setting_names
from thalweg.plan import Pipeline
from thalweg.runtime.filters.filter_loop import TOGETHER, FilterLoop

NOT_PROFILING = [name for name, policy in POLICIES.items() if policy.defaults is None]


def stream(n: int, rows: int, rng: np.random.Generator) -> np.ndarray:
    """A few patterns, and others after a while."""
    halves = [rng.choice(rng.integers(0, 2**n, 5), size) for size in (rows // 2, rows - rows // 2)]
    return ((np.concatenate(halves)[:, None] >> np.arange(n)) & 1).astype(bool)


def run(
    name: str, pipeline: Pipeline, rows: int, seed: int, slice_rows: int, p: float = 1.0, by_array: bool = True
) -> tuple[Watched, FilterLoop[pa.RecordBatch]]:
    rng = np.random.default_rng(seed)
    watched = Watched(stream(len(pipeline), rows, rng), pipeline, vectorized=by_array)
    if name == "scripted":
        policy: Any = Scripted(pipeline, seed=1, p=p, restless=0.5)
    else:
        profile = tw.policy(
            name, **({"p": p, "profile_window": 60, "alpha": 0.9} if "p" in setting_names(name) else {})
        ).settings
        policy = make_policy(name, pipeline, profile, rng)
    loop = FilterLoop(watched.chain, policy, np.random.default_rng(seed), slice_rows=slice_rows)
    for part in np.array_split(np.arange(rows), 3):
        loop.process(watched.batch(part.tolist()))
    return watched, loop


def by_row(watched: Watched) -> dict[int, tuple[tuple[int, ...], int, list[int]]]:
    """For each row the order it went through, the position that dropped it, and the filters profiled on it."""
    calls_by_row: dict[int, tuple[tuple[int, ...], int, list[int]]] = {}
    for rows, order in watched.passes:
        for row in rows:
            at = next((i for i, k in enumerate(order) if watched.drops[row, k]), len(order))
            calls_by_row[row] = (order, at, [])
    for call in watched.calls:
        if not call.work:
            for row in call.rows:
                calls_by_row[row][2].append(call.filter)
    return calls_by_row


def allowed(pipeline: Pipeline, drops: np.ndarray, order: tuple[int, ...], at: int, asked: list[int]) -> list[int]:
    """Of the filters asked for, those that may be profiled and whose guards are known to be true on the row."""
    true, seen = set(order[:at]), []
    for k in order[at + 1 :]:
        if k in asked and pipeline.profiled[k] and set(pipeline.guards[k]) <= true:
            seen.append(k)
            if not drops[k]:
                true.add(k)
    return seen


cases = settings(max_examples=25)
# Below two of these a slice a sampled row is looked at at once, so that none is left waiting at the end.
small_slices = st.sampled_from([1, 7, 2 * TOGETHER - 1])


@pytest.mark.parametrize("name", ["a-greedy", "independent"])
@cases
@given(pipelines(least=2), st.integers(0, 200), st.integers(0, 2**32), small_slices)
def test_a_greedy_and_independent_evaluate_all_behind_the_drop(
    name: str, pipeline: Pipeline, rows: int, seed: int, slice_rows: int
) -> None:
    watched, loop = run(name, pipeline, rows, seed, slice_rows)
    n = len(pipeline)
    for row, (order, at, profiled) in by_row(watched).items():
        expected = [] if at == n else allowed(pipeline, watched.drops[row], order, at, list(range(n)))
        assert profiled == expected
    assert loop.work.chain.profile_tuples == int(watched.drops.any(axis=1).sum())


@cases
@given(pipelines(), st.integers(0, 300), st.integers(0, 2**32), small_slices)
def test_local_swaps_evaluates_the_next_filter_only(pipeline: Pipeline, rows: int, seed: int, slice_rows: int) -> None:
    watched, _ = run("local-swaps", pipeline, rows, seed, slice_rows)
    for row, (order, at, profiled) in by_row(watched).items():
        expected = [] if at >= len(order) - 1 else allowed(pipeline, watched.drops[row], order, at, [order[at + 1]])
        assert profiled == expected


@cases
@given(pipelines(), st.integers(0, 300), st.integers(0, 2**32), small_slices)
def test_sweep_evaluates_one_filter_a_stage(pipeline: Pipeline, rows: int, seed: int, slice_rows: int) -> None:
    watched, _ = run("sweep", pipeline, rows, seed, slice_rows)
    calls_by_row = by_row(watched)
    for order, at, profiled in calls_by_row.values():
        assert len(profiled) <= 1
        assert all(order.index(k) > at for k in profiled)
    for rows_, _ in watched.passes:  # one slice belongs to one stage
        assert len({k for row in rows_ for k in calls_by_row[row][2]}) <= 1


def test_sweep_evaluates_its_position_on_rows_dropped_before() -> None:
    pipeline = Pipeline(("a", "b", "c"))
    policy = make_policy("sweep", pipeline, ProfileSettings(p=1.0, profile_window=4), np.random.default_rng(1))
    drops = [[True, False, False], [False, True, False], [False, False, True]] * 4
    watched = Watched(drops, pipeline)
    loop = FilterLoop(watched.chain, policy, np.random.default_rng(1), slice_rows=1)
    loop.process(watched.batch(range(len(drops))))
    profiled = {row: seen for row, (_, _, seen) in by_row(watched).items() if seen}
    # stages of four tuples: of b (position 2), of c (position 3), of b again
    assert profiled == {0: [1], 3: [1], 4: [2], 6: [2], 7: [2], 9: [1]}


@pytest.mark.parametrize("name", NOT_PROFILING)
@cases
@given(pipelines(), st.integers(0, 300), st.integers(0, 2**32), st.sampled_from([1, 31, 1024]))
def test_the_others_evaluate_nothing(name: str, pipeline: Pipeline, rows: int, seed: int, slice_rows: int) -> None:
    watched, loop = run(name, pipeline, rows, seed, slice_rows)
    assert all(call.work for call in watched.calls)
    assert loop.work.chain.profile_tuples == sum(loop.work.chain.profiled) == loop.work.times.profiling_ns == 0


@pytest.mark.parametrize("name", [*POLICIES, "scripted"])
@cases
@given(
    pipelines(least=2), st.integers(0, 200), st.integers(0, 2**32), st.sampled_from([1, 31, 100, 1024]), st.booleans()
)
def test_profiling_respects_guards_and_profile_false(
    name: str, pipeline: Pipeline, rows: int, seed: int, slice_rows: int, by_array: bool
) -> None:
    watched, _ = run(name, pipeline, rows, seed, slice_rows, by_array=by_array)
    for call in watched.calls:
        assert call.work or pipeline.profiled[call.filter]
        for guard in pipeline.guards[call.filter]:
            assert not watched.drops[list(call.rows), guard].any()


@pytest.mark.parametrize("slice_rows", [1, 20, 500, 1024])
@pytest.mark.parametrize("p", [0.05, 0.5, 1.0])
def test_each_dropped_row_is_sampled_by_its_own_random_number(slice_rows: int, p: float) -> None:
    pipeline = Pipeline(("a", "b", "c"))
    watched, loop = run("a-greedy", pipeline, 3000, seed=3, slice_rows=slice_rows, p=p)
    dropped = np.flatnonzero(watched.drops.any(axis=1))
    sample = dropped[np.random.default_rng(3).random(len(dropped)) < p]
    shown = sample[: loop.work.chain.profile_tuples]
    assert len(sample) - len(shown) < max(1, slice_rows // TOGETHER)  # the rest waits for company
    calls_by_row = by_row(watched)
    assert {row for row, (_, _, seen) in calls_by_row.items() if seen} == {
        row for row in shown.tolist() if calls_by_row[row][1] < 2
    }


def test_the_first_few_sampled_rows_do_not_wait() -> None:
    pipeline = Pipeline(("a", "b"))
    watched = Watched([[True, True]] * 1000, pipeline)
    policy = make_policy("a-greedy", pipeline, ProfileSettings(p=1.0), np.random.default_rng(1))
    loop = FilterLoop(watched.chain, policy, np.random.default_rng(1), slice_rows=1024)
    loop.process(watched.batch(range(7)))
    assert loop.work.chain.profile_tuples == 0
    loop.process(watched.batch(range(7, 8)))
    assert loop.work.chain.profile_tuples == 8


def test_one_filter_alone_is_never_profiled() -> None:
    watched, loop = run("a-greedy", Pipeline(("a",)), 500, seed=1, slice_rows=1, p=1.0)
    assert all(call.work for call in watched.calls)
    assert loop.work.chain.profile_tuples == loop.work.times.profiling_ns == 0
