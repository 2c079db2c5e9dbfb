"""Trials, which are slices in another order, change only the time, and that is counted."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.watched import Watched
from tests.plan.filters.pipelines import pipelines
from tests.runtime.filters.outcomes import Outcomes, outcomes
from tests.runtime.filters.scripted import Scripted
from thalweg.adapt import Observation
from thalweg.adapt.policy import ProfilingRequest, Trial
from thalweg.kernels import FilterChain
from thalweg.plan import Pipeline
from thalweg.runtime.filters.filter_loop import FilterLoop

SLICES = st.sampled_from([1, 7, 40, None])


def cut(rows: int, data: st.DataObject) -> list[np.ndarray]:
    """Rows in batches cut anywhere."""
    cuts = sorted(data.draw(st.lists(st.integers(0, rows), max_size=4)))
    return np.split(np.arange(rows), cuts)


@settings(max_examples=80)
@given(outcomes(), SLICES, st.integers(0, 2**32), st.sampled_from([0.0, 0.5, 1.0]), st.booleans(), st.data())
def test_trials_change_no_row_no_order_and_no_failure(
    table: Outcomes, slice_rows: int | None, seed: int, p: float, lasting: bool, data: st.DataObject
) -> None:
    table_: Outcomes = table
    policy = Scripted(table_.pipeline, seed, p, restless=0.3, trials=0.5, lasting=lasting)
    chain = FilterChain(table_.plan, lambda: 0)
    loop = FilterLoop(chain, policy, np.random.default_rng(seed), slice_rows=slice_rows, dead_letter=True)
    watched = Watched(np.zeros((1, 1), bool))
    kept: list[int] = []
    failed: list[tuple[int, list[tuple[str, str]]]] = []
    start = 0
    for part in cut(len(table_.table), data):
        kept += (start + np.flatnonzero(loop.process(watched.batch(part.tolist())))).tolist()
        failed += [(start + row.row, [(name, text) for name, text in row.raised]) for row in loop.take_failures()]
        start += len(part)
    fates = [table_.fate(row) for row in range(len(table_.table))]
    assert kept == [row for row, fate in enumerate(fates) if fate is True]
    assert failed == [(row, fate) for row, fate in enumerate(fates) if isinstance(fate, list)]
    for k, row in table_.seen:
        assert table_.may_be_called(row, k)


def run(
    pipeline: Pipeline, seed: int, slice_rows: int | None, p: float, lasting: bool, data: st.DataObject
) -> tuple[Watched, FilterLoop[pa.RecordBatch]]:
    rng = np.random.default_rng(seed)
    watched = Watched(rng.random((200, len(pipeline))) < 0.4, pipeline, [2**k for k in range(len(pipeline))])
    policy = Scripted(pipeline, seed, p, restless=0.3, trials=0.5, lasting=lasting)
    loop = FilterLoop(watched.chain, policy, rng, slice_rows=slice_rows)
    for part in cut(200, data):
        loop.process(watched.batch(part.tolist()))
    return watched, loop


@settings(max_examples=60)
@given(pipelines(least=2), st.integers(0, 2**32), SLICES, st.sampled_from([0.03, 0.2, 1.0]), st.booleans(), st.data())
def test_trials_and_switches_respect_guards_and_show_rows_once(
    pipeline: Pipeline, seed: int, slice_rows: int | None, p: float, lasting: bool, data: st.DataObject
) -> None:
    watched, loop = run(pipeline, seed, slice_rows, p, lasting, data)
    pairs = [(call.filter, row) for call in watched.calls for row in call.rows]
    assert len(pairs) == len(set(pairs))
    for call in watched.calls:
        assert call.work or pipeline.profiled[call.filter]
        for guard in pipeline.guards[call.filter]:
            assert not watched.drops[list(call.rows), guard].any()
    work = loop.work
    assert work.chain.rows == 200
    assert work.chain.evaluated == watched.evaluated(work=True)
    assert work.chain.profiled == watched.evaluated(work=False)
    assert work.times.total_ns == watched.now_ns
    assert 0 <= work.trials.loss_ns <= work.trials.ns <= work.times.total_ns
    assert work.trials.trials <= work.trials.rows <= work.chain.rows


@pytest.mark.parametrize("lasting", [False, True])
def test_rows_sampled_before_a_trial_are_read_in_their_order(lasting: bool) -> None:
    """Few are sampled per slice, so that they wait while a trial is run and the order changes after it."""
    pipeline = Pipeline(("a", "b", "c", "d"))
    for seed in range(40):
        rng = np.random.default_rng(seed)
        watched = Watched(rng.random((400, 4)) < 0.4, pipeline)
        policy = Scripted(pipeline, seed, 0.05, restless=0.3, trials=0.5, lasting=lasting)
        loop = FilterLoop(watched.chain, policy, rng, slice_rows=40)
        loop.process(watched.batch(range(400)))
        pairs = [(call.filter, row) for call in watched.calls for row in call.rows]
        assert len(pairs) == len(set(pairs))


class TriesOnce(Scripted):
    """A policy with one trial after two regular slices; it records its observations."""

    def __init__(self, pipeline: Pipeline, trial: Trial) -> None:
        self.shown: list[Observation] = []
        self.trial = trial
        super().__init__(pipeline, seed=1, p=0.0, restless=0.0)
        self.order = pipeline.start

    def _wish(self) -> None:
        n = len(self.pipeline)
        wanted = len(self.shown) >= 2 and not any(seen.trial_ns for seen in self.shown)
        trial = self.trial if wanted else None
        self._wants = ProfilingRequest(0.0, np.zeros((n, n), dtype=bool), rows=1, slice_rows=10, trial=trial)

    def update(self, seen: Observation) -> None:
        self.shown.append(seen)
        self._wish()


@pytest.mark.parametrize(
    ("expected_ns", "lost"),
    [
        (10 * 5.0, 10 * 100),  # never more than the candidate's calls took
        (10 * 60.0, 10 * 45),
        (10 * 105.0, 0),
        (10 * 500.0, 0),  # nothing is gained by a trial, either
    ],
)
def test_the_loss_of_a_trial_is_the_time_it_took_longer(expected_ns: float, lost: int) -> None:
    drops = np.tile([True, False], (60, 1))
    watched = Watched(drops, Pipeline(("a", "b")), [5, 100])
    policy = TriesOnce(watched.pipeline, Trial((1, 0), 10, 1, expected_ns))
    loop = FilterLoop(watched.chain, policy, np.random.default_rng(1))
    loop.process(watched.batch(range(60)))
    work = loop.work
    assert [order for _, order in watched.passes] == [(0, 1), (0, 1), (1, 0), (0, 1), (0, 1), (0, 1)]
    assert (work.trials.trials, work.trials.rows, work.trials.ns, work.trials.loss_ns) == (1, 10, 10 * 105, lost)
    (tried,) = [seen for seen in policy.shown if seen.trial_ns]
    assert (tried.trial_ns, tried.trial_loss_ns) == (10 * 105, lost)
    # what the order in force does is not seen in a trial, but what its calls cost is
    assert tried.evaluated.tolist() == tried.passed.tolist() == [0, 0]
    assert (work.in_force.rows, work.in_force.evaluated) == (50, [50, 0])
    assert loop.costs[1].known
    assert work.switches == []


@pytest.mark.parametrize(("rows", "slice_rows", "took"), [(10, None, 10), (10, 4, 4), (36, None, 20)])
def test_a_trial_is_limited_by_request_slice_and_batch(rows: int, slice_rows: int | None, took: int) -> None:
    watched = Watched(np.tile([True, False], (40, 1)), Pipeline(("a", "b")))
    policy = TriesOnce(watched.pipeline, Trial((1, 0), rows, 1, 1.0))
    loop = FilterLoop(watched.chain, policy, np.random.default_rng(1), slice_rows=slice_rows)
    loop.process(watched.batch(range(40)))
    assert loop.work.trials.rows == took
    assert loop.work.chain.rows == 40


@pytest.mark.parametrize("rows", [41, 500])
def test_a_trial_with_too_few_rows_runs_on_the_next_batch(rows: int) -> None:
    watched = Watched(np.tile([True, False], (40, 1)), Pipeline(("a", "b")))
    loop = FilterLoop(watched.chain, TriesOnce(watched.pipeline, Trial((1, 0), rows, 1, 1.0)), np.random.default_rng(1))
    loop.process(watched.batch(range(40)))
    assert (loop.work.trials.trials, loop.work.chain.rows) == (0, 40)
    loop.process(watched.batch(range(40)))
    assert (loop.work.trials.trials, loop.work.trials.rows, loop.work.chain.rows) == (1, 40, 80)
