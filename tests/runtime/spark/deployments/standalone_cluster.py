"""A Spark standalone cluster on this machine: a master and two workers, each a process, on loopback."""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyspark

from tests.runtime.spark.deployments.processes import complaints, environment, program
from tests.runtime.spark.waiting import wait_until
from tests.short_lived import SHORT_LIVED

LOOPBACK = "127.0.0.1"
WORKERS = ("worker-1", "worker-2")
SPARK_HOME = Path(pyspark.__file__).parent


@dataclass(frozen=True)
class Cluster:
    """A standalone cluster that is running."""

    master: str
    """Its address, as Spark wants it."""
    folder: Path
    """Each worker runs its executors in a folder of its own under it."""
    processes: tuple[subprocess.Popen[bytes], ...]


@contextlib.contextmanager
def standalone_cluster(folder: Path, hosts: Sequence[str] = (LOOPBACK, LOOPBACK)) -> Iterator[Cluster]:
    """A cluster whose workers know no Thalweg but what their Python has installed. `hosts`: the address of each worker;
    Spark takes workers with different ones for different machines."""
    env = environment(folder, PYTHONPATH=None, SPARK_DAEMON_MEMORY="256m", SPARK_DAEMON_JAVA_OPTS=SHORT_LIVED)
    start = [str(SPARK_HOME / "bin" / "spark-class")]
    ports = ["--port", "0", "--webui-port", "0"]
    with contextlib.ExitStack() as stack:
        log = folder / "master.out"
        command = [*start, "org.apache.spark.deploy.master.Master", "--host", LOOPBACK, *ports]
        processes = [stack.enter_context(program(command, log, env))]
        address = _said(log, processes[0], r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")
        for name, host in zip(WORKERS, hosts, strict=True):
            command = [*start, "org.apache.spark.deploy.worker.Worker", "--host", host, *ports]
            command += ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / name), address]
            of_worker = {**env, "SPARK_LOCAL_IP": host}
            processes.append(stack.enter_context(program(command, folder / f"{name}.out", of_worker)))
        for name, process in zip(WORKERS, processes[1:], strict=True):
            _said(folder / f"{name}.out", process, r"Successfully registered with master (\S+)")
        yield Cluster(address, folder, tuple(processes))


def _said(log: Path, process: subprocess.Popen[bytes], what: str) -> str:
    """Wait until the program has logged it."""

    def found() -> re.Match[str] | None:
        text = complaints(log).read_text(errors="replace")
        assert process.poll() is None, f"{log.stem} ended: {text[-3_000:]}"
        return re.search(what, text)

    wait_until(lambda: found() is not None, f"{log.stem}: {what}", seconds=60)
    match = found()
    assert match is not None
    return match[1]
