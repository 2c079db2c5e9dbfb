"""Processes that run a benchmark with the package of another checkout, and wait for work.

All of them use the benchmark's code of this checkout. A request and its answer are a line of JSON each.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bench.rounds import WrongResultError

HERE = Path(__file__).resolve().parent.parent
NEW, OLD, AGAIN = "new", "old", "old again"
Answer = Mapping[str, Any]
WAITED_S = 60
"""How long a process may take to end."""


def is_checkout(folder: Path) -> bool:
    """Whether a folder has the package."""
    return (folder / "src" / "thalweg" / "__init__.py").is_file()


@contextmanager
def process(module: str, checkout: Path, *serving: str) -> Iterator[subprocess.Popen[str]]:
    """Yield a process of a benchmark, which must accept `--serve` and what follows it, with the package
    of a checkout."""
    path = os.pathsep.join([str(checkout / "src"), str(HERE)])
    worker = subprocess.Popen(
        [sys.executable, "-m", module, "--serve", *serving], env={**os.environ, "PYTHONPATH": path}, cwd=HERE,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert worker.stdin is not None
    try:
        yield worker
    finally:
        with suppress(BrokenPipeError):
            worker.stdin.close()  # it ends when there are no more requests, and removes its files
        try:
            worker.wait(WAITED_S)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()


def ask(worker: subprocess.Popen[str], request: Mapping[str, Any]) -> Answer:
    """Return the answer of a process. Raise a WrongResultError if its results are wrong."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    with suppress(BrokenPipeError):  # it has ended
        worker.stdin.write(json.dumps(request) + "\n")
        worker.stdin.flush()
    line = worker.stdout.readline()
    if not line:
        raise RuntimeError(f"a process of the benchmark has ended with exit code {worker.wait()}: see its error above")
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        raise WrongResultError(f"{request}: {answer['error']}")
    return answer


def serve(answered: Callable[[Answer], Answer]) -> int:
    """Answer requests until there are no more, and return the exit code."""
    for line in sys.stdin:
        try:
            answer = answered(json.loads(line))
        except WrongResultError as wrong:
            answer = {"error": str(wrong)}
        print(json.dumps(answer), flush=True)
    return 0
