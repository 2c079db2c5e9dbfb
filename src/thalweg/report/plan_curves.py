"""Results over time that plans are predicted to return, as plain data and as a picture.

Answers: which plan has returned the most results by a time, how sure that is, and where plans cross.
How: each plan is a line, and a light area around it is the 90 % band. The plan that was chosen is thicker. Lines differ
by dashes as well as by color, and each ends at its label. Measured results are dots.
Guarantee: the same data gives the same bytes. The picture has no scripts, fonts, ids or addresses to load. It follows
the color scheme of the reader, and names all values in its description for screen readers.
Cost: linear in the number of points; a picture has at most one point per unit of its width and line.

>>> one = Curve("((b c) a)", (0.0, 5.0, 10.0), (0.0, 40.0, 200.0), (0.0, 30.0, 150.0), (0.0, 50.0, 260.0), chosen=True)
>>> other = Curve("multiway", (0.0, 5.0, 10.0), (0.0, 60.0, 120.0), (0.0, 50.0, 100.0), (0.0, 70.0, 140.0))
>>> plans = PlanCurves("Query q", (one, other), crossings=(Crossing("multiway", "((b c) a)", 6.0, 72.0),), by=10.0)
>>> print(description(plans))
Predicted results over time of 2 plans. ((b c) a), chosen: 200 (150 to 260) by 10 s. multiway: 120 (100 to 140) by 10 s.
1: multiway and ((b c) a) cross at 6 s, at 72 results.
>>> curves_as_svg(plans).startswith("<svg ")
True
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from thalweg.errors import PlanError
from thalweg.formatting import plural
from thalweg.report.axis import Axis, count, count_unit, marked, moment, time_unit
from thalweg.report.label_places import label_places
from thalweg.report.svg import MONO, element, escaped, points, shortened, text, width

DRAWN = 8
"""The most plans that a picture shows: the best ones, and the chosen one."""
LISTED = 6
"""The most crossings that are marked."""
DOTS = 40
"""The most dots for measured results; the line through them has all."""
_WIDTH, _TOP, _TALL = 800.0, 96.0, 300.0
_NAME, _SMALL, _LINE = 12.5, 11.5, 17.0
"""Sizes of fonts, and the height of a line of notes."""
_NAME_COLUMNS = 28
"""Longer names of plans are shortened; the whole name is shown when a pointer rests on it."""
_LABEL_TALL = 32.0
_SAMPLE = 28.0
"""The length of the piece of line beside a label."""

_LIGHT = ("#1d4ed8", "#c2410c", "#0f766e", "#a21caf", "#4d7c0f", "#b91c1c", "#6d28d9", "#57534e")
_DARK = ("#7aa2ff", "#fb923c", "#2dd4bf", "#e879f9", "#a3e635", "#f87171", "#b39dfa", "#b8b0a8")
_DASHES = ("none", "7 3", "2 3", "9 3 2 3", "14 4", "4 4", "9 3 2 3 2 3", "1 5")


@dataclass(frozen=True, slots=True)
class Curve:
    """The results that a plan is predicted to have returned by some times.

    Examples
    --------
    >>> Curve("multiway", (0.0, 1.0), (0.0, 5.0), (0.0, 6.0), (0.0, 9.0))
    Traceback (most recent call last):
    thalweg.errors.PlanError: curve of multiway: results[1]=5.0 is not in its band, from 6.0 to 9.0
    """

    plan: str
    times: tuple[float, ...]
    """In seconds from the start, ascending."""
    results: tuple[float, ...]
    low: tuple[float, ...]
    """The lower end of the 90 % band, at each time."""
    high: tuple[float, ...]
    chosen: bool = False

    def __post_init__(self) -> None:
        what = f"curve of {self.plan}"
        _check(what, self.times, results=self.results, low=self.low, high=self.high)
        for n, (low, value, high) in enumerate(zip(self.low, self.results, self.high, strict=True)):
            if not low <= value <= high:
                raise PlanError(f"{what}: results[{n}]={value} is not in its band, from {low} to {high}")


@dataclass(frozen=True, slots=True)
class Measured:
    """The results that a query had returned by some times."""

    times: tuple[float, ...]
    """In seconds from the start, ascending."""
    results: tuple[float, ...]

    def __post_init__(self) -> None:
        _check("measured results", self.times, results=self.results)


@dataclass(frozen=True, slots=True)
class Crossing:
    """A time at which two plans have returned the same number of results, and which is ahead changes."""

    one: str
    other: str
    time: float
    results: float

    def __post_init__(self) -> None:
        _check(f"crossing of {self.one} and {self.other}", (self.time,), results=(self.results,))


@dataclass(frozen=True, slots=True)
class PlanCurves:
    """The plans that were compared, with what a picture of them shows."""

    title: str
    curves: tuple[Curve, ...]
    measured: Measured | None = None
    """What the plan that ran has returned; None before it runs."""
    crossings: tuple[Crossing, ...] = ()
    by: float | None = None
    """The time in seconds by which results were asked for; None if the objective has no such time."""

    def __post_init__(self) -> None:
        if not self.curves:
            raise PlanError("a picture of plans needs the curve of at least one plan; curves=() has none")
        if self.by is not None:
            _check("by", (self.by,))
        known = {curve.plan for curve in self.curves}
        for crossing in self.crossings:
            for plan in (crossing.one, crossing.other):
                if plan not in known:
                    raise PlanError(f"crossings: there is no curve of {plan!r}, which is said to cross another one")


def curves_as_svg(curves: PlanCurves) -> str:
    """Return the picture of plans over time as SVG.

    Parameters
    ----------
    curves
        At most `DRAWN` plans are drawn: the chosen one, and those with the most results by `by`, or at the end. A note
        counts the others.

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
    notes = _notes(frame)
    foot = _TOP + _TALL + 58.0
    body += [text(frame.across.start, foot + n * _LINE, line, "small") for n, line in enumerate(notes)]
    tall = foot + len(notes) * _LINE - (0.0 if notes else 8.0)
    head = [
        element("title", escaped(curves.title)),
        element("desc", escaped(description(curves))),
        f"<style>{_STYLE}</style>",
        element("rect", class_="paper", width=_WIDTH, height=tall, rx=8),
        text(20, 28, shortened(curves.title, 90), "title"),
        text(20, 47, _subtitle(curves), "small"),
    ]
    size = f'width="{_WIDTH:g}" height="{tall:g}" viewBox="0 0 {_WIDTH:g} {tall:g}"'
    root = f'<svg xmlns="http://www.w3.org/2000/svg" class="thalweg-plans" role="img" {size}>'
    return "\n".join([root, *head, *body, "</svg>"]) + "\n"


