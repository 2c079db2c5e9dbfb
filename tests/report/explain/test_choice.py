"""What `explain` says of the plans of a join: the table of candidates, and sentences about why one was chosen."""

from __future__ import annotations

import pytest

import thalweg as tw

ON = "a.k = b.k AND b.m = c.m"
FAN_OUT = {
    "a": {"rows_per_second": 20_000}, "b": {"rows_per_second": 3_000}, "c": {"rows_per_second": 300},
    "partners": {"a.k = b.k": (30, None), "b.m = c.m": (0.01, None)},
}  # fmt: skip
TOO_FAST = {
    "a": {"rows_per_second": 2e6}, "b": {"rows_per_second": 3e5}, "c": {"rows_per_second": 3e4},
    "partners": {"a.k = b.k": (30, None), "b.m = c.m": (0.01, None)},
}  # fmt: skip


def explained(**settings: object) -> str:
    j = tw.join(on=ON, window="10 seconds", time="ts", **{"statistics": FAN_OUT, **settings})  # type: ignore[arg-type]
    return str(j.explain())


def rows(text: str) -> dict[str, list[str]]:
    """Return the cells of the table by plan."""
    lines = text[text.index("Plans compared") :].splitlines()[1:]
    found = (line.strip().split("  ") for line in lines[1:4])
    return {row[0].strip(): [cell.strip() for cell in row if cell.strip()] for row in found}


def test_results_by_the_time_of_the_objective_are_a_column() -> None:
    assert "by 5 s" in explained(objective=tw.objective.most_results(by="5 seconds"))
    assert "by 10 s" in explained()  # the window


def test_the_reason_of_a_plan_that_needs_more_cpu() -> None:
    text = explained(objective="least_memory")
    assert rows(text)["multiway"][-1] == "chosen"
    assert "multiway takes 444 % of the CPU time of (a (b c))" in text
    assert "multiway is the best in memory; (a (b c)), the next best, is worse by 6.19 % on average" in " ".join(
        text.split()
    )


def test_what_is_compared_of_many_streams_is_said() -> None:
    on = " AND ".join(f"s{n}.k = s{n + 1}.k" for n in range(5))
    known: dict[str, object] = {f"s{n}": {"rows_per_second": 100.0} for n in range(6)}
    known["partners"] = {f"s{n}.k = s{n + 1}.k": (1, None) for n in range(5)}
    search = "local_rate_maximization"
    for wanted, found in (
        (None, ""),
        (tw.objective.most_results("1 second", search), f", the one that {search} finds"),
    ):
        text = str(tw.join(on, "10 seconds", "ts", statistics=known, objective=wanted).explain())
        assert f"only the cheapest plan{found}, multiway and those that keep one pair are compared" in " ".join(
            text.split()
        )


@pytest.mark.parametrize(("policy", "changes"), [("auto", True), ("static", False)])
def test_a_plan_that_never_changes_is_not_said_to(policy: str, changes: bool) -> None:
    text = explained(statistics=None, policy=policy)
    assert ("the plan changes if that is expected to pay" in text) is changes
    assert ("sub-joins are kept" in " ".join(text.split())) is changes
    assert "these are unknown: the rate of a, the rate of b, the" in " ".join(text.split())


def test_overtaking_is_said_with_time_and_results() -> None:
    explanation = tw.join(on=ON, window="10 seconds", time="ts", statistics=TOO_FAST).explain()
    assert explanation.curves is not None
    for crossing in explanation.curves.crossings[:3]:
        assert f"{crossing.one} overtakes {crossing.other} after" in str(explanation)


def test_long_sentences_are_wrapped() -> None:
    assert max(map(len, explained(objective="least_memory").splitlines())) <= 104
