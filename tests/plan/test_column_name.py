from __future__ import annotations

import pytest

from thalweg import PlanError
from thalweg.plan import find_column


def test_an_exact_match_comes_before_a_match_that_ignores_case() -> None:
    assert find_column("Line", ["line", "Line", "LINE"]) == "Line"


def test_case_is_ignored_if_only_one_column_matches() -> None:
    assert find_column("LINE", ["size", "line"]) == "line"


@pytest.mark.parametrize("name", ["a.b", "with space", "naïve", "`quoted`", "0", "-"])
def test_unusual_names_are_found(name: str) -> None:
    assert find_column(name, ["x", name]) == name


def test_a_name_that_matches_two_columns_is_ambiguous() -> None:
    with pytest.raises(PlanError) as caught:
        find_column("line", ["Line", "LINE", "size"])
    assert all(word in str(caught.value) for word in ("'line'", "Line", "LINE", "exactly"))
    assert "size" not in str(caught.value)


def test_the_error_for_an_unknown_column_suggests_and_lists() -> None:
    with pytest.raises(PlanError) as caught:
        find_column("lines", ["line", "size"])
    assert "'lines'" in str(caught.value)
    assert "did you mean 'line'" in str(caught.value)
    assert "size" in str(caught.value)


def test_the_error_says_if_there_are_no_columns() -> None:
    with pytest.raises(PlanError, match="there are none"):
        find_column("line", [])
