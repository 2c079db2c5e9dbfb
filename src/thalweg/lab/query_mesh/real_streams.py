"""Two streams of real data with ten probes each: sensor readings by location, and stock prices with exchange rates.

The data are not part of the package: `intel_lab` has no formal license, and prices of all days are large. They are read
from the folder that THALWEG_DATA names, or from `../shared/data`. Everything here was fixed before the first run.

- **intel_lab**: 52 motes of the Intel Berkeley lab, temperatures every 30 seconds for five days. Motes are divided into
  eleven groups by location (Ward's method). S0 is the largest group, the others are S1 to S10. A reading of S0 finds a
  match in another group if one of its motes had the same temperature in the same step, up to `DEGREES`. Attributes:
  mote, temperature, hour of the day.
- **stocks**: daily bars of 505 stocks, and reference rates of ten currencies. A bar finds a match in a currency if its
  rate moved in the same direction on that day, by at least `MOVE`. Attributes: sector, return of the day, volume,
  price.

The sample is drawn from the first half of the days, the stream from the second half, both in order of time. The paper's
own data (stocks, news, blogs and currencies, polled by the authors) are not available.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from thalweg.lab.query_mesh.layouts import PROBES, SAMPLE, Numbers, Stream
from thalweg.optimizer.mesh.clustering import ward

DEGREES = 0.5
MOVE = 0.0025
CURRENCIES = ("USD", "GBP", "JPY", "CHF", "AUD", "CAD", "SEK", "NOK", "CNY", "BRL")
STEPS_PER_HOUR = 120
Codes = NDArray[np.int64]


def data_folder() -> Path:
    """Return the folder with data sets."""
    return Path(os.environ.get("THALWEG_DATA") or Path("..") / "shared" / "data")


def intel_lab(folder: Path) -> tuple[Stream, Codes]:
    """Return the readings of the largest group of motes in order of time, and the step of each."""
    with (folder / "intel_lab" / "mote_locs.csv").open(encoding="utf-8") as file:
        places = {int(row["moteid"]): (float(row["x"]), float(row["y"])) for row in csv.DictReader(file)}
    table = pq.read_table(folder / "intel_lab" / "temperature_5d_52motes_30s.parquet")
    table = table.sort_by([("step", "ascending"), ("moteid", "ascending")])
    motes = np.unique(table["moteid"].to_numpy())
    degrees = table["temperature"].to_numpy().reshape(-1, len(motes)).astype(np.float64)
    group = ward(np.array([places[int(mote)] for mote in motes]), np.ones(len(motes)), PROBES + 1)
    first = int(np.bincount(group).argmax())
    mine = np.flatnonzero(group == first)
    finds = []
    for other in (number for number in range(PROBES + 1) if number != first):
        theirs = degrees[:, group == other]
        finds.append((np.abs(degrees[:, mine, None] - theirs[:, None, :]) <= DEGREES).any(axis=2).reshape(-1))
    steps = np.repeat(np.arange(len(degrees)), len(mine))
    hour = steps // STEPS_PER_HOUR % 24
    mote = np.tile(np.arange(len(mine)), len(degrees))
    values = np.stack([mote, percentile(degrees[:, mine].reshape(-1)), hour], axis=1)
    return Stream(values, np.stack(finds, axis=1)), steps


def stocks(folder: Path) -> tuple[Stream, Codes]:
    """Return daily bars in order of time, and the day of each."""
    prices = pq.read_table(folder / "sp500_5yr" / "prices_daily.parquet").drop_null()
    rates = pq.read_table(folder / "fx_ecb_daily" / "rates.parquet").drop_null()
    with (folder / "sp500_5yr" / "constituents.csv").open(encoding="utf-8") as file:
        sectors = {row["symbol"]: row["sector"] for row in csv.DictReader(file)}
    names = sorted(set(sectors.values()))
    day = _days(prices["date"])
    order = np.argsort(day, kind="stable")
    day = day[order]
    opened, closed = prices["open"].to_numpy()[order], prices["close"].to_numpy()[order]
    moved = closed / opened - 1.0
    sector = np.array([names.index(sectors[symbol]) for symbol in prices["symbol"].to_pylist()])[order]
    known = np.ones(len(day), bool)
    finds = []
    for currency in CURRENCIES:
        chosen = rates.filter(pc.equal(rates["currency"], currency)).sort_by("date")
        days, rate = _days(chosen["date"]), chosen["rate_per_eur"].to_numpy()
        place = np.clip(np.searchsorted(days, day), 1, len(days) - 1)
        known &= days[place] == day  # stocks are traded on some days without a rate
        change = rate[place] / rate[place - 1] - 1.0
        finds.append((np.sign(change) == np.sign(moved)) & (np.abs(change) >= MOVE))
    columns = [sector, percentile(moved), percentile(prices["volume"].to_numpy()[order]), percentile(closed)]
    return Stream(np.stack(columns, axis=1)[known], np.stack(finds, axis=1)[known]), day[known]


SOURCES: dict[str, Callable[[Path], tuple[Stream, Codes]]] = {"intel_lab": intel_lab, "stocks": stocks}
FILES = {"intel_lab": ("intel_lab",), "stocks": ("sp500_5yr", "fx_ecb_daily")}


@dataclass(frozen=True)
class RealStream:
    """A stream, and two samples for plans and meshes."""

    sample: Stream
    """Tuples of the first half of the days."""
    same_days: Stream
    """Tuples of the days of the stream, which are not in it."""
    stream: Stream


def real_streams(tuples: int, rng: np.random.Generator) -> dict[str, RealStream]:
    """Return samples and a stream of each data set whose files exist.

    Parameters
    ----------
    tuples
        The length of the streams.
    rng
        The source of random numbers.

    Returns
    -------
    dict
        By data set the samples and the stream.
    """
    folder, found = data_folder(), {}
    for name, read in SOURCES.items():
        if all((folder / each).is_dir() for each in FILES[name]):
            rows, moments = read(folder)
            half = int(np.searchsorted(moments, np.median(moments)))
            before = np.sort(rng.choice(half, SAMPLE, replace=False))
            drawn = half + rng.choice(len(rows) - half, tuples + SAMPLE, replace=False)
            parts = (before, np.sort(drawn[:SAMPLE]), np.sort(drawn[SAMPLE:]))
            found[name] = RealStream(*(Stream(rows.values[part], rows.passes[part]) for part in parts))
    return found


def percentile(numbers: Numbers) -> Codes:
    """Return the percentile of each number.

    >>> percentile(np.array([5.0, 1.0])).tolist()
    [50, 0]
    """
    return np.argsort(np.argsort(numbers, kind="stable"), kind="stable") * 100 // len(numbers)


def _days(dates: object) -> Codes:
    return np.asarray(pc.cast(dates, "int32"), np.int64)