def description(curves: PlanCurves) -> str:
    """Return what the picture shows as sentences, for those who cannot see it.

    Parameters
    ----------
    curves
        What is drawn.

    Returns
    -------
    str

    Examples
    --------
    >>> description(PlanCurves("Query q", (Curve("multiway", (0.0,), (0.0,), (0.0,), (0.0,)),)))
    'Predicted results over time of 1 plan. multiway: 0 by 0 s.'
    """
    frame = _frame(curves)
    sentences = [f"Predicted results over time of {plural(len(curves.curves), 'plan')}."]
    for curve in frame.drawn:
        until, shown = _shown(curve, frame.at)
        sentences.append(f"{curve.plan}{', chosen' if curve.chosen else ''}: {shown} by {moment(until)}.")
    if curves.measured:
        end = curves.measured.times[-1]
        sentences.append(f"Measured: {count(curves.measured.results[-1])} by {moment(end)}.")
    return " ".join([*sentences, *(f"{note}." for note in _notes(frame))])


@dataclass(frozen=True, slots=True)
class _Frame:
    """What all parts of a picture share."""

    curves: PlanCurves
    drawn: tuple[Curve, ...]
    """The chosen plan first, then by results."""
    crossings: tuple[Crossing, ...]
    """Those of plans that are drawn."""
    at: float
    """The time whose results are written beside the labels."""
    across: Axis
    up: Axis

    def place(self, time: float, results: float) -> tuple[float, float]:
        return self.across.at(time), self.up.at(results)


def _frame(curves: PlanCurves) -> _Frame:
    measured = curves.measured
    at = max(curve.times[-1] for curve in curves.curves) if curves.by is None else curves.by
    ranked = sorted(curves.curves, key=lambda curve: (not curve.chosen, -_value(curve.times, curve.results, at)))
    drawn = tuple(ranked[:DRAWN])
    names = {curve.plan for curve in drawn}
    crossings = tuple(each for each in curves.crossings if {each.one, each.other} <= names)
    longest = max(
        [at, *(curve.times[-1] for curve in drawn), *(each.time for each in crossings)]
        + ([measured.times[-1]] if measured else [])
    )
    most = max(
        [max(curve.high) for curve in drawn] + [each.results for each in crossings] + [*(measured.results if measured else ())]
    )
    up = Axis(_TOP + _TALL, _TOP, most)
    unit = count_unit(most)
    left = 30.0 + max(width(marked(value, unit), _SMALL) for value in up.marks(unit))
    texts = [width(f"by {moment(at)} (90 % band)", _SMALL)]
    for curve in drawn:
        texts.append(width(shortened(curve.plan, _NAME_COLUMNS), _NAME, MONO * (1.02 if curve.chosen else 1.0)))
        texts.append(width(_beside(curve, at), _SMALL))
    right = _WIDTH - max(texts) - _SAMPLE - 44.0
    return _Frame(curves, drawn, crossings, at, Axis(left, right, longest), up)


