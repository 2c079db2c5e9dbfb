"""Parts of HTML as text: escaped, without scripts and addresses to load, the same bytes for the same data.

>>> table([("name", "rows"), ("a<b", "7")], left=[0]).count("<td "), paragraph("one", "1 < 2")
(2, '<p>one<br>1 &lt; 2</p>')
>>> folded("2 switches", ["first", "second"], is_open=False)
'<details><summary>2 switches</summary><ol><li>first</li><li>second</li></ol></details>'
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from thalweg.draw.style_sheet import PAGES, SCROLLED, TABLE, cell
from thalweg.draw.svg import escaped


def page(title: str, body: str) -> str:
    """Return a complete page with a title and an HTML body."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{escaped(title)}</title>
<style>
{PAGES}
</style>
</head>
<body>
<h1>{escaped(title)}</h1>
{body}
</body>
</html>
"""


def paragraph(*lines: str) -> str:
    """Return lines of text as one paragraph."""
    return f"<p>{'<br>'.join(map(escaped, lines))}</p>"


def list_items(lines: Iterable[str]) -> str:
    """Return texts as items of a list."""
    return "".join(f"<li>{escaped(line)}</li>" for line in lines)


def folded(summary: str, lines: Iterable[str], *, is_open: bool) -> str:
    """Return a numbered list below a summary that a reader can open and close."""
    shown = " open" if is_open else ""
    return f"<details{shown}><summary>{escaped(summary)}</summary><ol>{list_items(lines)}</ol></details>"


def scrolled(picture: str) -> str:
    """Return a picture in a box that scrolls if the page is narrower."""
    return f"<div style='{SCROLLED}'>{picture}</div>"


def table(
    rows: Sequence[Sequence[str]], left: Collection[int], bars: Mapping[int, Sequence[float]] | None = None
) -> str:
    """Return a table. `rows`: the first one has the names of the columns. `left`: columns that are aligned to the left.
    `bars`: by column, how much of each cell below the name a bar fills, from 0 to 1."""

    def cells(row: Sequence[str], tag: str, place: int | None = None) -> str:
        found = []
        for n, words in enumerate(row):
            share = None if place is None or bars is None or n not in bars else bars[n][place]
            found.append(f'<{tag} style="{cell(is_left=n in left, share=share)}">{escaped(words)}</{tag}>')
        return f"<tr>{''.join(found)}</tr>"

    head, *body = rows
    below = "".join(cells(row, "td", n) for n, row in enumerate(body))
    return f'<table style="{TABLE}">{cells(head, "th")}{below}</table>'
