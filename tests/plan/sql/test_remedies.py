"""What an error suggests is accepted when the user writes it."""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

import thalweg as tw
from tests.plan.sql.small_streams import small_session
from tests.plan.sql.statements import marked, refused
from thalweg.plan.expressions.functions import FUNCTIONS

SESSION = small_session()
WRITTEN = [line.split(" ==> ") for line in (Path(__file__).parent / "remedies.txt").read_text("utf-8").splitlines()]
COLUMNS = ["tcp.ts", "tcp.size", "tcp.host", "tcp.ratio", "tcp.isRobot", "tcp.price", "tcp.day"]
LITERALS = [
    "5", "2.5", "2e0", "'a'", "NULL", "DATE '2026-01-31'", "TIMESTAMP '2026-01-31 12:30:00'", "INTERVAL '5' SECONDS",
    "tcp.ts - tcp.ts",
]  # fmt: skip
CALLS = [
    *(f"{name}({', '.join(['#'] * len(function.takes))})" for name, function in FUNCTIONS.items()
      if name not in ("and", "or", "not", "negate", "like", "rlike", "date_trunc", "round", "lower", "ltrim", "rtrim",
                      "exp", "ln", "month", "minute", "second", "endswith", "contains")),
    "# + #", "# - #", "# * #", "# / #", "# DIV #", "# % #", "# = #", "# BETWEEN # AND #", "# IN (#, #)", "-#",
    "# || #", "# LIKE 'a'", "# RLIKE 'a'", "coalesce(#, #)", "greatest(#, #)", "nullif(#, #)", "if(tcp.isRobot, #, #)",
    "CASE WHEN tcp.size > 5 THEN # ELSE # END", "CASE # WHEN # THEN 1 END", "round(#)", "round(#, 1)",
    "date_trunc('hour', #)", "extract(hour FROM #)", "to_date(#)", "CAST(# AS DATE)", "CAST(# AS STRING)",
    "CAST(# AS DOUBLE)", "CAST(# AS TIMESTAMP)",
]  # fmt: skip
GROUPED = ["sum(#)", "avg(#)", "min(#)", "max(#)", "count(#)", "count(DISTINCT #)"]
MOST_STEPS = 6


def cast_in(sentence: str) -> str | None:
    """Return the CAST that a sentence suggests, with its parentheses, or None."""
    found = re.search(r"; write (?:(?:avg|floor|ceil|round)\()?CAST\(", sentence)
    if found is None or "INTERVAL '5'" in sentence or "DIV takes" in sentence:
        return None
    begin = found.end() - len("CAST(")
    depths = itertools.accumulate((letter == "(") - (letter == ")") for letter in sentence[begin + 4 :])
    return sentence[begin : begin + 5 + next(n for n, depth in enumerate(depths) if not depth)]


def refusal(text: str, session: tw.Session = SESSION) -> str | None:
    try:
        session.query(text)
    except tw.SqlError as error:
        return error.sentence
    return None


def followed(statement: str, given: list[str], session: tw.Session = SESSION) -> str | None:
    """Return the statement with every CAST that errors suggest, once it is accepted; None: they suggest something
    else."""
    for _ in range(MOST_STEPS):
        values = iter(given)
        text = re.sub("#", lambda _, values=values: next(values), statement)  # type: ignore[misc]
        sentence = refusal(text, session)
        if sentence is None:
            return text
        if (each := re.search(r"; CAST each of them AS ([A-Z]+(?:\([0-9, ]+\))?)$", sentence)) is not None:
            given[:] = [f"CAST({value} AS {each[1]})" for value in given]
            continue
        cast = cast_in(sentence)
        if cast is None:
            assert re.search(r"[;:] (convert|compare|write|remove|CAST)", sentence), sentence
            return None
        session.query(f"SELECT {cast} AS y FROM tcp")
        inner = cast.removeprefix("CAST(").rpartition(" AS ")[0]
        shown = [re.sub(r"^(DATE|TIMESTAMP) (?=')", "", value).replace("2e0", "2.0") for value in given]
        assert inner in shown, (text, sentence)
        given[shown.index(inner)] = cast
    raise AssertionError(f"the remedies do not end: {text}")


@pytest.mark.parametrize("call", CALLS + GROUPED)
def test_a_cast_that_an_error_suggests_is_accepted(call: str) -> None:
    window = " [RANGE 1 MINUTE]" if call in GROUPED else ""
    count = call.count("#")
    both = [*itertools.product(COLUMNS, repeat=2), *zip(LITERALS, itertools.cycle(COLUMNS), strict=False)]
    for values in both if count > 1 else [(value,) for value in COLUMNS + LITERALS]:
        followed(f"SELECT {call} AS y FROM tcp{window}", list(itertools.islice(itertools.cycle(values), count)))