def _subtitle(curves: PlanCurves) -> str:
    parts = ["Predicted results over time"]
    if any(curve.low != curve.high for curve in curves.curves):
        parts.append("light areas are 90 % bands")
    if any(curve.chosen for curve in curves.curves):
        parts.append("the chosen plan is thicker")
    return "; ".join([*parts, *(["dots were measured"] if curves.measured else [])])


def _grid(frame: _Frame) -> list[str]:
    """Return the axes with their marks."""
    across, up = frame.across, frame.up
    out = []
    unit = count_unit(up.most)
    for value in up.marks(unit):
        y = up.at(value)
        out.append(element("line", class_="grid" if value else "axis", x1=across.start, x2=across.end, y1=y, y2=y))
        out.append(text(across.start - 8, y + 4, marked(value, unit), "small", text_anchor="end"))
    out.append(text(20, _TOP - 27, f"results ({unit.name})" if unit.name else "results", "small"))
    unit = time_unit(across.most)
    for value in across.marks(unit):
        x = across.at(value)
        out.append(element("line", class_="axis", x1=x, x2=x, y1=up.start, y2=up.start + 5))
        out.append(text(x, up.start + 19, marked(value, unit), "small", text_anchor="middle"))
    middle = (across.start + across.end) / 2
    out.append(text(middle, up.start + 37, f"time ({unit.name})", "small", text_anchor="middle"))
    return out


def _by(frame: _Frame) -> list[str]:
    """Return the mark at the time by which results were asked for."""
    if frame.curves.by is None:
        return []
    x = frame.across.at(frame.curves.by)
    anchor = "end" if x > (frame.across.start + frame.across.end) / 2 else "start"
    return [
        element("line", class_="by", x1=x, x2=x, y1=_TOP - 14, y2=_TOP + _TALL),
        text(x - 5 if anchor == "end" else x + 5, _TOP - 8, f"by {moment(frame.curves.by)}", "small", text_anchor=anchor),
    ]


def _bands(frame: _Frame) -> list[str]:
    out = []
    for n, curve in enumerate(frame.drawn):
        kept = _kept(frame, curve.times)
        high = [frame.place(curve.times[k], curve.high[k]) for k in kept]
        low = [frame.place(curve.times[k], curve.low[k]) for k in kept]
        if len({x for x, _ in high}) == 1:  # one moment has no area: a bar
            low, high = ([(x - 3, y) for x, y in side] + [(x + 3, y) for x, y in side] for side in (low, high))
        kind = f"band p{n} {'chosen' if curve.chosen else 'other'}"
        out.append(element("polygon", class_=kind, points=points(high + low[::-1])))
    return out


def _lines(frame: _Frame) -> list[str]:
    """Return the lines of plans, the chosen one below the thinner ones, then what was measured."""
    out = []
    for n, curve in enumerate(frame.drawn):
        places = [frame.place(curve.times[k], curve.results[k]) for k in _kept(frame, curve.times)]
        kind = f"p{n} {'chosen' if curve.chosen else 'other'}"
        if len(set(places)) == 1:
            (x, y), *_ = places
            out.append(element("circle", class_=f"dot {kind}", cx=x, cy=y, r=4))
        else:
            out.append(element("polyline", class_=f"line {kind}", points=points(places)))
    if measured := frame.curves.measured:
        kept = _kept(frame, measured.times)
        places = [frame.place(measured.times[k], measured.results[k]) for k in kept]
        out.append(element("polyline", class_="measured", points=points(places)))
        every = math.ceil(len(places) / DOTS)
        dots = places[::-1][::every][::-1]  # the last one is always among them
        out += [element("circle", class_="measured-dot", cx=x, cy=y, r=3) for x, y in dots]
    return out


