"""When the rows of a source arrive: Poisson, regular, replayed from recorded gaps, or scripted.

A process is a value: `instants(rng)` begins anew each time and gives instants in ticks, never decreasing. It may be
infinite; a source ends with its rows or with its instants, whichever end first.

>>> import itertools, numpy as np
>>> list(itertools.islice(regular(4).instants(np.random.default_rng()), 3))  # rates are per time unit
[250000000, 500000000, 750000000]
>>> list(scripted([0, 0.5, 0.5]).instants(np.random.default_rng()))
[0, 500000000, 500000000]
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from thalweg.errors import PlanError
from thalweg.runtime.local.virtual.ticks import UNIT

AT_A_TIME = 1024
"""Random numbers drawn together."""


class Arrivals(Protocol):
    """Of one source."""

    def instants(self, rng: np.random.Generator) -> Iterator[int]:
        """In ticks, from the beginning."""
        ...


@dataclass(frozen=True)
class poisson:  # noqa: N801 - read as a word of what is asked for, not as a class
    """Independent arrivals, `rate` a time unit on average: gaps are exponential, with mean 1 / rate."""

    rate: float

    def __post_init__(self) -> None:
        _check_rate(self.rate)

    def instants(self, rng: np.random.Generator) -> Iterator[int]:
        """Without end."""
        last = 0
        while True:
            gaps = np.rint(rng.exponential(UNIT / self.rate, AT_A_TIME)).astype(np.int64)
            yield from (last + np.cumsum(gaps)).tolist()
            last += int(gaps.sum())


@dataclass(frozen=True)
class regular:  # noqa: N801
    """One arrival every 1 / rate, the first after one such gap."""

    rate: float

    def __post_init__(self) -> None:
        _check_rate(self.rate)

    def instants(self, rng: np.random.Generator) -> Iterator[int]:
        """Without end; each is rounded by itself, so that rounding does not add up."""
        number = 0
        while True:
            number += 1
            yield round(number * UNIT / self.rate)


@dataclass(frozen=True)
class scripted:  # noqa: N801
    """Exactly these instants, in time units."""

    times: Sequence[float]

    def __post_init__(self) -> None:
        times = np.asarray(self.times, float)
        if times.ndim != 1 or not np.isfinite(times).all() or (times < 0).any() or (np.diff(times) < 0).any():
            raise PlanError("scripted(times): must be finite numbers, 0 or more, none before the one it follows")

    def instants(self, rng: np.random.Generator) -> Iterator[int]:
        """As many as there are."""
        return iter([round(time * UNIT) for time in self.times])


@dataclass(frozen=True)
class replayed:  # noqa: N801
    """Recorded inter-arrival times, in time units: an array, or a file (Parquet, CSV with a header, .npy).

    `column`: of the file, where it has several. `speed`: 2 plays everything twice as fast."""

    gaps: str | os.PathLike[str] | Sequence[float] | NDArray[np.float64]
    column: str | None = None
    speed: float = 1.0
    _instants: NDArray[np.int64] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_rate(self.speed, "speed")
        named = isinstance(self.gaps, (str, os.PathLike))
        try:
            gaps = _read(Path(self.gaps), self.column) if named else np.asarray(self.gaps, float)  # type: ignore[arg-type]
        except PlanError:
            raise
        except (ValueError, TypeError, OSError) as error:  # Arrow's are among them
            what = f"from {self.gaps}" if named else "of gaps"
            raise PlanError(f"replayed: no numbers {what}: {error}") from None
        if gaps.ndim != 1 or not np.isfinite(gaps).all() or (gaps < 0).any():
            what = f" in {self.gaps}" if named else ""
            raise PlanError(f"replayed(gaps): inter-arrival times{what} must be finite numbers, 0 or more")
        # read once: what is wrong with a file is told at once, and it may change later
        object.__setattr__(self, "_instants", np.cumsum(np.rint(gaps * (UNIT / self.speed)).astype(np.int64)))

    def instants(self, rng: np.random.Generator) -> Iterator[int]:
        """As many as there are gaps, the first after the first of them."""
        return iter(self._instants.tolist())


def _check_rate(rate: Any, what: str = "rate") -> None:
    if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 < rate < math.inf:
        raise PlanError(f"{what}={rate!r}: must be a number above 0")


def _read(path: Path, column: str | None) -> NDArray[np.float64]:
    if not path.exists():
        raise PlanError(f"replayed: there is no file {path}")
    if path.suffix == ".npy":
        return np.asarray(np.load(path, allow_pickle=False), float)
    if path.suffix == ".parquet":
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(path)
    elif path.suffix == ".csv":
        import pyarrow.csv

        table = pyarrow.csv.read_csv(path)
    else:
        raise PlanError(f"replayed: {path.name} is no .parquet, .csv or .npy file")
    if (column is None and table.num_columns != 1) or (column is not None and column not in table.column_names):
        raise PlanError(f"replayed: which column of {path.name}? column= one of {', '.join(table.column_names)}")
    gaps: NDArray[np.float64] = table.column(column or 0).to_numpy().astype(float)
    return gaps
