"""`thalweg report` on a file in which every text is hostile: nothing reaches the terminal that it would obey."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from rich.cells import cell_len
from typer.testing import CliRunner, Result

from tests.hostile_texts import HOSTILE, READABLE, hidden, hostile_texts
from tests.long_run import examples
from tests.report.join_records import joined, verdict
from thalweg.cli import app
from thalweg.events import BatchTimed, NativeObserved, Observed, PlanObserved, Record, VerdictGiven, to_json

LEAF = {"route": 0, "share": 0.5}
MESH = {
    "tree": {
        "column": "kind", "kind": "text", "null": {"route": 0}, "other": {"route": 0},
        "branches": [[["web"], {"route": 1, "share": 0.5}], [["db"], LEAF]],
    },
    "routes": [[1, 0], [0, 1]], "version": 2,
}  # fmt: skip
ROUTED: dict[str, Any] = {"mesh_version": 2, "route_rows": (10, 5), "route_evaluated": (12, 6), "route_ns": (900, 800)}
FIXED = ("event", "kind")
"""Fields with one of a few words."""


def filter_records(run: str, **more: Any) -> list[Record]:
    return [
        VerdictGiven(run, 0, "worker", "auto", 5, ("slow", "cheap"), ("cheap", "slow"), "it is better"),
        Observed(
            run, "stream", 0, "worker", "auto", ("slow", "cheap"), ("cheap", "slow"), 15, 3, (10, 15), (3, 10),
            (500, 200), (50.0, 12.0), (2, 2), (9, 9), (0, 0), 2, 1_000, 50, 20, query="id", start="run",
            query_name="name", standing="nothing better", **more,
        ),
    ]  # fmt: skip


RECORDS: list[Record] = [
    *filter_records("run 1"),
    *filter_records("run 2", **ROUTED, mesh=json.dumps(MESH)),
    NativeObserved(
        "run 2", "stream", 0, "auto", ("slow", "cheap"), ("x > 1", "y > 1"), "0123", ("text", "number"), (1.0, 2.0),
        ("x > 1", "y > 1"), ("y > 1", "x > 1"), "it drops more", (10, 10), (5, 5), (1, 2), (5, 5),
    ),
    verdict("run 3"),
    joined("run 3", query_name="name", standing="nothing better", most_matches=900, hottest="k=1"),
    joined("run 3", "b", **ROUTED, mesh=json.dumps(MESH)), joined("run 3", "c"),
    replace(
        joined("run 3"), stream="users", others=(), order=(), evaluated=(), passed=(), profiled=(), table=True
    ),
    PlanObserved(
        "run 3", "stream", 0, "bucket 0", "auto", "((a b) c)", 100, 900, 70, 20, 2_000, 10.0, 900.0, 70.0, 20.0,
        2_000.0, "(a (b c))", "it takes less time",
    ),
    BatchTimed("run 3", 0, 100, 1.0, 1.7e9, query_name="name"),
]  # fmt: skip


def changed(value: Any, suffix: str) -> Any:
    """A value in which every text, also within JSON, ends with the suffix."""
    if isinstance(value, Mapping):
        return {name: each if name == "kind" else changed(each, suffix) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(changed(each, suffix) for each in value)
    if isinstance(value, str) and value.startswith("{"):
        return json.dumps(changed(json.loads(value), suffix))
    return f"{value}{suffix}" if isinstance(value, str) and value else value


def hostile(record: Record, suffix: str) -> Record:
    values = {each.name: getattr(record, each.name) for each in fields(record)}
    return replace(record, **{name: changed(v, suffix) for name, v in values.items() if name not in FIXED})


def reported(folder: Path, suffix: str, *options: str) -> Result:
    file = folder / "events.jsonl"
    file.write_text("".join(to_json(hostile(record, suffix)) + "\n" for record in RECORDS), "utf-8")
    result = CliRunner().invoke(app, ["report", str(file), *options])
    assert result.exit_code == 0, result.output
    assert result.stderr == ""  # no record was skipped
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("events")


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_hostile_is_printed(folder: Path, text: str) -> None:
    shown = reported(folder, text).stdout
    assert hidden(shown) == []
    assert not any(line.startswith("forged") for line in shown.splitlines())


@given(text=hostile_texts)
@examples(25, long=2_000)
def test_nothing_hostile_is_printed_of_drawn_texts(folder: Path, text: str) -> None:
    assert hidden(reported(folder, text).stdout.replace("\u200d", "")) == []


@pytest.mark.parametrize("name", READABLE)
def test_readable_names_are_printed(folder: Path, name: str) -> None:
    words = re.sub(r"\s+", " ", reported(folder, name).stdout)
    for text in ("slow", "it is better", "nothing better", "worker", "kind", "x > 1", "it drops more", "k=1", "users"):
        assert re.sub(r"\s", " ", f"{text}{name}") in words, text


@pytest.mark.parametrize("name", READABLE)
def test_columns_are_aligned(folder: Path, name: str) -> None:
    lines = reported(folder, name).stdout.splitlines()
    tables = [n for n, line in enumerate(lines) if "rows seen" in line and "predicate" in line]
    assert len(tables) == 2
    for head in tables:
        assert len({cell_len(line) for line in lines[head : head + 3]}) == 1


def test_json_has_the_original_texts(folder: Path) -> None:
    text = "\x1b[31m\u202e\n大"
    shown = reported(folder, text, "--json").stdout
    assert hidden(shown) == []
    predicates = json.loads(shown)["sections"][0]["predicates"]
    assert {each["name"] for each in predicates} == {f"slow{text}", f"cheap{text}"}
