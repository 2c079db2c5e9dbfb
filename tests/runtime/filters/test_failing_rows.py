"""Rows on which predicates raise: the same rows fail, by the same predicates, in any order of evaluation."""

from __future__ import annotations

import gc
import itertools
import json
import re
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thalweg as tw
from tests.runtime.filters.outcomes import Outcomes, outcomes
from tests.runtime.filters.scripted import Scripted
from thalweg.adapt import POLICIES, ProfilingRequest, setting_names
from thalweg.events import read
from thalweg.kernels import FilterChain
from thalweg.plan import FilterPlan, Pipeline
from thalweg.report import fold
from thalweg.runtime.filters.filter_loop import FilterLoop

slices = st.sampled_from([1, 2, 3, 7, 1024])
seeds = st.integers(0, 2**32)


def cut(rows: int, cuts: set[int]) -> list[pa.RecordBatch]:
    batch = pa.RecordBatch.from_arrays([pa.array(range(rows), pa.int64())], ["row"])
    return [batch.slice(a, b - a) for a, b in itertools.pairwise([0, *sorted(c for c in cuts if c < rows), rows])]


@settings(max_examples=300)
@given(
    case=outcomes(),
    seed=seeds,
    p=st.sampled_from([0.0, 0.3, 1.0]),
    restless=st.sampled_from([0.1, 1.0]),
    slice_rows=slices,
    cuts=st.sets(st.integers(0, 40), max_size=4),
)
def test_any_schedule_of_switches_against_brute_force(
    case: Outcomes, seed: int, p: float, restless: float, slice_rows: int, cuts: set[int]
) -> None:
    policy = Scripted(case.pipeline, seed, p, restless)
    chain = FilterChain(case.plan, lambda: 0)
    loop = FilterLoop(chain, policy, np.random.default_rng(seed), slice_rows, dead_letter=True)
    got: list[Any] = []
    for batch in cut(len(case.table), cuts):
        fates: list[Any] = loop.process(batch).tolist()
        for failure in loop.take_failures():
            assert fates[failure.row] is False, "a row that fails does not pass"
            fates[failure.row] = list(failure.raised)
        got += fates
    assert got == [case.fate(row) for row in range(len(case.table))]
    assert all(case.may_be_called(row, k) for k, row in case.seen), "called where a guard is not known to be true"
    work = loop.work
    assert (work.chain.rows, work.chain.kept, work.calls.failed) == (
        len(got),
        got.count(True),
        sum(isinstance(f, list) for f in got),
    )
    for k in range(len(case.pipeline)):
        assert 0 <= work.calls.raised[k] <= work.chain.passed[k] <= work.chain.evaluated[k] <= work.chain.rows
        assert work.calls.raised[k] >= sum((case.pipeline.names[k] in dict(f)) for f in got if isinstance(f, list))


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=25)
@given(case=outcomes(), seed=seeds, slice_rows=slices)
def test_every_policy_sets_the_same_rows_aside(policy: str, case: Outcomes, seed: int, slice_rows: int) -> None:
    settings = {"p": 1.0} if "p" in setting_names(policy) else {}
    keep = tw.filters(
        *case.predicates, policy=tw.policy(policy, **settings), slice_rows=slice_rows, seed=seed, on_error="dead-letter"
    )  # fmt: skip
    batches = cut(len(case.table), {7, 20})
    fates = {row: case.fate(row) for row in range(len(case.table))}
    errors_by_row = {
        row: [{"predicate": n, "error": e} for n, e in f] for row, f in fates.items() if isinstance(f, list)
    }
    passing = [row for row, f in fates.items() if f is True]
    assert [r["row"] for b in keep.over(batches) for r in b.to_pylist()] == passing
    tagged = [r for b in keep.tagged_over(batches) for r in b.to_pylist()]
    assert tagged == [{"row": r, "thalweg_errors": errors_by_row.get(r)} for r, f in fates.items() if f is not False]
    failed = [r for b in keep.failed_over(batches, column="why") for r in b.to_pylist()]
    assert failed == [{"row": row, "why": errors} for row, errors in errors_by_row.items()]


@settings(max_examples=100)
@given(case=outcomes(), seed=seeds, slice_rows=slices, restless=st.sampled_from([0.1, 1.0]))
def test_the_query_fails_at_the_first_row_that_fails(
    case: Outcomes, seed: int, slice_rows: int, restless: float
) -> None:
    policy = Scripted(case.pipeline, seed, 0.5, restless)
    loop = FilterLoop(FilterChain(case.plan, lambda: 0), policy, np.random.default_rng(seed), slice_rows)
    fates = [case.fate(row) for row in range(len(case.table))]
    first = next((row for row, fate in enumerate(fates) if isinstance(fate, list)), None)
    batches = cut(len(fates), {11, 30})
    if first is None:
        assert [bit for batch in batches for bit in loop.process(batch).tolist()] == fates
        return
    with pytest.raises(tw.FailedRowError) as caught:
        list(map(loop.process, batches))
    raised = fates[first]
    assert isinstance(raised, list)
    what = "; ".join(f"predicate {name!r} raised {text} (AT)" for name, text in raised)
    where = f"This is row {first} (from 0) of the input, which no predicate drops; values: row={first}. "
    assert re.sub(r"outcomes\.py:\d+ in passes", "AT", str(caught.value)).startswith(f"{what}. {where}")
    assert isinstance(caught.value.__cause__, ValueError)


