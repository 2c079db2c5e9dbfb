"""Files of a checkpoint and of the hidden folders of results that are cut off, emptied, deleted, swapped or of another
query: the rows stay exact, or one sentence names the file, and the rows are exact after it was repaired."""

from __future__ import annotations

import os
import random
import re
import shutil
import warnings
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.spark.sink.damaged_folders import OF_SPARK, Scene
from tests.runtime.spark.sink.test_choice import PAIRS

PARTS = 5
"""The damages are divided into so many tests, each of which takes a few minutes."""
SINKS = ["tasks", "spark"]


@pytest.fixture(scope="module")
def scenes(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Scene]:
    """A query that has run, by who writes its results. Each test restores it first."""
    return {sink: Scene(spark, tmp_path_factory.mktemp(sink), sink) for sink in SINKS}


def refusal(scene: Scene) -> str | None:
    """Return the error of a start or of its run; None if there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            scene.run()
        except tw.ThalwegError as error:
            return str(error)
    return None


def try_damages(scene: Scene, cases: Sequence[tuple[Path, str]]) -> int:
    """Return how many of the damages were refused. Spark's sentences about files in `state` do not always name them.
    What a refusal has left as it was need not run."""
    refused = 0
    for path, how in cases:
        scene.restore()
        scene.damage(path, how)
        said = refusal(scene)
        if said is not None:
            refused += 1
            if path.parts[1] != "state":
                names = {name for each in scene.damaged for name in (each.name, each.parts[1])}
                assert any(name in said for name in names), f"{path} {how}: {said}"
            assert "\n" not in said, f"{path} {how}: {said}"
            assert "empty the folder" not in said
            scene.repair()
            if scene.is_as_before():
                continue
            assert refusal(scene) is None, f"{path} {how}, repaired"
        assert scene.seen() == scene.expected(), f"{path} {how}: {said}"
    return refused


@pytest.mark.parametrize(("sink", "count"), [("tasks", 3), ("spark", 2)])
def test_some_damages(scenes: dict[str, Scene], sink: str, count: int) -> None:
    seed = 5 if os.environ.get("CI") else random.randrange(10**6)
    print(f"damages: seed {seed}")
    try_damages(scenes[sink], random.Random(seed).sample(scenes[sink].cases(), count))


@pytest.mark.long(sample="test_some_damages")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("sink", SINKS)
def test_every_damage(scenes: dict[str, Scene], sink: str, part: int) -> None:
    cases = scenes[sink].cases()[part::PARTS]
    assert 0 < try_damages(scenes[sink], cases) < len(cases)


def test_rows_that_were_lost_silently(scenes: dict[str, Scene]) -> None:
    """By a power failure, an old copy of the checkpoint, or a folder that was removed."""
    scene = scenes["tasks"]
    scene.restore()
    before = scene.seen()
    newest = max(int(path.name) for path in (scene.folder / "checkpoint" / "offsets").glob("[0-9]*"))
    for name in ("offsets", "commits"):  # the last micro-batch of availableNow is often an empty one
        (scene.folder / "checkpoint" / name / str(newest)).unlink()
    with pytest.raises(
        tw.CheckpointError, match=rf"up to micro-batch {newest}, and .* ends with micro-batch {newest - 1}"
    ):
        scene.run()
    assert scene.seen() == before
    scene.restore()
    for how in ("emptied", "deleted"):
        scene.damage(Path("checkpoint/thalweg"), how)
        with pytest.raises(tw.CheckpointError, match="has lost its file thalweg/question; restore"):
            scene.run()
    scene.restore()
    shutil.rmtree(scene.folder / "out" / "_spark_metadata")
    with pytest.warns(UserWarning, match="_spark_metadata was missing, and was written anew from [0-9] files there"):
        scene.run()
    assert scene.seen() == scene.expected() != before


def test_older_files_in_place_of_newer_ones(scenes: dict[str, Scene], tmp_path: Path) -> None:
    """A log of a source would make Spark read files again, and an old copy of the results lacks newer ones."""
    scene = scenes["tasks"]
    scene.restore()
    out, source = scene.folder / "out", scene.folder / "checkpoint" / "sources" / "0"
    old = shutil.copytree(out, tmp_path / "old")
    scene.run()
    new = shutil.copytree(out, tmp_path / "new")
    lines = (source / "1").read_text()
    (source / ".1.crc").unlink(missing_ok=True)
    (source / "1").write_text((source / "0").read_text())
    with pytest.raises(tw.CheckpointError, match=r"sources/0/1 of the checkpoint lists files of another micro-batch"):
        scene.run()
    (source / "1").write_text(lines)
    shutil.rmtree(out)
    shutil.copytree(old, out)
    with pytest.raises(tw.QueryError, match=r"has no file of micro-batch [0-9]+, .* the folder is an old copy"):
        scene.run()
    shutil.rmtree(out)
    shutil.copytree(new, out)
    scene.run()
    assert scene.seen() == scene.expected()


def test_the_id_of_a_query_is_written_again(scenes: dict[str, Scene]) -> None:
    """As the error says: it is in the folder of the results too."""
    scene = scenes["tasks"]
    scene.restore()
    metadata = scene.folder / "checkpoint" / "metadata"
    scene.damage(metadata.relative_to(scene.folder), "deleted")
    with pytest.raises(
        tw.CheckpointError, match=r'restore it \(it is {"id":"..."} with the id that the file .thalweg/q'
    ):
        scene.run()
    metadata.write_text(f'{{"id":"{(scene.folder / "out" / ".thalweg" / "query").read_text()}"}}')
    scene.run()
    assert scene.seen() == scene.expected()


def test_results_of_spark_s_sink_belong_to_one_checkpoint(scenes: dict[str, Scene]) -> None:
    """Spark would take the micro-batches of a new one for written, and would write later ones twice."""
    scene = scenes["spark"]
    scene.restore()
    before = scene.seen()
    (scene.folder / "checkpoint").rename(scene.folder / "checkpoint-1")
    for sink in SINKS:
        with pytest.raises(tw.PlanError, match=r"has results of another query .*; give it a new folder, or the"):
            scene.run(sink)
        assert not (scene.folder / "checkpoint" / "offsets").exists()
        shutil.rmtree(scene.folder / "out" / ".thalweg", ignore_errors=True)  # as an earlier version has left it
    assert scene.seen() == before
    shutil.rmtree(scene.folder / "checkpoint", ignore_errors=True)
    (scene.folder / "checkpoint-1").rename(scene.folder / "checkpoint")
    scene.run()
    assert scene.seen() == scene.expected()


@pytest.mark.long(sample="test_some_damages")
def test_files_of_another_query(spark: SparkSession, scenes: dict[str, Scene], tmp_path: Path) -> None:
    scene = scenes["tasks"]
    other = Scene(spark, tmp_path, "tasks", PAIRS.replace("5 SECONDS", "6 SECONDS"))
    ours = {path for path, how in scene.cases() if how == "swapped" and path.parts[1] not in OF_SPARK}
    ours &= {path for path, _ in other.cases()}
    refused = set()
    for path in sorted(ours):
        scene.restore()
        scene.copy_from(other, path)
        said = refusal(scene)
        if said is not None:
            refused.add(path.name)
            assert path.name in said or re.search("belongs to|of another query", said), f"{path}: {said}"
            scene.repair()
            assert refusal(scene) is None, f"{path}, repaired"
        assert scene.seen() == scene.expected(), f"{path}: {said}"
    assert {"metadata", "query", "question", "state", "sink"} <= refused
