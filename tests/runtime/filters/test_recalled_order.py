"""A restarted query begins with the order and the costs in the event records of an earlier run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import thalweg as tw
from tests.kernels.watched import Watched
from tests.report.test_report import observed
from thalweg.adapt import POLICIES, make_policy
from thalweg.events import Observed, read, to_json
from thalweg.plan import Pipeline
from thalweg.runtime.filters import recalled_order as module
from thalweg.runtime.filters.filter_loop import FilterLoop
from thalweg.runtime.filters.recalled_order import RecalledOrder, recalled
from thalweg.runtime.local import filters as local_filters

TABLE = pa.table({"x": range(30_000)})
SLICE = 1000
WITHOUT_AN_ORDER = ("eddy", "eddy-cbr")
WITH_AN_ORDER = [policy for policy in POLICIES if policy not in WITHOUT_AN_ORDER]
ANSWER = [x for x in range(30_000) if x % 2 == 0 and x % 3 == 0 and x % 50 == 0]


class Clock:
    """A clock that only predicates move, so that costs do not depend on what else the machine does."""

    ns = 0

    def __call__(self) -> int:
        return Clock.ns


@pytest.fixture(autouse=True)
def clock_of_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_filters, "WorkingClock", Clock)
    monkeypatch.setattr(local_filters, "time", SimpleNamespace(thread_time_ns=Clock()))


class Calls:
    """Predicates that note, call by call, on how many rows they were called."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []

    def multiple(self, k: int, name: str, after: str | tuple[str, ...] = ()) -> tw.Predicate:
        def test(x: pa.Array) -> np.ndarray:
            self.calls.append((name, len(x)))
            Clock.ns += 1000 + (20 if name == "rare" else 200) * len(x)
            values: NDArray[np.int64] = x.to_numpy()
            found: NDArray[np.bool_] = values % k == 0
            return found

        return tw.predicate(test, "x", name=name, vectorized=True, after=after)

    def filters(self, path: Path | None, policy: str = "a-greedy", **settings: Any) -> tw.Filters:
        chosen = [self.multiple(2, "even"), self.multiple(3, "third"), self.multiple(50, "rare")]
        given = tw.policy(policy, p=0.5) if policy == "a-greedy" else policy
        return tw.filters(*chosen, policy=given, events=path, seed=1, slice_rows=SLICE, **settings)


def run(keep: tw.Filters) -> list[int]:
    return [x for batch in keep.over(TABLE) for x in batch.column("x").to_pylist()]


def first_call(calls: Calls) -> tuple[str, int]:
    return calls.calls[0]


@pytest.mark.parametrize("again", ["the same filter set", "another one", "written in another order"])
def test_a_second_run_starts_in_the_learned_order(again: str, tmp_path: Path) -> None:
    calls = Calls()
    keep = calls.filters(tmp_path / "events.jsonl")
    assert run(keep) == ANSWER
    assert first_call(calls) == ("even", SLICE)
    learned = keep.report().sections[-1].order
    assert learned[0] == "rare"
    calls.calls.clear()
    if again == "another one":
        keep = calls.filters(tmp_path / "events.jsonl")
    elif again != "the same filter set":
        chosen = [calls.multiple(3, "third"), calls.multiple(50, "rare"), calls.multiple(2, "even")]
        keep = tw.filters(*chosen, policy="a-greedy(p=0.5)", events=tmp_path / "events.jsonl", seed=1, slice_rows=SLICE)
    assert run(keep) == ANSWER
    assert first_call(calls) == ("rare", SLICE)
    assert keep.report().sections[-1].switch_count == 0


def test_without_the_file_every_run_learns_from_zero(tmp_path: Path) -> None:
    calls = Calls()
    run(calls.filters(tmp_path / "events.jsonl"))
    calls.calls.clear()
    run(calls.filters(None))
    assert first_call(calls) == ("even", SLICE)


@pytest.mark.parametrize("policy", WITH_AN_ORDER)
def test_every_policy_except_static_starts_there(policy: str, tmp_path: Path) -> None:
    calls = Calls()
    run(calls.filters(tmp_path / "events.jsonl"))
    calls.calls.clear()
    assert run(calls.filters(tmp_path / "events.jsonl", policy)) == ANSWER
    assert first_call(calls) == ("even" if policy == "static" else "rare", SLICE)


@pytest.mark.parametrize("policy", ["static", *WITHOUT_AN_ORDER])
def test_what_a_run_in_a_fixed_order_wrote_is_passed_over(policy: str, tmp_path: Path) -> None:
    calls = Calls()
    run(calls.filters(tmp_path / "events.jsonl"))
    assert run(calls.filters(tmp_path / "events.jsonl", policy)) == ANSWER
    calls.calls.clear()
    run(calls.filters(tmp_path / "events.jsonl"))
    assert first_call(calls) == ("rare", SLICE)


def test_a_file_of_other_predicates_is_ignored(tmp_path: Path) -> None:
    path, calls = tmp_path / "events.jsonl", Calls()
    run(calls.filters(path))
    calls.calls.clear()
    more = tw.filters(
        calls.multiple(2, "even"), calls.multiple(3, "third"), calls.multiple(50, "rare"), calls.multiple(1, "any"),
        events=path, seed=1, slice_rows=SLICE,
    )  # fmt: skip
    assert run(more) == ANSWER
    assert first_call(calls) == ("even", SLICE)


