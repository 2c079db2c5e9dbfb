"""The total number of tuples produced from real data (query-mesh, section 6.2, figure 11b)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thalweg.lab.claim import Finding, Statement, judged
from thalweg.lab.experiment import Experiment, Outcome, Track
from thalweg.lab.query_mesh.all_runs import AllRuns, all_runs, gained, mean, percent
from thalweg.lab.query_mesh.contender_run import ContenderRun
from thalweg.lab.query_mesh.contenders import CBR, CBR_BATCHED, QM, QM_3, SP, on_stream
from thalweg.lab.query_mesh.figure_11 import figure, totals
from thalweg.lab.query_mesh.layouts import PROBE_NS, PROBES
from thalweg.lab.query_mesh.real_streams import SOURCES, data_folder, real_streams

TUPLES, QUICK_TUPLES = 20_000, 3_000
COSTS_NS = np.full(PROBES, PROBE_NS)
OTHERS = (SP, CBR, CBR_BATCHED)
WHY = {
    "intel_lab": "the sample is from earlier days, and selectivities of the later days differ. With a sample of the "
    "same days, QM is ahead of SP too. In a query that runs for days, a mesh must adapt.",
    "stocks": "which currencies move on a day depends on the day, and not on sector, return, volume or price. So QM "
    "has one route, as it should, and is as fast as SP.",
}


@dataclass(frozen=True)
class Results:
    """By data set what each contender did, and the runs of synthetic data."""

    runs: dict[str, dict[str, ContenderRun]]
    same_days: dict[str, dict[str, ContenderRun]]
    """The same for SP and QM if the sample is from the days of the stream."""
    synthetic: AllRuns

    def gain(self, data: str, other: str, one: str = QM) -> float:
        """Return by how much the output rate of one is above that of another."""
        return self.runs[data][one].rate(COSTS_NS) / self.runs[data][other].rate(COSTS_NS) - 1.0


def shown(r: Results, data: str) -> str:
    """Return what was measured for a data set."""
    runs = r.runs[data]
    gains = ", ".join(f"over {other} {percent(r.gain(data, other))}" for other in OTHERS)
    later = r.same_days[data]
    same_days = later[QM].rate(COSTS_NS) / later[SP].rate(COSTS_NS) - 1.0
    return (
        f"{gains}; as in table 3 over SP {percent(r.gain(data, SP, QM_3))}; routes: {runs[QM].routes} and "
        f"{runs[QM_3].routes}; probes per tuple: SP {runs[SP].evaluated.sum() / runs[SP].tuples:.2f}, QM "
        f"{runs[QM].evaluated.sum() / runs[QM].tuples:.2f}; if the sample is from the days of the stream, over SP "
        f"{percent(same_days)} (routes: {later[QM].routes})"
    )


CLAIMS: tuple[Statement[Results], ...] = (
    *(
        Statement[Results](
            f"{data}: QM outperforms SP and Eddy+CBR",
            "section 6.2, figure 11b",
            holds=lambda r, data=data: all(r.gain(data, other) > 0 for other in OTHERS),  # type: ignore[misc]
            measured=lambda r, data=data: shown(r, data),  # type: ignore[misc]
            why=WHY[data],
        )
        for data in SOURCES
    ),
    Statement(
        "real data: QM is not as much ahead of SP as with synthetic data",
        "section 6.2: although not by as much",
        holds=lambda r: all(r.gain(data, SP) < mean(r.synthetic.gains("poisson", QM, SP)) for data in r.runs),
        measured=lambda r: (
            ", ".join(f"{data} {percent(r.gain(data, SP))}" for data in r.runs)
            + f"; Poisson data {gained(r.synthetic.gains('poisson', QM, SP))}"
        ),
    ),
)


def measure(quick: bool, track: Track) -> Outcome:
    """Run all contenders on the data sets; without them, there is nothing to judge."""
    streams = real_streams(QUICK_TUPLES if quick else TUPLES, np.random.default_rng(0))
    if len(streams) < len(SOURCES):
        here = f"{len(streams)} of {len(SOURCES)} data sets are in {data_folder()}"
        why = "not run: let THALWEG_DATA name the folder with the data sets."
        return Outcome([Finding(claim.about, claim.paper, here, False, why=why) for claim in CLAIMS])
    runs = {name: on_stream(streams[name].sample, streams[name].stream, COSTS_NS, 0) for name in track(list(streams))}
    later = {name: on_stream(each.same_days, each.stream, COSTS_NS, 0, peers=False) for name, each in streams.items()}
    results = Results(runs, later, all_runs(quick, track))
    return Outcome(
        judged(CLAIMS, results),
        tuple(figure("figure-11b", name, totals(each, COSTS_NS)) for name, each in runs.items()),
    )


EXPERIMENT = Experiment(
    title="total number of tuples produced from real data",
    reference="section 6.2, figure 11b",
    measure=measure,
    setting="`intel_lab`: readings of the motes of one place, probed against those of ten other places for the same "
    "temperature. `stocks`: daily bars of `sp500_5yr`, probed against ten currencies of `fx_ecb_daily` for a move in "
    "the same direction. 20,000 tuples each, 10 µs per probe; the sample is from the first half of the days, the "
    "stream from the second. The data are read from the folder that THALWEG_DATA names and are not part of Thalweg: "
    "the readings have no formal license, the prices are large.",
)
