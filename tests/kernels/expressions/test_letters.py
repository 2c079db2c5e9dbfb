"""Functions and casts of text over all code points, compared with Spark."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.kernels.expressions.both_runtimes import BothRuntimes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALL = [chr(n) for n in range(0x110000) if not 0xD800 <= n < 0xE000]
SOME = [c for c in ALL if c < "\u0300" or c.upper() != c or c.lower() != c or unicodedata.category(c) in ("Mn", "Zs")]
"""Letters with two cases, the marks between letters, and blanks."""
AT_ONCE = 50_000
"""So many keep the memory of this process small."""
UNKNOWN = "Cn"
"""The category of code points that this Python's Unicode does not know."""
OF_LETTERS = [
    "upper(c)", "lower(c)", "lower(upper(c))", "upper(lower(c))", "upper(upper(c))", "length(c)", "length(upper(c))",
    "trim(concat(c, 'a', c))", "ltrim(concat(c, ' ', c))", "rtrim(concat(c, ' '))", "substring(c, -1)",
    "substring(concat('a', c, 'b'), 2, 1)", "replace(concat('a', c, 'b', c), c, 'x')", "instr(concat('aé', c), c)",
    "contains('aΣb', c)", "startswith(c, 'é')", "endswith(concat('a', c), c)", "c LIKE '_'", "c LIKE '%Σ'",
    "c RLIKE '^[a-zß-ö]$'", "c RLIKE '\\\\s'", "c || 'a' < 'éb'", "c IN ('a', 'Σ')", "greatest(c, 'm')", "c = upper(c)",
]  # fmt: skip
SIGMAS = [
    "lower(concat('Α', c, 'Σ'))",
    "lower(concat('ΑΣ', c))",
    "lower(concat('ΑΣ', c, 'Α'))",
    "lower(concat('ΑΣ', c, '.Α'))",
]
RECATEGORIZED = "\u0295\U0001171e"
"""Unicode 15 and 17 changed the categories of these, which decide whether a word goes on."""
CASTS = [f"CAST(s AS {kind})" for kind in ("TINYINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "BOOLEAN", "DECIMAL(10, 2)")]


def letters(some: bool) -> list[str]:
    """Return some or all code points, and with some those that newer versions of Unicode added."""
    from thalweg.kernels.expressions.letter_case import _NEW_LOWER

    return [*SOME, *(chr(n) for pair in _NEW_LOWER.items() for n in pair)] if some else ALL


@pytest.mark.parametrize("some", [True, pytest.param(False, marks=pytest.mark.long)])
def test_functions_of_letters(spark: SparkSession, tmp_path: Path, some: bool) -> None:
    chosen = letters(some)
    for first in range(0, len(chosen), AT_ONCE):
        folder = tmp_path / str(first)
        folder.mkdir()
        both = BothRuntimes(spark, pa.table({"c": chosen[first : first + AT_ONCE]}), folder)
        found = both.differences([*OF_LETTERS, *SIGMAS])
        for text in SIGMAS:
            for each in found.pop(text, []):
                letter = both.table["c"][each.row].as_py()
                assert unicodedata.category(letter) == UNKNOWN or letter in RECATEGORIZED, (text, letter, each)
                assert each.here.replace("ς", "σ") == each.spark.replace("ς", "σ"), (text, letter, each)
        assert not found, {text: (both.table["c"][rows[0].row], rows[:3]) for text, rows in found.items()}


@pytest.mark.parametrize("some", [True, pytest.param(False, marks=pytest.mark.long)])
def test_casts_of_letters(spark: SparkSession, tmp_path: Path, some: bool) -> None:
    """Beside digits, at the start, at the end and alone. A refused text costs Java an exception."""
    chosen = [
        c for c in ALL if c < ("\u0100" if some else "\u3000") or unicodedata.category(c) in ("Nd", "Zs", "Zl", "Zp")
    ]
    texts = [form.replace("c", c) for c in chosen[: 450 if some else None] for form in ("c1", "1c", "c", "tc", "cNaN")]
    both = BothRuntimes(spark, pa.table({"s": texts}), tmp_path)
    found = both.differences(CASTS)
    assert not found, {text: (both.table["s"][rows[0].row], rows[:3]) for text, rows in found.items()}
