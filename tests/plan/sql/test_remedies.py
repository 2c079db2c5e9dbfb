"""What an error suggests is accepted when the user writes it."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

import thalweg as tw
from tests.plan.sql.small_streams import small_session
from tests.plan.sql.statements import marked, refused
from thalweg.plan.functions import FUNCTIONS

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
    if found is None or "INTERVAL '5'" in sentence:
        return None
    begin = found.end() - len("CAST(")
    depths = itertools.accumulate((letter == "(") - (letter == ")") for letter in sentence[begin + 4 :])
    return sentence[begin : begin + 5 + next(n for n, depth in enumerate(depths) if not depth)]


def refusal(text: str) -> str | None:
    try:
        SESSION.query(text)
    except tw.SqlError as error:
        return error.sentence
    return None


def followed(statement: str, given: list[str]) -> bool:
    """Return whether the statement is accepted after every CAST that errors suggest; False: they suggest something
    else."""
    for _ in range(MOST_STEPS):
        values = iter(given)
        text = re.sub("#", lambda _, values=values: next(values), statement)  # type: ignore[misc]
        sentence = refusal(text)
        if sentence is None:
            return True
        cast = cast_in(sentence)
        if cast is None:
            assert re.search(r"[;:] (convert|compare|write|remove|CAST each)", sentence), sentence
            return False
        SESSION.query(f"SELECT {cast} AS y FROM tcp")
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
