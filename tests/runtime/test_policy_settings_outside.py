"""A setting of a policy outside the code, without its policy, is ignored with one warning that says what to write."""

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
    "THALWEG_P is ignored: it is a setting of a policy; set THALWEG_POLICY to a-greedy(p=0.02) or sweep(p=0.02) or "
    "independent(p=0.02) or local-swaps(p=0.02) instead"
)


@pytest.mark.parametrize("apply", [lambda: list(keep(policy="auto").over(ROWS)), joined, queried])
def test_there_is_one_warning(apply: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_P", "0.02")
    assert warned(apply) == [P_IGNORED]
    assert warned(apply) == [], "not for every application"


def test_it_chooses_no_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("P", "0.02"), ("CHART_PARTS", "4"), ("ROUTES", "much"), ("EDDY_BATCH", "1")):
        monkeypatch.setenv(f"THALWEG_{name}", value)
    made = keep()
    assert len(warned(lambda: list(made.over(ROWS)))) == 4
    assert [section.policy for section in made.report().sections] == ["auto"]


def test_a_policy_outside_with_settings_gives_no_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_POLICY", "sweep(p=0.02)")
    made = keep(budget=0.1)
    assert warned(lambda: list(made.over(ROWS))) == [], "an operator chooses a policy without a budget"
    assert [section.policy for section in made.report().sections] == ["sweep"]


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
        P_IGNORED.replace("THALWEG_POLICY", "spark.thalweg.policy").replace("THALWEG_P", "spark.thalweg.p")
    ]
