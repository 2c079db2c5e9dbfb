"""The sources of settings, and invalid settings that are refused before anything runs."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import thalweg as tw
from thalweg import PlanError
from thalweg.adapt import POLICIES, ProfileSettings, setting_names
from thalweg.adapt.mesh import MeshSettings
from thalweg.runtime import settings as settings_module
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.runtime.settings import FROM_OUTSIDE, IN_CODE_ALONE, REFUSED_OUTSIDE, FilterSettings, unknown_settings

resolve = FilterSettings.resolve

VALUES: dict[str, list[tuple[str, Any]]] = {
    # name: three texts and what they mean
    "policy": [
        ("sweep", tw.policy("sweep")),
        ("mesh(routes=4, search='sa')", tw.policy("mesh", routes=4, search="sa")),
        ("local-swaps(p=0.5)", tw.policy("local-swaps", p=0.5)),
    ],
    "budget": [("0.01", 0.01), ("5e-2", 0.05), ("0.5", 0.5)],
    "slice_rows": [("1", 1), ("64", 64), ("4096", 4096)],
    "seed": [("1", 1), ("0", 0), ("99", 99)],
    "events": [("a.jsonl", "a.jsonl"), ("b.jsonl", "b.jsonl"), ("c.jsonl", "c.jsonl")],
    "redact": [("true", True), ("False", False), ("1", True)],
    "time_limit": [("2", 2.0), ("0.5", 0.5), ("1e3", 1000.0)],
}


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in FROM_OUTSIDE:
        monkeypatch.delenv(f"THALWEG_{name.upper()}", raising=False)


@pytest.mark.parametrize("name", VALUES)
def test_arguments_then_spark_then_environment_then_default(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    argument, spark, environment = VALUES[name]
    assert getattr(resolve({}), name) == getattr(FilterSettings(), name)
    monkeypatch.setenv(f"THALWEG_{name.upper()}", environment[0])
    assert getattr(resolve({}), name) == environment[1]
    conf = {f"spark.thalweg.{name}": spark[0]}.get
    assert getattr(resolve({}, conf), name) == spark[1]
    assert getattr(resolve({name: None}, conf), name) == spark[1]
    assert getattr(resolve({name: argument[1]}, conf), name) == argument[1]


def test_the_settings_of_a_policy_go_with_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a policy that is set in another place are not taken from there."""
    monkeypatch.setenv("THALWEG_POLICY", "sweep(alpha=0.5)")
    settings = resolve({"policy": "sweep"}, {"spark.thalweg.policy": "sweep(p=0.25)"}.get)
    assert settings.profile == ProfileSettings(0.01, 500, 0.9)
    settings = resolve({}, {"spark.thalweg.policy": "sweep(p=0.25)"}.get)
    assert settings == FilterSettings(policy=tw.policy("sweep", p=0.25))
    assert settings.profile == ProfileSettings(0.25, 500, 0.9)
    assert resolve({}).profile == ProfileSettings(0.01, 500, 0.5)


@pytest.mark.parametrize("text", [" Mesh ( routes = 4 , search='sa', ) ", "MESH(routes=4,search='sa')"])
def test_blanks_and_the_case_of_a_policy_do_not_matter_outside(text: str) -> None:
    assert resolve({}, environ={"THALWEG_POLICY": text}).policy == tw.policy("mesh", routes=4, search="sa")


def test_a_budget_is_for_the_policies_that_have_one() -> None:
    for policy in POLICIES:
        text = f"{policy}(budget=0.1)"
        if "budget" not in setting_names(policy):
            for given in ({"policy": text}, {"policy": policy, "budget": 0.1}):
                with pytest.raises(PlanError, match=f"^policy '{policy}' has no setting budget=0.1; it "):
                    resolve(given)
            continue
        made = {resolve({"policy": text}).profile, resolve({"policy": policy, "budget": 0.1}).profile}
        made |= {resolve({}, environ={"THALWEG_POLICY": policy, "THALWEG_BUDGET": "0.1"}).profile}
        assert made == {tw.policy(policy, budget=0.1).settings}


@pytest.mark.parametrize("budget", [0.1, 0.2])
def test_a_budget_is_given_once(budget: float) -> None:
    for given in (
        {"policy": "mesh(budget=0.1)", "budget": budget},
        {"policy": tw.policy("mesh", budget=0.1), "budget": budget},
    ):
        with pytest.raises(PlanError) as caught:
            resolve(given)
        said = f"policy 'mesh(budget=0.1)' has a budget already; leave budget={budget} out, or the policy's"
        assert str(caught.value) == said
    outside = {"spark.thalweg.policy": "mesh(budget=0.1)"}
    for conf, environ in (
        (outside, {"THALWEG_BUDGET": str(budget)}),
        (outside | {"spark.thalweg.budget": str(budget)}, {}),
    ):
        with pytest.raises(
            PlanError, match=r"^spark.thalweg.policy='mesh\(budget=0.1\)': policy .* has a budget already"
        ):
            resolve({}, conf.get, environ)
    with pytest.raises(PlanError, match=r"^spark.thalweg.policy='mesh\(budget=0.1\)': policy .* has a budget already"):
        resolve({"budget": budget}, outside.get)


