"""The examples of the page on simulation run as written, one after the other, and print what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "simulation.md"


def test_the_examples_print_what_the_page_says(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```\n\nprints\n\n```\n(.*?)```", text, flags=re.S)
    assert len(examples) == text.count("```python") == 4  # none without its output
    names: dict[str, object] = {"__name__": "__main__"}
    for code, printed in examples:
        exec(compile(code, PAGE.name, "exec"), names)
        assert capsys.readouterr().out == printed