def _crossings(frame: _Frame) -> list[str]:
    """Return rings with numbers; each number is at the first place around its ring that is free."""
    rings = [frame.place(each.time, each.results) for each in frame.crossings[:LISTED]]
    taken = list(rings)
    out = [element("circle", class_="crossing", cx=x, cy=y, r=4.5) for x, y in rings]
    for n, (x, y) in enumerate(rings, 1):
        around = [
            (x + far * dx, y + far * dy)
            for far in (13, 20, 28, 38)
            for dx, dy in ((0, -1), (-1, 0), (0, 1), (1, 0), (-0.7, -0.7), (0.7, 0.7), (0.7, -0.7), (-0.7, 0.7))
        ]
        inside = [
            (at, level) for at, level in around
            if frame.across.start + 6 < at < frame.across.end - 6 and _TOP + 6 < level < _TOP + _TALL - 6
        ]  # fmt: skip
        free = [place for place in inside if all(max(abs(place[0] - a), abs(place[1] - b)) >= 12 for a, b in taken)]
        place = next(iter(free or inside))
        taken.append(place)
        out.append(text(place[0], place[1] + 4, str(n), "number", text_anchor="middle"))
    return out


def _labels(frame: _Frame) -> list[str]:
    """Return the labels in a column beside the lines, each with a piece of its line."""
    ends = [(*frame.place(curve.times[-1], curve.results[-1]), n) for n, curve in enumerate(frame.drawn)]
    if measured := frame.curves.measured:
        ends.append((*frame.place(measured.times[-1], measured.results[-1]), len(ends)))
    ends.sort(key=lambda end: (end[1], end[2]))
    places = label_places(
        [y for _, y, _ in ends], apart=_LABEL_TALL, low=_TOP + 12.0, high=_TOP + _TALL + 0.0
    )
    start = frame.across.end + 20.0
    name_at = start + _SAMPLE + 6.0
    out = [text(name_at, _TOP - 8, f"by {moment(frame.at)} (90 % band)", "small")]
    for (x, y, n), at in zip(ends, places, strict=True):
        ours = n == len(frame.drawn)
        kind = "measured" if ours else f"p{n} {'chosen' if frame.drawn[n].chosen else 'other'}"
        out.append(element("polyline", class_="leader", points=points([(x + 5, y), (frame.across.end + 6, y), (start - 2, at)])))
        out.append(element("polyline", class_=kind if ours else f"line {kind}", points=points([(start, at), (start + _SAMPLE, at)])))
        if ours:
            out.append(element("circle", class_="measured-dot", cx=start + _SAMPLE / 2, cy=at, r=3))
            until = measured.times[-1] if measured else 0.0
            names = [text(name_at, at + 4, "measured", "name"),
                     text(name_at, at + 18, f"{count(measured.results[-1] if measured else 0.0)} by {moment(until)}", "small")]
        else:
            curve = frame.drawn[n]
            names = [
                text(name_at, at + 4, shortened(curve.plan, _NAME_COLUMNS), f"plan {'chosen' if curve.chosen else 'other'}"),
                text(name_at, at + 18, _beside(curve, frame.at), "small"),
            ]
            names = [element("title", escaped(curve.plan)), *names]
        out.append(element("g", "".join(names)))
    return out


def _notes(frame: _Frame) -> list[str]:
    """Return the lines below the picture."""
    lines = [
        f"{n}: {shortened(each.one, _NAME_COLUMNS)} and {shortened(each.other, _NAME_COLUMNS)} cross at "
        f"{moment(each.time)}, at {count(each.results)} results"
        for n, each in enumerate(frame.crossings[:LISTED], 1)
    ]
    if more := len(frame.crossings) - LISTED:
        if more > 0:
            lines.append(f"{plural(more, 'more crossing')} not marked")
    if more := len(frame.curves.curves) - len(frame.drawn):
        lines.append(f"{plural(more, 'more plan')} not drawn")
    return lines


def _beside(curve: Curve, at: float) -> str:
    until, shown = _shown(curve, at)
    end = "" if until == at else f" by {moment(until)}"
    return f"{'chosen: ' if curve.chosen else ''}{shown}{end}"


def _shown(curve: Curve, at: float) -> tuple[float, str]:
    """Return a time at which the curve is known, as near as possible to `at`, and its results with their band then."""
    until = min(max(at, curve.times[0]), curve.times[-1])
    low, value, high = (count(_value(curve.times, side, until)) for side in (curve.low, curve.results, curve.high))
    return until, value if low == high else f"{value} ({low} to {high})"


