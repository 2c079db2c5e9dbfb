"""`thalweg report` on a file in which every text is hostile: nothing reaches the terminal that it would obey."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from rich.cells import cell_len
from typer.testing import CliRunner, Result

from tests.events.flat_records import made
from tests.hostile_texts import HOSTILE, READABLE, hidden, hostile_texts
from tests.long_run import examples
from tests.report.join_records import joined, verdict
from thalweg.cli import app
from thalweg.events import (
    BatchTimed,
    JoinObserved,
    NativeObserved,
    Observed,
    Origin,
    PlanObserved,
    Record,
    VerdictGiven,
    from_json,
    to_json,
)
from thalweg.events.parts import NativeCounts, PlanCounts, PlanForecast

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
    origin = Origin(run, "stream", 0, "worker", "auto")
    values: dict[str, Any] = {
        "predicates": ("slow", "cheap"), "order": ("cheap", "slow"), "rows": 15, "kept": 3, "evaluated": (10, 15),
        "passed": (3, 10), "busy_ns": (500, 200), "cost_ns": (50.0, 12.0), "profiled": (2, 2),
        "profile_busy_ns": (9, 9), "profile_tuples": 2, "total_ns": 1_000, "profiling_ns": 50, "reoptimizing_ns": 20,
        "standing": "nothing better",
    }  # fmt: skip
    named = replace(origin, query="id", start="run", query_name="name")
    return [
        VerdictGiven(origin, 5, ("slow", "cheap"), ("cheap", "slow"), "it is better"),
        made(Observed, **asdict(named), **values, **more),
    ]


RECORDS: list[Record] = [
    *filter_records("run 1"),
    *filter_records("run 2", **ROUTED, mesh=json.dumps(MESH)),
    NativeObserved(
        Origin("run 2", "stream", 0, policy="auto"), ("slow", "cheap"), ("x > 1", "y > 1"), "0123", ("text", "number"),
        (1.0, 2.0), ("x > 1", "y > 1"), ("y > 1", "x > 1"), "it drops more", NativeCounts([10, 10], [5, 5]), (1, 2),
        (5, 5),
    ),
    verdict("run 3"),
    joined("run 3", query_name="name", standing="nothing better", most_matches=900, hottest="k=1"),
    joined("run 3", "b", **ROUTED, mesh=json.dumps(MESH)), joined("run 3", "c"),
    made(
        JoinObserved, run="run 3", kind="stream", batch=0, worker="bucket 0", policy="auto", alias="users", table=True,
        rows=20, window_rows=20,
    ),
    PlanObserved(
        Origin("run 3", "stream", 0, "bucket 0", "auto"), "((a b) c)", PlanCounts(100, 900, 70, 20, 2_000),
        PlanForecast(900.0, 70.0, 20.0, 2_000.0), 10.0, "(a (b c))", "it takes less time",
    ),
    BatchTimed(Origin("run 3", "stream", 0, query_name="name"), 100, 1.0, 1.7e9),
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
    values = {name: changed(value, suffix) for name, value in json.loads(to_json(record)).items() if name not in FIXED}
    return from_json(json.dumps({name: json.loads(to_json(record))[name] for name in FIXED} | values))


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
