"""What is written about a join and about each run of a plan: everything that a cost model could be fitted to."""

from __future__ import annotations

from typing import Any

from bench.plans.streams import JoinRows
from bench.plans.trial import PlanTrial


def join_line(joined: JoinRows, expected: tuple[int, int]) -> dict[str, Any]:
    """Return what is known about a join before it runs, and how many results it has."""
    drawn = joined.drawn
    return {
        "seed": drawn.seed, "join": drawn.number, "attempt": drawn.attempt, "graph": drawn.graph,
        "streams": list(drawn.aliases), "on": drawn.on,
        "classes": {each.column: list(each.members) for each in drawn.classes},
        "domains": dict(joined.domains),
        "statistics": joined.statistics,
        "rows_per_second": {alias: joined.rate(alias) for alias in drawn.aliases},
        "window_seconds": {alias: length / 1e6 for alias, length in joined.windows_us.items()},
        "widths": {alias: joined.widths(alias) for alias in drawn.aliases},
        "rows": {alias: table.num_rows for alias, table in joined.tables.items()},
        "batches": {alias: len(batches) for alias, batches in joined.batches.items()},
        "slices": joined.slices, "stream_seconds": drawn.run_seconds, "results": expected[0],
    }  # fmt: skip


def trial_line(trial: PlanTrial) -> dict[str, Any]:
    """Return what one run of a plan took. If it was stopped, it had read `share` of the rows by then."""
    return {
        "cpu_seconds": round(trial.cpu_seconds, 4), "second_half": round(trial.second_half, 4),
        "start_seconds": round(trial.start_seconds, 4),
        "stopped": trial.stopped, "share": round(trial.share, 4),
        "held_rows": trial.held_rows, "held_bytes": trial.held_bytes,
        "kept_made": trial.kept_made, "kept_rows": trial.kept_rows, "kept_bytes": trial.kept_bytes,
    }  # fmt: skip
