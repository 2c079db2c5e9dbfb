"""Names and numbers a user may get wrong are refused before anything runs."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import thalweg as tw
from thalweg import PlanError
from thalweg.adapt import POLICIES, BudgetSettings, ProfileSettings, setting_names

PROFILING = [name for name in POLICIES if "p" in setting_names(name)]


def refusal(name: Any, **given: Any) -> str:
    """The error of the call; that of the text is the same."""
    with pytest.raises(PlanError) as caught:
        tw.policy(name, **given)
    return str(caught.value)


def made(name: str, **given: Any) -> Any:
    return tw.policy(name, **given).settings


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
    assert made("auto") == BudgetSettings(0.02)
    assert made("auto", budget=0.1) == BudgetSettings(0.1)
    assert refusal("auto", p=0.1, profile_window=5) == "policy 'auto' has no setting p=0.1; it has budget"
    assert "has no setting budget=0.1; it has p, profile_window and alpha" in refusal("a-greedy", budget=0.1)


@pytest.mark.parametrize("budget", [0.0, -0.1, 0.6, "much", True])
def test_an_invalid_budget_is_refused_with_its_value(budget: Any) -> None:
    assert f"budget={budget!r}" in refusal("auto", budget=budget)


@pytest.mark.parametrize("rows", [0, -1, 2.5, "many", True, 16_385])
@pytest.mark.parametrize("name", ["eddy", "eddy-cbr"])
def test_an_invalid_batch_of_eddies_is_refused_with_its_value(name: str, rows: Any) -> None:
    assert f"policy {name!r}: batch={rows!r}: the rows per decision" in refusal(name, batch=rows)
    assert "has no setting batch=5" in refusal("auto", batch=5)


@pytest.mark.parametrize("name", PROFILING)
def test_given_settings_replace_only_their_own_defaults(name: str) -> None:
    defaults = POLICIES[name].defaults
    assert made(name, p=0.3) == ProfileSettings(0.3, defaults.profile_window, defaults.alpha)
    assert made(name, profile_window=7) == ProfileSettings(defaults.p, 7, defaults.alpha)
    assert made(name, alpha=0.5) == ProfileSettings(defaults.p, defaults.profile_window, 0.5)


@pytest.mark.parametrize("name", ["static", "duckdb-swap", "velox-rank"])
@pytest.mark.parametrize("given", [{"p": 0.1}, {"profile_window": 5}, {"alpha": 0.5}, {"p": 0.1, "alpha": 0.5}])
def test_profiling_settings_are_refused_without_profiling(name: str, given: dict[str, Any]) -> None:
    ((key, value), *_) = given.items()
    assert refusal(name, **given) == f"policy {name!r} has no setting {key}={value!r}; it takes none"


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
    assert message.startswith(f"policy 'a-greedy': {key}={value!r}: ")
    assert word in message


@pytest.mark.parametrize("budget", [5e-324, 1e-305, 1e-9])
def test_a_tiny_budget_works(budget: float) -> None:
    keep = tw.filters(
        tw.predicate(lambda x: x % 2 == 0, "x", name="even"), tw.predicate(lambda x: x > 50, "x", name="large"),
        policy="auto", budget=budget,
    )  # fmt: skip
    rows = [x for batch in keep.over(pa.table({"x": range(1_000)})) for x in batch.column("x").to_pylist()]
    assert rows == list(range(52, 1_000, 2))
