"""The recording of the demo: what a terminal shows, and the animated picture that is made of it, without Spark."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.text import Text

from scripts.recording import Frame, film, line_drawn, played, screens

SVG = "{http://www.w3.org/2000/svg}"
PICTURE = Path(__file__).parents[2] / "docs" / "images" / "demo.svg"


def plain(frame: Frame) -> list[str]:
    return [line.plain for line in frame.screen]


def test_a_screen_is_what_stands_when_it_is_redrawn_however_the_output_is_cut() -> None:
    output = "\x1b[?25lone\r\n\x1b[33mtwo\x1b[0m\r\x1b[2K\x1b[1A\x1b[2Knew\r\n\x1b[?25h"
    for cut in range(len(output)):
        first, last = screens([(1.0, output[:cut]), (2.0, output[cut:])])
        assert plain(first) == ["one", "two"]
        assert plain(last) == ["new"]
        assert last.start_s == (1.0 if cut >= output.index("new") + 3 else 2.0)
    assert str(first.screen[1].spans[0].style) == "color(3)"  # yellow


def test_an_unknown_control_sequence_is_an_error() -> None:
    with pytest.raises(ValueError, match="unknown control sequence"):
        list(screens([(0.0, "\x1b[3;4H")]))
    with pytest.raises(ValueError, match="unknown control sequence"):
        list(screens([(0.0, "\x1b]0;a title\x07")]))


def test_the_preparation_is_short_and_the_rest_is_played_at_one_speed() -> None:
    race = [(Text("race"),) * 9 + (Text(str(n)),) for n in range(3)]
    recording = [Frame(0.0, (Text("a"),)), Frame(99.0, (Text("b"),)), Frame(100.0, race[0])]
    recording += [Frame(120.1, (Text("too short"),) * 9), Frame(120.2, race[0])]
    recording += [Frame(148.0, race[1]), Frame(160.0, race[1]), Frame(196.0, race[2])]
    frames, speed = played(recording)
    assert [(frame.start_s, frame.screen[-1].plain) for frame in frames] == [
        (0.0, "a"), (2.0, "0"), (14.0, "1"), (26.0, "2"),
    ]  # fmt: skip
    assert speed == 4.0


def test_two_frames_make_a_picture_without_scripts_and_addresses() -> None:
    shared = Text("a < b & c")
    frames = [Frame(0.0, (shared, Text("│ █"))), Frame(3.0, (shared, Text("later", "bold yellow")))]
    drawn = film(frames, end_s=4.0, title="R&D")
    root = ElementTree.fromstring(drawn)
    groups = [group for group in root.iter(f"{SVG}g") if group.get("class") == "f"]
    assert len(groups) == 2
    assert [[use.get("href") for use in group] for group in groups] == [["#l0", "#l1"], ["#l0", "#l2"]]
    assert [text.text for text in root.iter(f"{SVG}text")] == ["a < b & c", "later", "R&D"]
    assert "a &lt; b &amp; c" in drawn
    assert_stands_alone(drawn)
    style = root.findtext(f"{SVG}style") or ""
    assert "f0{0.00%{visibility:visible}75.00%{visibility:hidden}}" in style
    assert "f1{0%{visibility:hidden}75.00%{visibility:visible}}" in style
    assert "@media (prefers-reduced-motion:reduce){.f{animation:none}}" in style


def test_bars_and_lines_are_drawn_and_text_keeps_its_columns() -> None:
    assert line_drawn(Text("─── ▄▄")) == (
        '<path class="s" d="M0 -5h30"/><path d="M40 -5h20v10h-20z"/>'
    )  # fmt: skip
    assert line_drawn(Text("  ⚡ x  y z")) == (
        '<text x="20" textLength="40">⚡ x</text><text x="80" textLength="30">y z</text>'
    )  # fmt: skip


def test_the_picture_of_the_demo_stands_alone_and_is_small() -> None:
    drawn = PICTURE.read_text(encoding="utf-8")
    texts = "".join(ElementTree.fromstring(drawn).itertext())
    assert "Both kept the same" in texts
    assert len(drawn.encode()) < 300_000
    assert_stands_alone(drawn)


def assert_stands_alone(drawn: str) -> None:
    assert re.findall(r"https?:[^\"]*", drawn) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"<script|@import|@font-face|url\(|<image", drawn)
