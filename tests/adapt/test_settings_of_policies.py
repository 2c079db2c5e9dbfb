"""Names and numbers a user may get wrong are refused before anything runs."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import thalweg as tw
from thalweg import PlanError
from thalweg.adapt import POLICIES, BudgetSettings, ProfileSettings, check_policy, takes

PROFILING = [name for name in POLICIES if "p" in takes(name)]


def refusal(*args: Any, **given: Any) -> str:
    with pytest.raises(PlanError) as caught:
        check_policy(*args, **given)
    return str(caught.value)


def test_the_error_for_an_unknown_policy_suggests_and_lists() -> None:
    message = refusal("sweeep")
    assert "'sweeep'" in message
    assert "did you mean 'sweep'" in message
    assert all(name in message for name in POLICIES)


@pytest.mark.parametrize("name", [7, "", None, ["a-greedy"]])
def test_a_value_that_is_not_a_name_is_refused_the_same_way(name: Any) -> None:
    assert repr(name) in refusal(name)


def test_the_four_of_the_paper_profile_and_the_others_do_not() -> None:
    assert PROFILING == ["a-greedy", "sweep", "independent", "local-swaps"]
    others = {"auto", "chart", "mesh", "static", "duckdb-swap", "velox-rank", "eddy", "eddy-cbr"}
    assert set(POLICIES) - set(PROFILING) == others


def test_auto_takes_a_budget_and_nothing_else() -> None:
    assert check_policy("auto") == BudgetSettings(0.02)
    assert check_policy("auto", budget=0.1) == BudgetSettings(0.1)
    assert "leave out p, profile_window" in refusal("auto", p=0.1, profile_window=5)
    assert "leave out budget" in refusal("a-greedy", budget=0.1)


@pytest.mark.parametrize("budget", [0.0, -0.1, 0.6, "much", True])
def test_an_invalid_budget_is_refused_with_its_value(budget: Any) -> None:
    assert f"budget={budget!r}" in refusal("auto", budget=budget)


@pytest.mark.parametrize("rows", [0, -1, 2.5, "many", True, 16_385])
@pytest.mark.parametrize("name", ["eddy", "eddy-cbr"])
def test_an_invalid_eddy_batch_is_refused_with_its_value(name: str, rows: Any) -> None:
    assert f"eddy_batch={rows!r}: the rows per decision" in refusal(name, eddy_batch=rows)
    assert "leave out eddy_batch" in refusal("auto", eddy_batch=5)


@pytest.mark.parametrize("name", PROFILING)
def test_given_settings_replace_only_their_own_defaults(name: str) -> None:
    defaults = POLICIES[name].defaults
    assert check_policy(name, p=0.3) == ProfileSettings(0.3, defaults.profile_window, defaults.alpha)
    assert check_policy(name, profile_window=7) == ProfileSettings(defaults.p, 7, defaults.alpha)
    assert check_policy(name, alpha=0.5) == ProfileSettings(defaults.p, defaults.profile_window, 0.5)


@pytest.mark.parametrize("name", ["static", "duckdb-swap", "velox-rank"])
@pytest.mark.parametrize("given", [{"p": 0.1}, {"profile_window": 5}, {"alpha": 0.5}, {"p": 0.1, "alpha": 0.5}])
def test_profiling_settings_are_refused_without_profiling(name: str, given: dict[str, Any]) -> None:
    message = refusal(name, **given)
    assert repr(name) in message
    assert all(key in message for key in given)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"p": 0.0}, "above 0"),
        ({"p": 1.01}, "at most 1"),
        ({"p": -1.0}, "above 0"),
        ({"p": float("nan")}, "above 0"),
        ({"p": "much"}, "above 0"),
        ({"profile_window": 0}, "whole number"),
        ({"profile_window": 2.5}, "whole number"),
        ({"profile_window": True}, "whole number"),
        ({"profile_window": "big"}, "whole number"),
        ({"alpha": 0.0}, "above 0"),
        ({"alpha": 1.5}, "at most 1"),
        ({"alpha": "low"}, "above 0"),
    ],
)
def test_the_error_for_a_bad_number_has_the_value_and_the_range(given: dict[str, Any], word: str) -> None:
    message = refusal("a-greedy", **given)
    ((key, value),) = given.items()
    assert f"{key}={value!r}" in message
    assert word in message


@pytest.mark.parametrize("budget", [5e-324, 1e-305, 1e-9])
def test_a_tiny_budget_works(budget: float) -> None:
    keep = tw.filters(
        tw.predicate(lambda x: x % 2 == 0, "x", name="even"), tw.predicate(lambda x: x > 50, "x", name="large"),
        policy="auto", budget=budget,
    )  # fmt: skip
    rows = [x for batch in keep.over(pa.table({"x": range(1_000)})) for x in batch.column("x").to_pylist()]
    assert rows == list(range(52, 1_000, 2))
