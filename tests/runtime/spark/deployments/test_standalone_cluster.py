"""A real cluster of processes: the same rows as on one machine, by each way to bring Thalweg to the workers, and when
workers are lost."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.runtime.spark.deployments import lost_join_workers, lost_workers, on_the_image, one_query
from tests.runtime.spark.deployments.input_files import ROWS, expected_ids, write_files
from tests.runtime.spark.deployments.join_files import ALIASES, ROWS_A_FILE, expected_results, write_streams
from tests.runtime.spark.deployments.processes import (
    QUIET,
    REPOSITORY,
    SOURCE,
    answer,
    environment,
    listens_beyond_loopback,
)
from tests.runtime.spark.deployments.same_answer import check_answer
from tests.runtime.spark.deployments.standalone_cluster import SPARK_HOME, WORKERS, Cluster, standalone_cluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

JOIN_FILES = {"few": 4, "all": 5}

ON_CLUSTER = {
    **QUIET,
    "spark.executor.memory": "512m",
    # both executors are there before the first task, or one could do it all
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running
        for process in running.processes:
            assert process.poll() is None, "a process of the cluster ended early"
            assert not listens_beyond_loopback(process.pid)


def submit(
    cluster: Cluster,
    script: Any,
    folder: Path,
    env: Mapping[str, str | None],
    *words: str,
    which: str | None = None,
    seconds: float = 120.0,
) -> dict[str, Any]:
    """What the script answers; `words` go to `spark-submit`."""
    settings = [word for key, value in ON_CLUSTER.items() for word in ("--conf", f"{key}={value}")]
    command = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", cluster.master, *settings, *words]
    asked = [script.__file__, str(folder), *([which] if which else [])]
    told: dict[str, Any] = answer([*command, *asked], folder / "driver.out", environment(folder, **env), seconds)
    return told


def check(told: dict[str, Any], folder: Path, cluster: Cluster) -> None:
    check_answer(told, folder)
    assert all(told[kind]["sections"][0]["workers"] >= 2 for kind in ("batch", "stream"))
    used = {Path(place).relative_to(cluster.folder).parts[0] for place in told["places"].values()}
    assert used == set(WORKERS), "both workers took part"


@dataclass(frozen=True)
class Image:
    """What the application reported that runs with the package on the image."""

    which: str
    """How many workers and executors are killed."""
    folder: Path
    told: dict[str, Any]


@pytest.fixture(scope="module", params=["few", pytest.param("all", marks=pytest.mark.long)])
def image(request: pytest.FixtureRequest, cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Image:
    which, folder = request.param, tmp_path_factory.mktemp("image")
    write_files(folder / "query" / "in")
    write_files(folder / "lost" / "in")
    for name in ("join", "join-by-spark"):
        write_streams(folder / name / "in", JOIN_FILES[which])
    words = ["--conf", f"spark.executorEnv.PYTHONPATH={SOURCE}:{REPOSITORY}"]
    return Image(which, folder, submit(cluster, on_the_image, folder, {}, *words, which=which, seconds=300))


@pytest.mark.slow
def test_with_the_package_on_the_image(cluster: Cluster, image: Image) -> None:
    check(image.told["query"], image.folder / "query", cluster)


@pytest.mark.slow
def test_lost_workers_and_executors_change_nothing(image: Image) -> None:
    told = image.told["lost"]
    expected = expected_ids(image.folder / "lost" / "in")
    assert set(told) == set(lost_workers.FEW if image.which == "few" else lost_workers.CASES)
    for case in told:
        assert told[case]["killed"] == 1, case
        assert told[case]["ids"] == expected, case
        for counted in (told[case]["report"], told[case]["events"]):
            assert counted == {"rows": ROWS, "kept": len(expected)}, case


@pytest.mark.slow
def test_a_join_that_loses_workers_and_an_executor(image: Image) -> None:
    """Its tasks write the results to a folder that the driver and the workers share."""
    for name, key in (("join", "join"), ("join-by-spark", "by_spark")):
        told = image.told[key]
        if told is None:
            continue
        assert told["killed"] == [f"{batch}.killed" for batch in lost_join_workers.KILLS[image.which]]
        expected = expected_results(image.folder / name / "in")
        assert told["results"] == expected
        rows = dict.fromkeys(ALIASES, JOIN_FILES[image.which] * ROWS_A_FILE)
        assert told["counts"] == {"rows": rows, "late": 0, "results": len(expected)}


@pytest.mark.slow
def test_files_of_lost_workers_are_no_results(image: Image) -> None:
    written, out = image.told["join"]["written"], image.folder / "join" / "out"
    assert "on a disk that the driver and the workers share" in written["sink"][0]
    assert [name.partition(".")[2] for name in written["hidden"]] == ["json", ""], "the last list, and the query"
    table = pq.read_table([out / name for name in written["listed"]], columns=["a_id", "b_id", "c_id"])
    found = sorted([row["a_id"], row["b_id"], row["c_id"]] for row in table.to_pylist())
    assert found == expected_results(image.folder / "join" / "in")


@pytest.mark.slow
def test_a_folder_that_workers_do_not_have(image: Image) -> None:
    said = image.told["unshared"]
    assert "does not have the folder /proc/self/cwd/thalweg-unshared of the driver (No such file" in said
    assert not Path("thalweg-unshared").exists()


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A Python environment as workers without Thalweg have it: what Thalweg needs, and no Thalweg."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", str(tmp_path / "bare")], check=True)
    (site,) = (tmp_path / "bare" / "lib").glob("python*/site-packages")
    # a folder named in a .pth file is searched, but the .pth files in it, by which we are installed, are not read
    (site / "shared.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = tmp_path / "bare" / "bin" / "python"
    found = subprocess.run([python, "-c", "import pyarrow, pyspark; import thalweg"], env={}, capture_output=True)
    assert b"No module named 'thalweg'" in found.stderr
    return tmp_path / "bare"


@pytest.mark.slow
def test_with_a_zip_of_the_package_sent_along(cluster: Cluster, tmp_path: Path, bare: Path) -> None:
    write_files(tmp_path / "in")
    package = tmp_path / "thalweg.zip"
    with zipfile.ZipFile(package, "w") as out:
        for path in SOURCE.rglob("*.py"):
            out.write(path, path.relative_to(SOURCE))
    python = str(bare / "bin" / "python")
    env = {"PYTHONPATH": None, "PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python}
    check(submit(cluster, one_query, tmp_path, env, "--py-files", str(package)), tmp_path, cluster)


@pytest.mark.slow
@pytest.mark.long(sample="test_with_a_zip_of_the_package_sent_along")
def test_with_a_packed_environment_sent_along(cluster: Cluster, tmp_path: Path, bare: Path) -> None:
    write_files(tmp_path / "in")
    (site,) = (bare / "lib").glob("python*/site-packages")
    packed = tmp_path / "environment.tar.gz"
    with tarfile.open(packed, "w:gz") as out:
        out.add(bare, "", filter=lambda member: member if "__pycache__" not in member.name else None)
        out.add(SOURCE / "thalweg", str((site / "thalweg").relative_to(bare)))
    env = {"PYSPARK_PYTHON": "./environment/bin/python"}
    told = submit(cluster, one_query, tmp_path, env, "--archives", f"{packed}#environment")
    check(told, tmp_path, cluster)
