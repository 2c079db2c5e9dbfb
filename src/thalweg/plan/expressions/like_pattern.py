"""Split a LIKE pattern into its parts, as Spark does.

>>> like_parts("a!%_", "!")
[(False, 'a'), (False, '%'), (True, '_')]
>>> like_parts("a!b", "!")
Traceback (most recent call last):
ValueError: '!' comes before 'b'; use it only before %, _ and itself
"""

from __future__ import annotations


def like_parts(pattern: str, escape: str = "\\") -> list[tuple[bool, str]]:
    """Return the characters of a pattern, each with whether it is a wildcard."""
    parts: list[tuple[bool, str]] = []
    letters = iter(pattern)
    for letter in letters:
        if letter == escape:
            follows = next(letters, None)
            if follows is None:
                raise ValueError(f"it ends with {escape!r}; use it only before %, _ and itself")
            if follows not in ("%", "_", escape):
                raise ValueError(f"{escape!r} comes before {follows!r}; use it only before %, _ and itself")
            parts.append((False, follows))
        else:
            parts.append((letter in ("%", "_"), letter))
    return parts
