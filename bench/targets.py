"""The targets, judged from what was measured. A missed target is printed as missed.

Some targets apply to the best of our policies, which is then named; those of `auto` apply only to `auto`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.local_variants import DUCKDB_BAD, DUCKDB_BEST, HINDSIGHT
from bench.measured import Measured

TIMES_PLAIN = 4.0
STABLE, DRIFTING, CALM = 1.10, 1.25, 1.03
"""The limits of the time divided by that of hindsight."""
AUTO_STABLE, AUTO_DRIFTING, AUTO_CALM, AUTO_LESS_WORK, AUTO_KDD = 1.05, 1.15, 1.02, 0.8, 1.15
"""The limits for `auto`: over hindsight (two), over `static`, of the work of others, and over the best fixed order."""

DEFAULT = "a-greedy"
AUTO = "auto"
OTHER_ENGINES = ("duckdb-swap", "velox-rank")

Line = dict[str, Any]


def targets(measured: Measured) -> list[Line]:
    """Return the target lines of one scenario in one place; none if it has no targets."""
    find = _TARGETS.get((measured.scenario.name, measured.where))
    return find(measured) if find is not None else []


def _line(
    measured: Measured,
    target: str,
    value: float,
    limit: float,
    policy: str,
    *,
    default: float | None = None,
    least: bool = False,
    strict: bool = False,
) -> Line:
    """Return the line of one target.

    With `least`, the value must not be below the limit; otherwise it must not be above. With `strict`, it must not be
    equal either. The policy is the best of ours in this run, with settings chosen for the scenario; `default` is the
    value of plain `a-greedy` with the paper's settings, for comparison.
    """
    reached = value >= limit if least else value <= limit
    return {
        "bench": "filters",
        "scenario": measured.scenario.name,
        "where": measured.where,
        "target": target,
        "reached": bool(reached and not (strict and value == limit)),
        "value": round(value, 4),
        "limit": round(limit, 4),
        "policy": policy,
        **({} if default is None else {"a_greedy_with_defaults": round(default, 4)}),
    }


def _against_spark(measured: Measured) -> list[Line]:
    plain, to_plain = measured.best_of_ours("plain")
    chain, to_chain = measured.best_of_ours("nondeterministic")
    usual = {name: 1 / measured.ratio(DEFAULT, name) for name in ("plain", "nondeterministic")}
    return [
        _line(
            measured, "at least 4 times as fast as plain Spark", 1 / to_plain, TIMES_PLAIN, plain,
            default=usual["plain"], least=True,
        ),
        _line(
            measured, "faster than the nondeterministic chain", 1 / to_chain, 1.0, chain,
            default=usual["nondeterministic"], least=True, strict=True,
        ),
        *_hindsight(measured),
    ]  # fmt: skip


def _hindsight(measured: Measured, limit: float = STABLE) -> list[Line]:
    policy, value = measured.best_of_ours(HINDSIGHT)
    usual = measured.ratio(DEFAULT, HINDSIGHT)
    about = "time over that of the best order known in hindsight"
    return [
        _line(measured, about, value, limit, policy, default=usual),
        *_auto(measured, about, AUTO_STABLE if limit == STABLE else AUTO_DRIFTING),
    ]


def _auto(measured: Measured, about: str, limit: float, to: str = HINDSIGHT) -> list[Line]:
    return [_line(measured, about, measured.ratio(AUTO, to), limit, AUTO)]


def _kdd(measured: Measured) -> list[Line]:
    """Return the targets of `kdd`, where hindsight is one fixed order: there are no phases."""
    work = measured.weighted(AUTO) / measured.weighted(HINDSIGHT)
    return [
        *_auto(measured, "time over that of the best fixed order", AUTO_KDD),
        _line(measured, "cost-weighted work over that of the best fixed order", work, AUTO_KDD, AUTO),
    ]


def _drift(measured: Measured) -> list[Line]:
    policy, work = measured.least_work_of_ours()
    return [
        *_hindsight(measured, DRIFTING),
        *(
            _line(
                measured, f"less cost-weighted work than {other}", work, measured.weighted(other), policy, strict=True
            )
            for other in OTHER_ENGINES
        ),
        *(
            _line(
                measured, f"cost-weighted work over that of {other}",
                measured.weighted(AUTO) / measured.weighted(other), AUTO_LESS_WORK, AUTO,
            )
            for other in OTHER_ENGINES
        ),
    ]  # fmt: skip


def _calm_spark(measured: Measured) -> list[Line]:
    policy, value = measured.best_of_ours(HINDSIGHT)
    least, most = measured.aa_spread()
    return [
        _line(
            measured,
            "as fast as not adapting, within the A/A spread",
            value,
            max(most, 1 / least),
            policy,
            default=measured.ratio(DEFAULT, HINDSIGHT),
        )
    ]


def _calm_local(measured: Measured) -> list[Line]:
    policy, value = measured.best_of_ours(HINDSIGHT)
    usual = measured.ratio(DEFAULT, HINDSIGHT)
    return [
        _line(measured, "CPU time over that of not adapting", value, CALM, policy, default=usual),
        *_auto(measured, "CPU time over that of static", AUTO_CALM, "static"),
    ]


def _example6(measured: Measured) -> list[Line]:
    others = (name for name in measured.ours() if not name.startswith("independent"))
    policy, work = min(((name, measured.weighted(name)) for name in others), key=lambda found: found[1])
    return [
        _line(
            measured, "less cost-weighted work than independent", work, measured.weighted("independent"), policy,
            default=measured.weighted(DEFAULT), strict=True,
        )
    ]  # fmt: skip


def _duckdb(measured: Measured) -> list[Line]:
    lines = []
    for name in (DUCKDB_BAD, DUCKDB_BEST):
        policy, value = measured.best_of_ours(name)
        usual = measured.ratio(DEFAULT, name)
        lines.append(_line(measured, f"CPU time over that of {name}", value, 1.0, policy, default=usual))
    return [*lines, *_hindsight(measured)]


_TARGETS: dict[tuple[str, str], Callable[[Measured], list[Line]]] = {
    ("paper-expensive-first", "spark"): _against_spark,
    ("wide", "spark"): _against_spark,
    ("logs", "spark"): _against_spark,
    ("paper-cheap-first", "spark"): _hindsight,
    ("paper-expensive-first", "local"): _hindsight,
    ("paper-cheap-first", "local"): _hindsight,
    ("logs", "local"): _hindsight,
    ("logs-sql", "local"): _duckdb,
    ("drift", "spark"): _drift,
    ("drift", "local"): _drift,
    ("calm", "spark"): _calm_spark,
    ("calm", "local"): _calm_local,
    ("example6", "local"): _example6,
    ("kdd", "local"): _kdd,
}
