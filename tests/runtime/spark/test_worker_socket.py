"""A worker acknowledges the function of a task at once, so that the JVM does not hold the rows back."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

import thalweg as tw
from tests.runtime.joins.start_plans import start_knowing_nothing
from tests.runtime.spark.joins.streams import files, results, rows, run, streaming
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.plan.joins.partitioning import Partitioning
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.runtime.spark import filters, worker_socket
from thalweg.runtime.spark.joins import attach
from thalweg.runtime.spark.joins.processor import JoinProcessor
from thalweg.runtime.spark.joins.task import JoinTask
from thalweg.runtime.spark.sql import columns
from thalweg.runtime.spark.worker_socket import acknowledge, acknowledged

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot acknowledge at once")


@pytest.fixture
def connection() -> Iterator[socket.socket]:
    """One end of a TCP connection within this machine that is set to acknowledge late."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as made:
        accepted, _ = server.accept()
        with accepted:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
            assert not is_prompt(made)
            yield made


def is_prompt(connection: socket.socket) -> bool:
    return bool(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK))


def test_only_connections_over_tcp_are_touched(connection: socket.socket) -> None:
    one, other = socket.socketpair()
    read, write = os.pipe()
    with one, other, socket.socket(socket.AF_INET, socket.SOCK_DGRAM):
        acknowledge()
        assert is_prompt(connection)
        one.sendall(b"still open")
        assert other.recv(100) == b"still open"
    for end in (read, write):
        os.close(end)
    connection.sendall(b"still open, too")


def test_a_default_timeout_does_not_reach_the_connection(connection: socket.socket) -> None:
    """PySpark reads from it by another object, which would take an answer that is not there yet for the end."""
    assert os.get_blocking(connection.fileno())
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(10)
    try:
        acknowledge()
    finally:
        socket.setdefaulttimeout(before)
    assert is_prompt(connection)
    assert os.get_blocking(connection.fileno())


def test_without_proc_nothing_happens(connection: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(folder: str) -> list[str]:
        raise PermissionError(folder)

    monkeypatch.setattr(os, "listdir", refused)
    acknowledge()
    assert not is_prompt(connection)


def add(one: int, other: int) -> int:
    return one + other


def operator() -> JoinProcessor:
    plan = JoinPlan.of("a.k = b.k", "10 seconds", "ts", "0 seconds")
    schema = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("us"))])
    binding = JoinBinding.of(plan, {"a": schema, "b": schema})
    settings = JoinSettings()
    start = start_knowing_nothing(plan, settings, 1)
    return JoinProcessor(JoinTask(binding, settings, (0,), Partitioning.of(plan.graph), "join", {}, start))


@pytest.mark.parametrize("kind", ["lambda", "partial", "operator"])
def test_to_unpickle_is_to_acknowledge(connection: socket.socket, kind: str) -> None:
    sent: Any = {
        "lambda": lambda: acknowledged(lambda one: one + 2),
        "partial": lambda: acknowledged(partial(add, 2)),
        "operator": operator,
    }[kind]()
    assert kind == "operator" or sent(3) == 5
    data = cloudpickle.dumps(sent)  # type: ignore[no-untyped-call]
    assert not is_prompt(connection)
    found = cloudpickle.loads(data)
    assert is_prompt(connection)
    assert kind == "operator" or found(3) == 5


class Mark:
    """Creates a file when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        return Path.touch, (self.file,)


@pytest.fixture
def marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file for each kind of function that a worker unpickles."""
    (tmp_path / "marks").mkdir()
    for module in (attach, columns, filters):

        def marked(function: Any, name: str = module.__name__.rpartition(".")[2]) -> Any:
            function.acknowledgement = Mark(tmp_path / "marks" / name)
            return function

        monkeypatch.setattr(module, "acknowledged", marked)
    monkeypatch.setattr(worker_socket, "acknowledge", (tmp_path / "marks" / "operator").touch)
    return tmp_path / "marks"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_workers_unpickle_what_filters_and_functions_carry(spark: SparkSession, marks: Path) -> None:
    """Whether attributes of functions reach the workers is up to PySpark."""
    table = spark.sql("SELECT id, TIMESTAMP '2026-01-01' AS ts FROM range(4)")
    assert table.transform(tw.filters(tw.predicate(lambda n: n > 1, "id", name="large"))).count() == 2
    assert names(marks) == ["filters"]
    s = tw.session(spark)
    s.stream("t", table, time="ts")
    s.function("plus", lambda n: n + 1, returns="bigint")
    assert sorted(row.n for row in s.query("SELECT plus(id) AS n FROM t").dataframe().collect()) == [1, 2, 3, 4]
    assert names(marks) == ["columns", "filters"]


def test_workers_unpickle_what_joins_carry(spark: SparkSession, tmp_path: Path, marks: Path) -> None:
    streams = streaming(spark, files(tmp_path / "in", {"a": [rows([0, 1])], "b": [rows([2])]}))
    run(tw.join(on="a.k = b.k", window="5 seconds", time="ts")(**streams), tmp_path)
    assert results(spark, tmp_path).num_rows == 2
    assert names(marks) == ["attach", "operator"]
