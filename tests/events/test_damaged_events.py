"""`thalweg report` on files that a kill, a full disk, an editor or foreign content damaged: never a traceback."""

from __future__ import annotations

import gzip
import json
import random
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner, Result

import thalweg as tw
from thalweg.cli import app
from thalweg.cli.demo.log_lines import make_lines
from thalweg.cli.demo.predicates import PREDICATES
from thalweg.events import BatchTimed, NativeObserved, Origin, PlanObserved, read, to_json
from thalweg.events.parts import ChartCounts, NativeCounts, PlanCounts, PlanForecast
from thalweg.events.reading import MOST_BYTES

WRONG: list[Any] = [
    None,
    "x",
    "\ud800",
    -1,
    0.5,
    float("nan"),
    float("inf"),
    10**30,
    True,
    [],
    ["x"],
    [[1]],
    [None],
    {},
    {"a": 1},
]


def reported(path: Path, *options: str) -> Result:
    result = CliRunner().invoke(app, ["report", str(path), *options])
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code in (0, 1)
    assert result.exit_code == 0 or result.stderr.strip()
    return result


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A file of a chain of filters, of a join with a table, and of native predicates."""
    path = tmp_path_factory.mktemp("events") / "events.jsonl"
    for _ in tw.filters(*PREDICATES, events=str(path), seed=1).over(make_lines(6_000, seed=1)):
        pass
    times = [datetime(2026, 1, 1) + timedelta(seconds=n) for n in range(50)]
    rows = pa.table({"ts": times, "k": list(range(50))})
    join = tw.join(on="a.k = b.k", window="5 seconds", time="ts", events=str(path))
    for _ in join.over(a=rows, b=rows):
        pass
    native = NativeObserved(
        Origin("batch 9", "batch", policy="auto"), (), ("x", "y"), "f", ("text", "JSON"), (1.0, 9.0), ("x", "y"),
        ("y", "x"), "why", NativeCounts([10, 5], [5, 1]), (0, 1), (3, 4),
    )  # fmt: skip
    plan = PlanObserved(
        Origin("batch 9", "batch", None, "bucket 0", "chart"), "(a b)", PlanCounts(9, 8, 7, 6, 5),
        PlanForecast(1.5, 2.5, 3.5, 4.5), 10.5, "multiway", "why", (1.0, 2.0),
        ChartCounts(5, 4, 3, 2, 1, 2.5), "as said",
    )  # fmt: skip
    timed = BatchTimed(Origin("q run s", "stream", 3, query="q", start="s"), 10, 1.5, 1.7e9)
    return [*path.read_text().splitlines(), to_json(native), to_json(plan), to_json(timed)]


@pytest.fixture
def whole(lines: list[str], tmp_path: Path) -> str:
    (tmp_path / "whole.jsonl").write_text("\n".join(lines) + "\n")
    result = reported(tmp_path / "whole.jsonl")
    assert result.exit_code == 0
    assert not result.stderr
    return result.stdout


def file_of(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_records_that_ran_together_are_read_apart(lines: list[str], whole: str, tmp_path: Path) -> None:
    for between in ("", " ", "\0\0\0"):
        result = reported(file_of(tmp_path, between.join(lines) + "\n"))
        assert result.stdout == whole
        assert not result.stderr


def test_a_record_after_a_torn_one_is_read(lines: list[str], whole: str, tmp_path: Path) -> None:
    for length in (1, 5, 11, 30, len(lines[0]) - 1):
        result = reported(file_of(tmp_path, "\n".join([lines[0], lines[0][:length] + lines[1], *lines[2:]])))
        assert result.stdout == whole, length
        assert "(line 2); the first: cut off" in result.stderr


def test_a_last_line_that_is_being_written_is_no_damage(lines: list[str], whole: str, tmp_path: Path) -> None:
    for length in range(1, len(lines[0]), 29):
        result = reported(file_of(tmp_path, "\n".join([*lines, lines[0][:length]])))
        assert result.stdout == whole
        assert not result.stderr


FOREIGN = [
    b"hello", b"[1, 2]", b"{}", b'{"event": "weather"}', b"\xff\xfe\x00", b"[" * 100_000,
    b'{"event": "observed", "run": 5}', b'{"event": ' + b"[" * 50_000, b"x" * (MOST_BYTES + 9),
    b'{"event": "switched", "run": "\xff"}',
]  # fmt: skip


def test_a_line_of_very_many_pieces_is_given_up(lines: list[str], whole: str, tmp_path: Path) -> None:
    """Reading them one by one would take minutes: the time grew with the square of their number."""
    pieces = b'{"event": "' * (2**24 // 12)
    result = reported(file_of(tmp_path, pieces + b"\n" + "\n".join(lines).encode() + b"\n"))
    assert result.exit_code == 0
    assert result.stdout == whole
    assert "(line 1" in result.stderr


@pytest.mark.parametrize("foreign", FOREIGN, ids=[str(foreign[:30]) for foreign in FOREIGN])
def test_what_is_no_record_is_left_out_and_reported(
    foreign: bytes, lines: list[str], whole: str, tmp_path: Path
) -> None:
    content = "\n".join(lines[:3]).encode() + b"\n" + foreign + b"\n" + "\n".join(lines[3:]).encode() + b"\n"
    result = reported(file_of(tmp_path, content))
    assert result.exit_code == 0
    assert result.stdout == whole
    assert "1 part could not be read and is left out (line 4)" in result.stderr
    alone = reported(file_of(tmp_path, foreign + b"\n"))
    assert alone.exit_code == 1
    assert "has no event records (line 1" in alone.stderr


@pytest.mark.parametrize("content", [b"", b"\n\n", b" ", b"\xef\xbb\xbf", b"\0" * 100])
def test_a_file_of_nothing_holds_no_observations(content: bytes, tmp_path: Path) -> None:
    result = reported(file_of(tmp_path, content))
    assert result.exit_code == 1
    assert "has no observations yet" in result.stderr


def test_other_files(lines: list[str], whole: str, tmp_path: Path) -> None:
    text = "\n".join(lines)
    assert reported(file_of(tmp_path, b"\xef\xbb\xbf" + text.encode())).stdout == whole, "a byte order mark"
    assert reported(file_of(tmp_path, text.replace("\n", "\r\n"))).stdout == whole
    packed = reported(file_of(tmp_path, gzip.compress(text.encode())))
    assert packed.exit_code == 1
    assert "decompress it first" in packed.stderr
    assert reported(file_of(tmp_path, text.encode("utf-16"))).exit_code == 1
    assert reported(file_of(tmp_path, random.Random(1).randbytes(100_000))).exit_code == 1
    folder = reported(tmp_path)
    assert folder.exit_code == 1
    assert "is a folder" in folder.stderr


def test_every_field_may_be_wrong(lines: list[str], tmp_path: Path) -> None:
    kinds = {json.loads(line)["event"]: line for line in lines}
    assert set(kinds) >= {"observed", "verdict", "switched", "native", "joined", "plan", "batch"}
    for line in kinds.values():
        values = json.loads(line)
        damaged = [json.dumps({**values, name: wrong}) for name in values for wrong in WRONG]
        damaged += [json.dumps({k: v for k, v in values.items() if k != name}) for name in values]
        for part, inner in values.items():
            if isinstance(inner, dict):
                damaged += [json.dumps({**values, part: {**inner, name: wrong}}) for name in inner for wrong in WRONG]
        for option in ((), ("--json",)):
            result = reported(file_of(tmp_path, "\n".join([*lines, *damaged])), *option)
            assert result.exit_code == 0
            assert not option or json.loads(result.stdout)
        for each in damaged[::11]:
            reported(file_of(tmp_path, each))


def test_records_of_one_run_that_cannot_be_one_run_are_left_out(lines: list[str], whole: str, tmp_path: Path) -> None:
    strangers = []
    for line in lines:
        values = json.loads(line)
        name = {"observed": "predicates", "native": "predicates", "joined": "others"}.get(values["event"])
        if name is not None:
            text = line
            for n, word in enumerate(values[name]):
                text = text.replace(json.dumps(word), f'"other {n}"')
            strangers.append(text)
    result = reported(file_of(tmp_path, "\n".join([*lines, *strangers])))
    assert result.stdout == whole
    assert "has ('other 0'" in result.stderr


def test_random_damage(lines: list[str], tmp_path: Path) -> None:
    chance = random.Random(5)
    text = "\n".join(lines).encode()
    read_some = 0
    for _ in range(150):
        damaged = bytearray(text)
        for _ in range(chance.randint(1, 6)):
            at, size = chance.randrange(len(damaged)), chance.choice([1, 1, 5, 200])
            way = chance.randrange(4)
            if way == 0:
                del damaged[at : at + size]
            elif way == 1:
                damaged[at:at] = chance.choice(
                    [b"\n", b"{", b'"', b"\xff", b"\0" * 9, b"-", b"9" * 20, text[at : at + size]]
                )
            elif way == 2:
                damaged[at : at + 1] = bytes([chance.randrange(256)])
            else:
                damaged[at:] = damaged[at + size :]
        read_some += reported(file_of(tmp_path, bytes(damaged))).exit_code == 0
    assert read_some > 100


def test_reading_from_python_warns_of_foreign_lines_once(lines: list[str], tmp_path: Path) -> None:
    path = file_of(tmp_path, "\n".join(["hello", *lines, "world", ""]))
    with pytest.warns(UserWarning, match="2 lines are not event records and are skipped, the first is line 1"):
        assert len(list(read(path))) == len(lines)
