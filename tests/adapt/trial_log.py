"""The trials of a virtual stream, with the loss that was counted and the loss by the true costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tests.adapt.virtual_stream import UNIT_NS, VirtualStream
from thalweg.adapt import Observation, Verdict


@dataclass(frozen=True)
class Tried:
    """One trial that was run."""

    candidate: int
    order: tuple[int, ...]
    in_force: tuple[int, ...]
    """The order that the slice would have been run in otherwise."""
    rows: int
    at_row: int
    """Rows seen before the trial."""
    now_ns: int
    """The clock after the trial."""
    booked_ns: int
    """The loss that was counted."""
    true_ns: float
    """How much longer it took than the order in force would have, on the same rows; negative if it took less."""


def order_ns(stream: VirtualStream, order: Sequence[int], passed: np.ndarray) -> float:
    """What filters cost on one slice, by their true costs: a filter is called if a row gets to it."""
    alive, ns = passed, 0.0
    for k in order:
        if len(alive):
            ns += float(stream.fixed_ns[k] + UNIT_NS * stream.units[k] * len(alive))
        alive = alive[alive[:, k]]
    return ns


def watch_trials(stream: VirtualStream, passed: np.ndarray) -> list[Tried]:
    """Return a list that is filled while the stream processes `passed`, from its first row on."""
    update, log = stream.policy.update, list[Tried]()

    def watched(seen: Observation) -> Verdict | None:
        if seen.trial_ns:
            trial, seen_rows = stream.policy.wants().trial, stream.loop.rows_seen
            assert trial is not None
            rows = stream.loop.work.trials.rows - sum(tried.rows for tried in log)
            part = passed[seen_rows - rows : seen_rows]
            true_ns = order_ns(stream, trial.order, part) - order_ns(stream, stream.policy.order, part)
            log.append(
                Tried(
                    candidate=trial.candidate,
                    order=trial.order,
                    in_force=stream.policy.order,
                    rows=rows,
                    at_row=seen_rows - rows,
                    now_ns=stream.now_ns,
                    booked_ns=seen.trial_loss_ns,
                    true_ns=true_ns,
                )
            )
        return update(seen)

    stream.policy.update = watched  # type: ignore[method-assign]
    return log