def test_guards_hold_whatever_the_file_says(tmp_path: Path) -> None:
    path, calls = tmp_path / "events.jsonl", Calls()
    run(calls.filters(path))  # without guards: rare, third, even or so
    calls.calls.clear()
    guarded = tw.filters(
        calls.multiple(2, "even"), calls.multiple(3, "third"), calls.multiple(50, "rare", after="even"),
        policy="a-greedy", events=path, seed=1, slice_rows=SLICE,
    )  # fmt: skip
    assert run(guarded) == ANSWER
    assert first_call(calls) == ("even", SLICE), "the record's order is not possible here"
    assert all(rows <= SLICE // 2 for name, rows in calls.calls if name == "rare")


def test_costs_are_those_of_the_earlier_run_at_first(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(to_json(observed(cost_ns=(250.0, 9.5), fixed_ns=(None, 4000.0))) + "\n")
    pipeline = Pipeline(("b", "a"))
    found = recalled(path, pipeline)
    assert found == RecalledOrder((0, 1), (9.5, 250.0), (4000.0, None))
    for policy in POLICIES:
        watched = Watched(np.zeros((4, 2), bool), pipeline)
        rng = np.random.default_rng(1)
        loop = FilterLoop(watched.chain, make_policy(policy, pipeline, tw.policy(policy).settings, rng), rng)
        loop.recall(found)
        assert loop.cost_ns() == [9.5, 250.0]
        assert [cost.fixed_ns for cost in loop.costs] == [4000.0, 0.0]
        loop.process(watched.batch(range(4)))


def test_records_tell_what_a_call_costs_besides(tmp_path: Path) -> None:
    run(Calls().filters(tmp_path / "events.jsonl"))
    fixed = [record.calls.fixed_ns for record in read(tmp_path / "events.jsonl") if isinstance(record, Observed)]
    assert all(len(each) == 3 for each in fixed)
    assert any(value is not None for each in fixed for value in each)


@pytest.mark.parametrize("policy", WITH_AN_ORDER)
@given(data=st.data())
def test_a_policy_that_begins_elsewhere_works_as_ever(policy: str, data: st.DataObject) -> None:
    """From any order the guards allow: the same rows, and every later order allowed too."""
    pipeline = Pipeline(("a", "b", "c"), guards=((), (), (0,)))
    order = data.draw(st.sampled_from([(0, 1, 2), (0, 2, 1), (1, 0, 2)]))
    drops = np.array(data.draw(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=60)))
    watched, rng = Watched(drops, pipeline), np.random.default_rng(1)
    loop = FilterLoop(watched.chain, make_policy(policy, pipeline, tw.policy(policy).settings, rng), rng, slice_rows=7)
    loop.recall(RecalledOrder(order, (3.0, None, 5.0), (None, None, None)))
    keep = loop.process(watched.batch(range(len(drops))))
    assert keep.tolist() == (~drops.any(axis=1)).tolist()
    assert watched.passes[0][1] == ((0, 1, 2) if policy == "static" else order)
    assert all(pipeline.respects(order) for _, order in watched.passes)


def damaged(line: str, part: str = "", **changes: Any) -> str:
    """The line with other values, of a part or of the record itself."""
    values = json.loads(line)
    return json.dumps(values | ({part: values[part] | changes} if part else changes))


GOOD = to_json(observed())
HOSTILE = {
    "empty": b"",
    "nonsense": b"\x00\xff\xfe\n{{{\n",
    "no utf-8": GOOD.encode().replace(b'"w"', b'"\xff"').replace(b'"order": ["b", "a"]', b'"order": ["b", "\xff"]'),
    "an order that is none": damaged(GOOD, order=["b", "b"]).encode(),
    "an order of others": damaged(GOOD, order=["b", "z"]).encode(),
    "too few costs": damaged(GOOD, "calls", cost_ns=[1.0]).encode(),
    "costs that are text": damaged(GOOD, "calls", cost_ns=["1", "2"]).encode(),
    "nested": b'{"event": "observed", "a": "b", "x": ' + b"[" * 100_000,
    "another event": damaged(GOOD, event="switched").encode(),
    "a list": b'["observed", "a", "b"]',
    "no rows": damaged(GOOD, "chain", rows=0).encode(),
    "cut off": GOOD.encode()[:-40],
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_damaged_file_fails_nothing(what: str, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(HOSTILE[what])
    pipeline = Pipeline(("a", "b"))
    assert recalled(path, pipeline) is None
    path.write_bytes(GOOD.encode() + b"\n" + HOSTILE[what] + b"\n")
    assert recalled(path, pipeline) == RecalledOrder((1, 0), (250.0, None), (None, None)), "what is before it counts"


def test_costs_that_no_predicate_can_have_are_unknown(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(damaged(GOOD, "calls", cost_ns=[0, 1e300], fixed_ns=[1e300, 0]))
    assert recalled(path, Pipeline(("a", "b"))) == RecalledOrder((1, 0), (None, None), (None, 0.0))


def test_what_is_no_file_is_passed_over(tmp_path: Path) -> None:
    pipeline = Pipeline(("a", "b"))
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "missing", tmp_path / "pipe", "a\0b"):
        assert recalled(path, pipeline) is None
    (tmp_path / "secret").write_text(GOOD)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert recalled(tmp_path / "loop", pipeline) is None


def test_of_a_long_file_only_the_end_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, pipeline = tmp_path / "events.jsonl", Pipeline(("a", "b"))
    monkeypatch.setattr(module, "TAIL_BYTES", 4 * len(GOOD))
    other = to_json(observed(predicates=("c", "d"), order=("c", "d")))
    path.write_text("\n".join([GOOD, *[other] * 5]))
    assert recalled(path, pipeline) is None
    path.write_text("\n".join([*[other] * 5, GOOD, other]))
    assert recalled(path, pipeline) is not None
