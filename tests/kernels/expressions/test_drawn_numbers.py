"""Functions, operators and casts of numbers at the ends of their types and of drawn numbers, compared with Spark."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from tests.kernels.expressions.both_runtimes import RAISED, BothRuntimes, Difference
from tests.kernels.expressions.nasty import alike

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WHOLE = {"t": pa.int8(), "h": pa.int16(), "i": pa.int32(), "l": pa.int64()}
REALS = [0.0, -0.0, float("nan"), float("inf"), -float("inf"), 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308,
         1e23, 0.5, 1.005, 2.675, *(sign * (2.0**n + more) for sign in (1, -1) for n in (7, 15, 31, 53, 63)
                                    for more in (-1, -0.5, 0, 0.5, 1))]  # fmt: skip
KINDS = ["TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(38, 0)", "DECIMAL(38, 10)",
         "DECIMAL(38, 38)", "DECIMAL(10, 2)", "DECIMAL(3, 1)"]  # fmt: skip
DIGITS = (-25, -1, 0, 2, 10, 25)
BOUNDS = {"t": ("127", "128", "127.5", "-129"), "h": ("32767", "32768"), "i": ("-2147483648", "2147483648", "1e10"),
          "l": ("9223372036854775807", "9223372036854775808", "9.3e18"), "f": ("0.1e0", "16777217", "3.5e38"),
          "d": ("9007199254740993", "0.1"), "n": ("99999999.99", "100000000", "0.005")}  # fmt: skip
"""Literals at the ends of a type and beyond: Spark's optimizer rewrites comparisons with them."""
COMPUTED = ("exp", "ln", "power")
"""Java and C compute the last digits of these differently."""
WRITTEN_EXACTLY = 2.0**53
"""Up to here, Java 17 writes every double with its shortest digits."""


def drawn(r: random.Random) -> Iterator[float]:
    """Yield doubles: any bits, decimal numbers of any length, powers of two and ten."""
    while True:
        yield struct.unpack("<d", struct.pack("<Q", r.getrandbits(64)))[0]
        yield r.choice((1, -1)) * float(f"{r.randrange(10 ** r.randrange(1, 18))}e{r.randrange(-20, 22)}")
        yield r.uniform(-1e6, 1e6)
        yield r.choice((1, -1)) * 2.0 ** r.randrange(120)
        yield r.choice((1, -1)) * float(10 ** r.randrange(37))
        yield round(r.uniform(-1000, 1000), r.randrange(6))


def numbers(count: int) -> pa.Table:
    """Return numbers of all types: the ends, and drawn ones."""
    r = random.Random(3)
    reals = np.array([*REALS, *islice(drawn(r), count)])
    rows, columns = len(reals), {}
    for name, kind in WHOLE.items():
        most = 2 ** (kind.bit_width - 1)
        ends = [-most, 1 - most, -1, 0, 1, most - 2, most - 1]
        others = (
            r.randrange(-most, most) if r.random() < 0.5 else r.randrange(-20, 20) for _ in range(rows - len(ends))
        )
        columns[name] = pa.array(chain(ends, (min(max(each, -most), most - 1) for each in others)), kind)
    with np.errstate(over="ignore"):
        columns |= {"d": pa.array(reals), "f": pa.array(reals.astype(np.float32))}
    columns["e"] = pa.array(r.sample(reals.tolist(), rows))
    for name, digits, scale in (("n", 10, 2), ("m", 38, 18)):
        most = 10**digits - 1
        units = chain((-most, most, 0, 1, -1, 5 * 10 ** (scale - 1)), (r.randrange(-most, most) for _ in range(rows)))
        values = [Decimal(unit).scaleb(-scale) if digits < 28 else Decimal(f"{unit}e-{scale}") for unit in units]
        columns[name] = pa.array(values[:rows], pa.decimal128(digits, scale))
    return pa.table(columns)


def expressions() -> list[str]:
    """Return the functions of numbers."""
    names = [*WHOLE, "d", "f", "n", "m"]
    made = [f"CAST({name} AS {kind})" for name in names for kind in KINDS]
    made += [f"CAST({name} AS {kind})" for name in WHOLE for kind in ("STRING", "BOOLEAN")]
    made += [
        f"CAST(CAST({name} AS STRING) AS {kind})" for name in WHOLE for kind in ("TINYINT", "INT", "BIGINT", "DOUBLE")
    ]
    made += [f"round({name}, {digits})" for name in [*WHOLE, "d", "f"] for digits in DIGITS]
    made += [f"{function}({name})" for name in names for function in ("abs", "-", "sqrt")]
    made = [text for text in made if text not in ("abs(m)", "-(m)")]  # Spark rounds these to 34 digits
    made += [f"{function}({name})" for name in [*WHOLE, "d", "f"] for function in ("floor", "ceil", "exp", "ln")]
    made += [f"{name} {sign} {other}" for name, other in ("th", "hi", "il", "ll", "de", "df", "lf", "in")
             for sign in ("+", "-", "*", "<", "<=", "=", "<=>")]  # fmt: skip
    made += [f"{one} / nullif({other}, 0)" for one, other in ("il", "de", "fd")]
    made += [f"{one} {sign} nullif({other}, 0)" for one, other in ("il", "lt") for sign in ("DIV", "%")]
    made += [f"{function}(d, e, f)" for function in ("greatest", "least", "coalesce")]
    made += [f"{name} {sign} {literal}" for name, literals in BOUNDS.items() for literal in literals
             for sign in ("<", ">=", "=", "<=>")]  # fmt: skip
    return [*made, "d % 0.3e0", "d % e", "power(d, 2)", "power(d, e)", "d IN (0e0, 1e23)", "nullif(d, e)",
            "n + n", "n * n", "n < m", "m = n", "greatest(n, 1)", "CASE WHEN d > 0 THEN d ELSE f END"]  # fmt: skip


def is_listed(text: str, each: Difference, both: BothRuntimes) -> bool:
    """Whether docs/sql.md lists a difference: last digits, and the digits of Java's text of a large double."""
    if text.startswith(COMPUTED):
        return alike(each.here, each.spark)
    real = both.table[text.partition("(")[2][0]][each.row].as_py()
    if not (text.startswith(("CAST(d AS DECIMAL", "CAST(f AS DECIMAL")) and abs(real) > WRITTEN_EXACTLY):
        return False
    return RAISED in (each.here, each.spark) or float(each.here) == float(each.spark) == real


@pytest.mark.parametrize("count", [300, pytest.param(4_000, marks=pytest.mark.long)])
def test_functions_of_numbers(spark: SparkSession, tmp_path: Path, count: int) -> None:
    both = BothRuntimes(spark, numbers(count), tmp_path)
    found = both.differences(expressions())
    for text, rows in found.items():
        others = [each for each in rows if not is_listed(text, each, both)]
        assert not others, (text, others[:3], both.table.slice(others[0].row, 1).to_pylist())
