"""Nothing that is parsed is ignored: every SQL clause gives the rows of DuckDB, or is refused with its position."""

from __future__ import annotations

import random
import re

import pytest

import thalweg as tw
from tests.plan.sql.small_streams import oracle, rows_of, small_session
from tests.plan.sql.statements import accepted, marked, refused

SESSION, ORACLE = small_session(), oracle()
REMEDY = re.compile(
    r"[;:] (write|remove|register|give|group|sort|take|compute|explode|sample|pivot|combine|compare|CAST|cast|add|"
    r"join|choose|rename|pass|check|it has|use|the session has|\w+ has )|takes|s\.\w+\("
)


@pytest.mark.parametrize("line", refused())
def test_unsupported_sql_is_refused_with_its_position(line: str) -> None:
    text, begin, end = marked(line)
    with pytest.raises(tw.PlanError) as caught:
        SESSION.query(text)
    error = caught.value
    assert isinstance(error, tw.SqlError)
    assert REMEDY.search(error.sentence), error.sentence
    assert not any(word in str(error) for word in ("Traceback", "sqlglot", "<class"))
    assert error.line == 1
    assert begin is None or begin < error.column <= end, str(error)


def test_most_refusals_have_a_position_to_check() -> None:
    assert len(refused()) > 250
    assert sum(marked(line)[1] is not None for line in refused()) > 200


@pytest.mark.parametrize(("ours", "theirs"), accepted())
def test_accepted_sql_gives_the_rows_of_duckdb(ours: str, theirs: str) -> None:
    assert rows_of(SESSION.query(ours).dataframe()) == rows_of(ORACLE.sql(theirs).to_arrow_table())


def test_positions_in_later_lines() -> None:
    with pytest.raises(tw.SqlError) as caught:
        SESSION.query("SELECT size,\n  'é⏎' AS a,\n  nope FROM tcp")
    assert (caught.value.line, caught.value.column) == (3, 3)
    assert str(caught.value).splitlines()[1:] == ["    nope FROM tcp", "    ^"]


@pytest.mark.parametrize("text", ["", "  \n", None, 5, b"SELECT 1", ["SELECT 1"]])
def test_a_query_that_is_not_text_is_refused(text: object) -> None:
    with pytest.raises(tw.PlanError, match="a query must be text"):
        SESSION.query(text)


@pytest.mark.parametrize("word", ["EXPLAIN SELECT size FROM tcp", "SHOW TABLES"])
def test_refusing_writes_nothing_to_the_log(word: str, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(tw.SqlError, match="is not a query"):
        SESSION.query(word)
    assert not caplog.records


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT size FROM tcp WHERE {' OR '.join(f'size = {k}' for k in range(2000))}",
        f"SELECT {'+'.join(['size'] * 2000)} AS a FROM tcp",
        f"SELECT {'(' * 2000}size{')' * 2000} AS a FROM tcp",
    ],
    ids=["or", "plus", "brackets"],
)
def test_deeply_nested_expressions_are_refused(text: str) -> None:
    with pytest.raises(tw.PlanError, match="; write "):
        SESSION.query(text)


WORDS = re.compile(r"'[^']*'|`[^`]*`|\w+|\S|\s+")
STRAY = ("(", ")", "[", "]", ",", "'", "`", "*", ".", ";", "--", "/*", "NOT", "NULL", "AND", "SELECT", "FROM", "[NOW]",
         "TUMBLE(", "WINDOW", "5", ":x", "AS", "OVER ()", "=", "é", "\\", "\0", "$", "??", "::")  # fmt: skip


def damaged(text: str, rng: random.Random) -> str:
    """Return a text with one to three words removed, doubled, exchanged or inserted."""
    words = WORDS.findall(text)
    for _ in range(rng.randint(1, 3)):
        n = rng.randrange(len(words))
        way = rng.randrange(5)
        if way == 0:
            del words[n]
        elif way == 1:
            words.insert(n, words[n])
        elif way == 2:
            other = rng.randrange(len(words))
            words[n], words[other] = words[other], words[n]
        elif way == 3:
            words.insert(n, f" {rng.choice(STRAY)} ")
        else:
            words[n:] = words[n + 1 + rng.randrange(4) :]
        if not words:
            return ""
    return "".join(words)


def test_damaged_queries_raise_only_plan_errors() -> None:
    rng = random.Random(11)
    written = [ours for ours, _ in accepted()] + [marked(line)[0] for line in refused()]
    queries = 0
    for _ in range(2500):
        text = damaged(rng.choice(written), rng)
        try:
            SESSION.query(text).schema  # noqa: B018
        except tw.PlanError:
            continue
        except Exception as error:
            pytest.fail(f"{type(error).__name__}: {error}\n{text!r}")
        queries += 1
    assert 50 < queries < 2450  # damage neither always shows nor never


CALLED = (
    "upper", "length", "substring", "replace", "startswith", "instr", "abs", "ln", "power", "floor", "round", "year",
    "hour", "date_trunc", "concat", "coalesce", "greatest", "if", "nullif", "nvl", "count", "sum", "avg", "max", "cast",
    "to_date", "date", "extract", "trim", "position", "locate", "mod", "probe", "tumble", "int", "string", "date_part",
    "trunc", "case", "array", "struct", "map", "explode", "row_number", "first", "window", "interval",
)  # fmt: skip
GIVEN = (
    "", "size", "host", "ts", "'a'", "NULL", "*", "DISTINCT size", "size, host", "host, 1, 2", "'hour', ts",
    "ts, 'hour'", "isRobot, 1, 2", "size, size, size, size", "year FROM ts", "size AS int", "BOTH FROM host", "x -> x",
    "(SELECT 1)", "1.5, 2", "size ORDER BY ts", ",",
)  # fmt: skip


@pytest.mark.parametrize("function", CALLED)
def test_functions_with_any_arguments_are_accepted_or_refused(function: str) -> None:
    for given in GIVEN:
        for text in ("SELECT {} AS y FROM tcp", "SELECT {} AS y FROM tcp [RANGE 1 MINUTE] GROUP BY host"):
            try:
                query = SESSION.query(text.format(f"{function}({given})"))
            except tw.PlanError as error:
                shown = str(error)
            else:
                shown = str(query.explain())
            assert not re.search(r"<class|sqlglot|Traceback", shown)
