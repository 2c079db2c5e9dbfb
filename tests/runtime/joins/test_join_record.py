"""The work of a join is encoded as text and decoded to the event records that the loop itself would give."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from thalweg.events import JoinObserved, Origin, Record, Switched, VerdictGiven, from_json, to_json
from thalweg.events.parts import ChainCounts, InForceCounts, MatchCounts, StreamCounts, TrialCounts
from thalweg.kernels.salt import NO_SALT
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.runtime.filters.work_record import MOST_SWITCHES
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_loop import JoinLoop
from thalweg.runtime.joins.join_options import JoinOptions
from thalweg.runtime.joins.join_record import counted_elsewhere, decode, encode, observed, records_of, take_counters

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
    return {record.alias: record for record in records if isinstance(record, JoinObserved)}


@pytest.mark.parametrize("rounds", [0, 1, 6])
def test_the_text_says_what_the_records_say(rounds: int) -> None:
    origin = Origin("r", "stream", 7, "bucket 3", "a-greedy")
    records = records_of(take_counters(loop_that_worked(rounds, slice_rows=16)), origin)
    text = encode(take_counters(loop_that_worked(rounds, slice_rows=16)), worker="bucket 3", task=None)
    assert decode(text, run="r", kind="stream", batch=7, policy="a-greedy", query_name=None) == records
    assert rounds < 6 or any(isinstance(record, VerdictGiven) for record in records)


def test_the_records_are_what_the_loop_counted() -> None:
    loop = loop_that_worked()
    held = {alias: (len(store), store.nbytes) for alias, store in loop.stores.items()}
    looked = {alias: chain.looked for alias, chain in loop.chains.items()}
    counts = copy.deepcopy(loop.counts)
    works = {alias: copy.deepcopy(one.work) for alias, one in loop.loops.items()}
    text = encode(take_counters(loop), worker="bucket 3")
    seen = by_stream(decode(text, policy="a-greedy", run="r", kind="stream", batch=7))
    assert list(seen) == ["a", "b", "c"]
    for alias, record in seen.items():
        assert (record.origin.run, record.origin.kind, record.origin.batch, record.origin.worker) == (
            "r",
            "stream",
            7,
            "bucket 3",
        )
        assert (record.origin.policy, record.others) == ("a-greedy", tuple("abc".replace(alias, "")))
        assert (record.window.rows, record.window.bytes) == held[alias]
        assert record.window.watermark == loop.watermarks.streams[alias]
        assert (record.probes, record.in_force) == (works[alias].chain, works[alias].in_force)
        assert (record.probes.kept, record.matches.results) == (works[alias].chain.kept, counts[alias].matches.results)
        assert (record.in_force.rows, record.in_force.switched) == (
            works[alias].in_force.rows,
            bool(works[alias].switches),
        )
        assert record.matches.limit == loop.options.limits.max_matches
        assert record.matches.looked == looked[alias] + counts[alias].matches.looked
        assert record.times.total_ns == works[alias].times.total_ns + counts[alias].times.total_ns
    assert sum(record.matches.results for record in seen.values()) > 0
    assert min(sum(looked.values()), sum(count.matches.looked for count in counts.values())) > 0
    assert [
        (seen[s].stream.rows, seen[s].stream.late, seen[s].stream.no_time, seen[s].stream.no_key) for s in "ab"
    ] == [
        (1803, 1, 1, 1),  # three more: of time 0 after the watermark, of no key, of no time
        (1800, 0, 0, 0),
    ]
    assert seen["a"].stream.most_late == 79  # the round before went up to 79
    assert seen["a"].matches.most_matches > 0
    assert seen["a"].matches.hottest.startswith("k=")


def test_what_is_told_is_told_once_but_for_what_is_so_far() -> None:
    loop = loop_that_worked()
    first = by_stream(decode(encode(take_counters(loop), worker="w"), policy="p", run="r", kind="stream", batch=0))
    again = by_stream(decode(encode(take_counters(loop), worker="w"), policy="p", run="r", kind="stream", batch=1))
    for alias, record in again.items():
        before = first[alias]
        nothing = JoinObserved(
            Origin("r", "stream", 1, "w", "p"), alias, before.others, before.order,
            stream=StreamCounts(tick_ns=before.stream.tick_ns),
            matches=MatchCounts(
                most_matches=before.matches.most_matches, hottest=before.matches.hottest, limit=before.matches.limit,
                sampled=[0, 0], partners=[0, 0], partnered=[0, 0],
            ),
            window=replace(before.window, expired=0), probes=ChainCounts.none(2),
            in_force=replace(InForceCounts.none(2), standing=before.in_force.standing),
        )  # fmt: skip
        assert before.window.rows > 0
        assert record == nothing


def test_trials_and_why_an_order_is_kept_travel_with_the_stream() -> None:
    loop = loop_that_worked()
    work = loop.loops["b"].work
    work.trials = TrialCounts(2, 64, 900, 5)
    loop.loops["b"].policy.standing = "held back"
    loop.counts["b"].times.compiling_ns, work.times.compiling_ns = 30, 4
    seen = by_stream(decode(encode(take_counters(loop), worker="w"), policy="p", run="r", kind="stream", batch=0))
    assert seen["b"].trials == TrialCounts(2, 64, 900, 5)
    assert (seen["b"].in_force.standing, seen["b"].times.compiling_ns) == ("held back", 34)
    assert seen["a"].trials == TrialCounts()
    assert (seen["a"].in_force.standing, seen["a"].times.compiling_ns) == ("", 0)


def test_who_did_it_for_whom_travels_along() -> None:
    task = {"task": [3, 17], "query": "q", "start": "s", "batch": 12}
    text = encode(take_counters(loop_that_worked(slice_rows=16)), worker="bucket 3", task=task)
    assert json.loads(text)["task"] == [3, 17]  # distinguishes attempts of a task, before this is decoded
    for record in decode(text, policy="p", run="r", kind="stream", batch=None, query_name="orders"):
        assert (record.origin.query, record.origin.start, record.origin.batch) == ("q", "s", 12)
        if isinstance(record, JoinObserved):
            assert (record.origin.query_name, record.origin.worker) == ("orders", "bucket 3")
        else:
            assert isinstance(record, VerdictGiven | Switched)
            assert record.origin.worker in ("bucket 3 a", "bucket 3 b", "bucket 3 c")
    assert {record.origin.batch for record in decode(text, policy="p", run="r", kind="stream", batch=4)} == {4}


def test_what_only_a_carrier_knows_is_added_by_stream() -> None:
    taken = take_counters(loop_that_worked())
    one, other, _ = observed(taken)
    one.stream.replicated, one.window.state_bytes, one.window.state_chunks, one.window.reloaded = True, 999, 4, 3
    other.window.watermark = 0
    seen = by_stream(decode(encode(taken, worker="w"), policy="p", run="r", kind="stream", batch=0))
    window = seen["a"].window
    assert (seen["a"].stream.replicated, window.state_bytes, window.state_chunks, window.reloaded) == (True, 999, 4, 3)
    assert (seen["b"].window.watermark, seen["b"].stream.replicated, seen["b"].stream.rows) == (0, False, 1800)
    assert (seen["c"].window.state_bytes, seen["c"].stream.replicated) == (0, False)


def test_rows_that_another_bucket_counts_are_left_out() -> None:
    taken = take_counters(loop_that_worked())
    left = {record.alias: record for record in observed(counted_elsewhere(taken, ["b"]))}
    before = {record.alias: record for record in observed(taken)}
    assert left["b"].stream == StreamCounts()
    assert left == {**before, "b": replace(before["b"], stream=StreamCounts())}
    assert before["b"].stream.rows == 1800


def test_rows_further_in_the_future_than_is_believed_are_told() -> None:
    loop = loop_that_worked(0)
    loop.watermarks.bound = 100
    list(loop.process("a", pa.record_batch([[1, 2, 3], [100, 101, 10**6]], schema=SCHEMA)))
    seen = by_stream(decode(encode(take_counters(loop), worker="w"), policy="p", run="r", kind="stream", batch=0))
    assert [record.stream.ahead for record in seen.values()] == [2, 0, 0]


def test_watermarks_of_empty_and_ended_streams_are_none() -> None:
    loop = loop_that_worked(0)
    seen = by_stream(decode(encode(take_counters(loop), worker="w"), policy="p", run="r", kind="stream", batch=0))
    assert [record.window.watermark for record in seen.values()] == [None] * 3
    list(loop.process("a", pa.record_batch([[1], [0]], schema=SCHEMA)))
    loop.watermarks.ended("b")
    loop.end_round()
    seen = by_stream(decode(encode(take_counters(loop), worker="w"), policy="p", run="r", kind="stream", batch=1))
    assert [record.window.watermark for record in seen.values()] == [0, None, None]


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
    assert [record.stream.tick_ns for record in by_stream(records).values()] == [tick_ns, tick_ns]
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
    verdicts = [record for record in records if isinstance(record, VerdictGiven) and record.origin.worker == "w a"]
    assert len(verdicts) == MOST_SWITCHES
    assert by_stream(records)["a"].omitted_switches == 7
