"""Draw the pictures of the documentation into docs/images: `make pictures`.

- `plan.svg`: the plan of a SQL query, as a terminal shows it;
- `drift.svg`: the work per row of three policies while the data changes;
- `plans.svg`: the results over time of three plans of a join, predicted and simulated.

Everything runs in this process, without Spark. The chart shows counts of evaluations, not times. The decisions of
`auto` depend on measured costs and vary a little from run to run.
"""

from __future__ import annotations

import io
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import thalweg as tw  # noqa: E402
from bench.scenario import Scenario  # noqa: E402
from bench.scenarios import drift  # noqa: E402
from bench.work import calibrate  # noqa: E402
from thalweg.cost.operator_costs import Costs  # noqa: E402
from thalweg.cost.rate import Arriving, JoinCosts  # noqa: E402
from thalweg.draw.plan_curves import Crossing, Curve, Measured, PlanCurves  # noqa: E402
from thalweg.draw.plan_picture import curves_as_svg  # noqa: E402
from thalweg.lab.rate_based.fluid import results_by  # noqa: E402
from thalweg.plan.joins.shape import Shape, to_text  # noqa: E402
from thalweg.simulation import Source, poisson, simulate, tree_join  # noqa: E402

IMAGES = ROOT / "docs" / "images"
Units = NDArray[np.float64]
TREES: tuple[Shape, ...] = ((("b", "c"), "a"), (("a", "b"), "c"), (("a", "c"), "b"))
STREAMS = {"a": Arriving(400.0, window=8.0), "b": Arriving(60.0, window=8.0), "c": Arriving(40.0, window=4.0)}
"""The join of plans.svg: rows per second and windows in seconds, on one key for all streams."""
COSTS = Costs(move="5 ms", result="0.1 ms")
"""Of each of its joins: `a` alone takes 2 seconds of work per second, so that no plan keeps up."""
KEYS, FEWEST, MOST, UNTIL = 100, 90, 110, 10.0
"""The number of keys with a 90 % interval, and the time in seconds by which results are asked for."""


def main() -> None:
    """Draw all pictures of the documentation."""
    IMAGES.mkdir(exist_ok=True)
    terminal("plan.svg", "q.explain()", query_plan())
    (IMAGES / "drift.svg").write_text(drift_chart(), encoding="utf-8")
    (IMAGES / "plans.svg").write_text(curves_as_svg(compared_plans()), encoding="utf-8")


def terminal(name: str, title: str, text: str) -> None:
    """Save a text as a picture of a terminal."""
    lines = text.splitlines()
    console = Console(record=True, width=max(map(len, lines)) + 2, file=io.StringIO())
    for line in lines:
        console.print(Text(line), soft_wrap=True)
    drawn = console.export_svg(title=title)
    # rich asks a server for its font; the fonts of the reader's machine are good enough
    drawn = re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.S)
    drawn = drawn.replace("Fira Code", "ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono")
    (IMAGES / name).write_text(drawn, encoding="utf-8")


