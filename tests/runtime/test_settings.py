"""The sources of settings, and invalid settings that are refused before anything runs."""

from __future__ import annotations

import warnings
from typing import Any

import pyarrow as pa
import pytest

import thalweg as tw
from thalweg import PlanError
from thalweg.adapt import POLICIES, SETTINGS, ProfileSettings
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.runtime.settings import IN_CODE_ALONE, REFUSED_OUTSIDE, FilterSettings, unknown_settings

resolve = FilterSettings.resolve

VALUES: dict[str, list[tuple[str, Any]]] = {
    # name: three texts and what they mean
    "policy": [("sweep", "sweep"), ("independent", "independent"), ("local-swaps", "local-swaps")],
    "p": [("0.5", 0.5), ("1", 1.0), ("2e-3", 0.002)],
    "profile_window": [("5", 5), ("70", 70), ("900", 900)],
    "alpha": [("0.5", 0.5), ("1", 1.0), ("0.25", 0.25)],
    "budget": [("0.01", 0.01), ("5e-2", 0.05), ("0.5", 0.5)],
    "chart_parts": [("2", 2), ("10", 10), ("40", 40)],
    "chart_rounds": [("1", 1), ("10", 10), ("50", 50)],
    "chart_decay": [("0", 0.0), ("0.2", 0.2), ("1e-3", 0.001)],
    "chart_threshold": [("0", 0.0), ("0.2", 0.2), ("3", 3.0)],
    "routes": [("1", 1), ("8", 8), ("64", 64)],
    "search": [("ii", "ii"), ("sa", "sa"), ("ii", "ii")],
    "search_from": [("extreme-1", "extreme-1"), ("route-driven", "route-driven"), ("extreme-n", "extreme-n")],
    "eddy_batch": [("1", 1), ("100", 100), ("7", 7)],
    "slice_rows": [("1", 1), ("64", 64), ("4096", 4096)],
    "seed": [("1", 1), ("0", 0), ("99", 99)],
    "events": [("a.jsonl", "a.jsonl"), ("b.jsonl", "b.jsonl"), ("c.jsonl", "c.jsonl")],
    "redact": [("true", True), ("False", False), ("1", True)],
    "time_limit": [("2", 2.0), ("0.5", 0.5), ("1e3", 1000.0)],
}


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VALUES:
        monkeypatch.delenv(f"THALWEG_{name.upper()}", raising=False)


def value(settings: FilterSettings, name: str) -> Any:
    return settings.of_policy.get(name) if name in SETTINGS else getattr(settings, name)


