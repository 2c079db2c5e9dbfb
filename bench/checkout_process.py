"""Processes that run a benchmark with the package of another checkout, and wait for work.

All of them use the benchmark's code of this checkout. An earlier package may have other modules: so what runs in these
processes, and the modules that it imports, use only what `import thalweg as tw` gives. A request and its answer are a
line of JSON each.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import thalweg as tw
from bench.rounds import WrongResultError, progress

HERE = Path(__file__).resolve().parent.parent
NEW, OLD, AGAIN = "new", "old", "old again"
LIMIT = 1.02
"""The most CPU time of this checkout, over that of the other one."""
WAITED_S = 60
"""How long a process may take to end."""
K = TypeVar("K")
Answer = Mapping[str, Any]
Answers = Mapping[str, Sequence[Answer]]
"""By process, one answer per round."""


@contextmanager
def process(module: str, checkout: Path) -> Iterator[subprocess.Popen[str]]:
    """Yield a process of a module that calls `serve`, with the package of a checkout."""
    path = os.pathsep.join([str(checkout / "src"), str(HERE)])
    compiled = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    worker = subprocess.Popen(
        [sys.executable, "-m", module, str(checkout)], env={**compiled, "PYTHONPATH": path}, cwd=HERE,
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
    checkout, package = Path(sys.argv[1]), Path(tw.__file__).resolve()
    if not package.is_relative_to(checkout.resolve()):
        raise RuntimeError(f"the package of {checkout} is not used, but {package.parent}")
    for line in sys.stdin:
        try:
            answer = answered(json.loads(line))
        except WrongResultError as wrong:
            answer = {"error": str(wrong)}
        print(json.dumps(answer), flush=True)
    return 0


def in_turn(
    module: str, old: Path, rounds: int, requests: Callable[[int], Mapping[K, Answer]], *, warm: bool = True
) -> Mapping[K, Answers]:
    """Return what three processes answer to each request: one with the package of this checkout, and two with that of
    another one, which are the A/A control. In each round every process answers each request of that round once, in a
    new order, so that a slow minute affects all of them. `warm`: a round 0 comes before the others and is left out."""
    found: dict[K, dict[str, list[Answer]]] = defaultdict(lambda: defaultdict(list))
    with ExitStack() as stack:
        folders = {NEW: HERE, OLD: old.resolve(), AGAIN: old.resolve()}
        workers = {name: stack.enter_context(process(module, folder)) for name, folder in folders.items()}
        for number in range(0 if warm else 1, rounds + 1):
            for key, request in requests(number).items():
                progress(f"round {number} of {rounds}: {key}")
                for name in np.random.default_rng(number).permutation(list(workers)).tolist():
                    answer = ask(workers[name], request)
                    if number:
                        found[key][name].append(answer)
    return found


def compared(answers: Answers, what: str) -> tuple[float, float]:
    """Return the median ratio of the new checkout to the old one, and how far the old one's own ratio is from 1.

    >>> compared({"new": [{"s": 1.1}, {"s": 2.2}], "old": [{"s": 1}, {"s": 2}], "old again": [{"s": 1}, {"s": 2}]}, "s")
    (1.1, 1.0)
    """

    def ratio(name: str) -> float:
        return statistics.median(float(a[what] / b[what]) for a, b in zip(answers[name], answers[OLD], strict=True))

    own = ratio(AGAIN)
    return ratio(NEW), max(own, 1 / own)


def parsed(parser: argparse.ArgumentParser, arguments: Sequence[str] | None, rounds: int) -> argparse.Namespace:
    """Add the arguments that all comparisons have, and parse. The program ends if OLD is no checkout."""
    parser.add_argument("old", type=Path, metavar="OLD", help="the folder of the other checkout")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--quick", action="store_true", help="few rows: checks that it runs, measures nothing")
    asked = parser.parse_args(arguments)
    if not (asked.old / "src" / "thalweg" / "__init__.py").is_file():
        parser.error(f"no checkout in {str(asked.old)!r}: name a folder that contains src/thalweg")
    return asked
