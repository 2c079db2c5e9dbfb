"""The label of a plan in a picture: a piece of its line, its name, and numbers below the name.

>>> print(plan_label(600, 50, "multiway", "500 results", "p1 other"))
<g><title>multiway</title><polyline class="line p1 other" points="600,50 628,50"/>
<text x="634" y="54" class="plan p1 other">multiway</text>
<text x="634" y="68" class="small">500 results</text></g>
"""

from __future__ import annotations

from thalweg.draw.style_sheet import NAME_PX, SMALL_PX
from thalweg.draw.svg import MONO, element, escaped, points, shortened, text, width

LABEL_TALL = 32.0
SAMPLE = 28.0
"""The length of the piece of line."""
_GAP = 6.0
_NAME_COLUMNS = 28


def short_name(plan: str) -> str:
    """Return the name of a plan as it is written in a picture. The whole one is shown when a pointer rests on it."""
    return shortened(plan, _NAME_COLUMNS)


def label_width(plan: str, numbers: str) -> float:
    """Return about how wide the label of a plan is."""
    return SAMPLE + _GAP + max(width(short_name(plan), NAME_PX, MONO), width(numbers, SMALL_PX))


def plan_label(x: float, y: float, plan: str, numbers: str, kind: str) -> str:
    """Return the label; its piece of line begins at `x` and is at the height `y`. `kind` has the classes of the
    plan, or is "measured"."""
    line = [(x, y), (x + SAMPLE, y)]
    measured = kind == "measured"
    sample = element("polyline", class_=kind if measured else f"line {kind}", points=points(line))
    if measured:
        sample += element("circle", class_="measured-dot", cx=x + SAMPLE / 2, cy=y, r=2.7)
    name = text(x + SAMPLE + _GAP, y + 4, short_name(plan), "name" if measured else f"plan {kind}")
    below = text(x + SAMPLE + _GAP, y + 18, numbers, "small")
    return element("g", "\n".join([element("title", escaped(plan)) + sample, name, below]))
