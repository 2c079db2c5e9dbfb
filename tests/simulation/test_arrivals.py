"""Instants of arrival: their distribution, recorded ones from files, and what is refused."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import thalweg as tw
from thalweg.cost.ticks import UNIT, ticks
from thalweg.simulation import Arrivals, Source, poisson, regular, replayed, scripted


def first(process: Arrivals, count: int, seed: int = 0) -> list[int]:
    return list(itertools.islice(process.instants(np.random.default_rng(seed)), count))


def test_poisson_gaps_are_exponential() -> None:
    gaps = np.diff(first(poisson(50), 40_000)) / UNIT
    assert gaps.mean() == pytest.approx(1 / 50, rel=0.02)
    assert gaps.std() == pytest.approx(1 / 50, rel=0.02)
    assert np.median(gaps) == pytest.approx(np.log(2) / 50, rel=0.03)
    assert abs(np.corrcoef(gaps[:-1], gaps[1:])[0, 1]) < 0.02


def test_blocks_of_random_numbers_leave_no_seam() -> None:
    instants = first(poisson(3), 3_000)
    assert instants == sorted(instants)
    assert len(set(instants)) > 2_990
    assert instants == first(poisson(3), 3_000) != first(poisson(3), 3_000, seed=1)


def test_regular_arrivals_do_not_drift() -> None:
    assert first(regular(3), 3_000)[-1] == 1_000 * UNIT


@pytest.mark.parametrize("kind", ["parquet", "csv", "npy"])
def test_recorded_gaps_are_replayed_from_files(kind: str, tmp_path: Path) -> None:
    gaps, path = np.array([0.5, 0.0, 0.25, 2.0]), tmp_path / f"gaps.{kind}"
    table = pa.table({"interarrival": gaps, "size": [1, 2, 3, 4]})
    if kind == "npy":
        np.save(path, gaps)
    elif kind == "csv":
        pyarrow.csv.write_csv(table, path)
    else:
        pyarrow.parquet.write_table(table, path)
    column = None if kind == "npy" else "interarrival"
    wanted = [UNIT // 2, UNIT // 2, 3 * UNIT // 4, 11 * UNIT // 4]
    assert first(replayed(path, column), 9) == wanted == first(replayed(gaps), 9)
    assert first(replayed(str(path), column, speed=2), 9) == [at // 2 for at in wanted]
    if kind != "npy":
        with pytest.raises(tw.PlanError, match=r"which column of gaps.*interarrival, size"):
            replayed(path)
    path.write_bytes(b"no such thing\x00\xff")
    with pytest.raises(tw.PlanError, match="replayed"):
        replayed(path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: poisson(0), "rate=0"),
        (lambda: regular(float("nan")), "rate=nan"),
        (lambda: scripted([2, 1]), "in ascending order"),
        (lambda: scripted([-1]), "0 or more"),
        (lambda: replayed([1, -1]), "0 or more"),
        (lambda: replayed(["soon"]), "gaps are not numbers"),  # type: ignore[list-item]  # wrong on purpose
        (lambda: replayed("nowhere.csv"), "^replayed: there is no file nowhere.csv"),
        (lambda: replayed(__file__), "test_arrivals.py is not a .parquet, .csv or .npy file"),
        (lambda: Source([(1,)], regular(1)), "needs schema="),
        (lambda: Source("abc", regular(1)), "not str"),
        (lambda: Source(pa.table({"time": [1]}), "tim"), "did you mean 'time'"),
        (lambda: Source(pa.table({"a": [1]}), regular(1), at_once=0), "at_once=0"),
        (lambda: list(Source(pa.table({"t": [2, 1]}), "t").arriving(np.random.default_rng())), "before the previous"),
        (lambda: ticks(-1), "0 or more"),
        (lambda: ticks("soon"), "10 seconds"),
    ],
)  # fmt: skip
def test_what_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(tw.PlanError, match=message):
        make()


def test_a_column_of_timestamps_or_numbers_says_when_rows_arrive() -> None:
    rng = np.random.default_rng()
    micros = pa.table({"t": pa.array([1_500_000, 2_000_000], pa.timestamp("us"))})
    assert [at for at, _ in Source(micros, "t").arriving(rng)] == [3 * UNIT // 2, 2 * UNIT]
    assert [at for at, _ in Source(pa.table({"t": [1.5, 2.0]}), "t").arriving(rng)] == [3 * UNIT // 2, 2 * UNIT]
    assert [at for at, _ in Source(pa.table({"t": [1, 2]}), "t", at_once=2).arriving(rng)] == [2 * UNIT]


def test_a_stamp_overwrites_the_column_of_its_name() -> None:
    source = Source(pa.table({"t": ["x", "y"], "k": [1, 2]}), scripted([1, 3]), stamp="t")
    assert source.schema.names == ["k", "t"]
    stamps = [batch.column("t").cast(pa.int64()).to_pylist() for _, batch in source.arriving(np.random.default_rng())]
    assert stamps == [[UNIT], [3 * UNIT]]
