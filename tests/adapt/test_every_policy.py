"""Every built-in policy passes the checks of `thalweg.testing`, which are run for all of them by discovery."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thalweg as tw
from thalweg.adapt import POLICIES, make_policy
from thalweg.errors import PlanError
from thalweg.plan import Pipeline
from thalweg.testing import assert_policy
from thalweg.testing import policy_checks as checks

each_policy = pytest.mark.parametrize("name", POLICIES)

LEAVES_OUT = {
    "auto": ("trial", "spending"),
    "chart": ("trial", "spending"),
    "mesh": ("trial", "spending"),
    "sweep": ("trial",),
    "duckdb-swap": ("trial",),
}
"""Policies whose snapshots leave out something: the counts of a stage, the times of a trial, what was spent."""
WITHOUT_ORDER = ("eddy", "eddy-cbr")
"""Policies that let every predicate take part in a lottery."""
EXAMPLES = 40
FEW_EXAMPLES = 8
OF_TRIALS = (checks.tries_one_filter_further_forward, checks.tolerates_impossible_costs)
"""Only `auto` has trials and looks at bounds on costs."""


def example_of(name: str, seed: int) -> checks.Example:
    return checks.Example(name, seed, LEAVES_OUT.get(name, ()))


@each_policy
def test_a_policy_is_registered_by_its_own_name(name: str) -> None:
    assert POLICIES[name].name == name
    assert tw.policy(name).settings == POLICIES[name].defaults


@each_policy
@pytest.mark.parametrize("check", checks.ONCE, ids=lambda check: check.__name__)
def test_what_is_checked_once(name: str, check: checks.Check) -> None:
    check(example_of(name, 0))


@each_policy
@pytest.mark.parametrize("check", [*checks.MANY, *checks.FEW], ids=lambda check: check.__name__)
def test_what_is_checked_on_drawn_examples(name: str, check: checks.Check) -> None:
    few = check in checks.FEW or (check in OF_TRIALS and name not in ("auto", "chart"))

    @settings(max_examples=FEW_EXAMPLES if few else EXAMPLES)
    @given(st.integers(0, 2**32))
    def holds(seed: int) -> None:
        check(example_of(name, seed))

    holds()


@each_policy
def test_it_passes_assert_policy(name: str) -> None:
    assert_policy(POLICIES[name], examples=1, seed=7, leaves_out=LEAVES_OUT.get(name, ()))


@pytest.mark.parametrize("name", [name for name in POLICIES if name not in WITHOUT_ORDER])
def test_a_predicate_that_must_not_be_profiled_is_not_called_before_a_row_reaches_it(name: str) -> None:
    calls: list[int] = []
    keep = tw.filters(
        tw.predicate(lambda x: x < 0, "x", name="drops_all"),
        tw.predicate(calls.append, "x", name="paid", profile=False),
        tw.predicate(lambda x: x % 2 == 0, "x", name="even"),
        policy=name, seed=3, slice_rows=16,
    )  # fmt: skip
    assert sum(len(batch) for batch in keep.over(pa.table({"x": range(8_000)}))) == len(calls) == 0


def test_a_snapshot_of_another_version_is_refused_unchanged() -> None:
    pipeline = Pipeline(("a", "b", "c"))
    policy, other = (example_of("auto", 0).fresh(pipeline, seed) for seed in (1, 3))
    checks._push(other, 40)
    before = policy.snapshot()
    older = {**other.snapshot(), "order": [2, 1, 0]}
    del older["format"]
    with pytest.raises(PlanError, match="another version"):
        policy.restore(older)
    assert policy.snapshot() == before


def test_a_loop_runs_built_in_policies_without_a_wrapper() -> None:
    rng = np.random.default_rng(1)
    for name, cls in POLICIES.items():
        assert type(make_policy(name, Pipeline(("a", "b")), tw.policy(name).settings, rng)) is cls
        assert type(make_policy(cls, Pipeline(("a", "b")), tw.policy(cls).settings, rng)) is cls
