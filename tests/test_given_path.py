"""`~` at the beginning of a path is the home folder, wherever a path is given; URIs stay as they are."""

from __future__ import annotations

import pwd
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import thalweg as tw
from tests.report.join_records import joined
from thalweg.cli import app
from thalweg.events import read, to_json
from thalweg.events.jsonl import JsonLines
from thalweg.given_path import given_path
from thalweg.report import MeshView
from thalweg.runtime.sink.given_folder import given_folder
from thalweg.runtime.spark.sink.request import SinkRequest
from thalweg.simulation import Selection, Source, regular, replayed, simulate

ROWS = pa.table({"ts": pa.array([1, 2, 3], pa.timestamp("us")), "k": [1, 2, 3]})
KNOWN = {
    "a": {"rows_per_second": 200}, "b": {"rows_per_second": 30}, "c": {"rows_per_second": 3},
    "partners": {"a.k = b.k": (3, None), "b.m = c.m": (0.01, None)},
}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder; the working folder is another one, which is empty."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(work)
    return home


def odd() -> tw.Predicate:
    return tw.predicate(lambda k: k % 2 == 1, "k", name="odd")


def query(**settings: object) -> tw.ContinuousQuery:
    session = tw.Session()
    session.stream("s", ROWS, time="ts")
    return session.query("SELECT k FROM s WHERE k > 1", **settings)  # type: ignore[arg-type]


def events_of_a_join() -> None:
    list(tw.join("a.k = b.k", window="1 hour", time="ts", events="~/found").over(a=ROWS, b=ROWS))


def plot_of_a_trace() -> None:
    trace = simulate({"s": Source(ROWS.select(["k"]), regular(1))}, Selection("odd", "s", odd()))
    with patch("thalweg.simulation.picture.figure"):  # matplotlib writes to the home folder itself
        trace.plot("~/found")


WRITES: dict[str, Callable[[], object]] = {
    "events= of filters": lambda: list(tw.filters(odd(), events="~/found").over(ROWS)),
    "events= of filters, as a Path": lambda: list(tw.filters(odd(), events=Path("~/found")).over(ROWS)),
    "events= of a join": events_of_a_join,
    "events= of a query": lambda: list(query(events="~/found").batches()),
    "JsonLines": lambda: JsonLines("~/found"),
    "path= of a query": lambda: query().start(path="~/found").awaitTermination(),
    "path= of a query, as a Path": lambda: query().start(path=Path("~/found")).awaitTermination(),
    "an explanation": lambda: tw.filters(odd()).explain().save("~/found.txt"),
    "a chart": lambda: tw.join("a.k = b.k AND b.m = c.m", 10, "t", statistics=KNOWN).chart(k=2).save("~/found.svg"),
    "a mesh": lambda: MeshView.of({"tree": {"route": 0}, "routes": [[0]], "version": 0}, ("odd",)).save("~/found.dot"),
    "a trace": plot_of_a_trace,
}


@pytest.mark.parametrize("door", WRITES)
def test_what_is_written_is_in_the_home_folder(home: Path, door: str) -> None:
    WRITES[door]()
    (found,) = home.iterdir()
    assert found.stem == "found"
    assert list(Path().iterdir()) == []


def test_the_event_file_of_the_environment(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_EVENTS", "~/found")
    list(tw.filters(odd()).over(ROWS))
    assert [each.name for each in home.iterdir()] == ["found"]
    assert list(Path().iterdir()) == []


def test_what_is_read_is_in_the_home_folder(home: Path) -> None:
    (home / "run.jsonl").write_text("".join(to_json(joined("r", stream)) + "\n" for stream in "abc"))
    np.save(home / "gaps.npy", np.array([1.0, 2.0]))
    assert [record.event for record in read("~/run.jsonl")] == ["joined"] * 3
    assert set(tw.statistics_from(Path("~/run.jsonl"))) >= {"a", "b", "c"}
    assert CliRunner().invoke(app, ["report", "~/run.jsonl"]).exit_code == 0
    assert next(iter(replayed("~/gaps.npy").instants(np.random.default_rng()))) == 1_000_000_000


def test_folders_for_spark_are_in_the_home_folder(home: Path) -> None:
    """Every start takes its folders from `given_folder`, those in options too."""
    assert given_folder("path", "~/results") == given_folder("path", Path("~/results")) == f"{home}/results"
    assert SinkRequest.of("parquet", None, {"PATH": "~/results"}, None, None).path == f"{home}/results"
    assert SinkRequest.of("parquet", f"{home}/results", {"path": "~/results"}, None, None).path == f"{home}/results"


def test_finished_results_of_spark_are_in_the_home_folder(home: Path, spark: SparkSession) -> None:
    session = tw.session(spark)
    session.stream("s", spark.range(3).selectExpr("id", "timestamp_seconds(1700000000 + id) AS ts"), time="ts")
    made = session.query("SELECT id FROM s WHERE id > 0")
    made.start(path="~/one").awaitTermination()
    made.start(format="parquet", options={"path": "~/two"}).awaitTermination()
    assert [spark.read.parquet(f"{home}/{name}").count() for name in ("one", "two")] == [2, 2]
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    "path", ["file:///~x", "file:///~/x", "s3://~/x", "hdfs://~x/y", "dbfs:/~", "runs/~/x", "./~/x", "x~", ""]
)  # fmt: skip
def test_other_paths_stay(home: Path, path: str) -> None:
    assert given_path(path) == path


def test_the_home_folder_of_another_user(home: Path) -> None:
    assert given_path("~root/x") == f"{pwd.getpwnam('root').pw_dir}/x"
    with pytest.raises(tw.PlanError, match=r"home folder ~no such user is not known, .* or './~no such user/x'"):
        given_path("~no such user/x")
    assert given_path("./~no such user/x") == "./~no such user/x"


def test_a_home_folder_that_is_not_known(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", lambda uid: {}[uid])  # as in a container with a random user
    with pytest.raises(tw.PlanError, match="HOME is not set; write the whole path"):
        tw.filters(odd(), events="~/found")
