"""The text of `on=`: equalities between two streams, and other conditions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.errors import PlanError
from thalweg.plan.joins.condition import parse


def test_equalities_and_other_conditions() -> None:
    equalities, residuals, aliases = parse("a.k = b.k AND (b.m = c.m AND a.p < c.q + 1) AND (a.x = 1 OR b.y = c.y)")
    assert equalities == [("a", "k", "b", "k"), ("b", "m", "c", "m")]
    assert [r.text for r in residuals] == ["a.p < c.q + 1", "a.x = 1 OR b.y = c.y"]
    assert residuals[1].columns == (("a", "x"), ("b", "y"), ("c", "y"))
    assert aliases == ("a", "b", "c")


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a.k = b.k", 0),
        ("((a.k = b.k))", 0),
        ("a.k = b.k AND a.k = b.k", 0),
        ("a.`odd name` = b.k", 0),
        ("a.k = b.k AND a.k = 5", 1),
        ("a.k = b.k AND a.k = b.k + 0", 1),
        ("a.k = b.k AND NOT a.k = b.m", 1),
        ("a.k = b.k OR a.m = b.m", 1),
        ("a.k = b.k AND a.x BETWEEN 1 AND 3", 1),
        ("a.k = b.k AND a.x IN (1, 2) AND b.y IS NOT NULL AND a.f IS TRUE", 3),
    ],
)
def test_only_equalities_of_two_columns_connect(text: str, rest: int) -> None:
    equalities, residuals, aliases = parse(text)
    assert len(residuals) == rest
    assert aliases == ("a", "b")
    assert all(one in aliases and other in aliases for one, _, other, _ in equalities)


def test_names_are_used_as_written() -> None:
    equalities, _, aliases = parse("Clicks.`User Id` = buys.user")
    assert (equalities, aliases) == ([("Clicks", "User Id", "buys", "user")], ("Clicks", "buys"))


@given(st.text(alphabet="ab.k=<>()' ANDORNT01,*-+`;\"", max_size=30))
def test_any_text_is_parsed_or_refused_with_a_plan_error(text: str) -> None:
    try:
        equalities, residuals, aliases = parse(text)
    except PlanError:
        return
    assert aliases
    assert equalities or residuals
