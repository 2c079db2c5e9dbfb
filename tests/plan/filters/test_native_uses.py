"""The functions that an SQL expression uses, and what follows from them: an uncertain expression is never safe."""

from __future__ import annotations

import pytest

from thalweg.plan.filters.expression_kind import can_be_pushed, may_raise
from thalweg.plan.filters.native_uses import uses_in


def judged(text: str) -> bool:
    return may_raise([*uses_in(text)])


@pytest.mark.parametrize(
    "text",
    [
        "a > 1", "a == 1 AND NOT b <=> 2", "a > -5 or b in (-1, 2)", "line rlike 'a+'", "line NOT RLIKE 'a+' AND b = 1",
        "line LIKE '%a_' OR line ilike 'b%'", "line like '10/%' escape '/'", "rlike(lower(line), 'x')", "`it's` = 'a'",
        "`rlike(` = 1", "a.b.c = 'x)'", "m['key'] = 1", "split(line, ',', -1) = a", "substring(line, -3) = 'x'",
        "regexp_replace(line, '[0-9]+', 'n') = 'n'", "CASE WHEN a > 1 THEN b ELSE c END", "exists(arr, x -> x > 3)",
        "ts > timestamp '2026-01-01'", "line = 'cast(a as int) / 0'", "line = 'it\\'s'", "line rlike '\\\\d+'",
        "line rlike r'\\d+'", "try_cast(a as decimal(10, 2)) > 1", "try_to_timestamp(a) is not null",
        "a between 1 and 2",
    ],
)  # fmt: skip
def test_what_cannot_fail(text: str) -> None:
    assert not judged(text)


@pytest.mark.parametrize(
    "text",
    [
        # patterns from columns, or with an unknown value
        "line rlike pattern", "line rlike '('", "line rlike 'a' || b", "line rlike concat('a', b)", "rlike(line, 'a{')",
        "line rlike ('(')", "line like pattern", "line like 'a\\\\'", "line like '10/' escape '/'",
        "line like 'a' || b",
        "line like any ('a', '%')", "line ilike b", "like(line, 'a', b)", "split(line, b)", "split(line, '[')",
        "split(line, 'a', b)", "regexp_replace(line, b, 'x')", "regexp_replace(line, 'a', '$1')",
        "regexp_replace(line, 'a', b)", "regexp_replace(line, 'a', 'b', c)", "regexp_count(line, b)", "regexp(line, b)",
        'line rlike "a+"', "line rlike 'a' 'b('", "line rlike '\\\\u0028'", "line rlike '(a|b)*'",
        "regexp_like(line, '*')",
        # places that Spark casts, indexes, other functions and operators
        "substring(line, b) = 'x'", "left(line, 3000000000) = 'x'", "sha2(line, b) = 'x'", "locate('a', line, b) > 1",
        "arr[0] = 1", "m[b] = 1", "a / b > 1", "- a > 1", "a::int > 1", "cast(a as int) > 1", "a div 2 > 1",
        "try_to_timestamp(a, b) is null", "hex(a) = 'x'", "try_element_at(a, b) = 1", "mine(a)", "mine.lower(a) = 'x'",
        "element_at(a, 1) = 1", "from_json(a, 'b int') is null", "assert_true(a) is null", "raise_error(a) is null",
        # functions in backticks
        "`div`(10, a) > 2", "`assert_true`(a) is null", "t.`f`(a)", "`lower` (a) = 'x'",
        # what the lexer leaves open
        "a = 'x' /* ' */ and 1 / a > '", "a = 1 -- ' \n and 1 / a > 1", "line rlike '${env:HOME}'", "a in (select b)",
        "exists (select b from t)", "a = :b", "a = ?", "a = 'x", "v:a = 1", "a = {b}", "interval 1 day > a", "a @ b",
        "a is distinct from b", "a = r'\\' and 1 / b > '1'", "a = 'x''y' and 1 / b > 1",
    ],
)  # fmt: skip
def test_what_can_fail_or_is_not_understood(text: str) -> None:
    assert judged(text)


def test_what_a_data_source_can_evaluate_is_found_in_sql_too() -> None:
    for text in ("a > 1 and b is not null", "a == 'x' or startswith(`b c`, 'y')", "ts >= date '2026-01-01'"):
        assert can_be_pushed([*uses_in(text)])
    for text in ("lower(a) = 'x'", "a like 'x%'", "a = 1 -- 2"):
        assert not can_be_pushed([*uses_in(text)])
