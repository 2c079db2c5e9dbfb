"""`thalweg report`, on events recorded by the local runtime; and what needs no command."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import thalweg as tw
from thalweg.cli import app
from thalweg.cli.demo.log_lines import make_lines
from thalweg.cli.demo.predicates import PREDICATES


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("events") / "events.jsonl"
    keep = tw.filters(*PREDICATES, events=str(path), seed=1)
    for _ in keep.over(make_lines(20_000, seed=1)):
        pass
    return path


def test_prints_the_report_that_the_run_itself_would_give(events: Path) -> None:
    result = CliRunner().invoke(app, ["report", str(events)])
    assert result.exit_code == 0
    assert "policy auto; counted: 20,000 rows of local pass 1" in result.stdout
    assert all(p.name in result.stdout for p in PREDICATES)
    assert re.search(r"\d+ switch(es)?(, the latest \d+)?:", result.stdout)


def test_as_json(events: Path) -> None:
    result = CliRunner().invoke(app, ["report", str(events), "--json"])
    assert result.exit_code == 0
    (section,) = json.loads(result.stdout)["sections"]
    assert section["rows"] == 20_000
    assert section["switches"] >= 1
    assert {p["name"] for p in section["predicates"]} == {p.name for p in PREDICATES}


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["report", str(tmp_path / "nothing.jsonl")])
    assert result.exit_code == 1
    assert "there is no file" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "text", ["hello\n", "[1, 2]\n", '"observed"\n', '{"event": "weather"}\n', '{"event": "observed"}\n']
)
def test_another_file_is_reported(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text(text)
    result = CliRunner().invoke(app, ["report", str(path)])
    assert result.exit_code == 1
    assert "has no event records" in result.stderr


def test_a_foreign_line_is_left_out_with_its_number(events: Path, tmp_path: Path) -> None:
    lines = events.read_text().splitlines()
    mixed = tmp_path / "mixed.jsonl"
    mixed.write_text("\n".join([*lines[:2], "hello", *lines[2:]]))
    whole, told = (CliRunner().invoke(app, ["report", str(path)]) for path in (events, mixed))
    assert told.exit_code == 0
    assert told.stdout == whole.stdout
    assert "1 part could not be read and is left out (line 3); the first: not an event record: 'hello'" in told.stderr


def test_a_file_of_a_killed_writer_is_reported(events: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.jsonl"
    cut.write_text(events.read_text() + events.read_text()[:20])
    whole, told = (CliRunner().invoke(app, ["report", str(path)]) for path in (events, cut))
    assert told.exit_code == 0
    assert told.stdout == whole.stdout


def test_an_empty_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.touch()
    result = CliRunner().invoke(app, ["report", str(path)])
    assert result.exit_code == 1
    assert "has no observations yet" in result.stderr


def test_version() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.stdout == f"thalweg {tw.__version__}\n"


WITHOUT_PYSPARK = """
import sys
class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pyspark":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Gone())
sys.argv[0] = "thalweg"
from thalweg.cli import app
app()
"""


def test_help_needs_no_pyspark_and_the_demo_says_what_to_install() -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", WITHOUT_PYSPARK, *words], capture_output=True, text=True)

    helped = run("--help")
    assert helped.returncode == 0
    assert "demo" in helped.stdout
    tried = run("demo", "--quick")
    assert tried.returncode == 1
    assert tried.stderr == "This needs PySpark (pyspark is missing): pip install 'thalweg[spark]'\n"


def test_a_terminal_without_a_micro_sign_gets_the_report(events: Path) -> None:
    command = [sys.executable, "-c", "from thalweg.cli import app; app()", "report", str(events)]
    done = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}, check=False)
    assert done.returncode == 0, done.stderr
    assert b"counted: 20,000 rows" in done.stdout
