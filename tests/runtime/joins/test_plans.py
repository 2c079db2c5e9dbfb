"""`plan=` of joins and queries: which sub-joins are kept, what is shown of it, and what is refused."""

from __future__ import annotations

import pyarrow as pa
import pytest

import thalweg as tw
from thalweg.cost.memory import EXPIRED, kept_rows, rows_held

ON = "a.k = b.k AND b.m = c.m"
TEXT = "SELECT x.t FROM a [RANGE 20 SECONDS] AS x, b [RANGE 20 SECONDS] AS y, c [RANGE 20 SECONDS] AS z WHERE x.k = y.k AND y.m = z.m"  # noqa: E501


def tables(rows: int = 200) -> dict[str, pa.Table]:
    times = pa.array(range(rows), pa.int64()).cast(pa.timestamp("s"))
    keys = [n % 3 for n in range(rows)]
    return {
        "a": pa.table({"t": times, "k": keys}),
        "b": pa.table({"t": times, "k": keys, "m": [n % 40 for n in range(rows)]}),
        "c": pa.table({"t": times, "m": [n % 50 for n in range(rows)]}),
    }


def join(plan: str | None) -> tw.Join:
    return tw.join(on=ON, window="20 seconds", time="t", plan=plan)


def count(j: tw.Join) -> int:
    return sum(batch.num_rows for batch in j.over(**tables()))


def test_what_is_kept_is_in_explain_and_report() -> None:
    j = join("((b c) a)")
    text = str(j.explain())
    assert "keeps (b c) (plan ((b c) a))" in text
    assert "b and c are joined by hashing; the results are kept" in text
    assert "nothing: the plan ((b c) a) determines every order" in text
    assert count(j) == count(join(None)) == count(join("multiway")) == count(join("(c b a)")) > 0
    report = str(j.report())
    assert "(b c): a kept sub-join" in report
    assert "why the orders are kept: the plan ((b c) a) determines it" in report
    assert "kept sub-join" not in str(join(None).report())


def test_a_kept_sub_join_holds_what_the_model_says() -> None:
    """b and c: one row per second each; a row of b finds one of c if both numbers are the same, 1 in 50."""
    rows = 4000
    data = {
        "a": pa.table({"t": range(rows), "k": [0] * rows}),
        "b": pa.table({"t": range(rows), "k": [1] * rows, "m": [(7 * n) % 50 for n in range(rows)]}),
        "c": pa.table({"t": range(rows), "m": [(11 * n) % 50 for n in range(rows)]}),
    }
    j = tw.join(on=ON, window=300, time="t", plan="((b c) a)")
    batches = {alias: table.to_batches(max_chunksize=10) for alias, table in data.items()}
    assert sum(batch.num_rows for batch in j.over(**batches)) == 0
    (inner,) = j.report().sections[0].inner.values()
    held = rows_held(1.0, 300.0, round_length=10.0)
    live = kept_rows([(held, 1.0), (held, 1.0)], 1 / 50)
    assert live <= inner.window.most_rows <= EXPIRED * live * 1.05


def test_a_query_takes_a_plan() -> None:
    found = []
    for plan in (None, "((y z) x)", "multiway"):
        s = tw.session()
        for name, table in tables().items():
            s.stream(name, table, time="t")
        q = s.query(TEXT, plan=plan)
        found.append(q.dataframe().num_rows)
    assert found[0] == found[1] == found[2] > 0


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        ("((b c) a", r"a parenthesis is not closed; write 'multiway'"),
        ("b c) a", r"closed that is not open"),
        ("(b c)", r"a is missing; a plan must have each of a, b, c once"),
        ("((a c) b)", r"joins \{a\} with \{c\}, which have no equality between them"),
        ("((b c) a) x", r"one pair of parentheses around it"),
        ("((b) a c)", r"needs two or more streams"),
        ("", r"plan='' is not a plan; write 'multiway'"),
        ("bushy", r"plan='bushy' is not a plan; write 'multiway'"),
        ("((b d) a)", r"d is not a stream of the join and c is missing; a plan must have each of a, b, c once"),
        ("((b c) a a)", r"a is there twice"),
        ("(" * 5_000 + "a a" + " a)" * 5_000, r"more than 100 parentheses are open"),
        ("((b c) a\0)", r"a\\x00 is not a stream of the join"),
        ("((b c) 'a; DROP')", r"is not a stream of the join"),
        (7, r"plan=7: must be text"),
    ],
)
def test_plans_that_are_refused(plan: object, says: str) -> None:
    wrong: dict[str, object] = {"plan": plan}
    with pytest.raises(tw.PlanError, match=says):
        tw.join(ON, "1 second", "t", **wrong)  # type: ignore[arg-type]  # wrong on purpose


def test_a_plan_for_a_query_without_a_join_is_refused() -> None:
    s = tw.session()
    s.stream("a", tables()["a"], time="t")
    with pytest.raises(tw.PlanError, match=r"plan='\(a b\)': the query has no join of windows; leave plan= out"):
        s.query("SELECT k FROM a", plan="(a b)")


def test_a_plan_from_outside_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_PLAN", "((b c) a)")
    with pytest.warns(UserWarning, match=r"THALWEG_PLAN.*names the streams of one join"):
        count(join(None))
