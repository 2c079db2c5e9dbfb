"""Programs that a test starts beside itself: bounded in time, ended whole by their process group, heard only on
loopback."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import psutil

from tests.short_lived import SHORT_LIVED

REPOSITORY = Path(__file__).parents[4]
SOURCE = REPOSITORY / "src"

QUIET = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": SHORT_LIVED,
    "spark.executor.extraJavaOptions": SHORT_LIVED,
}
FEWER_PROGRAMS = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    )
}
"""Of Spark 4.3, whose default on a local disk starts a program for every file of a checkpoint. Connect and the short
tests of kills take this; the cluster, PySpark 4.1 and long tests of kills take the default."""
LOOK_EVERY_S = 2.0
"""At who listens where; not more often, since it takes time from what is tested."""


def environment(scratch: Path, **changes: str | None) -> dict[str, str]:
    """This one, for a Spark that listens on loopback only and leaves its files in `scratch`; None takes a variable
    out."""
    wanted: dict[str, str | None] = {
        "PYTHONPATH": os.pathsep.join([str(SOURCE), str(REPOSITORY)]),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(scratch),
        "SPARK_HOME": None,
        "TMPDIR": str(scratch),
        **changes,
    }
    found = {**os.environ, **{name: value for name, value in wanted.items() if value is not None}}
    return {name: value for name, value in found.items() if wanted.get(name, "") is not None}


@contextlib.contextmanager
def program(command: Sequence[str], log: Path, env: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A program in a process group of its own, which is killed at the end, whatever happens. What it prints goes into
    `log`, what it complains of beside it."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out, complaints(log).open("wb") as err:
        process = subprocess.Popen(
            [*command], stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env, cwd=log.parent,
            start_new_session=True,
        )  # fmt: skip
    try:
        yield process
    finally:
        kill_group(process)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """At once, with all it started: Spark's Python daemons are in groups of their own."""
    started: list[psutil.Process] = []
    with contextlib.suppress(psutil.NoSuchProcess):
        started = psutil.Process(process.pid).children(recursive=True)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for child in started:
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()
    process.wait(10)


def complaints(log: Path) -> Path:
    return log.with_suffix(".err")


def answer(command: Sequence[str], log: Path, env: dict[str, str], seconds: float = 120.0) -> Any:
    """The JSON object that a program prints as its last line. It must end by itself, well, and in time."""
    until = time.monotonic() + seconds
    with program(command, log, env) as process:
        while process.poll() is None:
            assert time.monotonic() < until, f"still running after {seconds:.0f} s: {command}\n{_end_of(log)}"
            beyond = listens_beyond_loopback(process.pid)
            assert not beyond, f"{command} listens on {beyond}"
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_EVERY_S)
        assert process.returncode == 0, f"exit code {process.returncode} of {command}\n{_end_of(log)}"
    return json.loads(log.read_text().splitlines()[-1])


def listens_beyond_loopback(pid: int) -> set[str]:
    """Addresses of this machine at which the process, or one it started, can be reached from elsewhere."""
    found: set[str] = set()
    with contextlib.suppress(psutil.NoSuchProcess):
        top = psutil.Process(pid)
        for process in [top, *top.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                heard = [c for c in process.net_connections("inet") if c.status == psutil.CONN_LISTEN]
                found |= {c.laddr.ip for c in heard if not ip_address(c.laddr.ip.removeprefix("::ffff:")).is_loopback}
    return found


def _end_of(log: Path) -> str:
    return complaints(log).read_text(errors="replace")[-6_000:]
