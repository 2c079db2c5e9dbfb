"""A fake Column with what a plan reads of one: the module of its type, and its text."""

from __future__ import annotations


class Column:
    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return f"Column<'{self.text}'>"

    def isNotNull(self) -> None:  # noqa: N802
        raise AssertionError("a plan calls nothing")


Column.__module__ = "pyspark.sql.classic.column"
