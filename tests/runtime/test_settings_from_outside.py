"""Settings from the environment and from Spark's configuration, for filters, joins and SQL on both runtimes: the order
of the places holds, no answer changes, and what would change one is refused."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import thalweg as tw
from tests.runtime.spark.waiting import wait_until
from thalweg.adapt import POLICIES, chosen, setting_names
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.runtime.settings import FROM_OUTSIDE, IN_CODE_ALONE, FilterSettings, unknown_settings

START = datetime(2026, 1, 1)
ROWS = 60
WINDOW_S = 5
LEFT: list[dict[str, Any]] = [{"ts": START + timedelta(seconds=n), "k": n % 7, "id": n} for n in range(ROWS)]
RIGHT: list[dict[str, Any]] = [
    {"ts": START + timedelta(seconds=n, milliseconds=500), "k": n % 5, "id": n} for n in range(ROWS)
]
TABLES = {
    name: pa.Table.from_pylist(rows, pa.schema([("ts", pa.timestamp("us")), ("k", pa.int64()), ("id", pa.int64())]))
    for name, rows in (("a", LEFT), ("b", RIGHT))
}
ON, WINDOW = "a.k = b.k AND a.id < b.id + 100", f"{WINDOW_S} seconds"
FILTERED = "SELECT id FROM a WHERE odd(id) AND not_third(id) AND id <> 7"
JOINED = (
    f"SELECT a.id AS a, b.id AS b FROM a, b WHERE a.k = b.k AND odd(a.id) AND not_third(a.id) WINDOW {WINDOW_S} SECONDS"
)


def odd(number: int) -> bool:
    return number % 2 == 1


def not_third(number: int) -> bool:
    return number % 3 != 0


def pairs(left: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """Return the joined pairs by brute force."""
    within = timedelta(seconds=WINDOW_S)
    return sorted(
        (one["id"], other["id"])
        for one in left
        for other in RIGHT
        if one["k"] == other["k"] and abs(one["ts"] - other["ts"]) <= within
    )


KEPT = sorted(row["id"] for row in LEFT if odd(row["id"]) and not_third(row["id"]))
EXPECTED: dict[str, list[Any]] = {
    "filters": KEPT,
    "join": pairs(LEFT),
    "sql filter": [n for n in KEPT if n != 7],
    "sql join": pairs([row for row in LEFT if row["id"] in KEPT]),
}
KINDS = tuple(EXPECTED)


def a_filter(**given: Any) -> tw.Filters:
    return tw.filters(tw.predicate(odd, "id", name="odd"), tw.predicate(not_third, "id", name="not third"), **given)


def a_join(**given: Any) -> tw.Join:
    return tw.join(ON, window=WINDOW, time="ts", select=["a.id", "b.id"], **given)


def a_session(spark: Any = None) -> tw.Session:
    s = tw.session(spark)
    for name, table in TABLES.items():
        s.stream(name, table if spark is None else on_spark(spark, name), time="ts")
    for function in (odd, not_third):
        s.function(function.__name__, function, "boolean", safe=True)
    return s


def on_spark(spark: Any, name: str) -> Any:
    return spark.createDataFrame(TABLES[name], "ts timestamp_ntz, k long, id long")


def answer(kind: str, spark: Any = None, **given: Any) -> tuple[list[Any], Any]:
    """The rows, sorted, and the report."""
    if kind == "filters":
        keep = a_filter(**given)
        if spark is None:
            found = [row["id"] for batch in keep.over(TABLES["a"]) for row in batch.to_pylist()]
        else:
            found = [row["id"] for row in on_spark(spark, "a").transform(keep).collect()]
        return sorted(found), keep.report()
    if kind == "join":
        join = a_join(**given)
        if spark is None:
            table = pa.Table.from_batches(list(join.over(**TABLES)))
            return sorted(zip(*(table.column(c).to_pylist() for c in ("a_id", "b_id")), strict=True)), join.report()
        rows = join(**{name: on_spark(spark, name) for name in TABLES}).collect()
        return sorted((row["a_id"], row["b_id"]) for row in rows), join.report()
    q = a_session(spark).query(FILTERED if kind == "sql filter" else JOINED, **given)
    made = q.dataframe()
    rows = [tuple(row.values()) for row in (made.to_pylist() if spark is None else map(_dict, made.collect()))]
    return sorted(row[0] if len(row) == 1 else row for row in rows), q.report()


def _dict(row: Any) -> dict[str, Any]:
    found: dict[str, Any] = row.asDict()
    return found


def policies(report: Any) -> set[str]:
    """Under which policies the parts of a report ran."""
    reports = [part for _, part in report.parts] if hasattr(report, "parts") else [report]
    return {section.policy for each in reports for section in each.sections}


@pytest.fixture(autouse=True)
def _nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in FROM_OUTSIDE:
        monkeypatch.delenv(f"THALWEG_{name.upper()}", raising=False)


@pytest.fixture
def conf(spark: Any) -> Iterator[Callable[[str, str], None]]:
    """Sets what is unset after the test."""
    done = []

    def set_one(name: str, text: str) -> None:
        spark.conf.set(f"spark.thalweg.{name}", text)
        done.append(name)

    yield set_one
    for name in done:
        spark.conf.unset(f"spark.thalweg.{name}")


SETTINGS_OF = {
    "a-greedy": ["a-greedy(p=1.0)", "a-greedy(profile_window=3)", "a-greedy(alpha=0.5)"],
    "chart": ["chart(budget=0.5)", "chart(parts=3)", "chart(rounds=2)", "chart(decay=0.5)", "chart(threshold=0.1)"],
    "mesh": ["mesh(budget=0.5)", "mesh(routes=2)", "mesh(search='sa')", "mesh(search_from='extreme-n')"],
    "eddy": ["eddy(batch=3)"],
}
"""A text with each setting of policies; those that are missing have the same settings as one of these, or none."""
TEXTS = [
    *(("policy", policy) for policy in POLICIES), ("policy", " Static "),
    *(("policy", text) for texts in SETTINGS_OF.values() for text in texts), ("budget", "0.5"), ("slice_rows", "1"),
    ("seed", "7"), ("events", "run.jsonl"), ("redact", "TRUE"), ("time_limit", "30"), ("max_matches", "1000"),
    ("max_bytes", "100000000"), ("policy", ""), ("seed", "  "),
]  # fmt: skip


def test_every_setting_from_outside_is_tried_here() -> None:
    assert {name for name, _ in TEXTS} == set(FROM_OUTSIDE)
    tried = {policy: {key for text in texts for key in chosen(text).given} for policy, texts in SETTINGS_OF.items()}
    assert tried == {policy: set(setting_names(policy)) for policy in SETTINGS_OF}
    left = [{*setting_names(policy)} for policy in POLICIES if policy not in SETTINGS_OF]
    assert all(not each or each == {"budget"} or each in tried.values() for each in left)
    fields = {*FilterSettings.names(), *JoinSettings.names()}
    assert fields == {*FROM_OUTSIDE, *IN_CODE_ALONE}


def test_the_page_has_every_setting_and_what_it_applies_to() -> None:
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| `")]
    told = {name.strip(" `"): row[1:4] for row in rows for name in row[0].split(",")}
    assert set(told) == {*FROM_OUTSIDE, *IN_CODE_ALONE}
    arguments = [set(inspect.signature(each).parameters) for each in (tw.filters, tw.join, tw.Session.query)]
    arguments[1] -= {"window"}  # that of time
    for name, applies in told.items():
        fields = [FilterSettings.names(), JoinSettings.names()]
        fields.append((*fields[0], *fields[1]))
        for column, taken, known in zip(applies, arguments, fields, strict=True):
            if name in IN_CODE_ALONE:
                assert column == ("code" if name in taken else "no"), name
            else:
                assert column == ("no" if name not in known else "yes" if name in taken else "outside"), name


@pytest.mark.parametrize(("name", "text"), TEXTS, ids=lambda each: repr(each))
def test_no_setting_changes_an_answer(name: str, text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(f"THALWEG_{name.upper()}", text)
    for kind in KINDS:
        assert answer(kind)[0] == EXPECTED[kind], kind
    assert [path.name for path in tmp_path.iterdir()] == (["run.jsonl"] if name == "events" else [])


@pytest.mark.parametrize("kind", KINDS)
def test_the_argument_then_the_environment_then_the_default(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert policies(answer(kind)[1]) == {"auto"}
    monkeypatch.setenv("THALWEG_POLICY", "sweep(p=0.5)")
    assert policies(answer(kind)[1]) == {"sweep"}
    assert policies(answer(kind, policy="static")[1]) == {"static"}


OUTSIDE = {
    "conf": {
        "policy": "local-swaps(p=1.0, profile_window=3, alpha=0.5)", "slice_rows": "2", "seed": "7", "redact": "true",
        "time_limit": "30", "max_matches": "1000", "max_bytes": "100000000",
    },
    "environment": {"policy": "static", "budget": "0.5", "seed": "3", "redact": "1"},
}  # fmt: skip


@pytest.mark.parametrize("kind", ["filters", "join", "sql join"])
def test_on_spark_no_setting_changes_an_answer(
    spark: Any, conf: Any, kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, text in OUTSIDE["environment"].items():
        monkeypatch.setenv(f"THALWEG_{name.upper()}", text)
    monkeypatch.setenv("THALWEG_EVENTS", str(tmp_path / "run.jsonl"))
    found, report = answer(kind, spark)
    assert (found, policies(report)) == (EXPECTED[kind], {"static"})
    for name, text in OUTSIDE["conf"].items():
        conf(name, text)
    found, report = answer(kind, spark)
    assert (found, policies(report)) == (EXPECTED[kind], {"local-swaps"}), "Spark's configuration comes first"


def test_on_spark_the_argument_comes_first(spark: Any, conf: Any) -> None:
    conf("policy", "sweep")
    shown = a_session(spark).query(JOINED).explain()
    assert "(sweep)" in str(shown)
    assert "(static)" in str(a_session(spark).query(JOINED, policy="static").explain())
    _, report = answer("join", spark, policy="static")
    assert policies(report) == {"static"}


def test_join_explain_shows_the_policy_and_limits_in_force(spark: Any, conf: Any) -> None:
    frames = {name: on_spark(spark, name) for name in TABLES}
    conf("policy", "static")
    conf("max_matches", "1234")
    shown = str(a_join().explain(**frames))
    assert "(policy static)" in shown
    assert "1,234 matches" in shown
    assert "(policy sweep)" in str(a_join(policy="sweep").explain(**frames))
    chain = tw.filters(tw.predicate(bool, "k", name="one"), tw.predicate(bool, "k", name="other"))
    assert "(policy static)" in str(chain.explain(next(iter(frames.values()))))


@pytest.mark.parametrize("kind", KINDS)
def test_what_changes_rows_is_refused_wherever_it_is_set_outside(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_ON_ERROR", "dead-letter")
    with pytest.raises(tw.PlanError, match=r"THALWEG_ON_ERROR='dead-letter': .* write tw.filters"):
        answer(kind)


def test_on_spark_what_changes_rows_is_refused(spark: Any, conf: Any) -> None:
    conf("max_ahead", "1 hour")
    for kind in ("filters", "join", "sql join"):
        with pytest.raises(tw.PlanError, match=r"spark.thalweg.max_ahead='1 hour': .* write tw.join"):
            answer(kind, spark)


@pytest.mark.parametrize("on_spark", [False, True])
def test_a_query_takes_the_settings_of_its_filters_and_joins(on_spark: bool, request: Any, tmp_path: Path) -> None:
    session = a_session(request.getfixturevalue("spark") if on_spark else None)
    file = tmp_path / "run.jsonl"
    q = session.query(
        JOINED, policy="auto", budget=0.5, seed=7, events=file, time_limit=30, max_matches=1000, max_bytes=10**8,
        max_ahead="1 hour", idle_after="1 hour",
    )  # fmt: skip
    found = q.dataframe()
    assert (found.count() if on_spark else found.num_rows) == len(EXPECTED["sql join"])
    wait_until(lambda: bool(q.report().parts) and file.exists() and file.stat().st_size > 0, "event records")
    limited = session.query(JOINED, max_bytes=1)
    with pytest.raises(Exception, match="windows would hold more than"):
        limited.dataframe().collect()
    for wrong, sentence in (
        ({"budget": 7}, "budget=7"), ({"time_limit": -1}, "time_limit=-1"), ({"max_bytes": 0}, "max_bytes=0"),
        ({"idle_after": "soon"}, "idle_after"), ({"seed": -1}, "seed=-1"),
    ):  # fmt: skip
        with pytest.raises(tw.PlanError, match=sentence):
            session.query(JOINED, **wrong)


def test_settings_are_read_when_something_is_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    keep, join, q = a_filter(), a_join(), a_session().query(JOINED)
    assert "(auto)" in str(q.explain())
    monkeypatch.setenv("THALWEG_POLICY", "static")
    list(keep.over(TABLES["a"])), list(join.over(**TABLES)), q.dataframe()
    assert [policies(each.report()) for each in (keep, join, q)] == [{"static"}] * 3
    assert "(static)" in str(q.explain())
    assert q.plan.policy == "static"
    assert q.explain().adapts == ("nothing: policy static never changes an order",)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("policy", "greedy"), ("policy", "sweep(p=2)"), ("budget", "x"), ("slice_rows", "0"), ("seed", "-1"),
        ("redact", "yes"), ("max_matches", "0"), ("max_bytes", "1GB"), ("time_limit", "nan"),
    ],
)  # fmt: skip
def test_a_bad_value_names_its_place_for_every_kind(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"THALWEG_{name.upper()}", text)
    kinds: dict[str, type[FilterSettings | JoinSettings]] = {"filters": FilterSettings, "join": JoinSettings}
    for kind in KINDS:
        if kind in kinds and name not in kinds[kind].names():
            assert answer(kind)[0] == EXPECTED[kind], "what is no setting of it is not looked at"
            continue
        with pytest.raises(tw.PlanError, match=re.escape(f"THALWEG_{name.upper()}='{text}': ")):
            answer(kind)


def test_a_bad_value_in_the_configuration_is_named(spark: Any, conf: Any) -> None:
    conf("policy", "greedy")
    with pytest.raises(tw.PlanError, match=r"^spark\.thalweg\.policy='greedy': "):
        a_session(spark).query(FILTERED)
    with pytest.raises(tw.PlanError, match=r"^spark\.thalweg\.policy='greedy': "):
        a_join()(**{name: on_spark(spark, name) for name in TABLES})


def test_events_from_outside_are_of_every_part(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "new" / "run.jsonl"
    monkeypatch.setenv("THALWEG_EVENTS", str(file))
    for kind in KINDS:
        answer(kind)
    found = [json.loads(line) for line in file.read_text().splitlines()]
    assert {record["event"] for record in found} >= {"observed", "joined"}
    assert len({record["run"] for record in found}) == len(KINDS) + 1, "the join of the query, and its filter"


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("THALWEG_POLICIES", "did you mean 'THALWEG_POLICY'"),
        ("thalweg_max_byte", "did you mean 'THALWEG_MAX_BYTES'"),
        ("THALWEG_BUCKETS", "only in code, with buckets="),
    ],
)
def test_unknown_names_are_reported(variable: str, said: str) -> None:
    assert [said in sentence for sentence in unknown_settings({}, {variable: "1"})] == [True]


def test_a_key_in_another_case_is_reported() -> None:
    (said,) = unknown_settings(dict.fromkeys(["spark.thalweg.Policy", "spark.thalweg.policy"], "auto"), {})
    assert said == "spark.thalweg.Policy is not a Thalweg setting and is ignored (did you mean 'spark.thalweg.policy'?)"


@pytest.mark.parametrize("kind", ["join", "sql join"])
def test_unknown_names_are_warned_of_by_joins_and_queries(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"THALWEG_{kind.replace(' ', '_').upper()}", "5")
    with pytest.warns(UserWarning, match="is not a Thalweg setting"):
        answer(kind)


def test_unknown_names_that_are_set_later_cause_a_warning(spark: Any, conf: Any) -> None:
    answer("filters", spark)
    for name, kind in (("polcy", "filters"), ("policyy", "join")):
        conf(name, "static")
        with pytest.warns(UserWarning, match=f"spark.thalweg.{name} is not a Thalweg setting"):
            answer(kind, spark)


def test_max_bytes_holds_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(tw.JoinLimitError, match=r"windows would hold more than .*select= fewer columns, or raise max_"):
        list(a_join(max_bytes=100).over(**TABLES))
    monkeypatch.setenv("THALWEG_MAX_BYTES", "100")
    for kind in ("join", "sql join"):
        with pytest.raises(tw.JoinLimitError, match="THALWEG_MAX_BYTES"):
            answer(kind)
    assert answer("join", max_bytes=10_000_000)[0] == EXPECTED["join"]


def test_on_spark_limits_come_from_outside_too(spark: Any, conf: Any) -> None:
    conf("max_matches", "1")
    with pytest.raises(Exception, match=r"JoinLimitError: one row of .*raise max_matches= of tw.join or s.query"):
        answer("sql join", spark)
