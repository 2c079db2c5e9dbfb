"""The page on SQL: its examples run one after the other and print what it says; its tables are correct."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from thalweg.plan.sql.vocabulary import NAMES

PAGE = Path(__file__).parents[2] / "docs" / "sql.md"
TEXT = PAGE.read_text(encoding="utf-8")
ROW = pa.table(
    {
        "ts": [datetime(2026, 1, 1)],
        "i": pa.array([5], pa.int32()),
        "zero": pa.array([0], pa.int32()),
        "nothing": [0.0],
        "x": [2.7],
        "f": [1.005],
        "text": ["a%b"],
        "name": ["Straße"],
        "space": ["\u00a0a"],
    }
)
DIFFERENCES = re.findall(r"^\| `([^|]+)` \| (`[^|]+`|an error) \| `([^|]+)` \|$", TEXT, flags=re.M)


def test_the_examples_print_what_the_page_says(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    examples = re.findall(r"```python\n(.*?)```\n\nprints\n\n```(?:mermaid)?\n(.*?)```", TEXT, flags=re.S)
    assert len(examples) == TEXT.count("```python") == 8  # none without its output
    names: dict[str, object] = {"__name__": "__main__"}
    for code, printed in examples:
        exec(compile(code, PAGE.name, "exec"), names)
        assert capsys.readouterr().out == printed


def test_every_function_is_on_the_page() -> None:
    table = TEXT[TEXT.index("## Functions") : TEXT.index("Patterns of LIKE")]
    assert [name for name in NAMES if f"`{name}`" not in table] == []


def ours(session: tw.Session, expression: str) -> Any:
    """Return the value of an expression on the row, as the page writes it."""
    found = session.query(f"SELECT {expression} AS x FROM r").dataframe()
    table = found if isinstance(found, pa.Table) else found.toArrow()
    return f"`{table['x'][0].as_py()!r}`"


@pytest.mark.parametrize(("expression", "here", "there"), DIFFERENCES)
def test_duckdb_differs_as_the_page_says(expression: str, here: str, there: str) -> None:
    session = tw.session()
    session.stream("r", ROW, time="ts")
    if here == "an error":
        with pytest.raises(tw.ThalwegError):
            ours(session, expression)
    else:
        assert ours(session, expression) == here
    with duckdb.connect(":memory:") as connection:
        connection.register("r", ROW)
        assert repr(connection.sql(f"SELECT {expression} FROM r").fetchall()[0][0]) == there


def test_spark_is_as_the_page_says(spark: SparkSession) -> None:
    assert len(DIFFERENCES) == 11
    session = tw.session(spark)
    session.stream("r", spark.createDataFrame(ROW), time="ts")
    for expression, here, _ in DIFFERENCES:
        if here == "an error":
            with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
                ours(session, expression)
        else:
            assert ours(session, expression) == here, expression
