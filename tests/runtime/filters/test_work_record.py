"""Work is encoded as text and decoded to event records."""

from __future__ import annotations

import copy
import json

import numpy as np
import pyarrow as pa
import pytest

from tests.kernels.watched import Watched
from tests.runtime.filters.outcomes import Outcomes
from tests.runtime.filters.scripted import Scripted
from tests.runtime.filters.scripted_meshes import ScriptedMeshes, classified
from tests.runtime.filters.test_mesh_loop import LearningChain
from thalweg.adapt import make_policy
from thalweg.events import Observed, Record, Switched, VerdictGiven, from_json, to_json
from thalweg.events.parts import TrialCounts
from thalweg.optimizer.mesh.mesh import Mesh
from thalweg.optimizer.mesh.tree import CutNode, Leaf, RouteTree
from thalweg.plan import Pipeline
from thalweg.runtime.filters.filter_loop import FilterLoop
from thalweg.runtime.filters.work_record import MOST_SWITCHES, decode, encode

PIPELINE = Pipeline(("a", "b", "c"))


def restless_loop(rows: int, slice_rows: int) -> tuple[Watched, FilterLoop[pa.RecordBatch]]:
    rng = np.random.default_rng(1)
    watched = Watched(rng.random((rows, 3)) < 0.5, PIPELINE, [2, 4, 8])
    loop = FilterLoop(watched.chain, Scripted(PIPELINE, 1, p=0.5, restless=1.0), rng, slice_rows=slice_rows)
    loop.process(watched.batch(range(rows)))
    return watched, loop


def records(loop: FilterLoop[pa.RecordBatch], watched: Watched) -> list[Record]:
    text = encode(loop, "host/1")
    return decode(text, plan=watched.plan, policy="scripted", run="r", kind="stream", batch=3)


def test_the_record_is_the_work() -> None:
    watched, loop = restless_loop(100, slice_rows=10)
    work = copy.deepcopy(loop.work)
    *switches, seen = records(loop, watched)
    assert isinstance(seen, Observed)
    assert (seen.origin.run, seen.origin.kind, seen.origin.batch, seen.origin.worker, seen.origin.policy) == (
        "r",
        "stream",
        3,
        "host/1",
        "scripted",
    )
    assert seen.predicates == ("a", "b", "c")
    assert seen.order == tuple(PIPELINE.label(loop.order))
    assert (seen.chain, seen.times, seen.in_force) == (work.chain, work.times, work.in_force)
    for name in ("busy_ns", "profile_busy_ns", "profile_errors", "raised", "failed"):
        assert getattr(seen.calls, name) == getattr(work.calls, name)
    assert seen.calls.cost_ns == pytest.approx(loop.cost_ns(), abs=0.05)
    assert seen.calls.fixed_ns == pytest.approx([cost.fixed_ns for cost in loop.costs], abs=0.5)
    assert (seen.in_force.switched, seen.in_force.rows) == (True, work.in_force.rows)
    assert seen.omitted_switches == 0
    assert len(work.switches) > 3
    verdicts = [record for record in switches if isinstance(record, VerdictGiven)]
    applied = [record for record in switches if isinstance(record, Switched)]
    for switch, verdict, then in zip(work.switches, verdicts, applied, strict=True):
        assert verdict.at_row == then.at_row == switch.at
        assert verdict.before == tuple(PIPELINE.label(switch.before))
        assert verdict.after == then.order == tuple(PIPELINE.label(switch.after))
        assert verdict.reason == switch.reason


def test_trials_and_why_an_order_is_kept_travel_with_the_work() -> None:
    watched, loop = restless_loop(20, slice_rows=10)
    work = loop.work
    work.trials = TrialCounts(3, 4096, 2_100_000, 400_000)
    loop.policy.standing, work.times.compiling_ns = "nothing better found", 7
    seen = records(loop, watched)[-1]
    assert isinstance(seen, Observed)
    assert seen.trials == TrialCounts(3, 4096, 2_100_000, 400_000)
    assert (seen.in_force.standing, seen.times.compiling_ns) == ("nothing better found", 7)
    assert from_json(to_json(seen)) == seen
    loop.policy.standing = ""
    (idle,) = records(loop, watched)
    assert isinstance(idle, Observed)
    assert idle.trials == TrialCounts()
    assert (idle.in_force.standing, idle.in_force.switched, idle.in_force.rows) == ("", False, 0)


@pytest.mark.parametrize("restless", [0.0, 0.1, 1.0])
def test_work_of_the_order_in_force_counts_from_the_last_switch(restless: float) -> None:
    rng = np.random.default_rng(2)
    watched = Watched(rng.random((400, 3)) < 0.5, PIPELINE)
    loop = FilterLoop(watched.chain, Scripted(PIPELINE, 5, p=0.3, restless=restless), rng, slice_rows=10)
    for start in range(0, 400, 80):
        before = len(watched.passes)
        loop.process(watched.batch(range(start, start + 80)))
        work = copy.deepcopy(loop.work)
        *_, seen = records(loop, watched)
        assert isinstance(seen, Observed)
        at = {switch.at for switch in work.switches}
        since = max(at, default=start)
        rows = [row for slice_, _ in watched.passes[before:] for row in slice_ if row >= since]
        assert seen.in_force.rows == len(rows)
        alive = rows
        for k in (PIPELINE.names.index(name) for name in seen.order):
            left = [row for row in alive if not watched.drops[row, k]]
            assert (seen.in_force.evaluated[k], seen.in_force.passed[k]) == (len(alive), len(left))
            alive = left
        assert seen.in_force.switched == bool(at)


