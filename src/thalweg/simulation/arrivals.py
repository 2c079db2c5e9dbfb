"""The arrival times of the rows of a source: Poisson, regular, replayed from recorded gaps, or scripted.

A process is a value: `instants(rng)` starts again with each call and returns instants in ticks, never decreasing. It
may be infinite; a source ends with its rows or with its instants, whichever end first.

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

from thalweg.cost.ticks import UNIT
from thalweg.errors import PlanError
from thalweg.given_path import given_path

AT_A_TIME = 1024
"""The number of random numbers drawn at a time."""


class Arrivals(Protocol):
    """The arrival times of one source."""

    def instants(self, rng: np.random.Generator) -> Iterator[int]:
        """Return the instants of arrival, from the start.

        Parameters
        ----------
        rng
            The generator of all random numbers.

        Returns
        -------
        Iterator[int]
            Instants in ticks, never decreasing. It may be infinite.

        Examples
        --------
        >>> import numpy as np
        >>> from thalweg.simulation import scripted
        >>> list(scripted([0, 0.5]).instants(np.random.default_rng()))
        [0, 500000000]
        """
        ...


@dataclass(frozen=True)
class poisson:  # noqa: N801 - users call it like a function
    """Independent arrivals. Gaps are exponential, with mean 1 / rate.

    Parameters
    ----------
    rate
        The mean number of arrivals per time unit.

    Examples
    --------
    >>> import itertools, numpy as np
    >>> from thalweg.simulation import poisson
    >>> instants = list(itertools.islice(poisson(100).instants(np.random.default_rng(7)), 1000))
    >>> 9.5e9 < instants[-1] < 10.5e9
    True
    """

    rate: float

    def __post_init__(self) -> None:
        _check_rate(self.rate)

    def instants(self, rng: np.random.Generator) -> Iterator[int]:
        """Return an infinite sequence of instants."""
        last = 0
        while True:
            gaps = np.rint(rng.exponential(UNIT / self.rate, AT_A_TIME)).astype(np.int64)
            yield from (last + np.cumsum(gaps)).tolist()
            last += int(gaps.sum())


@dataclass(frozen=True)
class regular:  # noqa: N801
    """One arrival every 1 / rate time units, the first after one such gap.

    Parameters
    ----------
    rate
        The number of arrivals per time unit.

    Examples
    --------
    >>> import itertools, numpy as np
    >>> from thalweg.simulation import regular
    >>> list(itertools.islice(regular(4).instants(np.random.default_rng()), 3))
    [250000000, 500000000, 750000000]
    """

    rate: float

    def __post_init__(self) -> None:
        _check_rate(self.rate)

    def instants(self, rng: np.random.Generator) -> Iterator[int]:
        """Return an infinite sequence of instants. Each is rounded separately, so rounding errors do not add up."""
        number = 0
        while True:
            number += 1
            yield round(number * UNIT / self.rate)


@dataclass(frozen=True)
class scripted:  # noqa: N801
    """Arrivals at given instants.

    Parameters
    ----------
    times
        The instants in time units, in ascending order.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.simulation import scripted
    >>> list(scripted([0, 0.5, 0.5]).instants(np.random.default_rng()))
    [0, 500000000, 500000000]
    """

    times: Sequence[float]

    def __post_init__(self) -> None:
        times = np.asarray(self.times, float)
        if times.ndim != 1 or not np.isfinite(times).all() or (times < 0).any() or (np.diff(times) < 0).any():
            raise PlanError("scripted(times): must be finite numbers, 0 or more, in ascending order")

    def instants(self, rng: np.random.Generator) -> Iterator[int]:
        """Return the given instants."""
        return iter([round(time * UNIT) for time in self.times])


@dataclass(frozen=True)
class replayed:  # noqa: N801
    """Arrivals with recorded inter-arrival times.

    Parameters
    ----------
    gaps
        The inter-arrival times in time units: an array, or a file (Parquet, CSV with header, .npy).
    column
        The column of the file, if it has several.
    speed
        How many times as fast to replay: 2 halves all gaps.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.simulation import replayed
    >>> list(replayed([1, 0.5], speed=2).instants(np.random.default_rng()))
    [500000000, 750000000]
    """

    gaps: str | os.PathLike[str] | Sequence[float] | NDArray[np.float64]
    column: str | None = None
    speed: float = 1.0
    _instants: NDArray[np.int64] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_rate(self.speed, "speed")
        named = isinstance(self.gaps, (str, os.PathLike))
        try:
            gaps = _read(Path(given_path(self.gaps)), self.column) if named else np.asarray(self.gaps, float)  # type: ignore[arg-type]
        except PlanError:
            raise
        except (ValueError, TypeError, OSError) as error:  # Arrow's are among them
            what = f"{self.gaps} cannot be read as numbers" if named else "gaps are not numbers"
            raise PlanError(f"replayed: {what}: {error}") from None
        if gaps.ndim != 1 or not np.isfinite(gaps).all() or (gaps < 0).any():
            what = f" in {self.gaps}" if named else ""
            raise PlanError(f"replayed(gaps): inter-arrival times{what} must be finite numbers, 0 or more")
        # read once and at once: errors in a file are reported here, and the file may change later
        object.__setattr__(self, "_instants", np.cumsum(np.rint(gaps * (UNIT / self.speed)).astype(np.int64)))

    def instants(self, rng: np.random.Generator) -> Iterator[int]:
        """Return one instant per gap, the first after the first gap."""
        return iter(self._instants.tolist())


def _check_rate(rate: Any, what: str = "rate") -> None:
    if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 < rate < math.inf:
        raise PlanError(f"{what}={rate!r}: must be a number above 0")


def _read(path: Path, column: str | None) -> NDArray[np.float64]:
    if not path.exists():
        raise PlanError(f"replayed: there is no file {path}; give the path of a .parquet, .csv or .npy file")
    if path.suffix == ".npy":
        return np.asarray(np.load(path, allow_pickle=False), float)
    if path.suffix == ".parquet":
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(path)
    elif path.suffix == ".csv":
        import pyarrow.csv

        table = pyarrow.csv.read_csv(path)
    else:
        raise PlanError(f"replayed: {path.name} is not a .parquet, .csv or .npy file; convert it to one of these")
    if (column is None and table.num_columns != 1) or (column is not None and column not in table.column_names):
        raise PlanError(f"replayed: which column of {path.name}? Set column= to one of {', '.join(table.column_names)}")
    gaps: NDArray[np.float64] = table.column(column or 0).to_numpy().astype(float)
    return gaps
