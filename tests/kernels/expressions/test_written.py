"""Hand-written expressions (cases/, one per line) for which Spark's results are easily missed, on difficult rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kernels.expressions.nasty import SparkSide, check, read

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = Path(__file__).parent / "cases"


@pytest.fixture(scope="module")
def side(spark: SparkSession) -> SparkSide:
    """The Spark side, which is created once."""
    return SparkSide(spark)


@pytest.mark.slow
@pytest.mark.parametrize("family", sorted(path.stem for path in CASES.glob("*.sql")))
def test_same_as_spark(side: SparkSide, family: str) -> None:
    """The same values, nulls and types, and the same rows raise."""
    check(side, [read(line) for line in (CASES / f"{family}.sql").read_text().splitlines()])
