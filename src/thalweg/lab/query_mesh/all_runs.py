"""Runs of all contenders on all layouts, which figures 10 and 11 share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import get_args

import numpy as np

from thalweg.lab.experiment import Track
from thalweg.lab.query_mesh.contender_run import ContenderRun
from thalweg.lab.query_mesh.contenders import run_all
from thalweg.lab.query_mesh.layouts import LAYOUTS, PROBE_NS, Data

TUPLES, QUICK_TUPLES = 20_000, 3_000
STREAMS, QUICK_STREAMS = 3, 1
DATA: tuple[Data, ...] = get_args(Data)
kept_runs = lru_cache(maxsize=None)(run_all)


@dataclass(frozen=True)
class AllRuns:
    """By data, layout and stream what each contender did."""

    runs: dict[tuple[Data, str, int], dict[str, ContenderRun]]

    def over(self, data: Data, of: Callable[[dict[str, ContenderRun], str], float]) -> dict[str, float]:
        """Return the mean over streams of a number, by layout."""
        found: dict[str, list[float]] = {}
        for (which, layout, _), runs in self.runs.items():
            if which == data:
                found.setdefault(layout, []).append(of(runs, layout))
        return {layout: float(np.mean(numbers)) for layout, numbers in found.items()}

    def gains(self, data: Data, one: str, other: str, probe_ns: float = PROBE_NS) -> dict[str, float]:
        """Return by layout by how much the output rate of one is above that of the other, as a share."""

        def gain(runs: dict[str, ContenderRun], layout: str) -> float:
            costs = LAYOUTS[layout].costs_ns(probe_ns)
            return runs[one].rate(costs) / runs[other].rate(costs) - 1.0

        return self.over(data, gain)

    def overheads(self, data: Data, name: str, probe_ns: float = PROBE_NS) -> dict[str, float]:
        """Return by layout the share of the time that is not spent on probes."""
        return self.over(data, lambda runs, layout: runs[name].overhead(LAYOUTS[layout].costs_ns(probe_ns)))

    def per_tuple_ns(self, data: Data, name: str, probe_ns: float = PROBE_NS) -> dict[str, float]:
        """Return by layout the time per tuple."""
        return self.over(data, lambda runs, layout: runs[name].per_tuple_ns(LAYOUTS[layout].costs_ns(probe_ns)))

    def probe_ns_at(self, data: Data, name: str, overhead: float) -> float:
        """Return what a probe must cost so that a contender's overhead is this share, over all layouts together."""
        routing = units = 0.0
        for (which, layout, _), runs in self.runs.items():
            if which == data:
                routing += float(runs[name].routing_ns.sum())
                units += float((runs[name].evaluated @ LAYOUTS[layout].costs_ns(1.0)).sum())
        return routing * (1.0 - overhead) / overhead / units


def all_runs(quick: bool, track: Track) -> AllRuns:
    """Run everything, or return what this process has run already."""
    tuples, streams = (QUICK_TUPLES, QUICK_STREAMS) if quick else (TUPLES, STREAMS)
    cases = [(data, layout, seed) for data in DATA for layout in LAYOUTS for seed in range(streams)]
    return AllRuns({
        (data, layout, seed): kept_runs(LAYOUTS[layout], data, tuples, seed, untested=True)
        for data, layout, seed in track(cases)
    })  # fmt: skip


def percent(share: float) -> str:
    """Return a gain with its sign.

    >>> percent(0.441), percent(-0.022)
    ('+44.1 %', '-2.2 %')
    """
    return f"{100 * share:+.1f} %"


def mean(numbers: dict[str, float]) -> float:
    """Return the mean of the layouts."""
    return float(np.mean(list(numbers.values())))


def gained(numbers: dict[str, float]) -> str:
    """Return the mean gain and the gains of all layouts for a sentence."""
    return f"{percent(mean(numbers))} ({', '.join(f'{layout} {percent(each)}' for layout, each in numbers.items())})"