@pytest.mark.parametrize("name", VALUES)
def test_arguments_then_spark_then_environment_then_default(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    argument, spark, environment = VALUES[name]
    assert value(resolve({}), name) == value(FilterSettings(), name)
    monkeypatch.setenv(f"THALWEG_{name.upper()}", environment[0])
    assert value(resolve({}), name) == environment[1]
    conf = {f"spark.thalweg.{name}": spark[0]}.get
    assert value(resolve({}, conf), name) == spark[1]
    assert value(resolve({name: None}, conf), name) == spark[1]
    assert value(resolve({name: argument[1]}, conf), name) == argument[1]


def test_one_setting_from_each_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_ALPHA", "0.5")
    settings = resolve({"policy": "sweep"}, {"spark.thalweg.p": "0.25"}.get)
    assert settings == FilterSettings(policy="sweep", of_policy={"p": 0.25, "alpha": 0.5})
    assert isinstance(settings.profile, ProfileSettings)
    assert (settings.profile.p, settings.profile.profile_window, settings.profile.alpha) == (0.25, 500, 0.5)


def test_a_setting_of_eddies_alone_means_the_policy_eddy(monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve({"eddy_batch": 5}).policy == "eddy"
    assert resolve({"eddy_batch": 5, "policy": "eddy-cbr"}).of_policy == {"eddy_batch": 5}
    monkeypatch.setenv("THALWEG_EDDY_BATCH", "7")
    assert (resolve({}).policy, resolve({}).of_policy) == ("eddy", {"eddy_batch": 7})
    assert resolve({"policy": "auto"}).of_policy == {}


def test_a_zero_given_is_not_taken_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_SEED", "5")
    assert resolve({"seed": 0}).seed == 0


def test_every_setting_can_be_given_as_text() -> None:
    # a setting added without a way to read it from Spark or the environment would fail here
    assert set(FilterSettings.names()) - set(IN_CODE_ALONE) == set(VALUES)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p", "much"),
        ("profile_window", "2.5"),
        ("alpha", "?"),
        ("slice_rows", "1k"),
        ("seed", "x"),
        ("policy", "greedy"),
    ],
)
def test_an_invalid_text_names_its_source_and_its_value(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PlanError) as caught:
        resolve({}, {f"spark.thalweg.{name}": text}.get)
    assert repr(text) in str(caught.value)
    assert name in str(caught.value)
    monkeypatch.setenv(f"THALWEG_{name.upper()}", text)
    with pytest.raises(PlanError) as caught:
        resolve({})
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["2.5", "x"])
def test_a_number_that_cannot_be_parsed_names_its_source(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_PROFILE_WINDOW", text)
    with pytest.raises(PlanError, match=f"THALWEG_PROFILE_WINDOW='{text}'"):
        resolve({})
    with pytest.raises(PlanError, match=f"spark.thalweg.profile_window='{text}'"):
        resolve({}, {"spark.thalweg.profile_window": text}.get)


@pytest.mark.parametrize(
    "given",
    [
        {"policy": "a-greddy"}, {"p": 0}, {"p": 1.5}, {"p": "0.5"}, {"profile_window": 0}, {"profile_window": 1.5},
        {"alpha": 2}, {"alpha": "x"}, {"slice_rows": 0}, {"slice_rows": 2.5}, {"slice_rows": True}, {"seed": -1},
        {"seed": 1.5}, {"seed": "x"}, {"events": 7},
    ],
    ids=str,
)  # fmt: skip
def test_a_bad_argument_is_named_with_its_value(given: dict[str, Any]) -> None:
    with pytest.raises(PlanError) as caught:
        resolve(given)
    ((name, value),) = given.items()
    assert name in str(caught.value)
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("policy", [name for name, p in POLICIES.items() if p.defaults is None])
def test_a_global_p_does_not_affect_policies_without_profiling(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The setting applies only if the policy profiles; a user who asks for the control policy gets it."""
    monkeypatch.setenv("THALWEG_P", "0.02")
    assert resolve({"policy": policy}).profile is None
    with pytest.raises(PlanError, match="does not profile"):
        resolve({"policy": policy, "p": 0.02})


def test_only_the_value_that_wins_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_POLICY", "velox")
    monkeypatch.setenv("THALWEG_SEED", "x")
    conf = {"spark.thalweg.policy": "static", "spark.thalweg.seed": "5"}
    assert (resolve({}, conf.get).policy, resolve({}, conf.get).seed) == ("static", 5)
    conf["spark.thalweg.policy"] = "duckdb"
    assert resolve({"policy": "sweep"}, conf.get).policy == "sweep"


@pytest.mark.parametrize(("name", "text"), [("p", "2"), ("policy", "velox"), ("budget", "7"), ("time_limit", "-1")])
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
    environ = {"THALWEG_POLICYS": "static", "THALWEG_DATA": "/data", "THALWEG_P": "0.5", "PATH": ""}
    sentences = unknown_settings(["spark.thalweg.slicerows", "spark.thalweg.p", "spark.master"], environ)
    assert sentences == [
        "spark.thalweg.slicerows is not a Thalweg setting and is ignored (did you mean 'spark.thalweg.slice_rows'?)",
        "THALWEG_POLICYS is not a Thalweg setting and is ignored (did you mean 'THALWEG_POLICY'?)",
    ]


def test_an_unknown_variable_causes_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_PROFILE_WINDOWS", "5")
    data = pa.table({"x": ["a"]})
    with pytest.warns(UserWarning, match="did you mean 'THALWEG_PROFILE_WINDOW'"):
        tw.filters(tw.predicate(len, "x")).over(data)
    with warnings.catch_warnings(action="error"):
        tw.filters(tw.predicate(len, "x")).over(data)


def test_an_outside_policy_overrides_profiling_settings_in_code() -> None:
    """An operator switches adapting off without touching code."""
    settings = resolve({"p": 0.02, "budget": 0.1}, {"spark.thalweg.policy": "static"}.get)
    assert (settings.policy, settings.of_policy) == ("static", {})


def test_no_argument_is_ignored_silently(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PlanError, match="leave out budget"):
        resolve({"p": 0.02, "budget": 0.05})
    monkeypatch.setenv("THALWEG_P", "0.02")
    settings = resolve({"budget": 0.1})
    assert (settings.policy, settings.of_policy) == ("auto", {"budget": 0.1})
