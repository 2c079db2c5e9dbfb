"""The example in docs/writing-a-policy.md passes the checks, runs as written, and prints what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "writing-a-policy.md"


def test_the_example_of_a_policy_prints_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    ((code, printed),) = re.findall(r"```python\n(.*?)```\n\nprints\n\n```\n(.*?)```", text, flags=re.S)
    exec(compile(code, PAGE.name, "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == printed
