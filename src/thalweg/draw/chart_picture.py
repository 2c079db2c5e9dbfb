"""Draws a chart of plans as SVG: which plan is the best at which values of two quantities, such as rates.

Answers: in which region the query is now, where it was in the rounds before, and which plan each region has.
How: each region is a square in the color of its plan; a line divides regions of different plans, and each area of one
plan has its letter, so that plans differ without colors too. The track of the rounds is a line with dots, and the
present values are a ring.
Guarantee: the same data gives the same bytes. The picture has no scripts, fonts, ids or addresses to load, and its
description says the same for screen readers.
Cost: linear in the number of regions and rounds.

>>> side = ChartSide("a", 0.0, 100.0)
>>> chart = ChartCells("Join of a, b, c", side, ChartSide("b", 0.0, 10.0), ((0, 1), (0, 0)), ("multiway", "((b c) a)"))
>>> print(chart_text(chart))
rows per second of b, from 10 (top) to 0
  A A
  A B
rows per second of a, from 0 to 100
A: multiway
B: ((b c) a)
>>> chart_as_svg(chart).startswith("<svg ")
True
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from thalweg.draw.plan_label import short_name
from thalweg.draw.style_sheet import DRAWN, NAME_PX
from thalweg.draw.svg import MONO, PICTURE_WIDE, element, escaped, picture, points, shortened, text, width
from thalweg.formatting import few_digits, plural
from thalweg.printable import printable

_LEFT, _TOP, _SIZE = 92.0, 70.0, 400.0
_LEGEND = _LEFT + _SIZE + 36.0
_BOX, _ROW = 18.0, 26.0
MARKS = 5
"""The number of marks on each side."""

Place = tuple[float, float]
Cell = tuple[int, int]


@dataclass(frozen=True)
class ChartSide:
    """One side of a chart: the range of a quantity."""

    name: str
    """The stream or the predicate."""
    low: float
    high: float
    unit: str = "rows per second of"
    """What is measured, as a value is written: "50 rows per second of a", "50 rows per second" or "0.5 passed by a"."""

    @property
    def label(self) -> str:
        """What the side measures.

        >>> ChartSide("slow", 0.0, 1.0, "passed by").label, ChartSide("any", 0.0, 9.0, "rows per second").label
        ('share of rows passed by slow', 'rows per second')
        """
        if self.unit == "rows per second":
            return self.unit
        return f"{'share of rows ' if self.unit == 'passed by' else ''}{self.unit} {self.name}"

    def value(self, number: float) -> str:
        """Return a value with its unit."""
        return f"{few_digits(number)} {self.unit}{'' if self.unit == 'rows per second' else f' {self.name}'}"


@dataclass(frozen=True)
class ChartCells:
    """The data of the picture."""

    title: str
    across: ChartSide
    up: ChartSide
    cells: tuple[tuple[int, ...], ...]
    """By part of `up` and then of `across`: the number of the plan."""
    plans: tuple[str, ...]
    now: Place | None = None
    """The present values: of `across`, and of `up`."""
    track: tuple[Place, ...] = ()
    """The values after each round, the latest last."""
    others: tuple[tuple[ChartSide, float], ...] = ()
    """The values of the other dimensions."""
    choice: str = "plan"
    """What a chart chooses: the plan of a join, or the order of filters."""


def letter(plan: int) -> str:
    """Return the letter of a plan.

    >>> letter(0), letter(25), letter(26)
    ('A', 'Z', 'A1')
    """
    return ascii_uppercase[plan % 26] + (str(plan // 26) if plan >= 26 else "")


def chart_text(chart: ChartCells) -> str:
    """Return the chart as text, with a letter per region."""
    wide = max(len(letter(n)) for n in range(len(chart.plans)))
    rows = ["  " + " ".join(letter(plan).ljust(wide) for plan in row).rstrip() for row in reversed(chart.cells)]
    across, up = chart.across, chart.up
    lines = [
        f"{up.label}, from {few_digits(up.high)} (top) to {few_digits(up.low)}", *rows,
        f"{across.label}, from {few_digits(across.low)} to {few_digits(across.high)}",
        *_others(chart), *(f"{letter(n)}: {plan}" for n, plan in enumerate(chart.plans)),
    ]  # fmt: skip
    if chart.now is not None:
        lines.append(f"now: {_at(chart, chart.now)}")
    return "\n".join(map(printable, lines))


def description(chart: ChartCells) -> str:
    """Return what the picture shows as sentences, for screen readers."""
    counts = [sum(row.count(n) for row in chart.cells) for n in range(len(chart.plans))]
    regions = sum(counts)
    sentences = [
        f"The best {chart.choice} by {chart.across.label} and {chart.up.label}, in {regions} regions",
        *_others(chart),
        *(f"{letter(n)}, {plan}: {plural(counts[n], 'region')}" for n, plan in enumerate(chart.plans) if counts[n]),
    ]
    if chart.now is not None:
        sentences.append(f"now: {_at(chart, chart.now)}")
    if chart.track:
        sentences.append(f"the track has {plural(len(chart.track), 'round')}")
    return ". ".join(sentences) + "."


def chart_as_svg(chart: ChartCells) -> str:
    """Return the picture of a chart as SVG: one element `svg`, for a file or for a place in an HTML page."""
    body = [*_regions(chart), *_borders(chart), *_sides(chart), *_track(chart), *_letters(chart), *_legend(chart)]
    tall = max(_TOP + _SIZE + 64.0, _TOP + _ROW * (len(chart.plans) + len(chart.others) + 4))
    subtitle = f"the best {chart.choice} by {chart.across.label} and {chart.up.label}"
    return picture(chart.title, subtitle, description(chart), body, tall)


def _kind(plan: int) -> str:
    return f"p{plan % DRAWN}"


def _box(chart: ChartCells) -> Place:
    """Return the width and the height of a region."""
    return _SIZE / len(chart.cells[0]), _SIZE / len(chart.cells)


def _corner(chart: ChartCells, row: int, column: int) -> Place:
    """Return the upper left corner of a region."""
    wide, tall = _box(chart)
    return _LEFT + column * wide, _TOP + _SIZE - (row + 1) * tall


def _regions(chart: ChartCells) -> Iterator[str]:
    wide, tall = _box(chart)
    for row, plans in enumerate(chart.cells):
        start = 0
        for column in range(1, len(plans) + 1):  # one rectangle per run of equal regions
            if column == len(plans) or plans[column] != plans[start]:
                x, y = _corner(chart, row, start)
                kind = f"{_kind(plans[start])} bar"
                yield element("rect", class_=kind, x=x, y=y, width=wide * (column - start), height=tall)
                start = column


def _borders(chart: ChartCells) -> Iterator[str]:
    """Yield lines between regions of different plans."""
    wide, tall = _box(chart)
    for row, plans in enumerate(chart.cells):
        for column, plan in enumerate(plans):
            x, y = _corner(chart, row, column)
            if column + 1 < len(plans) and plans[column + 1] != plan:
                yield element("line", class_="whisker", x1=x + wide, y1=y, x2=x + wide, y2=y + tall)
            if row + 1 < len(chart.cells) and chart.cells[row + 1][column] != plan:
                yield element("line", class_="whisker", x1=x, y1=y, x2=x + wide, y2=y)


def _sides(chart: ChartCells) -> Iterator[str]:
    yield element("rect", class_="axis", x=_LEFT, y=_TOP, width=_SIZE, height=_SIZE, fill="none")
    for n in range(MARKS + 1):
        share = n / MARKS
        across = chart.across.low + share * (chart.across.high - chart.across.low)
        up = chart.up.low + share * (chart.up.high - chart.up.low)
        x, y = _LEFT + share * _SIZE, _TOP + _SIZE - share * _SIZE
        yield text(x, _TOP + _SIZE + 17, few_digits(across), "small", text_anchor="middle")
        yield text(_LEFT - 8, y + 4, few_digits(up), "small", text_anchor="end")
    yield text(
        _LEFT + _SIZE / 2, _TOP + _SIZE + 38, shortened(chart.across.label, 59), "name",
        text_anchor="middle",
    )  # fmt: skip
    y = _TOP + _SIZE / 2
    yield text(
        24, y, shortened(chart.up.label, 59), "name", text_anchor="middle",
        transform=f"rotate(-90 24 {y:g})",
    )  # fmt: skip


def _track(chart: ChartCells) -> Iterator[str]:
    places = [_place(chart, point) for point in chart.track]
    if len(places) > 1:
        yield element("polyline", class_="measured", points=points(places))
    for x, y in places:
        yield element("circle", class_="measured-dot", cx=x, cy=y, r=2.2)
    if chart.now is not None:
        x, y = _place(chart, chart.now)
        yield element("circle", class_="crossing", cx=x, cy=y, r=6.5, fill_opacity=0.6)


def _place(chart: ChartCells, point: Place) -> Place:
    """Return the coordinates of values; those outside are at the edge."""
    shares = [
        min(max((value - side.low) / (side.high - side.low), 0.0), 1.0)
        for value, side in zip(point, (chart.across, chart.up), strict=True)
    ]
    return _LEFT + shares[0] * _SIZE, _TOP + _SIZE - shares[1] * _SIZE


def _letters(chart: ChartCells) -> Iterator[str]:
    """Yield the letter of each area of regions with the same plan, in the region that is nearest to its middle."""
    wide, tall = _box(chart)
    for area in _areas(chart.cells):
        middle = [sum(each) / len(area) for each in zip(*area, strict=True)]
        row, column = min(area, key=lambda cell: ((cell[0] - middle[0]) ** 2 + (cell[1] - middle[1]) ** 2, cell))
        x, y = _corner(chart, row, column)
        yield text(
            x + wide / 2, y + tall / 2 + 4, letter(chart.cells[row][column]), "number", text_anchor="middle"
        )  # fmt: skip


def _areas(cells: Sequence[Sequence[int]]) -> Iterator[list[Cell]]:
    """Yield the connected areas of regions with the same plan."""
    left = {(row, column) for row, plans in enumerate(cells) for column in range(len(plans))}
    for first in sorted(left):
        if first not in left:
            continue
        left.discard(first)
        area, waiting = [first], deque([first])
        while waiting:
            row, column = waiting.popleft()
            for near in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
                if near in left and cells[near[0]][near[1]] == cells[row][column]:
                    left.discard(near)
                    area.append(near)
                    waiting.append(near)
        yield area


def _legend(chart: ChartCells) -> Iterator[str]:
    y = _TOP
    for n, plan in enumerate(chart.plans):
        yield element("rect", class_=f"{_kind(n)} bar", x=_LEGEND, y=y, width=_BOX, height=_BOX)
        yield text(_LEGEND + _BOX / 2, y + 13, letter(n), "number", text_anchor="middle")
        name = text(_LEGEND + _BOX + 8, y + 13, short_name(plan), f"plan {_kind(n)}")
        yield element("g", element("title", escaped(plan)) + name)
        y += _ROW
    y += 8
    if chart.now is not None:
        yield element("circle", class_="crossing", cx=_LEGEND + _BOX / 2, cy=y + 9, r=6.5, fill_opacity=0.6)
        yield text(_LEGEND + _BOX + 8, y + 13, "now", "name")
        y += _ROW
    if chart.track:
        yield element("circle", class_="measured-dot", cx=_LEGEND + _BOX / 2, cy=y + 9, r=2.2)
        yield text(_LEGEND + _BOX + 8, y + 13, f"after {plural(len(chart.track), 'round')}", "name")
        y += _ROW
    for side, number in chart.others:
        line = shortened(f"at {side.value(number)}", int((PICTURE_WIDE - _LEGEND) / width("x", NAME_PX, MONO)))
        yield text(_LEGEND, y + 13, line, "small")
        y += _ROW


def _others(chart: ChartCells) -> list[str]:
    if not chart.others:
        return []
    return ["at " + ", ".join(side.value(number) for side, number in chart.others)]


def _at(chart: ChartCells, point: Place) -> str:
    sides = (chart.across, chart.up)
    if all(side.unit == "rows per second of" for side in sides):
        return ", ".join(f"{few_digits(number)} of {side.name}" for side, number in zip(sides, point, strict=True))
    return ", ".join(side.value(number) for side, number in zip(sides, point, strict=True))
