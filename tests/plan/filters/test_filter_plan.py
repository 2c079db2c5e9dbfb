from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from typing import Any

import pytest

from thalweg import PlanError, predicate
from thalweg.plan import FilterPlan


def always(*values: object) -> bool:
    return True


def plan(*predicates: Any) -> FilterPlan:
    return FilterPlan(tuple(predicates))


def named(name: str, *after: str) -> Any:
    return predicate(always, "x", name=name, after=after)


def refusal(*predicates: Any) -> str:
    with pytest.raises(PlanError) as caught:
        plan(*predicates)
    return str(caught.value)


def test_an_empty_conjunction_is_refused() -> None:
    assert "at least one tw.predicate(" in refusal()


def test_a_plain_function_is_refused_with_the_remedy() -> None:
    said = refusal(always)
    assert "always" in said
    assert "tw.predicate(" in said


def test_two_predicates_with_the_same_name_are_refused() -> None:
    said = refusal(named("a"), named("b"), named("a"))
    assert "'a'" in said
    assert "name=" in said


def test_the_error_for_an_unknown_guard_suggests_the_nearest() -> None:
    said = refusal(named("not_null"), named("parses", "not_nul"))
    assert all(word in said for word in ("'parses'", "'not_nul'", "did you mean 'not_null'"))


def test_the_error_for_an_unknown_guard_lists_all_names() -> None:
    said = refusal(named("not_null"), named("parses", "xyz"))
    assert all(word in said for word in ("'parses'", "'xyz'", "not_null"))


@pytest.mark.parametrize(
    "predicates",
    [
        [named("a", "a")],
        [named("a", "b"), named("b", "a")],
        [named("a", "c"), named("b", "a"), named("c", "b")],
    ],
)
def test_a_cycle_of_guards_is_refused_with_the_remedy(predicates: list[Any]) -> None:
    said = refusal(*predicates)
    assert "wait for each other" in said
    assert all(p.name in said for p in predicates)
    assert "after=" in said


def test_a_predicate_that_only_waits_for_a_cycle_is_not_named() -> None:
    said = refusal(named("alpha", "beta"), named("beta", "alpha"), named("gamma", "alpha"), named("delta"))
    assert "alpha" in said
    assert "beta" in said
    assert "gamma" not in said
    assert "delta" not in said


def test_columns_are_listed_once_in_the_order_of_first_use() -> None:
    chain = plan(predicate(always, "b", "a", name="p"), predicate(always, "a", "c", name="q"))
    assert chain.columns == ("b", "a", "c")


def test_a_guard_named_twice_counts_once() -> None:
    assert plan(named("a"), named("b", "a", "a")).pipeline.guards == ((), (0,))


def test_the_pipeline_knows_what_may_not_be_profiled() -> None:
    chain = plan(named("a"), predicate(always, "x", name="b", profile=False))
    assert chain.pipeline.profiled == (True, False)


def test_different_structures_have_different_fingerprints() -> None:
    base = predicate(always, "x", name="a")
    unlike = [
        base,
        dataclasses.replace(base, name="b"),
        dataclasses.replace(base, columns=("y",)),
        dataclasses.replace(base, columns=("x", "y")),
        dataclasses.replace(base, vectorized=True),
        dataclasses.replace(base, profile=False),
        dataclasses.replace(base, setup=dict),
        dataclasses.replace(base, func=str.isdigit),
    ]
    assert len({plan(p).fingerprint for p in unlike}) == len(unlike)
    assert plan(named("a"), named("b")).fingerprint != plan(named("b"), named("a")).fingerprint
    assert plan(named("a"), named("b", "a")).fingerprint != plan(named("a"), named("b")).fingerprint


def test_the_fingerprint_is_the_same_in_every_process() -> None:
    code = (
        "from thalweg import predicate; from thalweg.plan import FilterPlan; "
        "print(FilterPlan((predicate(str.startswith, 'x', 'y'), predicate(len, 'x', after='startswith'))).fingerprint)"
    )
    here = plan(predicate(str.startswith, "x", "y"), predicate(len, "x", after="startswith")).fingerprint
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, env=environment
        )
        assert done.stdout.strip() == here
