"""A worker acknowledges the function of a task at once, so that the JVM does not hold the rows back."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from thalweg.plan.join_plan import JoinPlan
from thalweg.plan.partitioning import Partitioning
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.runtime.spark.joins.processor import JoinProcessor
from thalweg.runtime.spark.joins.task import JoinTask
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


def add(one: int, other: int) -> int:
    return one + other


def operator() -> JoinProcessor:
    plan = JoinPlan.of("a.k = b.k", "10 seconds", "ts", "0 seconds")
    schema = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("us"))])
    binding = JoinBinding.of(plan, {"a": schema, "b": schema})
    return JoinProcessor(JoinTask(binding, JoinSettings(), (0,), Partitioning.of(plan.graph), "join", {}))


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
