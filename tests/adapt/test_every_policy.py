"""What every policy must hold, run for all of them by discovery."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapt.seen import full_histories, histories, seen
from tests.plan.pipelines import pipelines, valid_orders
from thalweg.adapt import POLICIES, Policy, check_policy, make_policy, takes
from thalweg.errors import PlanError
from thalweg.plan import Pipeline

each_policy = pytest.mark.parametrize("name", POLICIES)
few = settings(max_examples=40)  # of each policy

STARTS_ITS_TRIAL_ANEW = {"auto", "sweep", "duckdb-swap"}
"""Whose snapshot leaves out what is under way: the counts of a stage, the times of a trial, what was spent."""


def fresh(name: str, pipeline: Pipeline, seed: int = 1, window: int = 60) -> Policy:
    settings = check_policy(name, **({"p": 0.5, "profile_window": window, "alpha": 0.9} if "p" in takes(name) else {}))
    return make_policy(name, pipeline, settings, np.random.default_rng(seed))


def same_wants(one: Policy, other: Policy) -> bool:
    alike = one.wants().p == other.wants().p or one.name == "auto"  # whose p follows from what it has spent
    return alike and np.array_equal(one.wants().evaluate, other.wants().evaluate)


@each_policy
def test_it_is_known_by_its_own_name(name: str):
    assert POLICIES[name].name == name
    assert check_policy(name) == POLICIES[name].defaults


@each_policy
@few
@given(pipelines(), st.data())
def test_the_order_stays_valid_and_a_verdict_is_the_new_order_with_a_reason(name: str, pipeline: Pipeline, data):
    n = len(pipeline)
    policy = fresh(name, pipeline, seed=data.draw(st.integers(0, 99)))
    assert policy.order == pipeline.start
    for update in data.draw(histories(n) | full_histories(n)) * 4:
        before = policy.order
        verdict = policy.update(update)
        assert pipeline.respects(policy.order)
        if verdict is None:
            assert policy.order == before
        else:
            assert verdict.order == policy.order != before
            assert verdict.reason.strip() == verdict.reason != ""
            assert "\n" not in verdict.reason
            assert any(filter_name in verdict.reason for filter_name in pipeline.names)


@each_policy
@few
@given(pipelines(), st.data())
def test_it_wants_only_what_is_behind_and_may_be_profiled(name: str, pipeline: Pipeline, data):
    n = len(pipeline)
    policy = fresh(name, pipeline)
    for update in data.draw(histories(n) | full_histories(n)):
        policy.update(update)
        wants = policy.wants()
        assert 0.0 <= wants.p <= 1.0
        assert min(wants.together, wants.rows, wants.ns, wants.most) >= 0
        assert wants.slice_rows is None or wants.slice_rows >= 1
        assert wants.evaluate.shape == (n, n)
        assert wants.evaluate.dtype == np.bool_
        for i in range(n):
            for j, k in enumerate(policy.order):
                assert not wants.evaluate[i, k] or (i < j and pipeline.profiled[k])


@few
@given(pipelines(least=2), st.data())
def test_a_trial_moves_one_filter_forward_that_may_be_profiled(pipeline: Pipeline, data):
    """Whatever costs, times and siblings' rows a loop shows: guards hold, and the others stay in their order."""
    policy = fresh("auto", pipeline)
    for update in data.draw(full_histories(len(pipeline), most=20)):
        policy.update(update)
        trial = policy.wants().trial
        if trial is None:
            continue
        k = trial.candidate
        assert pipeline.respects(trial.order)
        assert pipeline.profiled[k]
        assert trial.order.index(k) < policy.order.index(k)
        assert [other for other in trial.order if other != k] == [other for other in policy.order if other != k]
        assert 1 <= trial.rows <= 10_000  # no more than a batch has
        assert 0.0 <= trial.expected_ns < np.inf


@pytest.mark.parametrize("cost_ns", [np.nan, 0.0, 1e-300, 1e300])
@few
@given(pipelines(least=2), st.data())
def test_costs_that_nobody_can_believe_break_nothing(cost_ns: float, pipeline: Pipeline, data):
    """A clock that stands still, or jumps: one filter has such a cost, and so have its bounds."""
    policy = fresh("auto", pipeline)
    odd = data.draw(st.integers(0, len(pipeline) - 1))
    for update in data.draw(full_histories(len(pipeline))):
        costs = update.costs
        assert costs is not None
        for numbers in (update.cost_ns, costs.most_ns, costs.fixed_ns):
            numbers[odd] = cost_ns
        costs.least_ns[odd] = 0.0
        policy.update(update)
        wants = policy.wants()
        assert pipeline.respects(policy.order)
        assert 0.0 <= wants.p <= 1.0
        assert wants.slice_rows >= 1
        assert wants.trial is None or wants.trial.rows >= 1


