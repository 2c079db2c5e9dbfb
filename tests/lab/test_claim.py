"""How a claim judges a measurement."""

from __future__ import annotations

from thalweg.lab import Number, Statement


def test_a_number_holds_within_its_tolerance() -> None:
    claim = Number("about", "2 n", expected=2.0, tolerance=0.1, why="because")
    assert claim.judge(2.19).holds
    assert claim.judge(2.19).why == ""
    assert not claim.judge(2.3).holds
    assert claim.judge(2.3).why == "because"
    assert claim.judge(2.3).measured == "2.3"


def test_a_reading_is_shown_after_the_printed_text() -> None:
    assert Number("about", "50(n + 1)", 5.5, reading="a tuple").judge(5.5).paper == "50(n + 1) (a tuple)"


def test_a_statement_is_decided_by_its_comparison() -> None:
    claim = Statement[list[int]]("grows", "section 1", lambda r: r[-1] > r[0], lambda r: f"{r[0]} to {r[-1]}", "noise")
    assert claim.judge([1, 2]).holds
    assert claim.judge([1, 2]).measured == "1 to 2"
    assert (claim.judge([2, 1]).holds, claim.judge([2, 1]).why) == (False, "noise")
