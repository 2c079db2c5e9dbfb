"""Lets the JVM send the rows of a task without delay.

The JVM sends a Python worker first the function of a task, which is small, and then the rows. TCP holds a small packet
back until the one before it is acknowledged (Nagle's algorithm), and the worker, which has nothing to send yet,
acknowledges after 40 ms. So each task of a small micro-batch took 40 ms longer than its work. Here the worker
acknowledges the function as soon as it has it. On Linux only; elsewhere, and where Spark uses Unix domain sockets
(`spark.python.unix.domain.socket.enabled`), nothing happens.

Reference: RFC 896 (Nagle's algorithm), RFC 1122, section 4.2.3.2 (delayed acknowledgements); tcp(7), TCP_QUICKACK.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

from pyspark import cloudpickle

Function = TypeVar("Function", bound=Callable[..., Any])


def acknowledge() -> None:
    """Acknowledge what this process has received over TCP, if it can."""
    option = getattr(socket, "TCP_QUICKACK", None)
    if option is None:
        return
    with suppress(ImportError, OSError, AttributeError):  # without /proc or a C library there is a delay
        import ctypes

        # not by an object of `socket`: that would also apply the default timeout of the process to the connection
        setsockopt, one = ctypes.CDLL(None).setsockopt, ctypes.c_int(1)
        for name in os.listdir("/proc/self/fd"):  # where it is no TCP connection, nothing happens
            setsockopt(int(name), socket.IPPROTO_TCP, option, ctypes.byref(one), ctypes.sizeof(one))


class Acknowledgement:
    """Part of what Spark sends to workers: a worker that unpickles it acknowledges, and has None instead."""

    def __reduce__(self) -> Any:
        return acknowledge, ()


def acknowledged(function: Function) -> Function:
    """Return the same function with an acknowledgement in it."""
    cast(Any, function).acknowledgement = Acknowledgement()
    return function


# by value: the process in which Spark asks a query for its states need not import Thalweg
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