ROWS = pa.table({"id": range(6), "text": ["7", "x", None, "12", "y", "3"], "blob": ["b" * 10**5] * 6})


def parse(text: str) -> bool:
    return int(text) > 5


def not_fourth(i: int) -> bool:
    return i != 4


def filters(**options: Any) -> tw.Filters:
    return tw.filters(
        tw.predicate(parse, "text"),
        tw.predicate(not_fourth, "id"),
        tw.predicate(lambda t, b: t.upper() != "", "text", "blob", name="upper"),
        **options,
    )


def test_the_error_names_predicates_row_values_and_remedy() -> None:
    rows = ROWS.slice(2, 1)
    with pytest.raises(tw.FailedRowError) as caught:
        list(filters().over(rows))
    said = str(caught.value)
    for word in ("'parse' raised TypeError", "'upper' raised AttributeError: 'NoneType'", "row 0 (from 0) of the input",
                 "text=None", "after=", 'on_error="dead-letter"', "(100,002 characters)"):  # fmt: skip
        assert word in said
    assert len(said) < 1500, "a long value is cut"
    assert "id=" not in said, "no failing predicate reads it"
    assert caught.value.__cause__ is not None
    assert caught.value.__cause__.__traceback__ is not None, "where in the predicate it was raised"


def test_a_row_dropped_by_another_predicate_fails_nothing() -> None:
    keep = tw.filters(tw.predicate(parse, "text"), tw.predicate(not_fourth, "id"), policy="static")
    assert [b.num_rows for b in keep.over(ROWS.take([0, 3, 4, 5]))] == [2]
    (section,) = keep.report().sections
    assert section.calls.failed == 0
    assert {p.name: p.raised for p in section.predicates} == {"parse": 1, "not_fourth": 0}


def test_redacted_errors_tell_no_value_and_no_message() -> None:
    with pytest.raises(tw.FailedRowError) as caught:
        list(filters(redact=True).over(ROWS))
    said = str(caught.value)
    assert re.search(
        r"predicate 'parse' raised ValueError \(test_failing_rows.py:\d+ in parse\)\. This is row 1 \(from 0\)", said
    )
    assert "values: redacted" in said
    assert "'x'" not in said
    assert "literal" not in said
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    (batch,) = filters(redact=True, on_error="dead-letter").failed_over(ROWS)
    assert batch["thalweg_errors"].to_pylist() == [
        [{"predicate": "parse", "error": "ValueError"}],
        [{"predicate": "parse", "error": "TypeError"}, {"predicate": "upper", "error": "AttributeError"}],
    ]


