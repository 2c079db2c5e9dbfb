from __future__ import annotations

import pytest

from thalweg import PlanError
from thalweg.plan import find_column


def test_the_exact_spelling_wins_over_one_that_only_looks_alike():
    assert find_column("Line", ["line", "Line", "LINE"]) == "Line"


def test_case_does_not_matter_where_only_one_column_is_alike():
    assert find_column("LINE", ["size", "line"]) == "line"


@pytest.mark.parametrize("name", ["a.b", "with space", "naïve", "`quoted`", "0", "-"])
def test_odd_names_are_names(name: str):
    assert find_column(name, ["x", name]) == name


def test_two_columns_alike_must_be_told_apart_by_the_user():
    with pytest.raises(PlanError) as caught:
        find_column("line", ["Line", "LINE", "size"])
    assert all(word in str(caught.value) for word in ("'line'", "Line", "LINE", "spell"))
    assert "size" not in str(caught.value)


def test_an_unknown_column_is_named_with_the_nearest_and_with_all_there_are():
    with pytest.raises(PlanError) as caught:
        find_column("lines", ["line", "size"])
    assert "'lines'" in str(caught.value)
    assert "did you mean 'line'" in str(caught.value)
    assert "size" in str(caught.value)


def test_data_without_columns_says_so():
    with pytest.raises(PlanError, match="there are none"):
        find_column("line", [])