@pytest.mark.parametrize(("wrong", "right"), WRITTEN)
def test_the_statement_is_accepted_with_its_remedy(wrong: str, right: str) -> None:
    with pytest.raises(tw.SqlError):
        SESSION.query(wrong, args=None)
    args = {"now": 5, "n": 5, "name": 5, "limit": 5}
    SESSION.query(right, args={name: value for name, value in args.items() if re.search(rf":{name}\b", right)})


def test_suggested_functions_can_be_registered_and_called() -> None:
    asked = set()
    for line in refused():
        with pytest.raises(tw.SqlError) as caught:
            SESSION.query(marked(line)[0])
        asked |= set(re.findall(r"s\.function\('(\w+)'", caught.value.sentence))
    assert len(asked) > 20
    session = small_session()
    for name in asked:
        session.function(name, lambda *values: True, returns="boolean")
        session.query(f"SELECT {name}(host) AS y FROM tcp")


NUMBERS: dict[str, tuple[pa.DataType, list[str]]] = {
    "i": (pa.int32(), ["1", "-2", "2147483647", "100000000"]),
    "l": (pa.int64(), ["1", "9223372036854775807"]),
    "d30": (pa.decimal128(38, 30), ["1.5", "-2", "0.999999999999999999999999999999", "99999999.5"]),
    "d2": (pa.decimal128(38, 2), ["1.25", "1.26", "9" * 36, "-2.00"]),
    "d0": (pa.decimal128(38, 0), ["1", "9" * 38]),
    "d38": (pa.decimal128(38, 38), ["0." + "9" * 38, "0.5", "0.0"]),
    "m": (pa.decimal128(10, 2), ["1.50", "99999999.99"]),
    "s": (pa.string(), ["1", "1.5", "1.54", "-2", "1.2500000001"]),
    "b": (pa.bool_(), ["true", "false"]),
}
WRITTEN_NUMBERS = [
    "1",
    "0",
    "-2",
    "1.5",
    "1.255",
    "0.123456789012345678901234567890",
    "3000000000",
    "'1.5'",
    "'7'",
    "'-2'",
    "'3000000000'",
    "'99999999999999999999'",
    "TRUE",
]
SIGNS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "=": operator.eq, "<": operator.lt, ">=": operator.ge,
}  # fmt: skip


def numbers() -> tuple[tw.Session, list[dict[str, Fraction | None]]]:
    """Return a session with the stream `tcp` of these numbers, and their exact values."""
    rows = max(len(texts) for _, texts in NUMBERS.values())
    columns, exact = {}, {}
    for name, (kind, texts) in NUMBERS.items():
        padded = [*texts, *[None] * (rows - len(texts))]
        columns[name] = pa.array(padded).cast(kind)
        exact[name] = [None if each is None else value_of(each) for each in padded]
    table = pa.table({"ts": pa.array([0] * rows, pa.timestamp("us")), "id": pa.array(range(rows))} | columns)
    session = tw.session()
    session.stream("tcp", table, time="ts")
    return session, [dict(zip(exact, row, strict=True)) for row in zip(*exact.values(), strict=True)]


def value_of(text: str) -> Fraction:
    return Fraction({"true": "1", "false": "0"}.get(text.lower(), text.strip("'")))


NUMBERS_SESSION, EXACT = numbers()


@pytest.mark.parametrize("one", NUMBERS)
def test_the_casts_that_errors_suggest_keep_the_rows(one: str) -> None:
    """The rows of the exact numbers, or an error of a value that the CAST cannot hold."""
    compared = 0
    for other in [*NUMBERS, *WRITTEN_NUMBERS]:
        given = [f"tcp.{one}", f"tcp.{other}" if other in NUMBERS else other]
        for sign, holds in SIGNS.items():
            text = followed(f"SELECT id FROM tcp WHERE # {sign} #", list(given), NUMBERS_SESSION)
            if text is None:
                continue
            try:
                found = NUMBERS_SESSION.query(text).dataframe()["id"].to_pylist()
            except tw.FailedRowError:
                assert "CAST('" not in text or "AS BOOLEAN" in text, "a literal that is not valid raises for each row"
                assert "CAST(tcp.s AS INT)" not in text or "." not in other
                continue
            compared += 1
            pairs = [(row[one], row[other] if other in NUMBERS else value_of(other)) for row in EXACT]
            if "AS DOUBLE" in text:  # of text next to a DECIMAL, as in Spark
                pairs = [(x and Fraction(float(x)), y and Fraction(float(y))) for x, y in pairs]
            expected = [n for n, (x, y) in enumerate(pairs) if x is not None and y is not None and holds(x, y)]
            assert found == expected, text
    assert compared > 12
