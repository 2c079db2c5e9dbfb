"""The order of native predicates, from outcomes of sampled rows; no Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plan.filters.native_texts import native
from thalweg.cost import order_cost
from thalweg.events import JsonLines, Origin
from thalweg.plan import FilterPlan, NativePlan
from thalweg.runtime.filters.native_order import CALM, EVERY, REMEMBERED, NativeOrder


def natives(*texts: str, after: dict[int, str] | None = None) -> NativePlan:
    guards = after or {}
    named = (native(t, "abcdef"[k], *([guards[k]] if k in guards else [])) for k, t in enumerate(texts))
    return FilterPlan.of(tuple(named)).native


REGEX = "rlike(line, 'x')"
JSON = "=(get_json_object(t, '$.a'), 'x')"


def test_before_anything_was_sampled_cheap_kinds_come_first() -> None:
    order = NativeOrder(natives(JSON, REGEX, ">(size, 1)", "like(t, 'x%')", "isNull(t)"))
    assert order.decide(adapts=True).order == (2, 4, 3, 1, 0)


def test_a_policy_that_does_not_learn_keeps_the_written_order() -> None:
    order = NativeOrder(natives(JSON, REGEX, ">(size, 1)"))
    order.learn({0b001: 1000.0})
    ordered = order.decide(adapts=False)
    assert (ordered.order, ordered.before) == ((0, 1, 2), (0, 1, 2))


def test_the_one_that_drops_most_per_cost_comes_first() -> None:
    order = NativeOrder(natives(REGEX, REGEX, JSON))
    order.learn({0b010: 90.0, 0b101: 10.0})
    ordered = order.decide(adapts=True)
    assert (ordered.order, ordered.before) == ((1, 0, 2), (0, 1, 2))
    assert ordered.reason == "b drops 90.0 % of 100 sampled rows at cost 50; a row costs 55.0 instead of 95.0"
    again = order.decide(adapts=True)
    assert again.order == again.before == (1, 0, 2)


def test_correlation_counts() -> None:
    # a and b drop the same rows, c drops the others: after a, b is worth nothing though it drops more than c alone
    order = NativeOrder(natives(REGEX, REGEX, REGEX))
    order.learn({0b011: 59.0, 0b001: 1.0, 0b100: 40.0})
    assert order.decide(adapts=True).order == (0, 2, 1)


def test_a_small_sample_and_a_small_gain_change_nothing() -> None:
    order = NativeOrder(natives(REGEX, REGEX))
    order.learn({0b10: 20.0})
    assert order.decide(adapts=True).order == (0, 1)
    order.learn({0b10: 515.0, 0b01: 500.0})
    assert order.decide(adapts=True).order == (0, 1)


def test_what_is_new_outweighs_what_is_old() -> None:
    order = NativeOrder(natives(REGEX, REGEX))
    order.learn({0b10: 100_000.0})
    assert order.decide(adapts=True).order == (1, 0)
    order.learn({0b01: 2.0 * REMEMBERED})
    assert order.decide(adapts=True).order == (0, 1)


@given(st.dictionaries(st.integers(0, 31), st.integers(1, 500), min_size=1))
def test_guards_hold_and_the_order_is_not_worse_than_by_kind(outcomes: dict[int, int]) -> None:
    plan = natives(REGEX, JSON, "like(t, 'x')", REGEX, ">(CAST(t AS INT), 5)", after={0: "b"})
    order = NativeOrder(plan)
    first = order.decide(adapts=True).order
    order.learn({mask: float(n) for mask, n in outcomes.items()})
    ordered = order.decide(adapts=True)
    assert plan.pipeline.respects(ordered.order)
    import numpy as np

    dropped = np.array([[bool(mask >> k & 1) for k in range(5)] for mask in outcomes])
    weights = np.array([float(n) for n in outcomes.values()])
    assert order_cost(ordered.order, dropped, order.costs, weights) <= order_cost(first, dropped, order.costs, weights)


def test_while_the_order_stands_only_some_queries_are_sampled() -> None:
    order = NativeOrder(natives(REGEX, REGEX))
    assert all(order.decide(adapts=True).sampled for _ in range(3 * EVERY)), "too few rows are remembered to be calm"
    order.learn({0b10: float(REMEMBERED)})
    again = [order.decide(adapts=True).sampled for _ in range(1 + CALM + 4 * EVERY)]
    assert all(again[: 1 + CALM]), "the order has just changed"
    assert sum(again[1 + CALM :]) == 4
    order.learn({0b01: 2.0 * REMEMBERED})
    assert all(order.decide(adapts=True).sampled for _ in range(1 + CALM)), "it has changed again"
    assert not order.decide(adapts=False).sampled


@pytest.mark.parametrize(
    ("texts", "after", "worth"),
    [
        ([REGEX], {}, False), ([REGEX, ">(size, 1)"], {}, False), ([REGEX, JSON], {}, True),
        ([REGEX, JSON], {1: "a"}, False), ([REGEX, ">(CAST(t AS INT), 5)"], {}, False),
        ([REGEX, JSON, REGEX], {1: "a", 2: "b"}, False), ([REGEX, JSON, REGEX], {1: "a"}, True),
    ],
)  # fmt: skip
def test_rows_are_sampled_only_where_two_could_change_places(
    texts: list[str], after: dict[int, str], worth: bool
) -> None:
    assert NativeOrder(natives(*texts, after=after)).worth_sampling is worth


def test_a_record_is_recalled_once_by_the_same_expressions(tmp_path: Path) -> None:
    plan = natives(REGEX, JSON, ">(size, 1)", after={1: "a"})
    order = NativeOrder(plan)
    origin = Origin("r", "batch", policy="a-greedy")
    record = order.record(origin, ("f",), order.decide(True), {0: 5.0, 0b01: 60.0, 0b10: 35.0})
    assert (record.counts.tested, record.counts.passed) == ([100, 40, 0], [40, 5, 0])
    assert record.order == ("c", "a", "b")
    path = tmp_path / "events.jsonl"
    JsonLines(path).write(record)
    with path.open("a") as out:
        out.write(f"no record, but with {plan.fingerprint} in it\n")
    same, other = NativeOrder(natives(REGEX, JSON, ">(size, 1)", after={1: "a"})), NativeOrder(natives(REGEX, JSON))
    for _ in range(2):
        same.recall(path)
        other.recall(path)
    assert same._weights == {0: 5.0, 1: 60.0, 2: 35.0}
    assert other._weights == {}
    same.recall(tmp_path / "not there")


def test_a_micro_batch_that_was_run_again_is_recalled_once(tmp_path: Path) -> None:
    order = NativeOrder(natives(REGEX, JSON))
    decided, file = order.decide(True), JsonLines(tmp_path / "events.jsonl")
    for start, batch, rows in (("first", 0, 10.0), ("first", 1, 20.0), ("again", 1, 30.0)):
        origin = Origin("r", "stream", batch, policy="auto", query="query", start=start)
        file.write(order.record(origin, (), decided, {1: rows}))
    later = NativeOrder(natives(REGEX, JSON))
    later.recall(file.path)
    assert later._weights == {1: 40.0}
