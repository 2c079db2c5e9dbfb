"""Where settings come from, and what is refused before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

from thalweg import PlanError
from thalweg.adapt import POLICIES
from thalweg.runtime.settings import FilterSettings, resolve

VALUES: dict[str, list[tuple[str, Any]]] = {
    # name: three texts and what they mean
    "policy": [("sweep", "sweep"), ("independent", "independent"), ("local-swaps", "local-swaps")],
    "p": [("0.5", 0.5), ("1", 1.0), ("2e-3", 0.002)],
    "window": [("5", 5), ("70", 70), ("900", 900)],
    "alpha": [("0.5", 0.5), ("1", 1.0), ("0.25", 0.25)],
    "budget": [("0.01", 0.01), ("5e-2", 0.05), ("0.5", 0.5)],
    "slice_rows": [("1", 1), ("64", 64), ("4096", 4096)],
    "seed": [("1", 1), ("0", 0), ("99", 99)],
    "events": [("a.jsonl", "a.jsonl"), ("b.jsonl", "b.jsonl"), ("c.jsonl", "c.jsonl")],
    "on_error": [("dead-letter", "dead-letter"), ("raise", "raise"), ("dead-letter", "dead-letter")],
    "redact": [("true", True), ("False", False), ("1", True)],
    "time_limit": [("2", 2.0), ("0.5", 0.5), ("1e3", 1000.0)],
}


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch):
    for name in VALUES:
        monkeypatch.delenv(f"THALWEG_{name.upper()}", raising=False)


@pytest.mark.parametrize("name", VALUES)
def test_the_argument_then_spark_then_the_environment_then_the_default(name: str, monkeypatch: pytest.MonkeyPatch):
    argument, spark, environment = VALUES[name]
    assert getattr(resolve({}), name) == getattr(FilterSettings(), name)
    monkeypatch.setenv(f"THALWEG_{name.upper()}", environment[0])
    assert getattr(resolve({}), name) == environment[1]
    conf = {f"spark.thalweg.{name}": spark[0]}.get
    assert getattr(resolve({}, conf), name) == spark[1]
    assert getattr(resolve({name: None}, conf), name) == spark[1]
    assert getattr(resolve({name: argument[1]}, conf), name) == argument[1]


def test_one_setting_from_each_place(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("THALWEG_ALPHA", "0.5")
    settings = resolve({"policy": "sweep"}, {"spark.thalweg.p": "0.25"}.get)
    assert settings == FilterSettings(policy="sweep", p=0.25, alpha=0.5)
    assert (settings.profile.p, settings.profile.window, settings.profile.alpha) == (0.25, 500, 0.5)


def test_a_zero_given_is_not_taken_for_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("THALWEG_SEED", "5")
    assert resolve({"seed": 0}).seed == 0


def test_every_setting_can_be_given_as_text():
    # a setting added without a way to read it from Spark or the environment would fail here
    for name in FilterSettings.__dataclass_fields__:
        assert name in VALUES


@pytest.mark.parametrize(
    ("name", "text"),
    [("p", "much"), ("window", "2.5"), ("alpha", ""), ("slice_rows", "1k"), ("seed", "x"), ("policy", "greedy")],
)
def test_a_text_that_does_not_do_names_the_place_and_the_value(name: str, text: str, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(PlanError) as caught:
        resolve({}, {f"spark.thalweg.{name}": text}.get)
    assert repr(text) in str(caught.value)
    assert name in str(caught.value)
    monkeypatch.setenv(f"THALWEG_{name.upper()}", text)
    with pytest.raises(PlanError) as caught:
        resolve({})
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["2.5", "x"])
def test_a_number_that_cannot_be_read_says_where_it_stands(text: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("THALWEG_WINDOW", text)
    with pytest.raises(PlanError, match=f"THALWEG_WINDOW='{text}'"):
        resolve({})
    with pytest.raises(PlanError, match=f"spark.thalweg.window='{text}'"):
        resolve({}, {"spark.thalweg.window": text}.get)


@pytest.mark.parametrize(
    "given",
    [
        {"policy": "a-greddy"}, {"p": 0}, {"p": 1.5}, {"p": "0.5"}, {"window": 0}, {"window": 1.5}, {"alpha": 2},
        {"alpha": "x"}, {"slice_rows": 0}, {"slice_rows": 2.5}, {"slice_rows": True}, {"seed": -1}, {"seed": 1.5},
        {"seed": "x"}, {"events": 7},
    ],
    ids=str,
)  # fmt: skip
def test_a_bad_argument_is_named_with_its_value(given: dict[str, Any]):
    with pytest.raises(PlanError) as caught:
        resolve(given)
    ((name, value),) = given.items()
    assert name in str(caught.value)
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("policy", [name for name, p in POLICIES.items() if p.defaults is None])
def test_a_p_for_everybody_does_not_hinder_a_policy_that_does_not_profile(policy: str, monkeypatch: pytest.MonkeyPatch):
    """The environment says how to profile where profiling is done; who asks for the control gets the control."""
    monkeypatch.setenv("THALWEG_P", "0.02")
    assert resolve({"policy": policy}).profile is None
    with pytest.raises(PlanError, match="does not profile"):
        resolve({"policy": policy, "p": 0.02})
