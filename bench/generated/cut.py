"""A chain as it runs on Spark: its first rows, in Spark's batches, with the labels that are right for them.

The part that is cut off may contain the drift, and other batches may have another best order. So the group by drift is
that of the remaining phases, and a chain that is written in the best or the worst order uses that of its first rows.
"""

from __future__ import annotations

from dataclasses import replace

from bench.generated.best import extreme_order
from bench.generated.spec import Chain, Phase, as_written


def cut(chain: Chain, rows: int, batch_rows: int) -> Chain:
    """Return the first `rows` rows of a chain, in batches of `batch_rows`."""
    groups, about = dict(chain.groups), dict(chain.about)
    phases = chain.phases
    if chain.rows > rows:
        phases = tuple(_first(phase, rows) for phase in phases if phase.start < rows)
        left = len(phases) - (phases[-1].rows < batch_rows)  # less than a batch of a phase shows nothing of it
        groups["drift"] = _drift(groups["drift"], left)
        about["cut"] = f"{rows:,} of {chain.rows:,} rows, {len(phases)} of {len(chain.phases)} phases"
    found = replace(chain, codes=chain.codes[:rows], phases=phases, batch_rows=batch_rows, groups=groups, about=about)
    written = groups["written"]
    if written in ("best", "worst"):
        return as_written(found, extreme_order(found, worst=written == "worst"))
    return found


def _first(phase: Phase, rows: int) -> Phase:
    return replace(phase, rows=min(phase.rows, rows - phase.start))


def _drift(drawn: str, phases: int) -> str:
    """Return the group of the remaining part of a drift."""
    if phases < 2:
        return "still"
    return "jump" if drawn == "return" and phases == 2 else drawn
