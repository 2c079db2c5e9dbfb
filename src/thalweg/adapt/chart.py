"""The policy `chart`: filters and probes are ordered as by `auto`; the plan of a join is looked up in a chart.

The chart is made before the join starts (`optimizer/plan_chart.py`). After each round the arrival rates are estimated
for the next one, and the plan of the region that contains them is used (OM, algorithm 2). The look-up is in
`runtime/joins/chart_lookup.py`; this class has the settings.

Reference: Kulkarni, Ravishankar: OM: A Tunable Framework for Optimizing Continuous Queries over Data Streams, sections
4.3 to 4.5. It gives no values for d, a and the threshold; the defaults are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from thalweg.adapt.auto import Auto, BudgetSettings
from thalweg.adapt.policy import is_number
from thalweg.errors import PlanError
from thalweg.stats.decayed_mean import DECAY, ROUNDS, THRESHOLD

MOST = 1e15
"""The largest decay and threshold."""


@dataclass(frozen=True, slots=True)
class ChartSettings(BudgetSettings):
    """The settings of the policy `chart`."""

    chart_parts: int = 10
    """The number of parts into which a chart cuts the range of each rate, k. Too few: several plans are the best in
    different places of one region. Too many: regions take long to fill."""
    chart_rounds: int = ROUNDS
    """The number of past rounds that rates are estimated from, d."""
    chart_decay: float = DECAY
    """How much less a round counts than the one after it, a: by a factor of e^-a."""
    chart_threshold: float = THRESHOLD
    """The share by which a join selectivity must differ from its estimate to be estimated anew."""

    def __post_init__(self) -> None:
        BudgetSettings.__post_init__(self)  # super() without arguments fails in dataclasses with slots
        for name, least in (("chart_parts", 2), ("chart_rounds", 1)):
            value: Any = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= 1000:
                raise PlanError(f"{name}={value!r}: must be a whole number from {least} to 1000")
        for name in ("chart_decay", "chart_threshold"):
            value = getattr(self, name)
            if not is_number(value) or not 0 <= value <= MOST:
                raise PlanError(f"{name}={value!r}: must be a number of at least 0 and at most {MOST:g}")


class Chart(Auto):
    """Orders as `auto`; join plans from a chart."""

    name: ClassVar[str] = "chart"
    defaults: ClassVar[Any] = ChartSettings()