def test_nothing_is_lost_and_the_counts_are_in_report_and_events(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    keep = filters(on_error="dead-letter", policy="static", events=path)
    (batch,) = keep.tagged_over(ROWS)
    kept, failed = batch.filter(pc.is_null(batch["thalweg_errors"])), batch.filter(pc.is_valid(batch["thalweg_errors"]))
    assert kept["id"].to_pylist() == [0, 3]
    assert failed["id"].to_pylist() == [1, 2]
    assert failed.select(ROWS.schema.names).to_pylist() == ROWS.slice(1, 2).to_pylist()
    (section,) = keep.report().sections
    assert (section.rows, section.kept, section.calls.failed) == (6, 2, 2)
    assert {p.name: p.raised for p in section.predicates} == {"parse": 3, "not_fourth": 0, "upper": 1}
    assert "a predicate raised on 2 rows that no other predicate dropped" in str(keep.report())
    assert fold(read(path)).to_dict() == keep.report().to_dict()
    (line,) = path.read_text().splitlines()
    assert (json.loads(line)["calls"]["failed"], json.loads(line)["calls"]["raised"]) == (2, [3, 0, 1])


def test_what_a_guard_that_raises_guards_is_not_called() -> None:
    called: list[int] = []

    def noted(i: int) -> bool:
        called.append(i)
        return True

    keep = tw.filters(
        tw.predicate(parse, "text"),
        tw.predicate(noted, "id", name="guarded", after="parse"),
        tw.predicate(noted, "id", name="twice", after="guarded"),
        on_error="dead-letter",
        policy="static",
    )
    errors = [r["thalweg_errors"] for b in keep.failed_over(ROWS) for r in b.to_pylist()]
    assert [[e["predicate"] for e in row] for row in errors] == [["parse"]] * 3
    assert called == [0, 3, 0, 3]
    section = keep.report().sections[0]
    assert [(p.evaluated, p.passed) for p in section.predicates] == [(6, 5), (2, 2), (2, 2)]


@pytest.mark.parametrize("raises_first", [True, False], ids=["raised in work", "raised in profiling"])
def test_profiling_calls_nothing_after_a_guard_that_raises(raises_first: bool) -> None:
    """Row 1: the guard raises; another predicate, before or after it, drops the row; then the row is profiled."""
    called: list[int] = []

    def noted(i: int) -> bool:
        called.append(i)
        return True

    guard = tw.predicate(lambda i: 1 / (i - 1), "id", name="guard")
    drops = tw.predicate(lambda i: False, "id", name="drops")
    guarded = tw.predicate(noted, "id", name="guarded", after="guard")
    plan = FilterPlan((guard, drops, guarded) if raises_first else (drops, guard, guarded))
    policy = Scripted(plan.pipeline, 1, p=1.0, restless=0.0)
    policy.order, policy._wants = (0, 1, 2), ProfilingRequest(1.0, np.ones((3, 3), dtype=bool))
    loop = FilterLoop(FilterChain(plan, lambda: 0), policy, np.random.default_rng(1), slice_rows=1)
    assert not loop.process(pa.RecordBatch.from_pydict({"id": range(6)})).any()
    assert called == [0, 2, 3, 4, 5]


@pytest.mark.parametrize("ask", ["tagged_over", "failed_over"])
def test_failures_are_asked_for_only_where_they_are_set_aside(ask: str) -> None:
    with pytest.raises(tw.PlanError, match=r"on_error='raise': use on_error=\"dead-letter\""):
        getattr(filters(), ask)(ROWS)
    keep = filters(on_error="dead-letter")
    with pytest.raises(tw.PlanError, match="column 'TEXT' already exists: choose another name"):
        getattr(keep, ask)(ROWS, column="TEXT")
    with pytest.raises(tw.PlanError, match="column 'text' already exists"):
        list(getattr(keep, ask)(iter(ROWS.to_batches()), column="text"))
    with pytest.raises(tw.PlanError, match="column='': must be the name"):
        getattr(keep, ask)(ROWS, column="")


def test_an_interruption_is_no_failure_of_a_row() -> None:
    def interrupted(text: str | None) -> None:
        raise KeyboardInterrupt

    keep = tw.filters(tw.predicate(interrupted, "text"), on_error="dead-letter")
    with pytest.raises(KeyboardInterrupt):
        list(keep.over(ROWS))


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (UnprintableError(), "UnprintableError: its message is not available, because str() of it failed"),
        (ValueError("half \ud800 a pair"), "ValueError: half ? a pair"),
        (KeyError(), "KeyError"),
        (ValueError("x" * 5000), "ValueError: " + "x" * 988 + "... (5,012 characters)"),
        (RecursionError("deep"), "RecursionError: deep"),
        (MemoryError(), "MemoryError"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_any_exception_can_be_told(error: Exception, text: str) -> None:
    def raises(i: int) -> None:
        raise error

    keep = tw.filters(tw.predicate(raises, "id"), on_error="dead-letter")
    (batch,) = keep.failed_over(ROWS.slice(0, 1))
    assert batch["thalweg_errors"].to_pylist() == [[{"predicate": "raises", "error": text}]]


def test_what_raised_does_not_hold_its_rows_for_long() -> None:
    class Value:
        pass

    held: list[weakref.ref[Value]] = []

    def raises(i: Any) -> None:
        value = Value()
        held.append(weakref.ref(value))
        raise ValueError(i)

    for vectorized in (False, True):
        keep = tw.filters(tw.predicate(raises, "id", vectorized=vectorized), on_error="dead-letter")
        gc.disable()
        try:
            assert sum(batch.num_rows for batch in keep.failed_over(ROWS)) == 6
            assert [ref() for ref in held if ref() is not None] == [], "frames live on until the collector comes"
        finally:
            gc.enable()


def test_a_slice_that_raises_is_not_split_further_than_needed() -> None:
    case = Outcomes(["T"] * 500 + ["E"] + ["T"] * 523, Pipeline(("only",)), [True])
    keep = tw.filters(*case.predicates, on_error="dead-letter", slice_rows=1024)
    (batch,) = keep.failed_over(pa.table({"row": range(1024)}))
    assert batch["row"].to_pylist() == [500]
    (section,) = keep.report().sections
    assert [(p.evaluated, p.raised) for p in section.predicates] == [(1024, 1)], "calls made again are no evaluations"
