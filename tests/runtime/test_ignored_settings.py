"""A setting from outside the code that the policy in force does not take is ignored with one warning that names it."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import thalweg as tw
from thalweg.runtime import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = pa.table({"ts": [datetime.datetime(2026, 1, 1)] * 4, "x": [1, 2, 3, 4]})
TEXT = "SELECT x FROM rows WHERE odd(x) AND x < 3"


@pytest.fixture(autouse=True)
def nothing_was_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "_WARNED", set())


def keep(**given: object) -> tw.Filters:
    return tw.filters(tw.predicate(bool, "x"), tw.predicate(lambda x: x < 3, "x", name="small"), **given)  # type: ignore[arg-type]


def warned(apply: Callable[[], object]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        apply()
    assert all(warning.filename == __file__ for warning in caught), "the line that the user can change"
    return [str(warning.message) for warning in caught]


def queried() -> pa.Table:
    session = tw.session()
    session.stream("rows", ROWS, time="ts")
    session.function("odd", lambda x: x % 2 == 1, "boolean")
    found = session.query(TEXT, policy="auto").dataframe()
    assert found["x"].to_pylist() == [1]
    return found


def joined() -> list[pa.RecordBatch]:
    return list(tw.join(on="a.x = b.x", window="1 second", time="ts", policy="auto").over(a=ROWS, b=ROWS))


P_IGNORED = (
    "THALWEG_P='0.02' is ignored, because policy 'auto' does not take p; unset it, or choose a policy that takes it: "
    "a-greedy, sweep, independent, local-swaps"
)


@pytest.mark.parametrize("apply", [lambda: list(keep(policy="auto").over(ROWS)), joined, queried])
def test_there_is_one_warning(apply: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_P", "0.02")
    assert warned(apply) == [P_IGNORED]
    assert warned(apply) == [], "not for every application"


def test_also_if_the_policy_is_set_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_POLICY", "static")
    monkeypatch.setenv("THALWEG_BUDGET", "0.1")
    (said,) = warned(lambda: list(keep().over(ROWS)))
    assert said.startswith("THALWEG_BUDGET='0.1' is ignored, because policy 'static' does not take budget; unset it")
    assert said.endswith("takes it: auto, chart, mesh")


def test_the_policy_that_is_suggested_takes_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_P", "0.02")
    for policy in ("a-greedy", "sweep", "independent", "local-swaps"):
        assert warned(lambda policy=policy: list(keep(policy=policy).over(ROWS))) == []  # type: ignore[misc]


def test_a_setting_without_a_policy_chooses_the_policy_of_the_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_P", "0.02")
    assert warned(lambda: list(keep().over(ROWS))) == []
    assert "THALWEG_P" in warned(lambda: list(keep(budget=0.1).over(ROWS)))[0], "budget is a setting of auto"


def test_arguments_give_no_warning_so_that_operators_can_turn_adapting_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_POLICY", "static")
    assert warned(lambda: list(keep(p=0.02).over(ROWS))) == []


def test_a_bad_value_is_still_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_P", "much")
    with pytest.raises(tw.PlanError, match=r"^THALWEG_P='much': p takes a number"):
        keep(policy="auto").over(ROWS)


@pytest.fixture
def with_p(spark: SparkSession) -> Iterator[SparkSession]:
    spark.conf.set("spark.thalweg.p", "0.02")
    yield spark
    spark.conf.unset("spark.thalweg.p")


def test_on_spark_with_two_parts_of_a_query(with_p: SparkSession) -> None:
    session = tw.session(with_p)
    session.stream("rows", with_p.createDataFrame(ROWS.to_pandas()), time="ts")
    session.function("odd", lambda x: x % 2 == 1, "boolean")
    said = warned(lambda: session.query(TEXT, policy="auto").dataframe().collect())
    assert [sentence for sentence in said if "is ignored" in sentence] == [
        P_IGNORED.replace("THALWEG_P", "spark.thalweg.p")
    ]
