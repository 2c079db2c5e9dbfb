"""Golden texts: what a user prints before, during and after twelve kinds of runs: explanations, reports, the values of
reports as JSON, warnings, and errors.

`golden/NAME.txt` has the texts of a scenario. They are written anew only by hand, with THALWEG_WRITE_GOLDEN=1, and then
read. In this process time is declared, so that every number is the same everywhere; on Spark, what is measured is
replaced by words such as `<time>`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.report.golden_scenarios import HERE, ON_SPARK
from tests.report.printed_texts import DeclaredClock, clock  # noqa: F401 - a fixture

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GOLDEN = Path(__file__).parent / "golden"
# taken out of the environment, where Thalweg warns of what is no setting of its own
WRITE = os.environ.pop("THALWEG_WRITE_GOLDEN", "") == "1"


def check(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if WRITE:
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8")


@pytest.mark.parametrize("name", HERE)
def test_the_texts_in_this_process_are_the_golden_ones(name: str, clock: DeclaredClock) -> None:  # noqa: F811
    check(name, HERE[name](clock))


@pytest.mark.parametrize("name", ON_SPARK)
def test_the_texts_on_spark_are_the_golden_ones(name: str, spark: SparkSession, tmp_path: Path) -> None:
    check(name, ON_SPARK[name](spark, tmp_path))


def test_no_text_without_a_scenario() -> None:
    assert sorted(path.stem for path in GOLDEN.glob("*.txt")) == sorted([*HERE, *ON_SPARK])
