"""Elements of SVG as text: escaped, without scripts and ids, the same bytes for the same data.

Widths of texts are estimates, because no fonts are read: they are those of the widest fonts that are usual on desktops.

>>> element("line", x1=0, x2=10.04, stroke_width=2)
'<line x1="0" x2="10" stroke-width="2"/>'
>>> element("g", element("title", escaped("a < b")), class_="plan")
'<g class="plan"><title>a &lt; b</title></g>'
>>> shortened("a_name_that_is_too_long", 11)
'a_nam…_long'
"""

from __future__ import annotations

import html
from collections.abc import Iterable

from thalweg.draw.style_sheet import PICTURES
from thalweg.printable import columns_of, printable, signs_of

SANS, MONO = 0.57, 0.605
"""The width of a character in `em`: the mean of DejaVu Sans, and that of DejaVu Sans Mono."""


PICTURE_WIDE, MARGIN = 800.0, 20.0
"""The width of every picture, and the room to the left of its title."""


def picture(title: str, subtitle: str, description: str, body: Iterable[str], tall: float) -> str:
    """Return a picture as one element `svg`, for a file or for a place in an HTML page. `description`: what it shows as
    sentences, for screen readers."""
    head = [
        element("title", escaped(title)),
        element("desc", escaped(description)),
        f"<style>\n{PICTURES}\n</style>",
        element("rect", class_="paper", width=PICTURE_WIDE, height=tall, rx=8),
        text(MARGIN, 28, shortened(title, 72), "title"),
        text(MARGIN, 47, shortened(subtitle, 110), "small"),
    ]
    size = f'width="{PICTURE_WIDE:g}" height="{tall:g}" viewBox="0 0 {PICTURE_WIDE:g} {tall:g}"'
    root = f'<svg xmlns="http://www.w3.org/2000/svg" class="thalweg-plans" role="img" {size}>'
    return "\n".join([root, *head, *body, "</svg>"]) + "\n"


def element(tag: str, content: str = "", **attributes: str | float) -> str:
    """Return an element. Numbers are rounded to tenths; in names, `_` becomes `-`, so that `class_` is possible."""
    named = "".join(f' {name.rstrip("_").replace("_", "-")}="{_value(of)}"' for name, of in attributes.items())
    return f"<{tag}{named}>{content}</{tag}>" if content else f"<{tag}{named}/>"


def text(x: float, y: float, words: str, kind: str, **attributes: str | float) -> str:
    """Return a text whose base line is at `y`; `kind` is its class."""
    return element("text", escaped(words), x=x, y=y, class_=kind, **attributes)


def points(places: list[tuple[float, float]]) -> str:
    """Return places as the attribute `points` of a line or an area.

    >>> points([(0, 1.26), (10, 2)])
    '0,1.3 10,2'
    """
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in places)


def escaped(words: str) -> str:
    """Return a text printable, with escapes for what is special in XML and HTML."""
    return html.escape(printable(words))


def shortened(words: str, most: int) -> str:
    """Return a text of at most so many columns; if it is longer, its middle is left out."""
    words = printable(words)
    if columns_of(words) <= most:
        return words
    head, tail, signs = "", "", signs_of(words)
    for k in range(len(signs)):
        longer = (head + signs[k // 2], tail) if k % 2 == 0 else (head, signs[-(k // 2) - 1] + tail)
        if columns_of("".join(longer)) >= most:
            break
        head, tail = longer
    return f"{head}…{tail}"


def width(words: str, size: float, per_character: float = SANS) -> float:
    """Return about how wide a text is in a font of this size."""
    return columns_of(printable(words)) * size * per_character


def _value(of: str | float) -> str:
    return escaped(of) if isinstance(of, str) else _number(of)


def _number(of: float) -> str:
    return f"{round(of, 1) + 0.0:.1f}".removesuffix(".0")
