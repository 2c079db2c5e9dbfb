"""What every test may ask for: one real Spark session, started by the first that does, and Hypothesis profiles."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

from tests.kinds import kind_of_place
from tests.short_lived import SHORT_LIVED

REPOSITORY = Path(__file__).parent.parent

# Every Java that a test or a process of its starts, also the one that spark-submit starts to make its command.
os.environ.setdefault("SPARK_SUBMIT_OPTS", SHORT_LIVED)
os.environ.setdefault("SPARK_LAUNCHER_OPTS", SHORT_LIVED)

# No deadline anywhere: machines are shared, and a slow example is not a wrong one. CI always tries the same examples,
# so that a red run is about the change under test; at home every run looks somewhere new.
hypothesis.settings.register_profile("dev", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "dev")


SECONDS = {"slow": 25.0, "spark": 4.0}
"""About what a test with such a mark takes; others take next to nothing."""


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what needs a JVM, so that `-m "not spark"` leaves out exactly that, and all tests of a place that has a
    kind."""
    if "spark" in getattr(item, "fixturenames", ()):
        item.add_marker("spark")
    if kind := kind_of_place(item):
        item.add_marker(kind)


@pytest.hookimpl(trylast=True)  # after `-m` and `-k`: what they leave out takes no time
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where several processes share the files, those that take longest come first: the last to be taken are then short,
    and no process waits long for another."""
    if hasattr(config, "workerinput"):  # a process of pytest-xdist
        takes: dict[Path, float] = {}
        for item in items:
            seconds = max((SECONDS.get(mark.name, 0.0) for mark in item.iter_markers()), default=0.0)
            takes[item.path] = takes.get(item.path, 0.0) + seconds
        items.sort(key=lambda item: -takes[item.path])  # stable: the tests of a file stay in their order


MOST_BYTES = 2 * 2**30
"""Memory of a process that runs tests: the suite must fit on a laptop. Spark's processes have limits of their own."""
_too_large: list[str] = []


@pytest.hookimpl(trylast=True)  # after the test's own teardown, which would else be left out
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Fail the first test with which this process has grown beyond its limit."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    if peak > MOST_BYTES and not _too_large:
        _too_large.append(item.nodeid)
        pytest.fail(f"{item.nodeid} took this process to {peak / 2**30:.1f} GB; at most 2 GB are allowed")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local Spark, shared by the whole run: its start takes seconds, so only tests that ask for it pay, and once."""
    from pyspark.sql import SparkSession

    # Workers must be this Python, with these packages; by default Spark takes the python3 it finds on PATH.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    # Functions of a test module are pickled by name: workers must be able to import `tests.…` and `bench.…` too.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")]))
    # Nothing listens beyond this machine, and a host name that does not resolve cannot stop the session.
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

    scratch = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local[2]")  # two tasks at a time: one would hide what goes wrong between workers
        .appName("thalweg-tests")
        .config("spark.default.parallelism", 2)  # more than one partition: single-partition luck hides bugs
        .config("spark.sql.shuffle.partitions", 2)  # the default of 200 makes small tests slow
        .config("spark.driver.bindAddress", "127.0.0.1")  # see SPARK_LOCAL_IP
        .config("spark.driver.host", "127.0.0.1")  # workers call back to where the driver listens
        .config("spark.driver.extraJavaOptions", SHORT_LIVED)
        .config("spark.ui.enabled", False)  # not used, and it takes a port
        .config("spark.ui.showConsoleProgress", False)  # its bars are written over pytest's output
        .config("spark.sql.session.timeZone", "UTC")  # timestamps mean the same on every machine
        .config(  # joins of streams keep their windows there
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .config(  # the default starts a program for every file of a checkpoint: see joins.md; `deployments` has it
            "spark.sql.streaming.checkpointFileManagerClass",
            "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager",
        )
        .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))  # not in the working directory
        .config("spark.local.dir", str(scratch / "local"))  # shuffle files go away with the test's other files
        .getOrCreate()
    )
    # Tests provoke failures on purpose; Spark's stack traces of them would bury the report. Batch sizes of Arrow are
    # left as they are: users have the default.
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
