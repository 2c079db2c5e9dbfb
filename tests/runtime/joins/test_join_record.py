"""The work of a join is encoded as text and decoded to the event records that the loop itself would give."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields

import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from thalweg.events import JoinObserved, Record, Switched, VerdictGiven, from_json, to_json
from thalweg.kernels.salt import NO_SALT
from thalweg.plan.join_plan import JoinPlan
from thalweg.runtime.filters.work_record import MOST_SWITCHES, RecordOrigin
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_loop import JoinLoop
from thalweg.runtime.joins.join_options import JoinOptions
from thalweg.runtime.joins.join_record import decode, encode, records_of, take_counters

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64())])


def loop_that_worked(rounds: int = 6, policy: str = "a-greedy", slice_rows: int | None = None) -> JoinLoop:
    """Three streams of which first one and then another finds few partners; some rows are late or lack a value. The
    clock ticks once per call, so two loops that do the same report the same times."""
    plan = JoinPlan.of("a.k = b.k AND b.k = c.k", 50, "t", 0)
    ticks = iter(range(10**9))
    loop = JoinLoop(
        JoinBinding.of(plan, dict.fromkeys("abc", SCHEMA), NO_SALT),
        JoinOptions(policy, tw.policy(policy, p=0.5, profile_window=50, alpha=1.0).settings, slice_rows),
        lambda: next(ticks), np.random.default_rng(3),
    )  # fmt: skip
    for number, batch in _batches(rounds):
        for alias in "abc":
            list(loop.process(alias, batch[alias]))
        if number == 2:
            list(loop.process("a", pa.record_batch([[1, None, 1], [0, 100, None]], schema=SCHEMA)))
        loop.end_round()
    return loop


def _batches(rounds: int) -> Iterator[tuple[int, dict[str, pa.RecordBatch]]]:
    rng = np.random.default_rng(1)
    for number in range(rounds):
        keys = {"a": 40, "b": 40 if number % 2 else 4000, "c": 4000 if number % 2 else 40}
        times = np.sort(rng.integers(40 * number, 40 * number + 40, 300))
        yield (
            number,
            {alias: pa.record_batch([rng.integers(0, n, 300), times], schema=SCHEMA) for alias, n in keys.items()},
        )


def by_stream(records: list[Record]) -> dict[str, JoinObserved]:
    return {record.stream: record for record in records if isinstance(record, JoinObserved)}


@pytest.mark.parametrize("rounds", [0, 1, 6])
def test_the_text_says_what_the_records_say(rounds: int) -> None:
    record_origin = RecordOrigin("r", 7, "bucket 3", "a-greedy")
    records = records_of(take_counters(loop_that_worked(rounds, slice_rows=16)), record_origin, "stream")
    text = encode(take_counters(loop_that_worked(rounds, slice_rows=16), {}), worker="bucket 3", task=None)
    assert decode(text, run="r", kind="stream", batch=7, policy="a-greedy", query_name=None) == records
    assert rounds < 6 or any(isinstance(record, VerdictGiven) for record in records)


def test_the_records_are_what_the_loop_counted() -> None:
    loop = loop_that_worked()
    held = {alias: (len(store), store.nbytes) for alias, store in loop.stores.items()}
    looked = {alias: chain.looked for alias, chain in loop.chains.items()}
    counts, works = dict(loop.counts), {alias: one.work for alias, one in loop.loops.items()}
    text = encode(take_counters(loop), worker="bucket 3")
    seen = by_stream(decode(text, policy="a-greedy", run="r", kind="stream", batch=7))
    assert list(seen) == ["a", "b", "c"]
    for alias, record in seen.items():
        assert (record.run, record.kind, record.batch, record.worker) == ("r", "stream", 7, "bucket 3")
        assert (record.policy, record.others) == ("a-greedy", tuple("abc".replace(alias, "")))
        assert (record.window_rows, record.window_bytes) == held[alias]
        assert record.watermark == loop.watermarks.streams[alias]
        for name in ("evaluated", "passed", "profiled", "evaluated_in_force", "passed_in_force"):
            assert list(getattr(record, name)) == getattr(works[alias], name)
        assert (record.kept, record.results) == (works[alias].kept, counts[alias].results)
        assert (record.rows_in_force, record.switched) == (works[alias].rows_in_force, bool(works[alias].switches))
        assert record.limit == loop.options.limits.max_matches
        assert record.looked == looked[alias] + counts[alias].looked
        assert record.total_ns == works[alias].total_ns + counts[alias].putting_ns
    assert sum(record.results for record in seen.values()) > 0
    assert min(sum(looked.values()), sum(count.looked for count in counts.values())) > 0
    assert [(seen[s].rows, seen[s].late, seen[s].no_time, seen[s].no_key) for s in "ab"] == [
        (1803, 1, 1, 1),  # three more: of time 0 after the watermark, of no key, of no time
        (1800, 0, 0, 0),
    ]
    assert seen["a"].most_late == 79  # the round before went up to 79
    assert seen["a"].most_matches > 0
    assert seen["a"].hottest.startswith("k=")


def test_what_is_told_is_told_once_but_for_what_is_so_far() -> None:
    loop = loop_that_worked()
    first = by_stream(decode(encode(take_counters(loop), worker="w"), policy="p", run="r", kind="stream", batch=0))
    again = by_stream(decode(encode(take_counters(loop), worker="w"), policy="p", run="r", kind="stream", batch=1))
    so_far = {"window_rows", "window_bytes", "watermark", "most_late", "most_rows", "most_bytes", "most_matches"}
    so_far |= {"hottest", "limit", "order", "others", "run", "kind", "worker", "policy", "stream"}
    for alias, record in again.items():
        for name in (f.name for f in fields(JoinObserved) if f.name != "batch"):
            if name in so_far:
                assert getattr(record, name) == getattr(first[alias], name), name
            else:
                value = getattr(record, name)
                assert not (any(value) if isinstance(value, tuple) else value), name


def test_trials_and_why_an_order_is_kept_travel_with_the_stream() -> None:
    loop = loop_that_worked()
    work = loop.loops["b"].work
    work.trials, work.trial_rows, work.trial_ns, work.trial_loss_ns = 2, 64, 900, 5
    loop.loops["b"].policy.standing = "held back"
    loop.counts["b"].compiling_ns, work.compiling_ns = 30, 4
    seen = by_stream(decode(encode(take_counters(loop), worker="w"), policy="p", run="r", kind="stream", batch=0))
    stream_b = seen["b"]
    assert (stream_b.trials, stream_b.trial_rows, stream_b.trial_ns, stream_b.trial_loss_ns) == (2, 64, 900, 5)
    assert (stream_b.standing, stream_b.compiling_ns) == ("held back", 34)
    assert (seen["a"].trials, seen["a"].standing, seen["a"].compiling_ns) == (0, "", 0)


def test_who_did_it_for_whom_travels_along() -> None:
    task = {"task": [3, 17], "query": "q", "start": "s", "batch": 12}
    text = encode(take_counters(loop_that_worked(slice_rows=16)), worker="bucket 3", task=task)
    assert json.loads(text)["task"] == [3, 17]  # distinguishes attempts of a task, before this is decoded
    for record in decode(text, policy="p", run="r", kind="stream", batch=None, query_name="orders"):
        assert (record.query, record.start, record.batch) == ("q", "s", 12)
        if isinstance(record, JoinObserved):
            assert (record.query_name, record.worker) == ("orders", "bucket 3")
        else:
            assert isinstance(record, VerdictGiven | Switched)
            assert record.worker in ("bucket 3 a", "bucket 3 b", "bucket 3 c")
    assert {record.batch for record in decode(text, policy="p", run="r", kind="stream", batch=4)} == {4}


def test_what_only_a_carrier_knows_is_given_by_stream() -> None:
    extras = {
        "a": {"ahead": 2, "state_bytes": 999, "state_chunks": 4, "reloaded": 3, "replicated": True, "rows": 0},
        "b": {"replicated": False, "watermark": 0},
    }
    text = encode(take_counters(loop_that_worked(), extras), worker="w")
    seen = by_stream(decode(text, policy="p", run="r", kind="stream", batch=0))
    for name, value in extras["a"].items():
        assert getattr(seen["a"], name) == value
    assert (seen["b"].watermark, seen["b"].replicated, seen["b"].rows) == (0, False, 1800)
    assert (seen["c"].state_bytes, seen["c"].replicated) == (0, False)


def test_rows_further_in_the_future_than_is_believed_are_told() -> None:
    loop = loop_that_worked(0)
    loop.watermarks.bound = 100
    list(loop.process("a", pa.record_batch([[1, 2, 3], [100, 101, 10**6]], schema=SCHEMA)))
    seen = by_stream(decode(encode(take_counters(loop), worker="w"), policy="p", run="r", kind="stream", batch=0))
    assert [record.ahead for record in seen.values()] == [2, 0, 0]


def test_watermarks_of_empty_and_ended_streams_are_none() -> None:
    loop = loop_that_worked(0)
    seen = by_stream(decode(encode(take_counters(loop), worker="w"), policy="p", run="r", kind="stream", batch=0))
    assert [record.watermark for record in seen.values()] == [None] * 3
    list(loop.process("a", pa.record_batch([[1], [0]], schema=SCHEMA)))
    loop.watermarks.ended("b")
    loop.end_round()
    seen = by_stream(decode(encode(take_counters(loop), worker="w"), policy="p", run="r", kind="stream", batch=1))
    assert [record.watermark for record in seen.values()] == [0, None, None]


@pytest.mark.parametrize(
    ("kind", "tick_ns"),
    [(pa.timestamp("us", "UTC"), 1_000), (pa.timestamp("s"), 10**9), (pa.timestamp("ns"), 1), (pa.int32(), None)],
)
def test_how_long_a_tick_is(kind: pa.DataType, tick_ns: int | None) -> None:
    plan = JoinPlan.of("a.k = b.k", 5 if tick_ns is None else "5 seconds", "t", 0 if tick_ns is None else "0 seconds")
    schema = pa.schema([("k", pa.int64()), ("t", kind)])
    loop = JoinLoop(
        JoinBinding.of(plan, dict.fromkeys("ab", schema)), JoinOptions("static"), lambda: 0, np.random.default_rng(3)
    )
    records = decode(encode(take_counters(loop), worker="w"), policy="static", run="r", kind="stream", batch=0)
    assert [record.tick_ns for record in by_stream(records).values()] == [tick_ns, tick_ns]
    assert [from_json(to_json(record)) for record in records] == records


def test_every_record_survives_json() -> None:
    task = {"query": "q", "start": "s", "batch": 1}
    text = encode(take_counters(loop_that_worked(slice_rows=16)), worker="w", task=task)
    records = decode(text, policy="p", run="r", kind="stream", batch=1, query_name="n")
    assert {type(record) for record in records} == {JoinObserved, VerdictGiven, Switched}
    for record in records:
        assert from_json(to_json(record)) == record


def test_a_bucket_that_had_nothing_to_do_says_so_in_few_bytes() -> None:
    loop = loop_that_worked()
    encode(take_counters(loop), worker="w")
    assert len(encode(take_counters(loop), worker="w")) < 250 * len(loop.stores)


def test_a_policy_that_thrashes_does_not_flood_the_driver() -> None:
    loop = loop_that_worked()
    switch = next(one.work.switches for one in loop.loops.values() if one.work.switches)[0]
    loop.loops["a"].work.switches[:] = [switch] * (MOST_SWITCHES + 7)
    records = decode(encode(take_counters(loop), worker="w"), policy="p", run="r", kind="stream", batch=0)
    verdicts = [record for record in records if isinstance(record, VerdictGiven) and record.worker == "w a"]
    assert len(verdicts) == MOST_SWITCHES
    assert by_stream(records)["a"].omitted_switches == 7
