"""Old public names still work, say which name replaces them, and are written nowhere any more."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import thalweg as tw
from thalweg.adapt import make_policy
from thalweg.cli import app
from thalweg.deprecated import RENAMED, current_arguments, current_name, old_names
from thalweg.events import Observed, from_json, read
from thalweg.plan import Pipeline
from thalweg.runtime.local.virtual import MultiwayJoin, Selection
from thalweg.runtime.recalled import recalled

ROOT = Path(__file__).parents[2]
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
def test_the_old_policy_name_warns_once_and_does_the_same(door: str):
    with pytest.warns(DeprecationWarning, match=re.escape(OLD_POLICY)) as caught:
        old = DOORS[door]("written")
    assert len(caught) == 1
    assert caught[0].filename == __file__  # where a user can act
    with warnings.catch_warnings(action="error"):
        new = DOORS[door]("static")
    assert old == new if isinstance(old, list) else repr(old) == repr(new)


def test_a_report_shows_the_new_name():
    with pytest.warns(DeprecationWarning, match="deprecated"):
        keep = tw.filters(EVEN, LARGE, policy="written")
    with warnings.catch_warnings(action="error"):  # said when it was made
        list(keep.over(ROWS))
    assert keep.report().sections[0].policy == "static"


def test_an_old_policy_name_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("THALWEG_POLICY", "Written")
    keep = tw.filters(EVEN, LARGE)
    with pytest.warns(DeprecationWarning, match="THALWEG_POLICY='written' is deprecated: use THALWEG_POLICY='static'"):
        list(keep.over(ROWS))
    assert keep.report().sections[0].policy == "static"


def test_an_old_policy_name_from_spark(spark: Any):
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


def test_an_event_file_with_the_old_name_is_read_silently(tmp_path: Path):
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


def test_a_policy_in_a_record_must_still_be_a_text():
    with pytest.raises(tw.ThalwegError, match="not an event record"):
        from_json(json.dumps({"event": "observed", "run": "r", "policy": ["written"]}))


def test_a_snapshot_with_the_old_name_is_taken_silently():
    policy = make_policy("static", Pipeline(("a", "b", "c")), None, None)
    with warnings.catch_warnings(action="error"):
        policy.restore({"policy": "written", "order": [2, 0, 1]})
    assert policy.order == (2, 0, 1)
    with pytest.raises(tw.PlanError, match="'static'"):
        policy.restore({"policy": "sweep", "order": [2, 0, 1]})


def test_the_command_line_shows_the_warning():
    """In a process of its own, where Python hides such warnings; the race itself is left out."""
    code = (
        "import sys; sys.argv = ['thalweg', 'demo', '--policy', 'written']; from thalweg.cli.demo import run_race; "
        "run_race.run_race = lambda race, *_, **__: sys.exit(race.policy); from thalweg.cli import app; app()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert "--policy 'written' is deprecated: use --policy 'static'" in done.stderr
    assert done.stderr.endswith("static\n")


def test_the_table_is_consistent():
    for each in RENAMED:
        assert current_name(each.kind, each.old) == each.new
        assert each.old in old_names(each.kind, each.new)
        assert current_name(each.kind, each.new) == each.new  # no chains of old names
    assert current_arguments({"policy": None, "seed": 0}) == {"policy": None, "seed": 0}
