"""Statements with every clause of SQL, one a line: those that are refused (`refused.txt`), with what is wrong between
« and », and those that are executed (`accepted.txt`), with the same question for DuckDB; ⏎ is a new line."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent


def marked(line: str) -> tuple[str, int | None, int]:
    """The text, and where what is marked in it begins and ends; None: nothing is."""
    begin = line.find("«")
    if begin < 0:
        return line, None, 0
    return line.replace("«", "").replace("»", ""), begin, line.index("»") - 1


def refused() -> list[str]:
    """Return the refused statements with their marks."""
    return (HERE / "refused.txt").read_text("utf-8").splitlines()


def accepted() -> list[tuple[str, str]]:
    """Return pairs of our statement and DuckDB's."""
    lines = (HERE / "accepted.txt").read_text("utf-8").splitlines()
    return [(ours, theirs) for ours, theirs in (line.replace("⏎", "\n").split(" ==> ") for line in lines)]
