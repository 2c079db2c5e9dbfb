"""The targets, judged from what was measured. A missed target is printed as missed. Spark's joins use the state store
that made them faster for times, and the one that wrote less for bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.joins.spark.agenda import CHAIN, CHAIN_FILES, LARGE, LARGE_FILES, LONG, SMALL, SMALL_FILES, STAR, STAR_FILES
from bench.joins.spark.measured import BENCH, Measured
from bench.joins.spark.slope import ERRORS
from bench.joins.spark.variants import BY_SPARK, FILES, OURS, ROCKSDB, SPARK, SPARK_FILES

TIMES_SPARK = {SMALL: 5.0, LARGE: 15.0, STAR: None, CHAIN: None}
"""None: there is no target, and only the ratio is reported."""
STAR_OF_THREE_WAY = 0.5
TIMES_SPARK_TO_FILES = {SMALL_FILES: 5.0, LARGE_FILES: 14.0, STAR_FILES: None, CHAIN_FILES: None}
TIMES_TODAY = 1.7
"""How many times as fast as Spark's sink after our join, where there is no target for Spark's join."""
BYTES_OF_SPARK = 1.1

Line = dict[str, Any]


def targets(done: Mapping[str, Measured]) -> list[Line]:
    """Return the targets of all scenarios that ran, by name."""
    lines = []
    for name, limit in TIMES_SPARK.items():
        if name in done and (fastest := done[name].fastest_of_spark()) is not None:
            measured = done[name]
            ratio, low, high = measured.ratio(fastest, OURS)
            cpu = measured.cpu_ratio(fastest, OURS)
            spread = {"against": fastest, "spread": [round(low, 2), round(high, 2)], "of_cpu_time": round(cpu, 2)}
            lines.append({**_line(name, "times as fast as Spark's join", ratio, limit, least=True), **spread})
            least = min(measured.checkpoint_bytes(store) for store in (SPARK, ROCKSDB) if store in measured.runs)
            value = measured.checkpoint_bytes(OURS) / least
            lines.append(_line(name, "checkpoint bytes over those of Spark's join", value, 1.0 if limit else None))
    for name, limit in TIMES_SPARK_TO_FILES.items():
        if name in done:
            lines += _of_files(name, done[name], limit)
    if SMALL in done and STAR in done:
        value = done[STAR].rows_per_second(OURS) / done[SMALL].rows_per_second(OURS)
        lines.append(_line(STAR, "rate over that of three-way", value, STAR_OF_THREE_WAY, least=True))
    if LONG in done and (slope := done[LONG].slope(OURS)) is not None:
        growth = _line(LONG, "growth of the batch time per batch, ms", slope.ms, round(ERRORS * slope.error, 4))
        lines.append({**growth, "error": round(slope.error, 4)})
    return lines


def _of_files(name: str, measured: Measured, limit: float | None) -> list[Line]:
    """Return the targets of results in Parquet files."""
    lines = []
    today = None if limit is not None else TIMES_TODAY
    aa = measured.aa() or (1.0, 1.0)
    for against, least in ((SPARK_FILES, limit), (BY_SPARK, today)):
        ratio, least_ratio, most = measured.ratio(against, FILES)
        cpu = measured.cpu_ratio(against, FILES)
        line = _line(name, f"times as fast as {against}", ratio, least, least=True)
        if least is not None:
            line["reached"] = beyond_noise(ratio, least, aa)
        spread = {"against": against, "spread": [round(least_ratio, 2), round(most, 2)], "of_cpu_time": round(cpu, 2)}
        lines.append({**line, **spread})
    value = measured.written_bytes(FILES) / measured.written_bytes(SPARK_FILES)
    lines.append(_line(name, f"bytes of results over those of {SPARK_FILES}", value, BYTES_OF_SPARK))
    return lines


def beyond_noise(value: float, least: float, aa: tuple[float, float]) -> bool | None:
    """Return whether a ratio is at least its limit, or below it, by more than the A/A spread of the same run; None if
    it is within that spread. `aa`: the least and the greatest ratio of ours to itself.

    >>> beyond_noise(6.0, 5.0, (0.9, 1.1)), beyond_noise(5.2, 5.0, (0.9, 1.1)), beyond_noise(4.0, 5.0, (0.9, 1.1))
    (True, None, False)
    """
    noise = max(aa[1], 1 / aa[0])
    return True if value >= least * noise else False if value * noise < least else None


def _line(scenario: str, target: str, value: float, limit: float | None, *, least: bool = False) -> Line:
    """Return one line. With `least`, the value must not be below the limit; otherwise it must not be above."""
    judged: Line = {}
    if limit is not None:
        judged = {"reached": bool(value >= limit if least else value <= limit), "limit": limit}
    return {"bench": BENCH, "scenario": scenario, "target": target, "value": round(value, 4), **judged}
