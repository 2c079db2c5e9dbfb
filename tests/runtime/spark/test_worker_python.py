"""Whether local workers run the driver's Python, by what is on the disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.joins.streams import files, rows
from thalweg.runtime.spark import worker_python
from thalweg.runtime.spark.worker_python import another_python


@pytest.fixture
def pythons(tmp_path: Path) -> dict[str, str]:
    """A Python, two links to it, and two environments of it."""
    (tmp_path / "usr/bin").mkdir(parents=True)
    real = tmp_path / "usr/bin/python3.12"
    real.write_text("#!/bin/sh\n")
    real.chmod(0o755)
    places = {"real": real, "link": tmp_path / "usr/bin/python3", "local": tmp_path / "local/bin/python3"}
    for name in ("one", "two"):
        places |= {name: tmp_path / name / "bin/python", f"{name}3": tmp_path / name / "bin/python3"}
    for name, place in places.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        if name != "real":
            place.symlink_to(real)
    for name in ("one", "two"):
        (tmp_path / name / "pyvenv.cfg").write_text("")
    return {name: str(place) for name, place in places.items()}


@pytest.mark.parametrize(("workers", "ours"), [("real", "link"), ("link", "local"), ("one", "one3"), ("two3", "two")])
def test_another_name_of_the_same_python_is_no_reason_to_warn(workers: str, ours: str, pythons: dict[str, str]) -> None:
    assert another_python(pythons[workers], pythons[ours]) is None


@pytest.mark.parametrize(("workers", "ours"), [("link", "one"), ("one", "two"), ("two", "real")])
def test_an_environment_is_told_apart_from_what_it_is_made_of(workers: str, ours: str, pythons: dict[str, str]) -> None:
    told = another_python(pythons[workers], pythons[ours])
    assert told is not None
    assert f"PYSPARK_PYTHON={pythons[ours]}" in told


def test_the_python3_on_the_path_is_named(pythons: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(pythons["link"]).parent))
    told = another_python("python3", pythons["one"])
    assert told is not None
    assert f"'python3', which is {pythons['link']}" in told
    assert "cannot be found" in str(another_python("python9", pythons["one"]))


@pytest.mark.parametrize("door", ["call", "start"])
def test_the_warning_is_about_a_line_of_the_user(
    spark: SparkSession, tmp_path: Path, door: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_python, "another_python", lambda workers, ours: f"another Python at the {door}")
    frames: dict[str, Any] = {
        name: each.stream(spark) for name, each in files(tmp_path, {"a": [rows([0])], "b": [rows([1])]}).items()
    }
    j = tw.join(on="a.k = b.k", window="5 seconds", time="ts")
    places: dict[str, Any] = {"path": tmp_path / "out", "checkpoint": tmp_path / "c", "trigger": "availableNow"}
    doors: dict[str, Callable[[], Any]] = {
        "call": lambda: j(**frames),
        "start": lambda: j.start(**places, **frames).stop(),
    }
    with pytest.warns(UserWarning, match="another Python") as warned:
        doors[door]()
    assert [warning.filename for warning in warned] == [__file__]