@each_policy
@few
@given(pipelines(), st.data())
def test_a_snapshot_is_json_and_brings_another_to_the_same_place(name: str, pipeline: Pipeline, data):
    policy = fresh(name, pipeline)
    for update in data.draw(histories(len(pipeline))):
        policy.update(update)
    snapshot = json.loads(json.dumps(policy.snapshot()))
    other = fresh(name, pipeline, seed=2)
    for update in data.draw(histories(len(pipeline), most=2)):  # what it had seen itself is gone
        other.update(update)
    other.restore(snapshot)
    assert other.order == policy.order
    assert same_wants(other, policy)
    assert other.snapshot() == policy.snapshot()


@each_policy
@few
@given(pipelines(), st.data())
def test_restored_it_goes_on_as_the_one_it_was_taken_from(name: str, pipeline: Pipeline, data):
    policy = fresh(name, pipeline)
    for update in data.draw(histories(len(pipeline))):
        policy.update(update)
    snapshot = policy.snapshot()
    if name in STARTS_ITS_TRIAL_ANEW:
        policy = fresh(name, pipeline)
        policy.restore(snapshot)
    other = fresh(name, pipeline)
    other.restore(snapshot)
    for update in data.draw(histories(len(pipeline))) * 3:
        assert policy.update(update) == other.update(update)
        assert policy.order == other.order
        assert same_wants(policy, other)
    assert policy.snapshot() == other.snapshot()


@each_policy
@few
@given(pipelines(), st.data())
def test_restored_at_any_moment_its_order_stays_valid(name: str, pipeline: Pipeline, data):
    policy, sibling = fresh(name, pipeline), fresh(name, pipeline, seed=3)
    for update in data.draw(histories(len(pipeline), most=4)) * 9:
        policy.update(update)
    told = {**sibling.snapshot(), "order": list(data.draw(valid_orders(pipeline)))}
    policy.restore(told)
    for update in data.draw(histories(len(pipeline), most=4)) * 9:
        policy.update(update)
        assert pipeline.respects(policy.order)


@each_policy
def test_a_snapshot_does_not_change_when_its_policy_goes_on(name: str):
    pipeline = Pipeline(("a", "b", "c"))
    policy = fresh(name, pipeline)
    snapshot = policy.snapshot()
    text = json.dumps(snapshot)
    _push(policy, 40)
    assert json.dumps(snapshot) == text


def test_a_snapshot_of_another_version_is_refused_before_anything_changes():
    pipeline = Pipeline(("a", "b", "c"))
    policy, other = fresh("auto", pipeline), fresh("auto", pipeline, seed=3)
    _push(other, 40)
    before = policy.snapshot()
    older = {**other.snapshot(), "order": [2, 1, 0]}
    del older["format"]
    with pytest.raises(PlanError, match="another version"):
        policy.restore(older)
    assert policy.snapshot() == before


@each_policy
def test_a_strangers_snapshot_is_refused_by_name(name: str):
    policy = fresh(name, Pipeline(("a", "b", "c")))
    snapshot = policy.snapshot()
    for wrong in (
        {**snapshot, "policy": "eddy"},
        {**snapshot, "order": [0, 1]},
        {**snapshot, "order": [0, 1, 1]},
        {**snapshot, "order": [0, 1, 2, 3]},
        {},
    ):
        before = policy.order
        with pytest.raises(PlanError, match=name):
            policy.restore(wrong)
        assert policy.order == before
    guarded = fresh(name, Pipeline(("a", "b", "c"), guards=((), (0,), ())))
    with pytest.raises(PlanError, match=name):
        guarded.restore({**snapshot, "order": [1, 0, 2]})


@each_policy
def test_memory_stops_growing(name: str):
    policy = fresh(name, Pipeline(("a", "b", "c")))

    def largest(updates: int) -> tuple[int, int]:
        sizes = []
        for _ in range(updates // 20):
            _push(policy, 20)
            sizes.append((len(pickle.dumps(policy)), len(json.dumps(policy.snapshot()))))
        return max(size for size, _ in sizes), max(told for _, told in sizes)

    size, told = largest(600)
    later, told_later = largest(1400)
    # numbers get a little longer, nothing else does
    assert later <= size + 60
    assert told_later <= told + 60


def _push(policy: Policy, updates: int) -> None:
    """A stream whose rates turn round and round, so that everything a policy can do is done."""
    for i in range(updates):
        k = i // 20 % 3
        tuples = [tuple(c == k for c in range(3))] * 9 + [(True, True, True)]
        work = [100 + i % 7, 60, 30]
        policy.update(seen(3, tuples, [1.0, 2.0, 4.0], work, [work[1], work[2], 10], [900, 50 + i % 90, 70]))
