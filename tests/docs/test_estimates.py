"""The page on estimates: its examples print what it says, and its table has every origin in order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from thalweg.plan.estimate import ORIGINS

TEXT = (Path(__file__).parents[2] / "docs" / "estimates.md").read_text(encoding="utf-8")


def test_the_examples_print_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    examples = re.findall(r"```python\n(.*?)```\n\nprints\n\n```\n(.*?)```", TEXT, flags=re.S)
    assert len(examples) == 2
    for code, printed in examples:
        exec(compile(code, "estimates.md", "exec"), {})
        assert capsys.readouterr().out == printed


def test_the_page_has_every_origin_strongest_first() -> None:
    section = TEXT.split("## Origins")[1].split("##")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", section, flags=re.M)) == ORIGINS
