"""What a user prints of a run, as one text that is the same on every machine, and a clock that only predicates move."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from thalweg.kernels.compiling import WorkingClock
from thalweg.runtime.joins import join_counts, plan_watch
from thalweg.runtime.local import filters

WIDTH = 116
_TIME = r"(?:< )?\d[\d,]*(?:\.\d+)? (?:ns|µs|ms|s|min)(?![\w])"
_MASKS = (
    (r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<id>"),
    (r"(?<=, start )[0-9a-f]{8}\b", "<start>"),
    (r"(?<=\bbatch )[0-9a-f]{8}\b", "<run id>"),
    (r"(?<=\bstreaming query )[0-9a-f]{8}\b", "<run id>"),
    (r"(?<=\bchain )[0-9a-f]{8}\b", "<chain>"),
    (r"[\d,]+ of [\d,]+(?= bytes)", "<bytes> of <bytes>"),
    (r"(?<=of worker )[^\s:]+", "<worker>"),
    (r" +(?:" + _TIME + r"|unknown)(?=  )", "  <time>"),
    (_TIME + r" in \d+ workers?(?=: )", "<time> in <workers>"),
    (r"(?<=processing )[\d.]+ %", "<share>"),
    (r"(?<=profiling )[\d.]+ %", "<share>"),
    (r"(?<=re-optimizing )[\d.]+ %", "<share>"),
    (_TIME + r"(?=, of which )", "<time>"),
    (r"; \d+ chunks? read back by workers that did not hold the windows", ""),
)
"""What a run on Spark measures, or draws by chance, and what stands for it. Which worker runs a task is chance too."""
_RUN = re.compile(r"(?<=pass \d of )[0-9a-f]{8}\b")
_PLACE = re.compile(r"(?<=_scenarios\.py:)\d+")
_COMPILING = re.compile(r"\n *numba took another [^\n]*(?:\n    [^\n]*)*?first call(?=\n|$)")
_MEASURED = re.compile(r"(?<!tick)_ns$|^(?:workers|reloaded|batches)$")


class DeclaredClock:
    """A clock, called like `time.perf_counter_ns`, that stands still but for what predicates take."""

    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns

    def taking(self, ns: int, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, of which a call takes so long."""

        def timed(*values: Any) -> Any:
            self.now_ns += ns
            return function(*values)

        return timed

    def taking_per_row(self, ns: int, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return the function of an array, of which a call takes so long per row."""

        def timed(values: Any) -> Any:
            self.now_ns += ns * len(values)
            return function(values)

        return timed


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> DeclaredClock:
    """The clock of all runs in this process. All that Thalweg measures itself by is replaced here."""
    made = DeclaredClock()
    monkeypatch.setattr(WorkingClock, "__call__", lambda self: made.now_ns)
    monkeypatch.setattr(WorkingClock, "compiled_ns", lambda self: 0)
    monkeypatch.setattr(filters, "time", SimpleNamespace(thread_time_ns=made))
    for module in (plan_watch, join_counts):
        monkeypatch.setattr(module, "thread_time_ns", made)
    return made


def as_json(value: Any, indent: int = 0) -> str:
    """Return it as JSON with sorted keys. A line has as many values as fit, and what does not fit has its own lines."""
    line = json.dumps(value, sort_keys=True, ensure_ascii=False)
    if len(line) + indent <= WIDTH or not isinstance(value, (dict, list)):
        return line
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {as_json(value[key], indent + 2)}" for key in sorted(value)]
    else:
        parts = [as_json(one, indent + 2) for one in value]
    first, last = "{}" if isinstance(value, dict) else "[]"
    lines = [first]
    for n, part in enumerate(parts):
        ended = part + "," * (n + 1 < len(parts))
        if n and "\n" not in lines[-1] + ended and len(lines[-1]) + 1 + len(ended) <= WIDTH:
            lines[-1] += f" {ended}"
        else:
            lines.append(" " * (indent + 2) + ended)
    return "\n".join([*lines, " " * indent + last])


def rounded(value: Any) -> Any:
    """Return plain values without the last digits of numbers, and without compressed bytes, which differ between
    machines."""
    if isinstance(value, dict):
        return {key: "<cells>" if key == "cells" else rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _without(folder: Path, text: str) -> str:
    """Return a text with a word for a folder. How its sentence is wrapped depends on the folder, so it is one line."""
    path = r"[\s\f]*".join(map(re.escape, str(folder)))
    lines = re.sub(r"\n {6}(?=\S)", "\f", text).split("\n")
    lines = [line.replace("\f", " ") if re.search(path, line) else line for line in lines]
    shown = re.sub(path, "<folder>", "\n".join(lines)).replace("\f", "\n      ")
    return re.sub(r"(?<=<folder>)[^:\n]+(?=: they are)", lambda rest: rest[0].replace(" ", ""), shown)


def on_spark(text: Any, folder: Path | None = None) -> str:
    """Return a text of a run on Spark, without what is measured or drawn by chance."""
    shown = _COMPILING.sub("", str(text))
    if folder is not None:
        shown = _without(folder, shown)
    for pattern, instead in _MASKS:
        shown = re.sub(pattern, instead, shown)
    return shown


def dict_on_spark(value: Any, folder: Path | None = None, *, measured: bool = False) -> Any:
    """Return plain values of a run on Spark; the types of measured numbers stand for the numbers."""
    if isinstance(value, dict):
        return {
            on_spark(key, folder): dict_on_spark(one, folder, measured=measured or bool(_MEASURED.search(key)))
            for key, one in value.items()
        }
    if isinstance(value, list):
        return [dict_on_spark(one, folder, measured=measured) for one in value]
    if measured and isinstance(value, (int, float)):
        return "<number>"
    return on_spark(value, folder) if isinstance(value, str) else value


class Printed:
    """The texts of one scenario, in the order in which they are printed."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._texts: list[str] = []

    def add(self, title: str, text: Any) -> None:
        """Add what a user prints. With a folder, it is a text of a run on Spark."""
        shown = str(text) if self._folder is None else on_spark(text, self._folder)
        self._texts.append(f"-- {title}\n{_PLACE.sub('<line>', _RUN.sub('<run id>', shown))}\n")

    def add_dict(self, title: str, told: dict[str, Any]) -> None:
        """Add plain values. They must be JSON as they are."""
        plain = rounded(json.loads(json.dumps(told, allow_nan=False)))
        self.add(title, as_json(plain if self._folder is None else dict_on_spark(plain, self._folder)))

    def add_run(self, thing: Any, **streams: Any) -> None:
        """Add the explanation and the report of filters, a join or a query, the latter also as plain values."""
        self.add("explain()", thing.explain(**streams))
        self.add("report()", thing.report())
        self.add_dict("report().to_dict()", thing.report().to_dict())

    def add_error(self, title: str, call: Callable[[], Any]) -> None:
        """Add the error that a call raises: its class and its text."""
        with pytest.raises(Exception) as raised:  # noqa: PT011 - the golden has its class and all of its text
            call()
        self.add(title, f"{type(raised.value).__name__}: {raised.value}")

    def __str__(self) -> str:
        return "\n".join(self._texts)
