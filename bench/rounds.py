"""Interleaved rounds: every variant runs once per round, so that a slow minute affects all of them.

The order of the variants changes from round to round. In as many rounds as there are variants, each variant has every
place once, because running after an expensive variant has a cost too. A single time means nothing; what counts is the
ratio of two variants within a round, and its median over the rounds.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


class WrongResultError(Exception):
    """Raised if a variant gives other rows than expected, which makes its measurements meaningless."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of one variant."""

    seconds: float
    """The wall time of the run."""
    cpu_seconds: float | None = None
    """The CPU time of this process; None if other processes do the work."""
    result: tuple[int, int] | None = None
    """The number of rows that passed and the sum of their ids; None if they are checked elsewhere."""
    evaluated: dict[str, int] = field(default_factory=dict)
    profiled: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    """Other counts that do not depend on the clock."""


@dataclass(frozen=True)
class Variant:
    """Something to measure. `run` is called with the number of the round, as a seed."""

    name: str
    run: Callable[[int], Trial]
    settings: dict[str, Any] = field(default_factory=dict)
    ours: bool = False
    """Whether it can be the best of our policies."""
    result: Callable[[], tuple[int, int]] | None = None
    """Runs the variant once, untimed, for its result, if the timed runs do not return one."""
    derived: bool = False
    """Whether its evaluations are derived from the data and the order, instead of counted while it ran."""


Trials = dict[str, list[Trial]]


def interleave(variants: Sequence[Variant], rounds: int, expected: tuple[int, int], label: str) -> Trials:
    """Run each variant `rounds` times. Raises WrongResultError if a result is wrong."""
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
    """Raise WrongResultError if there is a result and it is not the expected one."""
    if result is not None and result != expected:
        raise WrongResultError(f"{name}: (rows, sum of ids) is {result}, not {expected}")


def seconds(trial: Trial) -> float:
    """Return the CPU time if it is known, because other processes affect it less; else the wall time."""
    return trial.seconds if trial.cpu_seconds is None else trial.cpu_seconds


def ratios(trials: Trials, name: str, to: str) -> list[float]:
    """Return for each round the time of `name` divided by that of `to`; below 1 is faster."""
    return [seconds(a) / seconds(b) for a, b in zip(trials[name], trials[to], strict=True)]


def ratio(trials: Trials, name: str, to: str) -> float:
    """Return the median of the ratios of all rounds."""
    return statistics.median(ratios(trials, name, to))


def progress(text: str) -> None:
    """Print progress to standard error; results go to standard output."""
    print(f"bench: {text}", file=sys.stderr, flush=True)
