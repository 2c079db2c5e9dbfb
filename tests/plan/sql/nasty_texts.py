"""Texts that mean something to a parser: each is a value and a name like any other."""

from __future__ import annotations

TEXTS = [
    "${env:HOME}", "${env:PATH}", "${system:user.name}", "${spark.app.name}", "${hiveconf:spark.app.id}",
    "${spark:spark.master}", "${hivevar:x}", "${env:NOT_THERE}", "${", "$", "$1", "\\${env:HOME}", "'", "''", "\"",
    "\\", "\\\\", "\\'", "a\\", "x' OR '1' = '1", "'; DROP TABLE s; --", "-- comment", "/* comment */", "%_\\%", ":a",
    "?", "`", "`a`", "*", "a.b", "\\u0041\\101", "line\nbreak\r\n\ttab", "\x00\x01\x1a\x7f", "ß日本𝒳\u2028",
]  # fmt: skip
"""What Spark substitutes, what ends or escapes a literal or begins a comment or parameter, and control characters."""


def quoted_text(text: str) -> str:
    """As a literal of SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def quoted_name(name: str) -> str:
    """As a name of SQL."""
    return "`" + name.replace("`", "``") + "`"


def like_pattern(text: str) -> str:
    """A pattern of LIKE that only this text matches."""
    return "".join("\\" + letter if letter in "\\%_" else letter for letter in text)
