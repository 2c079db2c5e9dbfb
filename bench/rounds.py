"""Interleaved rounds: every variant once a round, so that a slow minute hits all alike. Who comes first, second, ...
changes from round to round, and of as many rounds as there are variants, each has every place once: to come after an
expensive one costs something too.

A time means nothing alone; what counts is the ratio of two variants within a round, and its median over the rounds.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


class WrongResultError(Exception):
    """A variant's rows are not those of the others: nothing measured about it means anything."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of one variant."""

    seconds: float
    """On the wall."""
    cpu_seconds: float | None = None
    """Of this process; None where the work is done by others."""
    result: tuple[int, int] | None = None
    """Rows that passed and the sum of their ids; None: checked elsewhere."""
    evaluated: dict[str, int] = field(default_factory=dict)
    profiled: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    """What else does not depend on the clock."""


@dataclass(frozen=True)
class Variant:
    """Something to measure. `run` gets the number of the round, as a seed."""

    name: str
    run: Callable[[int], Trial]
    settings: dict[str, Any] = field(default_factory=dict)
    ours: bool = False
    """Whether it may be called the best of our policies."""
    result: Callable[[], tuple[int, int]] | None = None
    """Runs it once untimed for its result, where the timed runs do not bring one along."""
    derived: bool = False
    """Whether its evaluations follow from the data and the order, and were not counted while it ran."""


Trials = dict[str, list[Trial]]


def interleave(variants: Sequence[Variant], rounds: int, expected: tuple[int, int], label: str) -> Trials:
    """All variants, `rounds` times each; refuses wrong results."""
    rng = np.random.default_rng(rounds)
    trials: Trials = {variant.name: [] for variant in variants}
    for number in range(rounds):
        turn = number % len(variants)
        if not turn:
            drawn = rng.permutation(len(variants))
        for k in np.roll(drawn, turn):
            variant = variants[k]
            trial = variant.run(number)
            demand(variant.name, trial.result, expected)
            trials[variant.name].append(trial)
        progress(f"{label}: round {number + 1} of {rounds}")
    return trials


def demand(name: str, result: tuple[int, int] | None, expected: tuple[int, int]) -> None:
    """A result is the expected one, or there is none to look at."""
    if result is not None and result != expected:
        raise WrongResultError(f"{name}: (rows, sum of ids) is {result}, not {expected}")


def seconds(trial: Trial) -> float:
    """CPU time where it is known: other processes then disturb less."""
    return trial.seconds if trial.cpu_seconds is None else trial.cpu_seconds


def ratios(trials: Trials, name: str, to: str) -> list[float]:
    """Round by round: the time of one over the time of the other; below 1 is faster."""
    return [seconds(a) / seconds(b) for a, b in zip(trials[name], trials[to], strict=True)]


def ratio(trials: Trials, name: str, to: str) -> float:
    """The median of the rounds' ratios."""
    return statistics.median(ratios(trials, name, to))


def progress(text: str) -> None:
    """For whoever waits; results go to standard output."""
    print(f"bench: {text}", file=sys.stderr, flush=True)
