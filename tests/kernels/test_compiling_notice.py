"""The first join says once, in a terminal or to the logger, that it compiles its loops; not if it loads them."""

from __future__ import annotations

import io
import logging
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import numba
import pyarrow as pa
import pytest

import thalweg as tw
from thalweg.kernels import compiling, warm_up

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = pa.table({"k": [1], "t": [1]})


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def nothing_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_SAID", set())


def in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Called by a test itself: pytest sets its own streams after fixtures are made."""
    made = Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    return made


def compile_something() -> None:
    compiled: Callable[[int], int] = numba.njit(lambda x: x + 1)
    assert compiled(1) == 2


def join() -> list[pa.RecordBatch]:
    return list(tw.join(on="a.k = b.k", window=5, time="t").over(a=ROWS, b=ROWS))


def test_a_join_that_compiles_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_up, "warm_up", compile_something)
    terminal = in_a_terminal(monkeypatch)
    join(), join()
    assert terminal.getvalue() == compiling.NOTICE + "\n"
    assert "python -m thalweg.kernels.warm_up" in compiling.NOTICE


def test_a_join_that_compiles_nothing_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_up, "warm_up", lambda: None)
    terminal = in_a_terminal(monkeypatch)
    join()
    assert terminal.getvalue() == ""


def test_nothing_is_printed_elsewhere(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_up, "warm_up", compile_something)
    join()
    assert capfd.readouterr().err == ""


def test_the_logger_has_it_instead(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(warm_up, "warm_up", compile_something)
    terminal = in_a_terminal(monkeypatch)
    with caplog.at_level(logging.INFO, logger="thalweg"):
        join()
    assert [record.getMessage() for record in caplog.records] == [compiling.NOTICE]
    assert terminal.getvalue() == ""


def test_the_command_compiles() -> None:
    join()  # so that the command has only to load
    command = [sys.executable, "-m", "thalweg.kernels.warm_up"]
    ran = subprocess.run(command, check=True, timeout=120, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("", "")
    assert compiling.is_compiled()


@pytest.mark.parametrize("is_compiled", [False, True])
def test_on_the_driver_of_a_local_spark(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, is_compiled: bool
) -> None:
    from thalweg.runtime.spark.joins import attach

    monkeypatch.setattr(attach, "is_compiled", lambda: is_compiled)
    terminal = in_a_terminal(monkeypatch)
    df = spark.createDataFrame([(1, 1)], "k int, t int")
    tw.join(on="a.k = b.k", window=5, time="t")(a=df, b=df)
    assert (compiling.NOTICE in terminal.getvalue()) is not is_compiled
