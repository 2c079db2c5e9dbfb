"""The README's examples run as written and print what the README says."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import mode
from typing import Any

import pytest
from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]


def test_the_example_prints_what_the_readme_says(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    codes = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    prints = re.findall(r"\nprints\n\n```\n(.*?)```", text, flags=re.S)
    assert len(codes) == len(prints) == 3
    ran: list[dict[str, Any]] = []
    for code, printed in zip(codes, prints, strict=True):
        ran.append({"__name__": "__main__"})
        exec(compile(code, "README.md", "exec"), ran[-1])
        assert capsys.readouterr().out == printed
    shown = text[text.index("Example output") : text.index("## Joins of many streams")]
    reports = [ran[0]["keep"].report()]
    for _ in range(4):  # half a second under load may end in another order, so that one run says little
        again: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(codes[0], "README.md", "exec"), again)
        reports.append(again["keep"].report())
    first, report = mode(each.sections[0].order[0] for each in reports), reports[0]
    assert first == "server_error"
    assert f"  1  {first} " in shown
    assert f"kept {report.sections[0].kept:,} of 1,000,000 rows" in shown
    assert str(report).splitlines()[1].split() == shown.split("```text\n")[1].splitlines()[1].split()


@pytest.mark.parametrize("document", ["joins.md", "filters.md"])
def test_the_guides_examples_run_and_print_what_they_say(document: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / document).read_text(encoding="utf-8")
    # a block that is only shown must not reach into one that prints
    examples = re.findall(r"```python\n((?:(?!```).)*)```\n\nprints\n\n```\n(.*?)```", text, flags=re.S)
    examples = [each for each in examples if "SparkSession" not in each[0]]  # test_guides.py runs these
    assert examples
    for code, printed in examples:
        exec(compile(code, document, "exec"), {"__name__": "__main__"})
        assert capsys.readouterr().out == printed


def test_every_path_the_documents_name_exists() -> None:
    for document in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        text = document.read_text(encoding="utf-8")
        for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
            if "://" not in link:
                assert (document.parent / link).exists(), f"{document.name} links to {link}"
        for path in re.findall(r"`((?:src|tests|docs|bench|scripts)/[\w/.]+?)`", text):
            assert (ROOT / path).exists(), f"{document.name} names {path}"