def query_plan() -> str:
    """Return the physical plan of a query with a join, a function and a group."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    times = [start + timedelta(seconds=n) for n in range(3000)]
    ticks = pa.table({"sector": [n % 7 for n in range(3000)], "price": [n % 90 for n in range(3000)], "ts": times})
    items = pa.table({"sector": [n % 11 for n in range(100)], "ts": times[::30]})
    s = tw.session()
    s.stream("stock", ticks, time="ts")
    s.stream("news", items, time="ts", lateness="5 seconds")
    s.function("bullish", _bullish, returns="boolean")
    query = s.query(
        "SELECT s.sector, count(*) AS hits FROM stock [RANGE 1 MINUTE] AS s, news [RANGE 10 MINUTES] AS n "
        "WHERE bullish(s.price) AND s.sector = n.sector GROUP BY s.sector, TUMBLE(1 HOUR)"
    )
    paragraphs = str(query.explain()).split("\n\n")
    return next(paragraph for paragraph in paragraphs if paragraph.startswith("Physical plan"))


def drift_chart() -> str:
    """Return the work per row of `static`, `auto` and hindsight in the scenario `drift` of the benchmark."""
    scenario = drift(1_600_000, calibrate())
    return chart(
        title="Work per row while the data changes",
        about="8 predicates, 8 phases of 200,000 rows; profiling included",
        across="rows",
        up="units of cost per row",
        lines={
            "written order": (work(scenario, "static"), "#b45309"),
            "Thalweg (auto)": (work(scenario, "auto"), "#1d4ed8"),
            "best order of each phase, in hindsight": (hindsight(scenario), "#6b7280"),
        },
        rows=scenario.table.num_rows,
        marks=[phase.start for phase in scenario.phases[1:]],
    )


def compared_plans() -> PlanCurves:
    """Return what three trees of one join are predicted to return, and what a simulated run of the best returned."""
    times = np.linspace(0.0, UNTIL, 81)
    # fewer keys mean more partners and more results, so the ends of the interval give those of the band
    by_keys = {keys: {tree: results_by(costs_of(tree, keys), STREAMS, times) for tree in TREES}
               for keys in (FEWEST, KEYS, MOST)}  # fmt: skip
    found = by_keys[KEYS]
    best = max(TREES, key=lambda tree: found[tree][-1])

    def numbers(keys: int, tree: Shape) -> tuple[float, ...]:
        return tuple(by_keys[keys][tree].tolist())

    curves = tuple(
        Curve(
            to_text(tree), tuple(times.tolist()), numbers(KEYS, tree), numbers(MOST, tree), numbers(FEWEST, tree),
            chosen=tree == best,
        )
        for tree in TREES
    )  # fmt: skip
    crossings = tuple(
        crossing for one, other in combinations(TREES, 2) for crossing in crossed(one, other, times, found)
    )
    return PlanCurves(
        "Three plans of a join under load, and a simulated run of one", curves, simulated(best), crossings, by=UNTIL
    )


def costs_of(tree: Shape, keys: int) -> JoinCosts:
    """Return a tree of the join with what it selects and costs."""
    pairs = dict.fromkeys(combinations(STREAMS, 2), 1.0 / keys)
    return JoinCosts(tree, pairs, COSTS, classes=(frozenset(STREAMS),))


def crossed(one: Shape, other: Shape, times: Units, found: dict[Shape, Units]) -> Iterator[Crossing]:
    """Yield where one tree overtakes another, by straight lines between the times; not within the first second."""
    ahead = found[one] - found[other]
    for n in np.flatnonzero((ahead[:-1] * ahead[1:] < 0.0) & (times[:-1] >= 1.0)):
        part = ahead[n] / (ahead[n] - ahead[n + 1])
        at, results = (values[n] + part * (values[n + 1] - values[n]) for values in (times, found[one]))
        yield Crossing(to_text(one), to_text(other), float(at), float(results))


def simulated(tree: Shape) -> Measured:
    """Return the results of one simulated run, twice per second."""
    rng = np.random.default_rng(1)
    sources = {
        name: Source(
            pa.table({"k": rng.integers(0, KEYS, int(3 * known.rate * UNTIL))}), poisson(known.rate), stamp="t"
        )
        for name, known in STREAMS.items()
    }
    windows = {name: known.window for name, known in STREAMS.items()}
    join = tree_join("join", tree, "a.k = b.k AND b.k = c.k", windows, "t", costs=COSTS)
    trace = simulate(sources, [join], until=UNTIL, seed=1, keep=False)
    times = tuple(np.arange(0.5, UNTIL + 0.1, 0.5).tolist())
    return Measured(times, tuple(float(trace.count(time)) for time in times))


def work(scenario: Scenario, policy: str) -> Units:
    """Return the units of cost per row of each batch, counted inside the predicates."""
    spent = 0.0

    def counted(func: Callable[..., Any], units: float, *arrays: pa.Array) -> Any:
        nonlocal spent
        spent += units * len(arrays[0])
        return func(*arrays)

    found: list[float] = []

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal spent
        for phase in scenario.phases:
            for batch in scenario.batches(phase):
                spent = 0.0
                yield batch
                found.append(spent / batch.num_rows)

    checks = [
        tw.predicate(partial(counted, check.func, check.units), *check.columns, name=check.name, vectorized=True)
        for check in scenario.checks
    ]
    for _ in tw.filters(*checks, policy=policy, seed=1).over(batches()):
        pass
    return np.array(found)


def hindsight(scenario: Scenario) -> Units:
    """Return the units of cost per row of the best order of each phase, repeated for each of its batches."""
    found: list[float] = []
    for phase, order in zip(scenario.phases, scenario.best_orders, strict=True):
        alive, spent = scenario.passed[phase.start : phase.start + phase.rows], 0.0
        for k in order:
            spent += scenario.units[k] * len(alive)
            alive = alive[alive[:, k]]
        found += [spent / phase.rows] * len(scenario.batches(phase))
    return np.array(found)


def chart(
    *,
    title: str,
    about: str,
    across: str,
    up: str,
    lines: dict[str, tuple[Units, str]],
    rows: int,
    marks: Sequence[int],
) -> str:
    """Return a line chart as SVG, with a vertical line at each mark."""
    width, height, left, top, right, bottom = 820, 400, 64, 96, 24, 52
    inner, tall = width - left - right, height - top - bottom
    most = 5.0 * math.ceil(max(float(values.max()) for values, _ in lines.values()) / 5)

    def at(row: float) -> float:
        return left + inner * row / rows

    def level(value: float) -> float:
        return top + tall * (1 - value / most)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{title}" '
        'font-family="system-ui, sans-serif" font-size="13">',
        f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>',
        f'<text x="{left}" y="28" font-size="17" font-weight="600" fill="#111827">{title}</text>',
        f'<text x="{left}" y="48" fill="#4b5563">{about}</text>',
    ]
    place = left
    for name, (_, colour) in lines.items():
        out.append(f'<line x1="{place}" x2="{place + 22}" y1="70" y2="70" stroke="{colour}" stroke-width="3"/>')
        out.append(f'<text x="{place + 28}" y="74" fill="#111827">{name}</text>')
        place += 28 + 8 * len(name) + 16
    for value in np.linspace(0, most, 6):
        y = f"{level(value):.1f}"
        out.append(f'<line x1="{left}" x2="{width - right}" y1="{y}" y2="{y}" stroke="#e5e7eb"/>')
        out.append(f'<text x="{left - 8}" y="{level(value) + 4:.1f}" text-anchor="end" fill="#4b5563">{value:g}</text>')
    out += [
        f'<line x1="{at(mark):.1f}" x2="{at(mark):.1f}" y1="{top}" y2="{top + tall}" stroke="#d1d5db" '
        'stroke-dasharray="3 3"/>'
        for mark in marks
    ]
    for row in (0, *marks[1::2], rows):
        anchor = "end" if row == rows else "middle"
        out.append(f'<text x="{at(row):.1f}" y="{height - 30}" text-anchor="{anchor}" fill="#4b5563">{row:,}</text>')
    out.append(f'<text x="{left + inner / 2}" y="{height - 10}" text-anchor="middle" fill="#4b5563">{across}</text>')
    out.append(
        f'<text transform="translate(18 {top + tall / 2}) rotate(-90)" text-anchor="middle" fill="#4b5563">{up}</text>'
    )
    for values, colour in lines.values():
        step = rows / len(values)
        points = " ".join(f"{at((n + 0.5) * step):.1f},{level(value):.1f}" for n, value in enumerate(values))
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
    return "\n".join([*out, "</svg>", ""])


def _bullish(price: int) -> bool:
    return price > 80


if __name__ == "__main__":
    main()
