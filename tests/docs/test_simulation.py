"""The example of the page on simulation runs as it stands and prints what the page says."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "simulation.md"


def test_the_example_prints_what_the_page_says(capsys):
    text = PAGE.read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    (printed,) = re.findall(r"\nprints\n\n```\n(.*?)```", text, flags=re.S)
    exec(compile(code, PAGE.name, "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == printed
