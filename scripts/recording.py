"""Record the demo in a terminal and save it as an animated picture, docs/images/demo.svg: `make recording`.

The demo runs in a pseudo-terminal of a fixed size. What it writes is turned into screens, and the screens into frames
of an SVG that plays by CSS alone. The preparation is shortened, and the rest is played faster than it ran; the title of
the window says how much faster. Readers who prefer reduced motion see the last frame only.

Lines and bars are drawn as shapes, because monospaced fonts differ in how they draw these characters. Arguments are
passed on to the demo: `make recording ARGS="--quick"`.
"""

from __future__ import annotations

import codecs
import errno
import fcntl
import itertools
import math
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import SVG_EXPORT_THEME as THEME
from rich.text import Text

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "demo.svg"
COLUMNS, LINES = 100, 43
PREPARING_LINES = 5
"""While the demo prepares itself, it writes at most this many lines."""
PREPARING_S, RACE_S, LAST_S = 2.0, 24.0, 9.0
"""How long the picture shows the preparation, the race and the last frame."""
FRAME_S = 0.2
"""The picture changes no more often than this."""
WIDE, TALL, BASE, FONT = 10, 20, 15, 16.6
"""The size of a character cell, its base line and the size of the font, in which a character is 0.6 times as wide."""
MARGIN, TITLE = 18, 40
COLOURS = 16

TOKEN = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|[\r\n]|[^\x1b\r\n]+")
STROKES = {
    "│": (5, 0, "v20"), "╭": (5, 20, "v-5q0-5 5-5"), "╮": (0, 10, "q5 0 5 5v5"), "╰": (5, 0, "v5q0 5 5 5"),
    "╯": (0, 10, "q5 0 5-5v-5"), "├": (5, 0, "v20m0-10h5"), "┤": (5, 0, "v20m0-10h-5"), "┬": (0, 10, "h10m-5 0v10"),
    "┴": (0, 10, "h10m-5 0v-10"), "┼": (5, 0, "v20m-5-10h10"), "┊": (5, 1, "v3m0 2v3m0 2v3m0 2v3"),
    "─": (0, 10, "h10"),
}  # fmt: skip
"""How a character is drawn in its cell: the first point, and the path from there."""
HEAVY = {"━": (0, 1), "╸": (0, 0.5), "╺": (0.5, 0.5)}
"""The part of the cell that a heavy line fills: where it begins, and its length."""
UPWARD, RIGHTWARD = "▁▂▃▄▅▆▇█", "▏▎▍▌▋▊▉"
SHAPES = "".join((*STROKES, *HEAVY)) + UPWARD + RIGHTWARD
RUN = re.compile(rf"(?P<shape>([{SHAPES}])\2*)|(?P<text>[^ {SHAPES}]+(?: [^ {SHAPES}]+)*)")
SIDE_BY_SIDE = re.compile(r"(?<=[│╮╯])(?=[│╭╰])")


@dataclass(frozen=True, slots=True)
class Frame:
    """A screen, and the second from which it is shown."""

    start_s: float
    screen: tuple[Text, ...]


def main() -> None:
    """Run the demo, and save its picture."""
    options = sys.argv[1:]
    command = [str(Path(sys.executable).with_name("thalweg")), "demo", *options]
    frames, speed = played(screens(recorded(command)))
    typed = "make demo" + (f' ARGS="{" ".join(options)}"' if options else "")
    title = f"{typed} (played {speed:.1f} times as fast as it ran)"
    drawn = film(frames, end_s=frames[-1].start_s + LAST_S, title=title)
    PICTURE.write_text(drawn, encoding="utf-8")
    print(f"recording: {PICTURE.relative_to(ROOT)}, {len(frames)} frames, {len(drawn.encode()) / 1000:.0f} kB")