def test_a_budget_from_outside_gives_way_to_code() -> None:
    """As every setting does; and it does not hinder a job whose policy has no budget."""
    outside = {"THALWEG_BUDGET": "0.3"}
    assert resolve({"policy": "mesh(budget=0.1)"}, environ=outside).profile == MeshSettings(0.1)
    assert resolve({"policy": "mesh"}, environ=outside).profile == MeshSettings(0.3)
    assert resolve({"policy": "sweep"}, environ=outside).profile == ProfileSettings(0.01, 500, 0.9)
    assert resolve({"policy": "mesh", "budget": 0.2}, environ=outside).profile == MeshSettings(0.2)


def test_a_zero_given_is_not_taken_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_SEED", "5")
    assert resolve({"seed": 0}).seed == 0


def test_every_setting_can_be_given_as_text() -> None:
    # a setting added without a way to read it from Spark or the environment would fail here
    assert set(FilterSettings.names()) - set(IN_CODE_ALONE) == set(VALUES)


def test_there_are_few_settings() -> None:
    """Settings of policies are part of the policy, so a new one adds none of these."""
    assert sorted(FROM_OUTSIDE) == [
        "budget", "events", "max_bytes", "max_matches", "policy", "redact", "seed", "slice_rows", "time_limit",
    ]  # fmt: skip
    assert arguments_of(tw.filters, "predicates") == 9
    assert arguments_of(tw.join, "on", "window") == 18
    assert arguments_of(tw.Session.query, "self", "text") == 17


def arguments_of(function: Callable[..., object], *besides: str) -> int:
    return len([name for name in inspect.signature(function).parameters if name not in besides])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("budget", "much"),
        ("policy", "sweep(p=much)"),
        ("policy", "sweep(profile_window=2.5)"),
        ("policy", "a-greedy(alpha='?')"),
        ("slice_rows", "1k"),
        ("seed", "x"),
        ("policy", "greedy"),
    ],
)
def test_an_invalid_text_names_its_source_and_its_value(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PlanError) as caught:
        resolve({}, {f"spark.thalweg.{name}": text}.get)
    assert str(caught.value).startswith(f"spark.thalweg.{name}={text!r}: ")
    monkeypatch.setenv(f"THALWEG_{name.upper()}", text)
    with pytest.raises(PlanError) as caught:
        resolve({})
    assert str(caught.value).startswith(f"THALWEG_{name.upper()}={text!r}: ")


