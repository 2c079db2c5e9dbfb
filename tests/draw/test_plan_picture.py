"""Pictures of plans: what is drawn where, read back from the SVG."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from itertools import combinations
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.long_run import examples
from thalweg.draw import style_sheet
from thalweg.draw.plan_curves import Crossing, Curve, Measured, PlanCurves, PlanMemory
from thalweg.draw.plan_picture import DOTS, LISTED, curves_as_svg, description
from thalweg.draw.style_sheet import DRAWN

SPACE = "{http://www.w3.org/2000/svg}"
NAMES = st.one_of(st.sampled_from(["multiway", "((b c) a)", "x" * 100, "<&>\"'", "名前" * 30]), st.text(max_size=120))
COUNTS = st.one_of(st.integers(0, 10**6).map(float), st.floats(0.0, 1.7e308), st.just(0.0))


def read(curves: PlanCurves) -> Element:
    return ElementTree.fromstring(curves_as_svg(curves))


def of_class(root: Element, name: str) -> list[Element]:
    return [each for each in root.iter() if name in each.get("class", "").split()]


def places(each: Element) -> list[tuple[float, float]]:
    """The points of an element, wherever its coordinates are written."""
    if "points" in each.attrib:
        return [(float(x), float(y)) for x, y in (pair.split(",") for pair in each.attrib["points"].split())]
    number = {name: float(value) for name, value in each.attrib.items() if re.fullmatch(r"-?[\d.]+", value)}
    if each.tag == f"{SPACE}circle":
        return [(number["cx"] + d, number["cy"] + d) for d in (-number["r"], number["r"])]
    if each.tag == f"{SPACE}line":
        return [(number["x1"], number["y1"]), (number["x2"], number["y2"])]
    x, y = number.get("x", 0.0), number.get("y", 0.0)
    return [(x, y), (x + number.get("width", 0.0), y + number.get("height", 0.0))]


def box(words: Element) -> tuple[float, float, float, float]:
    """About what a text covers: left, top, right, bottom."""
    size = 16.0 if "title" in words.attrib["class"].split() else 11.5
    x, y, wide = float(words.attrib["x"]), float(words.attrib["y"]), 0.5 * size * len(words.text or "")
    left = {"end": x - wide, "middle": x - wide / 2}.get(words.get("text-anchor", ""), x)
    return left, y - 0.7 * size, left + wide, y + 0.1 * size


def overlap(one: Element, other: Element) -> bool:
    left, top, right, bottom = box(one)
    a, b, c, d = box(other)
    return left < c and a < right and top < d and b < bottom


def curve(plan: str, *results: float, chosen: bool = False, spread: float = 1.25, step: float = 1.0) -> Curve:
    """The curve of a plan with these results at 0, 1, 2, ... seconds."""
    times = tuple(step * n for n in range(len(results)))
    return Curve(plan, times, results, tuple(n / spread for n in results), tuple(n * spread for n in results), chosen)


@st.composite
def pictures(draw: st.DrawFn) -> PlanCurves:
    """Any data that is not refused, small and huge, with names that are hard to write."""

    def points(n: int) -> tuple[tuple[float, ...], list[tuple[float, float, float]]]:
        times = sorted(draw(st.lists(COUNTS, min_size=n, max_size=n)))
        bands = draw(st.lists(st.tuples(COUNTS, COUNTS, COUNTS), min_size=n, max_size=n))
        return tuple(times), [tuple(sorted(band)) for band in bands]  # type: ignore[misc]

    drawn: list[Curve] = []
    for name in draw(st.lists(NAMES, min_size=1, max_size=11, unique=True)):
        times, bands = points(draw(st.integers(1, 4)))
        low, value, high = zip(*bands, strict=True)
        drawn.append(Curve(name, times, value, low, high, chosen=len(drawn) == 1))
    plan = st.sampled_from([each.plan for each in drawn])
    measured = None
    if draw(st.booleans()):
        times, bands = points(draw(st.integers(1, 4)))
        measured = Measured(times, tuple(band[1] for band in bands))
    crossings = draw(st.lists(st.builds(Crossing, plan, plan, COUNTS, COUNTS), max_size=8))
    memory = []
    for each in draw(st.lists(plan, unique=True)):
        low_bytes, predicted, high_bytes = sorted(draw(st.tuples(COUNTS, COUNTS, COUNTS)))
        memory.append(PlanMemory(each, predicted, low_bytes, high_bytes, draw(st.none() | COUNTS)))
    return PlanCurves(
        draw(NAMES), tuple(drawn), measured, tuple(crossings), draw(st.none() | COUNTS), tuple(memory),
        draw(st.none() | COUNTS),
    )  # fmt: skip


@examples(60, long=3_000)
@given(pictures())
def test_everything_is_inside_and_texts_do_not_overlap(curves: PlanCurves) -> None:
    root = read(curves)
    _, _, wide, tall = map(float, root.attrib["viewBox"].split())
    assert (root.attrib["width"], root.attrib["height"]) == (f"{wide:g}", f"{tall:g}")
    shapes = [each for each in root.iter() if {"points", "x", "x1", "cx"} & each.attrib.keys()]
    for x, y in (place for each in shapes for place in places(each)):
        assert -0.1 <= x <= wide + 0.1
        assert -0.1 <= y <= tall + 0.1
    texts = [each for each in root.iter(f"{SPACE}text") if each.text]
    for each in texts:
        left, top, right, bottom = box(each)
        assert left >= 0, each.text
        assert top >= 0
        assert right <= wide, each.text
        assert bottom <= tall
    for one, other in combinations(texts, 2):
        assert not overlap(one, other), (one.text, other.text)


@examples(40, long=2_000)
@given(pictures())
def test_each_line_is_in_its_band(curves: PlanCurves) -> None:
    root = read(curves)
    for n in range(min(DRAWN, len(curves.curves))):
        (band,) = (each for each in of_class(root, f"p{n}") if "band" in each.attrib["class"].split())
        line = next(each for each in of_class(root, f"p{n}") if {"line", "dot"} & set(each.attrib["class"].split()))
        edge = places(band)
        for x, y in places(line) if line.tag == f"{SPACE}polyline" else []:
            levels = [level for at, level in edge if abs(at - x) <= 3.0]
            assert min(levels) <= y <= max(levels)


@examples(20, long=500)
@given(pictures())
def test_equal_data_gives_equal_bytes(curves: PlanCurves) -> None:
    again = PlanCurves(
        curves.title, tuple(Curve(*(getattr(each, name) for name in Curve.__slots__)) for each in curves.curves),
        curves.measured, curves.crossings, curves.by, curves.memory, curves.max_bytes,
    )  # fmt: skip
    assert curves_as_svg(again) == curves_as_svg(curves)


def test_other_processes_draw_the_same_bytes() -> None:
    code = (
        "from tests.draw.test_plan_picture import three; from thalweg.draw.plan_picture import curves_as_svg;"
        "import sys; sys.stdout.buffer.write(curves_as_svg(three()).encode())"
    )
    others = {**os.environ, "PYTHONHASHSEED": "1"}
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=others)
    assert ran.stdout.decode() == curves_as_svg(three())


def three() -> PlanCurves:
    """Three plans, two of which cross, with measured results."""
    return PlanCurves(
        "Query q",
        (curve("multiway", 0, 40, 80), curve("((b c) a)", 0, 30, 120, chosen=True), curve("((a b) c)", 0, 1, 2)),
        Measured((0.5, 1.0), (10.0, 28.0)),
        (Crossing("multiway", "((b c) a)", 1.2, 48.0),),
        by=2.0,
    )


def test_places_on_the_axes_are_proportional() -> None:
    root = read(three())
    lines = [places(each) for each in of_class(root, "line") if len(places(each)) == 3]
    chosen, multiway, last = lines
    (zero, bottom), (middle, _), (end, _) = chosen
    assert abs(middle - (zero + end) / 2) <= 0.11
    top = 150.0  # 1.25 * 120, the upper end of the highest band, is at the top
    for line, results in ((chosen, (0, 30, 120)), (multiway, (0, 40, 80)), (last, (0, 1, 2))):
        for (_, y), value in zip(line, results, strict=True):
            assert abs((bottom - y) / 300.0 - value / top) < 0.001
    (ring,) = of_class(root, "crossing")
    assert abs(float(ring.attrib["cx"]) - (zero + (end - zero) * 0.6)) <= 0.11
    assert abs(float(ring.attrib["cy"]) - (bottom - 300.0 * 48 / top)) <= 0.11


def test_labels_are_ordered_as_the_lines_end() -> None:
    labels = [
        each for each in read(three()).iter(f"{SPACE}text") if {"plan", "name"} & set(each.attrib["class"].split())
    ]
    heights = {each.text: float(each.attrib["y"]) for each in labels}
    assert sorted(heights, key=lambda name: heights[name]) == ["((b c) a)", "multiway", "measured", "((a b) c)"]


def test_the_chosen_plan_is_thicker_and_lines_differ_by_dashes() -> None:
    root = read(three())
    assert [each.text for each in of_class(root, "plan") if "chosen" in each.attrib["class"]] == ["((b c) a)"]
    style = root.find(f"{SPACE}style")
    assert style is not None
    assert style.text is not None
    widths = dict(re.findall(r"\.thalweg-plans (\.line|\.line\.chosen)\{[^}]*stroke-width:([\d.]+)", style.text))
    assert float(widths[".line.chosen"]) >= 1.5 * float(widths[".line"])
    dashes = re.findall(r"\.line\.p\d\{stroke-dasharray:([^}]*)\}", style.text)
    assert len(dashes) == len(set(dashes)) == DRAWN


def test_only_the_best_plans_and_the_chosen_one_are_drawn() -> None:
    curves = [curve(f"plan {n}", 0.0, 100.0 - n, chosen=n == 11) for n in range(12)]
    picture = PlanCurves("many", tuple(curves), crossings=(Crossing("plan 8", "plan 9", 1.0, 5.0),))
    root = read(picture)
    assert [each.text for each in of_class(root, "plan")] == [*(f"plan {n}" for n in range(7)), "plan 11"]
    assert of_class(root, "crossing") == []  # of plans that are not drawn
    assert "4 more plans not drawn" in [each.text for each in root.iter(f"{SPACE}text")]
    assert "4 more plans not drawn." in description(picture)


def test_the_best_plans_are_those_at_the_time_asked_for() -> None:
    early = [curve(f"early {n}", 0.0, 50.0, 50.0) for n in range(DRAWN)]
    late = [curve(f"late {n}", 0.0, 1.0, 900.0) for n in range(DRAWN)]
    for by, name in ((1.0, "early"), (2.0, "late"), (None, "late")):
        drawn = of_class(read(PlanCurves("", (*early, *late), by=by)), "plan")
        assert [str(each.text).split()[0] for each in drawn] == [name] * DRAWN


def test_crossings_are_numbered_by_time_and_listed() -> None:
    one, other = curve("one", 0.0, 1.0, 9.0), curve("other", 0.0, 2.0, 8.0)
    crossings = tuple(Crossing("one", "other", 2.0 - n / 10, 2.0) for n in range(LISTED + 2))
    root = read(PlanCurves("", (one, other), crossings=crossings))
    assert [each.text for each in of_class(root, "number")] == [str(n + 1) for n in range(LISTED)]
    assert len(of_class(root, "crossing")) == LISTED
    texts = [str(each.text) for each in of_class(root, "small")]
    assert "1: one and other cross at 1.3 s, at 2 results" in texts
    assert "2 more crossings not marked" in texts


def test_numbers_are_those_of_the_time_asked_for() -> None:
    texts = [each.text for each in of_class(read(three()), "small")]
    assert {"results by 2 s (90 % band)", "chosen: 120 (96 to 150)", "80 (64 to 100)", "28 by 1 s"} <= set(texts)
    between = PlanCurves("", (curve("one", 0.0, 40.0, 80.0, spread=1.0), curve("short", 0.0, 7.0, spread=1.0)), by=1.5)
    texts = [each.text for each in of_class(read(between), "small")]
    assert {"results by 1.5 s", "60", "7 by 1 s", "by 1.5 s"} <= set(texts)


def test_equal_curves_have_labels_of_their_own() -> None:
    same = tuple(curve(name, 0.0, 5.0, 10.0) for name in "abc")
    root = read(PlanCurves("", same))
    assert len({each.attrib["points"] for each in of_class(root, "line") if len(places(each)) == 3}) == 1
    assert len({each.attrib["y"] for each in of_class(root, "plan")}) == 3


def test_a_single_point_is_a_dot_with_a_bar() -> None:
    root = read(PlanCurves("", (Curve("one", (3.0,), (5.0,), (4.0,), (8.0,)),), Measured((3.0,), (6.0,))))
    (dot,) = of_class(root, "dot")
    (band,) = of_class(root, "band")
    levels = [y for _, y in places(band)]
    assert min(levels) < float(dot.attrib["cy"]) < max(levels)
    assert len({x for x, _ in places(band)}) == 2
    assert len(of_class(root, "measured-dot")) == 2  # one of them in the label


def test_many_points_make_no_large_picture() -> None:
    results = [float(n) for n in range(20_000)]
    picture = PlanCurves("", (curve("one", *results),), Measured(tuple(results), tuple(results)), by=results[-1])
    svg = curves_as_svg(picture)
    assert len(svg) < 60_000
    root = ElementTree.fromstring(svg)
    assert 5 < len(of_class(root, "measured-dot")) <= DOTS + 1
    line = max((places(each) for each in of_class(root, "line")), key=len)
    assert line[-1][1] == line[0][1] - 300.0 / 1.25  # the last point is among those that are kept


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "a & b", "\"'", "\x00\x1b\n\t", "\ud800", "\ufffe", "]]>"]
)
def test_names_are_escaped(name: str) -> None:
    shown = re.sub("[^ -\ud7ff\ue000-\ufffd]", lambda found: repr(found[0])[1:-1], name)
    curves = PlanCurves(
        name, (curve(name, 0.0, 1.0, chosen=True), curve("x", 0.0, 1.0)), None, (Crossing(name, "x", 1.0, 1.0),), 1.0,
        (PlanMemory(name, 1.0, 1.0, 1.0),),
    )  # fmt: skip
    root = read(curves)
    assert Counter(each.tag for each in root.iter()).keys() <= {
        f"{SPACE}{tag}"
        for tag in ("svg", "title", "desc", "style", "rect", "line", "polyline", "polygon", "circle", "text", "g")
    }
    assert [each.text for each in root.iter(f"{SPACE}title")].count(shown) == 3
    assert shown in [each.text for each in of_class(root, "plan")]
    curves_as_svg(curves).encode("utf-8")


def test_long_names_are_shortened_and_whole_in_their_title() -> None:
    name = "(" + " ".join(f"stream_{n}" for n in range(20)) + ")"
    root = read(PlanCurves("", (curve(name, 0.0, 1.0),)))
    (shown,) = (str(each.text) for each in of_class(root, "plan"))
    assert len(shown) == 28
    assert shown.startswith("(stream_0")
    assert shown.endswith("stream_19)")
    assert name in [each.text for each in root.iter(f"{SPACE}title")]


def test_pictures_load_and_run_nothing() -> None:
    svg = curves_as_svg(three()).replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"<script|href|url\(|@import|@font-face|\son\w+=|\sid=|https?:|<image|<use", svg, flags=re.I)
    style = svg.partition("<style>")[2].partition("</style>")[0]
    selectors = re.findall(r"(?:^|(?<=[{}]))([^{}@]+)\{", style.replace("\n", ""))
    assert len(selectors) > 40
    assert all(".thalweg-plans" in each for each in selectors)  # within a page, they change nothing else


def test_pictures_are_described_for_screen_readers() -> None:
    root = read(three())
    assert root.attrib["role"] == "img"
    assert [each.tag for each in root][:2] == [f"{SPACE}title", f"{SPACE}desc"]
    assert [each.text for each in root][:2] == ["Query q", description(three())]
    assert description(three()) == (
        "Predicted results over time of 3 plans. ((b c) a), chosen: 120 (96 to 150) by 2 s. "
        "multiway: 80 (64 to 100) by 2 s. ((a b) c): 2 (1.6 to 2.5) by 2 s. measured: 28 by 1 s. "
        "1: multiway and ((b c) a) cross at 1.2 s, at 48 results."
    )


def test_bars_of_memory_are_proportional() -> None:
    memory = (PlanMemory("b", 20e6, 10e6, 40e6), PlanMemory("a", 10e6, 10e6, 10e6, measured_bytes=30e6))
    curves = (curve("a", 0.0, 9.0, chosen=True), curve("b", 0.0, 5.0), curve("c", 0.0, 1.0))
    picture = PlanCurves("", curves, memory=memory, max_bytes=20e6)
    root = read(picture)
    one, two = of_class(root, "bar")
    assert (one.attrib["class"], two.attrib["class"]) == ("bar p0 chosen", "bar p1 other")
    assert abs(float(two.attrib["width"]) - 2 * float(one.attrib["width"])) < 0.2
    (limit,) = of_class(root, "mark")
    assert abs(places(limit)[0][0] - places(two)[1][0]) < 0.2
    (dot,) = (each for each in of_class(root, "measured-dot"))
    assert abs(float(dot.attrib["cx"]) - float(one.attrib["x"]) - 3 * float(one.attrib["width"])) < 0.3
    assert description(picture).endswith("memory of b: 20.0 (10.0 to 40.0 MB). memory of a: 10.0 MB, measured 30.0 MB.")
    assert of_class(read(PlanCurves("", curves)), "bar") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colors_have_enough_contrast(scheme: str) -> None:
    paper = _light(style_sheet.PAPER[scheme])
    plans = style_sheet.LIGHT if scheme == "light" else style_sheet.DARK
    assert len(set(plans)) == DRAWN
    for colour in (*plans, style_sheet.INK[scheme], style_sheet.QUIET[scheme]):
        darker, lighter = sorted([paper, _light(colour)])
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, colour


def _light(colour: str) -> float:
    """The relative luminance of a color, by the definition of WCAG 2."""
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