def test_rows_of_a_trial_are_not_in_the_rates_in_force() -> None:
    watched = Watched([[True, False, False]] * 20, PIPELINE)
    policy = make_policy("static", PIPELINE, None, np.random.default_rng(1))
    loop = FilterLoop(watched.chain, policy, np.random.default_rng(1), slice_rows=10)
    columns = watched.chain.columns(watched.batch(range(20)))
    for start, order, trial in ((0, (0, 1, 2), False), (10, (1, 2, 0), True)):
        loop.ledger.count(watched.chain.run(columns.slice(start, 10), order), 10, order, trial=trial)
    work = loop.work
    assert (work.chain.rows, work.chain.evaluated, work.chain.passed) == (20, [20, 10, 10], [0, 10, 10])
    assert (work.in_force.rows, work.in_force.evaluated, work.in_force.passed) == (10, [10, 0, 0], [0, 0, 0])


def test_every_record_survives_json() -> None:
    watched, loop = restless_loop(100, slice_rows=10)
    for record in records(loop, watched):
        assert from_json(to_json(record)) == record


def test_a_policy_that_thrashes_does_not_flood_the_driver() -> None:
    watched, loop = restless_loop(600, slice_rows=1)
    made = len(loop.work.switches)
    assert made > MOST_SWITCHES
    *switches, seen = records(loop, watched)
    assert isinstance(seen, Observed)
    assert len(switches) == 2 * MOST_SWITCHES
    assert seen.omitted_switches == made - MOST_SWITCHES


def test_work_is_taken_by_encoding_it() -> None:
    watched, loop = restless_loop(10, slice_rows=10)
    encode(loop, "w")
    assert "chain" not in json.loads(encode(loop, "w"))
    assert loop.work.chain.rows == 0
    assert watched.calls


def test_an_unknown_cost_is_null() -> None:
    watched = Watched([[True, False, False]] * 20, PIPELINE)
    policy = make_policy("static", PIPELINE, None, np.random.default_rng(1))
    loop = FilterLoop(watched.chain, policy, np.random.default_rng(1), slice_rows=10)
    loop.process(watched.batch(range(20)))
    (seen,) = records(loop, watched)
    assert isinstance(seen, Observed)
    assert seen.calls.cost_ns == [round(loop.costs[0].per_row_ns, 1), None, None]
    assert seen.calls.cost_ns[0] is not None
    assert 0 < seen.calls.cost_ns[0] <= 1


def test_a_loop_that_begins_with_a_mesh_reports_it_once_per_start() -> None:
    case = Outcomes(["TTT", "TFT"] * 50, PIPELINE, [True] * 3)
    policy = ScriptedMeshes(PIPELINE, 1, 0.0, 0.0)
    policy.mesh = Mesh(RouteTree(CutNode("row", "number", 9.0, Leaf(0), *[Leaf(1)] * 3)), ((0, 1, 2), (2, 1, 0)), 4)
    loop = FilterLoop(LearningChain(case), policy, np.random.default_rng(1))
    loop.restore(policy.snapshot())
    loop.process(classified(40, 1))
    loop.take_work()  # a task that ended early; what it did is not reported
    reported = []
    for start in ("1", "1", "2", "2"):
        loop.process(classified(40, 1))
        record = json.loads(encode(loop, "w", {"start": start}))
        assert (record["routes"]["version"], sum(record["routes"]["rows"])) == (4, 40)
        reported.append(record["routes"].get("mesh"))
    assert reported[1::2] == [None, None]
    assert [json.loads(text) for text in reported[::2]] == [policy.mesh.to_dict()] * 2
    loop.redact = True
    redacted = json.loads(encode(loop, "w", {"start": "3"}))["routes"]["mesh"]
    assert "9" not in redacted
    assert "threshold 1" in redacted


def test_a_mesh_of_a_verdict_is_not_reported_twice() -> None:
    case = Outcomes(["TTT", "TFT"] * 50, PIPELINE, [True] * 3)
    policy = ScriptedMeshes(PIPELINE, 3, 1.0, 1.0)
    loop = FilterLoop(LearningChain(case), policy, np.random.default_rng(1), slice_rows=4)
    loop.process(classified(100, 1))
    assert len(loop.work.switches) < MOST_SWITCHES
    record = json.loads(encode(loop, "w"))
    meshes = [json.loads(mesh[0]) for *_, mesh in [(*s[:4], s[4:]) for s in record["switches"]] if mesh]
    assert len(meshes) == 1, "the last one"
    assert "mesh" not in record.get("routes", {})
