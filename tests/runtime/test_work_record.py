"""Work as text and back as event records."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.kernels.watched import Watched
from tests.runtime.scripted import Scripted
from thalweg.adapt import make_policy
from thalweg.events import Observed, Switched, VerdictGiven, from_json, to_json
from thalweg.plan import Pipeline
from thalweg.runtime.filter_loop import FilterLoop
from thalweg.runtime.work_record import MOST_SWITCHES, decode, encode

PIPELINE = Pipeline(("a", "b", "c"))


def restless_loop(rows: int, slice_rows: int) -> tuple[Watched, FilterLoop]:
    rng = np.random.default_rng(1)
    watched = Watched(rng.random((rows, 3)) < 0.5, PIPELINE, [2, 4, 8])
    loop = FilterLoop(watched.chain, Scripted(PIPELINE, 1, p=0.5, restless=1.0), rng, slice_rows=slice_rows)
    loop.process(watched.batch(range(rows)))
    return watched, loop


def records(loop: FilterLoop, watched: Watched) -> list:
    text = encode(loop, "host/1")
    return decode(text, plan=watched.plan, policy="scripted", run="r", kind="stream", batch=3)


def test_the_record_is_the_work():
    watched, loop = restless_loop(100, slice_rows=10)
    work = loop.work
    *switches, seen = records(loop, watched)
    assert isinstance(seen, Observed)
    assert (seen.run, seen.kind, seen.batch, seen.worker, seen.policy) == ("r", "stream", 3, "host/1", "scripted")
    assert seen.predicates == ("a", "b", "c")
    assert seen.order == tuple(PIPELINE.label(loop.order))
    for name in ("evaluated", "passed", "busy_ns", "profiled", "profile_busy_ns", "profile_errors", "raised"):
        assert list(getattr(seen, name)) == getattr(work, name)
    for name in ("rows", "kept", "failed", "profile_tuples", "total_ns", "profiling_ns", "reoptimizing_ns"):
        assert getattr(seen, name) == getattr(work, name)
    assert seen.cost_ns == pytest.approx((2, 4, 8))
    assert seen.omitted_switches == 0
    assert len(work.switches) > 3
    verdicts = [record for record in switches if isinstance(record, VerdictGiven)]
    applied = [record for record in switches if isinstance(record, Switched)]
    for switch, verdict, then in zip(work.switches, verdicts, applied, strict=True):
        assert verdict.at_row == then.at_row == switch.at
        assert verdict.before == tuple(PIPELINE.label(switch.before))
        assert verdict.after == then.order == tuple(PIPELINE.label(switch.after))
        assert verdict.reason == switch.reason


def test_every_record_survives_json():
    watched, loop = restless_loop(100, slice_rows=10)
    for record in records(loop, watched):
        assert from_json(to_json(record)) == record


def test_a_policy_that_thrashes_does_not_flood_the_driver():
    watched, loop = restless_loop(600, slice_rows=1)
    made = len(loop.work.switches)
    assert made > MOST_SWITCHES
    *switches, seen = records(loop, watched)
    assert len(switches) == 2 * MOST_SWITCHES
    assert seen.omitted_switches == made - MOST_SWITCHES


def test_work_is_taken_by_encoding_it():
    watched, loop = restless_loop(10, slice_rows=10)
    encode(loop, "w")
    assert json.loads(encode(loop, "w"))["rows"] == 0
    assert loop.work.rows == 0
    assert watched.calls


def test_a_cost_nobody_knows_is_null():
    watched = Watched([[True, False, False]] * 20, PIPELINE)
    policy = make_policy("written", PIPELINE, None, np.random.default_rng(1))
    loop = FilterLoop(watched.chain, policy, np.random.default_rng(1), slice_rows=10)
    loop.process(watched.batch(range(20)))
    (seen,) = records(loop, watched)
    assert seen.cost_ns == (1.0, None, None)
