"""The rate of change: the time per tuple if selectivities are permuted at regular intervals (a-greedy, figure 19)."""

from __future__ import annotations

from thalweg.lab.a_greedy.algorithms import LABELS, line
from thalweg.lab.a_greedy.changing import FULL, QUICK, SETTING, time_per_tuple
from thalweg.lab.claim import Statement, judged
from thalweg.lab.experiment import Experiment, Outcome, Track
from thalweg.lab.figure import Figure

PERIODS = (50_000, 100_000, 200_000, 400_000, 1_000_000)
C = 10
ALGORITHMS = ("a-greedy", "independent", "sweep", "local-swaps")
SIGNIFICANT = 0.05

Results = dict[int, dict[str, float]]


def slower(r: Results, period: int, other: str, than: str) -> float:
    """Return how much more time one algorithm takes than the other."""
    return r[period][other] / r[period][than] - 1


def every(r: Results, other: str, than: str) -> str:
    """Return the difference for all periods, for a sentence."""
    each = ", ".join(f"{slower(r, x, other, than):+.1%} at {x:,}" for x in r)
    return f"time of {LABELS[other]} compared with {LABELS[than]}: {each}"


def outruns(fast: str, slow: str) -> Statement[Results]:
    """Return the claim about two algorithms at the left end of figure 19."""
    return Statement(
        f"when changes are frequent, {LABELS[fast]} is significantly faster than {LABELS[slow]}",
        f"section 9.4, figure 19; read as {SIGNIFICANT:.0%} at the shortest period",
        holds=lambda r: slower(r, min(r), slow, fast) >= SIGNIFICANT,
        measured=lambda r: every(r, slow, fast),
    )


CLAIMS: tuple[Statement[Results], ...] = (
    *(outruns(fast, slow) for slow in ("sweep", "local-swaps") for fast in ("a-greedy", "independent")),
    Statement(
        "the advantage over Sweep diminishes as changes become rare",
        "section 9.4, figure 19",
        holds=lambda r: all(
            slower(r, max(r), "sweep", fast) < slower(r, min(r), "sweep", fast) for fast in ("a-greedy", "independent")
        ),
        measured=lambda r: "; ".join(every(r, "sweep", fast) for fast in ("a-greedy", "independent")),
    ),
    Statement(
        "A-Greedy is faster than Sweep when changes come every 100,000 tuples",
        "section 9.4, of figures 19 and 20",
        holds=lambda r: slower(r, 100_000, "sweep", "a-greedy") > 0,
        measured=lambda r: f"{slower(r, 100_000, 'sweep', 'a-greedy'):+.1%}",
    ),
    Statement(
        "Sweep is faster than A-Greedy when changes come every 1,000,000 tuples",
        "section 9.4, of figures 19 and 21; section 10",
        holds=lambda r: slower(r, 1_000_000, "sweep", "a-greedy") < 0,
        measured=lambda r: f"{slower(r, 1_000_000, 'sweep', 'a-greedy'):+.1%}",
    ),
)


def measure(quick: bool, track: Track) -> Outcome:
    """Run the experiment for all periods."""
    periods = track((100_000, 1_000_000) if quick else PERIODS)
    results: Results = {x: time_per_tuple(ALGORITHMS, x, C, QUICK if quick else FULL) for x in periods}
    return Outcome(judged(CLAIMS, results), (figure(results),))


def figure(r: Results) -> Figure:
    """Return the figure: time over the period."""
    return Figure(
        "figure-19", "Adapting fast pays off if changes are frequent, profiling little if they are rare",
        "tuples between changes", "units of virtual time per tuple",
        tuple(line(a, list(r), [r[x][a] for x in r]) for a in ALGORITHMS), log_x=True,
    )  # fmt: skip


EXPERIMENT = Experiment(
    "the rate of change", "figure 19, section 9.4", measure,
    f"{SETTING} The expensive filters cost {C}. How the chain is written matters: in trials with the cheap filters "
    "first, Sweep and LocalSwaps were never far from a good order, and A-Greedy's lead at short periods was small or "
    "gone; with the expensive ones first it was larger.",
)  # fmt: skip
