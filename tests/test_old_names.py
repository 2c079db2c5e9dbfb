"""Old public names still work, say which name replaces them, and are written nowhere any more."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import thalweg as tw
from thalweg.adapt import ProfileSettings, make_policy
from thalweg.cli import app
from thalweg.deprecated import RENAMED, current_arguments, current_name, old_names
from thalweg.events import Observed, from_json, read
from thalweg.plan import Pipeline
from thalweg.runtime.filters.recalled_order import recalled
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.runtime.local.virtual import MultiwayJoin, Selection
from thalweg.runtime.settings import FilterSettings, unknown_settings

ROOT = Path(__file__).parents[1]
EVEN = tw.predicate(lambda x: x % 2 == 0, "x", name="even")
LARGE = tw.predicate(lambda x: x > 5, "x", name="large")
ROWS = pa.table({"x": range(20)})
KEYS = pa.table({"k": [1, 2], "t": pa.array([1, 2], pa.timestamp("us"))})
OLD_POLICY = "policy='written' is deprecated: use policy='static'"


def session() -> tw.Session:
    made = tw.session()
    made.stream("numbers", KEYS, time="t")
    return made


DOORS: dict[str, Any] = {
    "filters": lambda policy: list(tw.filters(EVEN, LARGE, policy=policy).over(ROWS)),
    "join": lambda policy: list(tw.join("a.k = b.k", "5 seconds", "t", policy=policy).over(a=KEYS, b=KEYS)),
    "query": lambda policy: list(session().query("SELECT k FROM numbers WHERE k > 1", policy=policy).batches()),
    "selection": lambda policy: Selection("s", "a", EVEN, LARGE, policy=policy),
    "multiway": lambda policy: MultiwayJoin("j", "a.k = b.k", "5 seconds", "t", policy=policy),
}


@pytest.mark.parametrize("door", DOORS)
def test_the_old_policy_name_warns_once_and_does_the_same(door: str) -> None:
    with pytest.warns(DeprecationWarning, match=re.escape(OLD_POLICY)) as caught:
        old = DOORS[door]("written")
    assert len(caught) == 1
    assert caught[0].filename == __file__  # where a user can act
    with warnings.catch_warnings(action="error"):
        new = DOORS[door]("static")
    assert old == new if isinstance(old, list) else repr(old) == repr(new)


def test_a_report_shows_the_new_name() -> None:
    with pytest.warns(DeprecationWarning, match="deprecated"):
        keep = tw.filters(EVEN, LARGE, policy="written")
    with warnings.catch_warnings(action="error"):  # said when it was made
        list(keep.over(ROWS))
    assert keep.report().sections[0].policy == "static"


def test_an_old_policy_name_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_POLICY", "Written")
    keep = tw.filters(EVEN, LARGE)
    with pytest.warns(DeprecationWarning, match="THALWEG_POLICY='written' is deprecated: use THALWEG_POLICY='static'"):
        list(keep.over(ROWS))
    assert keep.report().sections[0].policy == "static"


def test_an_old_policy_name_from_spark(spark: Any) -> None:
    spark.conf.set("spark.thalweg.policy", "written")
    keep = tw.filters(EVEN, LARGE)
    try:
        with pytest.warns(DeprecationWarning, match="spark.thalweg.policy='static'") as caught:
            df = spark.range(20).withColumnRenamed("id", "x").transform(keep)
    finally:
        spark.conf.unset("spark.thalweg.policy")
    assert [each.filename for each in caught] == [__file__]
    assert sorted(row.x for row in df.collect()) == [x for x in range(20) if x % 2 == 0 and x > 5]
    assert keep.report().sections[0].policy == "static"


def test_an_event_file_with_the_old_name_is_read_silently(tmp_path: Path) -> None:
    """Its records do not count as learned, as before, and reports show the new name."""
    path = tmp_path / "events.jsonl"
    list(tw.filters(EVEN, LARGE, policy="static", events=path).over(ROWS))
    path.write_text(path.read_text("utf-8").replace('"policy": "static"', '"policy": "written"'), "utf-8")
    assert '"policy": "written"' in path.read_text("utf-8")
    with warnings.catch_warnings(action="error"):
        assert {record.policy for record in read(path) if isinstance(record, Observed)} == {"static"}
        assert recalled(path, Pipeline(("even", "large"))) is None
    shown = CliRunner().invoke(app, ["report", str(path)])
    assert shown.exit_code == 0
    assert "static" in shown.output
    assert "policy written" not in shown.output


def test_a_policy_in_a_record_must_still_be_a_text() -> None:
    with pytest.raises(tw.ThalwegError, match="not an event record"):
        from_json(json.dumps({"event": "observed", "run": "r", "policy": ["written"]}))


def test_a_snapshot_with_the_old_name_is_taken_silently() -> None:
    policy = make_policy("static", Pipeline(("a", "b", "c")), None, np.random.default_rng(1))
    with warnings.catch_warnings(action="error"):
        policy.restore({"policy": "written", "order": [2, 0, 1]})
    assert policy.order == (2, 0, 1)
    with pytest.raises(tw.PlanError, match="'static'"):
        policy.restore({"policy": "sweep", "order": [2, 0, 1]})


def test_the_command_line_shows_the_warning() -> None:
    """In a process of its own, where Python hides such warnings; the race itself is left out."""
    code = (
        "import sys; sys.argv = ['thalweg', 'demo', '--policy', 'written']; from thalweg.cli.demo import run_race; "
        "run_race.run_race = lambda race, *_, **__: sys.exit(race.policy); from thalweg.cli import app; app()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert "--policy 'written' is deprecated: use --policy 'static'" in done.stderr
    assert done.stderr.endswith("static\n")


def profile_window(settings: FilterSettings | JoinSettings) -> int:
    assert isinstance(settings.profile, ProfileSettings)
    return settings.profile.profile_window


def remembered(keep: tw.Filters) -> int:
    """The profile window that applies now."""
    return profile_window(FilterSettings.in_force(keep._given))


def test_the_old_argument_of_filters_warns_once() -> None:
    with pytest.warns(DeprecationWarning, match="^window= is deprecated: use profile_window=$") as caught:
        old = tw.filters(EVEN, LARGE, window=7)
    assert [each.filename for each in caught] == [__file__]
    with warnings.catch_warnings(action="error"):
        assert list(old.over(ROWS)) == list(tw.filters(EVEN, LARGE, profile_window=7).over(ROWS))
        assert old.report().sections[0].policy == "a-greedy"  # of the paper, as for any of its settings
        assert remembered(old) == remembered(tw.filters(EVEN, LARGE, profile_window=7)) == 7
        tw.join("a.k = b.k", window="5 seconds", time="t")  # another thing


def test_a_wrong_value_is_named_by_the_new_name() -> None:
    with (
        pytest.warns(DeprecationWarning, match="profile_window="),
        pytest.raises(tw.PlanError, match="profile_window=-5"),
    ):
        tw.filters(EVEN, LARGE, window=-5)


def test_both_names_of_one_argument_are_refused() -> None:
    with pytest.raises(tw.PlanError, match=r"window= and profile_window= are both set.*: remove window="):
        tw.filters(EVEN, LARGE, window=7, profile_window=7)


def test_the_old_name_of_a_setting_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_WINDOW", "7")
    keep = tw.filters(EVEN, LARGE)
    with pytest.warns(DeprecationWarning, match="^THALWEG_WINDOW is deprecated: use THALWEG_PROFILE_WINDOW$") as caught:
        list(keep.over(ROWS))
    assert len(caught) == 1  # and it is not called unknown
    with pytest.warns(DeprecationWarning, match="THALWEG_PROFILE_WINDOW"):
        assert remembered(keep) == 7
    with warnings.catch_warnings(action="error"):  # only what wins is looked at
        assert remembered(tw.filters(EVEN, LARGE, profile_window=9)) == 9
    monkeypatch.setenv("THALWEG_PROFILE_WINDOW", " ")  # empty is unset
    with pytest.warns(DeprecationWarning, match="THALWEG_PROFILE_WINDOW"):
        assert remembered(keep) == 7
    monkeypatch.setenv("THALWEG_PROFILE_WINDOW", "8")
    with pytest.raises(
        tw.PlanError, match=r"THALWEG_WINDOW and THALWEG_PROFILE_WINDOW are both set.*remove THALWEG_WINDOW"
    ):
        keep.over(ROWS)


def test_the_old_name_of_a_setting_in_sparks_configuration() -> None:
    conf = {"spark.thalweg.window": "7"}
    with pytest.warns(DeprecationWarning, match="spark.thalweg.window is deprecated: use spark.thalweg.profile_window"):
        assert profile_window(FilterSettings.resolve({}, conf.get)) == 7
    with pytest.warns(DeprecationWarning, match="profile_window"):  # a join's probes have a profile window, too
        assert profile_window(JoinSettings.resolve({}, conf.get)) == 7
    with (
        pytest.warns(DeprecationWarning, match="window"),
        pytest.raises(tw.PlanError, match=r"^spark\.thalweg\.window='x'"),
    ):
        FilterSettings.resolve({}, {"spark.thalweg.window": "x"}.get)
    with pytest.warns(DeprecationWarning, match="window"):  # Spark's comes first, by whatever name
        found = FilterSettings.resolve({}, conf.get, {"THALWEG_PROFILE_WINDOW": "8"})
    assert profile_window(found) == 7
    assert unknown_settings(["spark.thalweg.window"], {"THALWEG_WINDOW": "7"}) == []


def test_the_identities_of_a_plan_by_their_old_names() -> None:
    one, same, other = (session().query(f"SELECT k FROM numbers WHERE k > {least}").plan for least in (1, 1, 2))
    with pytest.warns(DeprecationWarning, match=r"^query\.fingerprint is deprecated: use query\.question$") as caught:
        assert one.query.fingerprint == one.query.question
    assert [each.filename for each in caught] == [__file__]
    with pytest.warns(DeprecationWarning, match=r"^plan\.fingerprint is deprecated: use plan\.state$"):
        assert one.fingerprint == same.fingerprint != other.fingerprint


def test_the_old_names_of_methods_warn_and_do_the_same() -> None:
    fails = tw.predicate(lambda x: 1 / (x - 3) < 0, "x", name="fails")
    keep = tw.filters(fails, on_error="dead-letter")
    with pytest.warns(
        DeprecationWarning, match=r"^Filters\.errors_over\(\) is deprecated: use .*failed_over"
    ) as caught:
        old = list(keep.errors_over(ROWS, column="why"))
    assert [each.filename for each in caught] == [__file__]
    with warnings.catch_warnings(action="error"):
        new = list(keep.failed_over(ROWS, column="why"))
    assert old == new
    assert [row["x"] for batch in new for row in batch.to_pylist()] == [3]


def test_the_old_name_of_failed_on_spark(spark: Any) -> None:
    fails = tw.predicate(lambda x: 1 / (x - 3) < 0, "id", name="fails")
    keep = tw.filters(fails, on_error="dead-letter")
    with pytest.warns(DeprecationWarning, match=r"^Filters\.errors\(\) is deprecated: use Filters\.failed") as caught:
        old = spark.range(6).transform(keep.errors)
    assert [each.filename for each in caught] == [__file__]
    with warnings.catch_warnings(action="error", category=DeprecationWarning):
        new = keep.failed(spark.range(6))
    assert [row.id for row in old.collect()] == [row.id for row in new.collect()] == [3]


def test_classes_of_policies_by_their_old_names() -> None:
    adapt = importlib.import_module("thalweg.adapt")
    for old, new in (("Seen", "Observation"), ("Wants", "ProfilingRequest")):
        with pytest.warns(DeprecationWarning, match=f"thalweg.adapt.{old} is deprecated: use thalweg.adapt.{new}"):
            assert getattr(adapt, old) is getattr(adapt, new)
    with pytest.raises(AttributeError, match="has no attribute 'Heard'"):
        _ = adapt.Heard


def test_the_page_has_the_table() -> None:
    page = (ROOT / "docs" / "settings.md").read_text("utf-8")
    rows = page.partition("## Old names")[2].partition("\n## ")[0]
    for each in RENAMED:
        spelled = {"setting": "`spark.thalweg.{}`", "argument": "`{}=`", "method": "`keep.{}()`"}
        names = spelled.get(each.kind, "`{}`")
        assert f"{names.format(each.old)}" in rows
        assert f"{names.format(each.new)}" in rows


def test_the_table_is_consistent() -> None:
    for each in RENAMED:
        assert current_name(each.kind, each.old) == each.new
        assert each.old in old_names(each.kind, each.new)
        assert current_name(each.kind, each.new) == each.new  # no chains of old names
    assert current_arguments({"policy": None, "seed": 0}) == {"policy": None, "seed": 0}