def _value(times: Sequence[float], values: Sequence[float], at: float) -> float:
    """Return a value between points, by a straight line; before the first and after the last, theirs."""
    after = bisect_right(times, at)
    if after in (0, len(times)):
        return values[min(after, len(times) - 1)]
    begin, end = times[after - 1], times[after]
    return values[after - 1] + (values[after] - values[after - 1]) * ((at - begin) / (end - begin))


def _kept(frame: _Frame, times: Sequence[float]) -> list[int]:
    """Return the points to draw: one per unit of width, and the last one."""
    columns = [round(frame.across.at(time)) for time in times]
    last = len(times) - 1
    return [n for n in range(len(times)) if n in (0, last) or columns[n] != columns[n - 1]]


def _check(what: str, times: tuple[float, ...], **values: tuple[float, ...]) -> None:
    """Refuse numbers that cannot be drawn."""
    for name, each in {"times": times, **values}.items():
        if not each:
            raise PlanError(f"{what}: {name} is empty; give at least one point")
        if len(each) != len(times):
            raise PlanError(f"{what}: {name} has {plural(len(each), 'number')} for {plural(len(times), 'time')}")
        for n, number in enumerate(each):
            if not (math.isfinite(number) and number >= 0.0):
                raise PlanError(f"{what}: {name}[{n}]={number}: must be a finite number, 0 or more")
    for n, (one, next_one) in enumerate(zip(times, times[1:], strict=False)):
        if one > next_one:
            raise PlanError(f"{what}: times[{n + 1}]={next_one} comes after {one}; sort the points by time")


def _style() -> str:
    light = {
        ".paper": "fill:#fff;stroke:#e5e7eb", "text": "fill:#111827", ".small": "fill:#4b5563", ".grid": "stroke:#e5e7eb",
        ".axis": "stroke:#9ca3af", ".leader": "stroke:#9ca3af", ".by": "stroke:#374151", ".measured": "stroke:#111827",
        ".measured-dot": "fill:#111827;stroke:#fff", ".crossing": "fill:#fff;stroke:#111827", ".number": "stroke:#fff",
    }  # fmt: skip
    dark = {
        ".paper": "fill:#14171c;stroke:#2b313b", "text": "fill:#f3f4f6", ".small": "fill:#b6bdc9", ".grid": "stroke:#2b313b",
        ".axis": "stroke:#6b7280", ".leader": "stroke:#6b7280", ".by": "stroke:#d1d5db", ".measured": "stroke:#f3f4f6",
        ".measured-dot": "fill:#f3f4f6;stroke:#14171c", ".crossing": "fill:#14171c;stroke:#f3f4f6",
        ".number": "stroke:#14171c",
    }  # fmt: skip
    fixed = {
        "": "max-width:100%;height:auto;font-family:system-ui,sans-serif",
        ".title": "font-size:16px;font-weight:600",
        ".small": f"font-size:{_SMALL}px",
        ".name": f"font-size:{_NAME}px",
        ".plan": f"font-size:{_NAME}px;font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace",
        "text.chosen": "font-weight:700",
        ".line": "fill:none;stroke-width:1.8;stroke-linejoin:round",
        ".line.chosen": "stroke-width:3.6",
        ".band": "stroke:none;fill-opacity:.09",
        ".band.chosen": "fill-opacity:.2",
        ".dot": "stroke:none",
        ".dot.chosen": "r:6px",
        ".leader": "fill:none;stroke-width:.8",
        ".by": "stroke-dasharray:2 3",
        ".measured": "fill:none;stroke-width:1",
        ".measured-dot": "stroke-width:1",
        ".crossing": "stroke-width:1.4",
        ".number": "font-size:11.5px;font-weight:700;stroke-width:3px;paint-order:stroke",
    }
    def rules(kinds: dict[str, str]) -> str:
        return "".join(f".thalweg-plans{' ' + kind if kind else ''}{{{value}}}" for kind, value in kinds.items())
    def colours(palette: Sequence[str]) -> dict[str, str]:
        return {f".p{n}": f"stroke:{colour};fill:{colour}" for n, colour in enumerate(palette)}
    dashes = {f".line.p{n}": f"stroke-dasharray:{dash}" for n, dash in enumerate(_DASHES)}
    return (
        rules(colours(_LIGHT)) + rules(light)
        + f"@media (prefers-color-scheme:dark){{{rules(colours(_DARK))}{rules(dark)}}}"
        + rules(fixed) + rules(dashes)
        + "div>.thalweg-plans{min-width:560px}"
    )


_STYLE = _style()