def recorded(command: Sequence[str]) -> Iterator[tuple[float, str]]:
    """Run a command in a pseudo-terminal. Yield what it writes, with the second since the start."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS", "LINES")}
    began = time.monotonic()
    running = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        env=environment | {"TERM": "xterm-256color"},
    )  # fmt: skip
    os.close(theirs)
    decoder = codecs.getincrementaldecoder("utf-8")()
    while written := _read(ours):
        yield time.monotonic() - began, decoder.decode(written)
    if running.wait():
        sys.exit(f"recording: {' '.join(command)} failed with exit code {running.returncode}; run it to see why")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError as error:
        if error.errno != errno.EIO:  # on Linux, this is how a pseudo-terminal ends
            raise
        return b""


def screens(output: Iterable[tuple[float, str]]) -> Iterator[Frame]:
    """Yield what is on the terminal whenever it is about to be redrawn, and at the end.

    This understands what rich writes: text with colors, and lines that are erased before they are written again. It
    raises an error on anything else.
    """
    lines, row, rest, at, writing = [""], 0, "", 0.0, False
    for now, written in output:
        rest += written
        while token := TOKEN.match(rest):
            rest = rest[token.end() :]
            argument, control = token[1], token[2]
            if control == "K" and argument == "2":
                if writing:
                    yield Frame(at, _screen(lines))
                lines[row], writing = "", False
            elif control == "A":
                row -= int(argument or 1)
            elif token[0] == "\n":
                row += 1
                lines += [""] * (row + 1 - len(lines))
            elif control in ("m", None) and token[0] != "\r":
                lines[row] += token[0]
                at, writing = now, True
            elif control not in ("h", "l", None):  # these show and hide the cursor
                raise ValueError(f"unknown control sequence {token[0]!r} in the output of the demo")
    if rest:
        raise ValueError(f"unknown control sequence {rest[:20]!r} in the output of the demo")
    yield Frame(at, _screen(lines))


def _screen(lines: Sequence[str]) -> tuple[Text, ...]:
    styled = [Text.from_ansi(line, end="") for line in lines]
    while styled and not styled[-1].plain.strip():
        styled.pop()
    return tuple(styled[-LINES:])


def played(recording: Iterable[Frame]) -> tuple[list[Frame], float]:
    """Return the frames with the seconds at which they are played, and how much faster than recorded that is."""
    frames = list(recording)
    began = next(frame.start_s for frame in frames if len(frame.screen) > PREPARING_LINES)
    speed = max((frames[-1].start_s - began) / RACE_S, 1.0)
    first = frames[0].start_s
    shown: dict[int, tuple[Text, ...]] = {}
    for frame in frames:
        race_s = frame.start_s - began
        start_s = PREPARING_S + (race_s / speed if race_s >= 0 else PREPARING_S * race_s / (began - first))
        shown[math.ceil(start_s / FRAME_S)] = frame.screen
    kept: list[Frame] = []
    for tick, screen in shown.items():
        if not kept or kept[-1].screen != screen:
            kept.append(Frame(tick * FRAME_S, screen))
    return kept, speed


def film(frames: Sequence[Frame], end_s: float, title: str) -> str:
    """Return an animated SVG. Lines of panels that occur several times are defined once."""
    lines: dict[str, int] = {}
    pictures = []
    for number, frame in enumerate(frames):
        uses = []
        for row, line in enumerate(frame.screen):
            column = 0
            for piece in line.divide([place.start() for place in SIDE_BY_SIDE.finditer(line.plain)]):
                drawn = line_drawn(piece)
                at = f' x="{column * WIDE}"' if column else ""
                uses.append(f'<use href="#l{lines.setdefault(drawn, len(lines))}"{at} y="{row * TALL + BASE}"/>')
                column += piece.cell_len
        pictures.append(f'<g class="f" style="animation-name:f{number}">{"".join(uses)}</g>')
    tallest = max(len(frame.screen) for frame in frames)
    width, height = COLUMNS * WIDE + 2 * MARGIN, tallest * TALL + TITLE + MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'role="img" aria-label="{escape(title)}">',
            "<style>",
            *_rules([frame.start_s for frame in frames], end_s),
            "</style>",
            "<defs>",
            *(f'<g id="l{number}">{drawn}</g>' for drawn, number in lines.items()),
            "</defs>",
            f'<rect width="{width}" height="{height}" rx="10" fill="{THEME.background_color.hex}"/>',
            *(
                f'<circle cx="{22 + 22 * n}" cy="21" r="7" fill="{fill}"/>'
                for n, fill in enumerate(("#ff5f57", "#febc2e", "#28c840"))
            ),
            f'<text x="{width / 2:g}" y="26" text-anchor="middle">{escape(title)}</text>',
            f'<g transform="translate({MARGIN} {TITLE})">',
            *pictures,
            "</g>",
            "</svg>",
            "",
        ]
    )


def _rules(starts_s: Sequence[float], end_s: float) -> list[str]:
    """Return the style sheet: fonts, colors, and when each frame is visible."""
    times = itertools.pairwise([*(start_s / end_s for start_s in starts_s), 1.0])
    return [
        f"svg{{color:{THEME.foreground_color.hex}}}",
        f"text{{font:{FONT}px ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace}}",
        "text,path{fill:currentColor}",
        "path{shape-rendering:crispEdges}",  # no seams between the cells of a bar
        "path.s{fill:none;shape-rendering:auto;stroke:currentColor;stroke-width:1.4}",
        ".b{font-weight:bold}",
        *(f".c{number}{{color:{THEME.ansi_colors[number].hex}}}" for number in range(COLOURS)),
        f".f{{visibility:hidden;animation:{end_s:.2f}s step-end infinite}}",
        ".f:last-of-type{visibility:visible}",  # without animation
        *(f"@keyframes f{number}{{{_shown(*span)}}}" for number, span in enumerate(times)),
        "@media (prefers-reduced-motion:reduce){.f{animation:none}}",
    ]


def _shown(start: float, end: float) -> str:
    """Return the steps of a frame that is visible from one share of the whole time to another."""
    steps = [f"{100 * start:.2f}%{{visibility:visible}}"]
    if start > 0:
        steps.insert(0, "0%{visibility:hidden}")
    if end < 1:
        steps.append(f"{100 * end:.2f}%{{visibility:hidden}}")
    return "".join(steps)


def line_drawn(line: Text) -> str:
    """Return a line of the terminal as SVG elements. It begins at 0, and its base line is at 0 too."""
    texts, strokes, fills = list[str](), dict[str, str](), dict[str, str]()
    column = 0
    for segment in line.render(Console()):
        style = segment.style or Style()
        colour = _class_of(style)
        for run in RUN.finditer(segment.text):
            x, cells, character = WIDE * (column + cell_len(segment.text[: run.start()])), cell_len(run[0]), run[2]
            if character is None:
                length = f' textLength="{cells * WIDE}"' if cells > 1 else ""
                classes = _attribute(colour, "b" if style.bold else "")
                texts.append(f'<text x="{x}"{length}{classes}>{escape(run[0], quote=False)}</text>')
            elif character in STROKES:
                strokes[colour] = strokes.get(colour, "") + stroked(character, x, cells)
            else:
                fills[colour] = fills.get(colour, "") + filled(character, x, cells)
        column += cell_len(segment.text)
    paths = [f'<path{_attribute("s", colour)} d="{path}"/>' for colour, path in strokes.items()]
    paths += [f'<path{_attribute(colour)} d="{path}"/>' for colour, path in fills.items()]
    return "".join(paths + texts)


def _class_of(style: Style) -> str:
    if style.color is None:
        return ""
    if style.color.number is None or style.color.number >= COLOURS:
        raise ValueError(f"{style.color} is not one of the {COLOURS} colors of a terminal")
    return f"c{style.color.number}"


def _attribute(*classes: str) -> str:
    named = " ".join(filter(None, classes))
    return f' class="{named}"' if named else ""


def stroked(character: str, x: int, cells: int) -> str:
    """Return the path of thin lines: some cells with the same character."""
    right, down, path = STROKES[character]
    if character == "─":
        return f"M{x} {down - BASE}h{cells * WIDE}"
    return "".join(f"M{x + n * WIDE + right} {down - BASE}{path}" for n in range(cells))


def filled(character: str, x: int, cells: int) -> str:
    """Return the path of heavy lines and bars: some cells with the same character."""
    if character in HEAVY:
        begins, part = HEAVY[character]
        return _box(x + begins * WIDE, TALL / 2 - 1.5, part * cells * WIDE, 3)
    if character in UPWARD:
        height = TALL * (1 + UPWARD.index(character)) / 8
        return _box(x, TALL - height, cells * WIDE, height)
    width = WIDE * (1 + RIGHTWARD.index(character)) / 8
    return "".join(_box(x + n * WIDE, 0, width, TALL) for n in range(cells))


def _box(x: float, y: float, width: float, height: float) -> str:
    return f"M{x:g} {y - BASE:g}h{width:g}v{height:g}h{-width:g}z"


if __name__ == "__main__":
    main()