@pytest.mark.parametrize("text", ["2.5", "x"])
def test_a_number_that_cannot_be_parsed_names_its_source(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_SLICE_ROWS", text)
    with pytest.raises(PlanError, match=f"THALWEG_SLICE_ROWS='{text}'"):
        resolve({})
    with pytest.raises(PlanError, match=f"spark.thalweg.slice_rows='{text}'"):
        resolve({}, {"spark.thalweg.slice_rows": text}.get)


@pytest.mark.parametrize(
    "given",
    [
        {"policy": "a-greddy"}, {"slice_rows": 0}, {"slice_rows": 2.5}, {"slice_rows": True}, {"seed": -1},
        {"seed": 1.5}, {"seed": "x"}, {"events": 7}, {"budget": 0}, {"budget": 1.5}, {"budget": "0.5"},
    ],
    ids=str,
)  # fmt: skip
def test_a_bad_argument_is_named_with_its_value(given: dict[str, Any]) -> None:
    with pytest.raises(PlanError) as caught:
        resolve(given)
    ((name, value),) = given.items()
    assert name in str(caught.value)
    assert repr(value) in str(caught.value)


def test_only_the_value_that_wins_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_POLICY", "velox")
    monkeypatch.setenv("THALWEG_SEED", "x")
    conf = {"spark.thalweg.policy": "static", "spark.thalweg.seed": "5"}
    assert (resolve({}, conf.get).policy_name, resolve({}, conf.get).seed) == ("static", 5)
    conf["spark.thalweg.policy"] = "duckdb"
    assert resolve({"policy": "sweep"}, conf.get).policy_name == "sweep"


@pytest.mark.parametrize(("name", "text"), [("policy", "velox"), ("budget", "7"), ("time_limit", "-1"), ("seed", "-1")])
def test_a_value_out_of_range_names_its_source(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PlanError, match=f"^spark.thalweg.{name}='{text}': "):
        resolve({}, {f"spark.thalweg.{name}": text}.get)
    monkeypatch.setenv(f"THALWEG_{name.upper()}", text)
    with pytest.raises(PlanError, match=f"^THALWEG_{name.upper()}='{text}': "):
        resolve({})


@pytest.mark.parametrize("name", REFUSED_OUTSIDE)
@pytest.mark.parametrize("kind", [FilterSettings, JoinSettings])
def test_settings_that_change_rows_are_refused_outside_the_code(
    name: str, kind: type[FilterSettings | JoinSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(PlanError, match=rf"^spark\.thalweg\.{name}='5': .* write tw\..*{name}="):
        kind.resolve({}, {f"spark.thalweg.{name}": "5"}.get)
    monkeypatch.setenv(f"THALWEG_{name.upper()}", "raise")
    with pytest.raises(PlanError, match=f"^THALWEG_{name.upper()}='raise': "):
        kind.resolve({"on_error": "raise"})
    monkeypatch.setenv(f"THALWEG_{name.upper()}", " ")
    kind.resolve({})


def test_an_invalid_file_name_is_refused() -> None:
    with pytest.raises(PlanError, match=r"^events='a\\x00b': a file name cannot contain a null character"):
        FilterSettings(events="a\0b")
    with pytest.raises(PlanError, match=r"^events='a\\ud800b': a file name cannot contain .* or a lone surrogate"):
        FilterSettings(events="a\ud800b")


def test_empty_is_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VALUES:
        monkeypatch.setenv(f"THALWEG_{name.upper()}", "")
    assert resolve({}, lambda key: " ") == FilterSettings()


def test_unknown_settings_are_reported_with_the_nearest_name() -> None:
    environ = {"THALWEG_POLICYS": "static", "THALWEG_DATA": "/data", "THALWEG_SEED": "5", "PATH": ""}
    sentences = unknown_settings(
        dict.fromkeys(["spark.thalweg.slicerows", "spark.thalweg.policy", "spark.master"], "1"), environ
    )
    assert sentences == [
        "spark.thalweg.slicerows is not a Thalweg setting and is ignored (did you mean 'spark.thalweg.slice_rows'?)",
        "THALWEG_POLICYS is not a Thalweg setting and is ignored (did you mean 'THALWEG_POLICY'?)",
    ]


def test_an_unknown_variable_causes_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_SLICE_ROW", "5")
    data = pa.table({"x": ["a"]})
    with pytest.warns(UserWarning, match="did you mean 'THALWEG_SLICE_ROWS'"):
        tw.filters(tw.predicate(len, "x")).over(data)
    with warnings.catch_warnings(action="error"):
        tw.filters(tw.predicate(len, "x")).over(data)


def test_an_outside_policy_overrides_a_budget_in_code() -> None:
    """An operator switches adapting off without touching code."""
    settings = resolve({"budget": 0.1}, {"spark.thalweg.policy": "static"}.get)
    assert (settings.policy_name, settings.profile) == ("static", None)


GONE = {
    "p": ("0.02", "a-greedy(p=0.02) or sweep(p=0.02) or independent(p=0.02) or local-swaps(p=0.02)"),
    "profile_window": (
        "500",
        "a-greedy(profile_window=500) or sweep(profile_window=500) or independent(profile_window=500) or "
        "local-swaps(profile_window=500)",
    ),
    "alpha": ("1", "a-greedy(alpha=1) or sweep(alpha=1) or independent(alpha=1) or local-swaps(alpha=1)"),
    "routes": (" 4 ", "mesh(routes=4)"),
    "search": ("SA", "mesh(search='sa')"),
    "search_from": ("extreme-1", "mesh(search_from='extreme-1')"),
    "eddy_batch": ("1", "eddy(batch=1)"),
    "chart_parts": ("20", "chart(parts=20)"),
    "chart_rounds": ("x", "chart(rounds=...)"),
    "chart_decay": ("-1", "chart(decay=...)"),
    "chart_threshold": ("0.5", "chart(threshold=0.5)"),
}


@pytest.mark.parametrize("name", GONE)
def test_settings_of_policies_outside_are_answered_with_the_text_to_write(name: str) -> None:
    value, text = GONE[name]
    key, variable = f"spark.thalweg.{name}", f"THALWEG_{name.upper()}"
    conf = {key: value}
    said = "{} is ignored: it is a setting of a policy; set {} to {} instead"
    assert unknown_settings(conf, {}) == [said.format(key, "spark.thalweg.policy", text)]
    assert unknown_settings({}, {variable: value}) == [said.format(variable, "THALWEG_POLICY", text)]
    for each in text.split(" or "):
        if "..." not in each:
            assert resolve({}, environ={"THALWEG_POLICY": each}).policy.text == each, "it can be set as it is shown"
    assert resolve({}, conf.get, {variable: value}) == FilterSettings()


def test_there_is_one_warning_with_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings_module, "_WARNED", set())
    monkeypatch.setenv("THALWEG_ROUTES", "4")
    keep, data = tw.filters(tw.predicate(len, "x")), pa.table({"x": ["a"]})
    with pytest.warns(
        UserWarning, match=r"^THALWEG_ROUTES is ignored: .* set THALWEG_POLICY to mesh\(routes=4\) instead$"
    ):
        keep.over(data)
    with warnings.catch_warnings(action="error"):
        keep.over(data)
