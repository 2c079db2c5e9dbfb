"""Draws plans as SVG: the results that each has returned by each time, and below them the memory that each needs.

Answers: which plan has returned the most results by a time, how sure that is, and where plans cross.
How: each plan is a line, and a light area around it is the 90 % band. The chosen plan is thicker. Lines differ by
dashes as well as by color, and each ends at its label. Measured results are dots.
Guarantee: the same data gives the same bytes. The picture has no scripts, fonts, ids or addresses to load. It follows
the color scheme of the reader, and its description has all numbers for screen readers. At most `DRAWN` plans are drawn.
Cost: linear in the number of points; a line has at most one point per unit of the width.

>>> one = Curve("((b c) a)", (0.0, 5.0, 10.0), (0.0, 40.0, 200.0), (0.0, 30.0, 150.0), (0.0, 50.0, 260.0), chosen=True)
>>> other = Curve("multiway", (0.0, 5.0, 10.0), (0.0, 60.0, 120.0), (0.0, 50.0, 100.0), (0.0, 70.0, 140.0))
>>> plans = PlanCurves("Query q", (one, other), crossings=(Crossing("multiway", "((b c) a)", 6.0, 72.0),), by=10.0)
>>> print(description(plans).replace(". ", ".\\n"))
Predicted results over time of 2 plans.
((b c) a), chosen: 200 (150 to 260) by 10 s.
multiway: 120 (100 to 140) by 10 s.
1: multiway and ((b c) a) cross at 6 s, at 72 results.
>>> curves_as_svg(plans).startswith("<svg ")
True
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from thalweg.draw.axis import Axis, count, count_unit, marked, moment, time_unit
from thalweg.draw.label_places import label_places
from thalweg.draw.memory_bars import memory_bars, memory_numbers
from thalweg.draw.plan_curves import Crossing, Curve, PlanCurves
from thalweg.draw.plan_label import LABEL_TALL, label_width, plan_label, short_name
from thalweg.draw.style_sheet import DRAWN, SMALL_PX
from thalweg.draw.svg import MARGIN, PICTURE_WIDE, element, picture, points, text, width
from thalweg.formatting import plural

LISTED = 6
"""The most crossings that are marked."""
DOTS = 30
"""The most dots for measured results; the line through them has all."""
_TOP, _BOTTOM = 108.0, 408.0
"""Where the area of the lines begins and ends."""
_LEADER = 32.0
_LINE_TALL = 17.0
_AROUND = ((0, -1), (-1, 0), (0, 1), (1, 0), (-0.7, -0.7), (0.7, 0.7), (0.7, -0.7), (-0.7, 0.7))
"""Directions in which the number of a crossing may be, the best first."""

Place = tuple[float, float]


def curves_as_svg(curves: PlanCurves) -> str:
    """Return the picture of plans as SVG.

    Parameters
    ----------
    curves
        If there are more than `DRAWN` plans, the chosen one and those with the most results by `by`, or at the end, are
        drawn. A note counts the others.

    Returns
    -------
    str
        One element `svg`, for a file or for a place in an HTML page.

    Examples
    --------
    >>> curve = Curve("multiway", (0.0, 10.0), (0.0, 500.0), (0.0, 400.0), (0.0, 700.0), chosen=True)
    >>> svg = curves_as_svg(PlanCurves("Query q", (curve,), by=10.0))
    >>> "<title>Query q</title>" in svg, "500 (400 to 700)" in svg
    (True, True)
    """
    frame = _frame(curves)
    body = [*_grid(frame), *_by(frame), *_bands(frame), *_lines(frame), *_crossings(frame), *_labels(frame)]
    y = _BOTTOM + 58.0
    for line in _notes(frame):
        body.append(text(frame.across.start, y, line, "small"))
        y += _LINE_TALL
    if curves.memory:
        kinds = {curve.plan: _kind(n, curve) for n, curve in enumerate(frame.drawn)}
        bars = memory_bars(curves.memory, kinds, curves.max_bytes, frame.across, y + 20.0, frame.across.end + _LEADER)
        body, y = [*body, *bars.elements], bars.bottom
    return picture(curves.title, _subtitle(curves), description(curves), body, math.ceil(y))


def description(curves: PlanCurves) -> str:
    """Return what the picture shows as sentences, for screen readers.

    Parameters
    ----------
    curves
        The data of the picture.

    Returns
    -------
    str

    Examples
    --------
    >>> description(PlanCurves("Query q", (Curve("multiway", (0.0,), (0.0,), (0.0,), (0.0,)),)))
    'Predicted results over time of 1 plan. multiway: 0 by 0 s.'
    """
    frame = _frame(curves)
    sentences = [f"Predicted results over time of {plural(len(curves.curves), 'plan')}"]
    for curve in frame.drawn:
        until, numbers = _predicted(curve, frame.at)
        sentences.append(f"{curve.plan}{', chosen' if curve.chosen else ''}: {numbers} by {moment(until)}")
    if curves.measured:
        sentences.append(f"measured: {_last_measured(curves)}")
    names = {curve.plan for curve in frame.drawn}
    memory = [f"memory of {each.plan}: {memory_numbers(each)}" for each in curves.memory if each.plan in names]
    return " ".join(f"{sentence}." for sentence in (*sentences, *_notes(frame), *memory))


@dataclass(frozen=True, slots=True)
class _Frame:
    """What all parts of a picture share."""

    curves: PlanCurves
    drawn: tuple[Curve, ...]
    """The chosen plan first, then by results."""
    crossings: tuple[Crossing, ...]
    """Those of plans that are drawn, by time."""
    at: float
    """The time whose results are written at the labels."""
    across: Axis
    up: Axis

    def place(self, time: float, results: float) -> Place:
        return self.across.at(time), self.up.at(results)

    def places(self, times: Sequence[float], values: Sequence[float]) -> list[Place]:
        """Return the places of points: the first ones in each unit of width, and the last one."""
        columns = [round(self.across.at(time)) for time in times]
        kept = [n for n in range(len(times)) if n in (0, len(times) - 1) or columns[n] != columns[n - 1]]
        return [self.place(times[n], values[n]) for n in kept]


def _frame(curves: PlanCurves) -> _Frame:
    at = max(curve.times[-1] for curve in curves.curves) if curves.by is None else curves.by
    ranked = sorted(curves.curves, key=lambda curve: (not curve.chosen, -_value(curve.times, curve.results, at)))
    drawn = tuple(ranked[:DRAWN])
    names = {curve.plan for curve in drawn}
    crossings = sorted(
        (each for each in curves.crossings if {each.one, each.other} <= names),
        key=lambda each: (each.time, each.results),
    )
    seen = [(each.time, each.results) for each in crossings]
    if curves.measured:
        seen.append((curves.measured.times[-1], max(curves.measured.results)))
    seen += [(curve.times[-1], max(curve.high)) for curve in drawn]
    up = Axis(_BOTTOM, _TOP, max(results for _, results in seen))
    unit = count_unit(up.most)
    left = MARGIN + 10.0 + max(width(marked(value, unit), SMALL_PX) for value in up.marks(unit))
    labels = [label_width(curve.plan, _numbers(curve, at)) for curve in drawn]
    labels += [label_width("", text) for text in (_heading(curves, at), *_measured_texts(curves, names))]
    right = PICTURE_WIDE - MARGIN - max(labels) - _LEADER
    return _Frame(curves, drawn, tuple(crossings), at, Axis(left, right, max([at, *(time for time, _ in seen)])), up)


def _measured_texts(curves: PlanCurves, names: set[str]) -> list[str]:
    """Return the texts at labels that are not about predicted results."""
    memory = [memory_numbers(each) for each in curves.memory if each.plan in names]
    return [*memory, _last_measured(curves)] if curves.measured else memory


def _subtitle(curves: PlanCurves) -> str:
    parts = ["Predicted results over time"]
    if _has_bands(curves):
        parts.append("light areas are 90 % bands")
    if any(curve.chosen for curve in curves.curves):
        parts.append("the chosen plan is thicker")
    return "; ".join([*parts, *(["dots are measured"] if curves.measured else [])])


def _has_bands(curves: PlanCurves) -> bool:
    return any(curve.low != curve.high for curve in curves.curves)


def _heading(curves: PlanCurves, at: float) -> str:
    return f"results by {moment(at)}{' (90 % band)' if _has_bands(curves) else ''}"


def _grid(frame: _Frame) -> list[str]:
    """Return the axes with their marks."""
    across, up = frame.across, frame.up
    out, unit = [], count_unit(up.most)
    for value in up.marks(unit):
        y = up.at(value)
        out.append(element("line", class_="grid" if value else "axis", x1=across.start, x2=across.end, y1=y, y2=y))
        out.append(text(across.start - 8, y + 4, marked(value, unit), "small", text_anchor="end"))
    out.append(text(MARGIN, _TOP - 26, f"results ({unit.name})" if unit.name else "results", "small"))
    unit = time_unit(across.most)
    for value, words in across.labels(unit, SMALL_PX):
        x = across.at(value)
        out.append(element("line", class_="axis", x1=x, x2=x, y1=_BOTTOM, y2=_BOTTOM + 5))
        out.append(text(x, _BOTTOM + 19, words, "small", text_anchor="middle"))
    middle = (across.start + across.end) / 2
    return [*out, text(middle, _BOTTOM + 37, f"time ({unit.name})", "small", text_anchor="middle")]


def _by(frame: _Frame) -> list[str]:
    """Return the mark at the time by which results were asked for."""
    if frame.curves.by is None:
        return []
    x = frame.across.at(frame.curves.by)
    aside, anchor = (-5.0, "end") if x > (frame.across.start + frame.across.end) / 2 else (5.0, "start")
    return [
        element("line", class_="mark", x1=x, x2=x, y1=_TOP - 14, y2=_BOTTOM),
        text(x + aside, _TOP - 8, f"by {moment(frame.curves.by)}", "small", text_anchor=anchor),
    ]


def _bands(frame: _Frame) -> list[str]:
    out = []
    for n, curve in enumerate(frame.drawn):
        high, low = frame.places(curve.times, curve.high), frame.places(curve.times, curve.low)
        if len({x for x, _ in high}) == 1:  # a single time has no area, so its band is a bar
            high, low = ([(x + dx, y) for dx in (-3, 3) for x, y in side] for side in (high, low))
        out.append(element("polygon", class_=f"band {_kind(n, curve)}", points=points(high + low[::-1])))
    return out


def _lines(frame: _Frame) -> list[str]:
    """Return the lines of plans, then what was measured. The chosen one is the first, so that it hides no thin one."""
    out = []
    for n, curve in enumerate(frame.drawn):
        places = frame.places(curve.times, curve.results)
        if len(set(places)) > 1:
            out.append(element("polyline", class_=f"line {_kind(n, curve)}", points=points(places)))
        else:
            (x, y), *_ = places
            out.append(element("circle", class_=f"dot {_kind(n, curve)}", cx=x, cy=y, r=6 if curve.chosen else 4))
    if measured := frame.curves.measured:
        places = frame.places(measured.times, measured.results)
        out.append(element("polyline", class_="measured", points=points(places)))
        dots = places[:: -math.ceil(len(places) / DOTS)]  # from the last one back, so that it is among them
        out += [element("circle", class_="measured-dot", cx=x, cy=y, r=2.7) for x, y in dots]
    return out


def _crossings(frame: _Frame) -> list[str]:
    """Return rings with numbers, each at the first place around its ring that is free."""
    rings = [frame.place(each.time, each.results) for each in frame.crossings[:LISTED]]
    out = [element("circle", class_="crossing", cx=x, cy=y, r=4.5) for x, y in rings]
    taken = [*rings]
    for n, (x, y) in enumerate(rings, 1):
        around = [(x + far * right, y + far * down) for far in range(13, 220, 9) for right, down in _AROUND]
        inside = [
            (a, b) for a, b in around
            if _TOP < b < _BOTTOM - 6 and frame.across.start + 6 < a < frame.across.end - 6
        ]  # fmt: skip
        free = (place for place in inside if all(max(abs(place[0] - a), abs(place[1] - b)) >= 12 for a, b in taken))
        place = next(free, inside[-1])
        taken.append(place)
        out.append(text(place[0], place[1] + 4, str(n), "number", text_anchor="middle"))
    return out


def _labels(frame: _Frame) -> list[str]:
    """Return the labels, in a column next to the lines, and what connects each with its line."""
    lines = [
        (frame.place(curve.times[-1], curve.results[-1]), curve.plan, _numbers(curve, frame.at), _kind(n, curve))
        for n, curve in enumerate(frame.drawn)
    ]
    if measured := frame.curves.measured:
        end = frame.place(measured.times[-1], measured.results[-1])
        lines.append((end, "measured", _last_measured(frame.curves), "measured"))
    lines.sort(key=lambda line: line[0][1])
    wanted = [y for (_, y), *_ in lines]
    x = frame.across.end + _LEADER
    out = [text(x, _TOP - 8, _heading(frame.curves, frame.at), "small")]
    for (end, plan, numbers, kind), y in zip(
        lines, label_places(wanted, apart=LABEL_TALL, low=_TOP + 12.0, high=_BOTTOM), strict=True
    ):
        leader = [(end[0] + 5, end[1]), (frame.across.end + 6, end[1]), (x - 3, y)]
        out.append(element("polyline", class_="leader", points=points(leader)))
        out.append(plan_label(x, y, plan, numbers, kind))
    return out


def _notes(frame: _Frame) -> list[str]:
    """Return the lines below the picture."""
    lines = [
        f"{n}: {short_name(each.one)} and {short_name(each.other)} cross at {moment(each.time)}, "
        f"at {count(each.results)} results"
        for n, each in enumerate(frame.crossings[:LISTED], 1)
    ]
    if (more := len(frame.crossings) - LISTED) > 0:
        lines.append(f"{plural(more, 'more crossing')} not marked")
    if (more := len(frame.curves.curves) - len(frame.drawn)) > 0:
        lines.append(f"{plural(more, 'more plan')} not drawn")
    return lines


def _kind(n: int, curve: Curve) -> str:
    """Return the classes of a plan."""
    return f"p{n} {'chosen' if curve.chosen else 'other'}"


def _numbers(curve: Curve, at: float) -> str:
    """Return the numbers at the label of a plan."""
    until, numbers = _predicted(curve, at)
    return f"{'chosen: ' if curve.chosen else ''}{numbers}{'' if until == at else f' by {moment(until)}'}"


def _last_measured(curves: PlanCurves) -> str:
    assert curves.measured is not None
    return f"{count(curves.measured.results[-1])} by {moment(curves.measured.times[-1])}"


def _predicted(curve: Curve, at: float) -> tuple[float, str]:
    """Return the time nearest to `at` for which a curve has results, and these with their band."""
    until = min(max(at, curve.times[0]), curve.times[-1])
    low, value, high = (count(_value(curve.times, side, until)) for side in (curve.low, curve.results, curve.high))
    return until, value if low == high else f"{value} ({low} to {high})"


def _value(times: Sequence[float], values: Sequence[float], at: float) -> float:
    """Return the value at a time, on a straight line between two points; beyond the points, that of the nearest."""
    after = bisect_right(times, at)
    if after in (0, len(times)):
        return values[min(after, len(times) - 1)]
    begin, end = times[after - 1], times[after]
    return values[after - 1] + (values[after] - values[after - 1]) * ((at - begin) / (end - begin))
