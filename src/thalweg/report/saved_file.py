"""Writes what a user saves to a file whose suffix sets the format."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from thalweg.errors import PlanError, nearest
from thalweg.given_path import given_path

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 15px/1.45 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; }}
h1 {{ font-size: 1.3em; }}
h4 {{ font-size: 1em; margin: 1.4em 0 .3em; }}
ul {{ margin: .2em 0; }}
li {{ overflow-wrap: anywhere; }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


def save_as(path: str | os.PathLike[str], forms: Mapping[str, Callable[[], str]], use: str) -> None:
    """Write one of several forms, by the suffix of the file. `use`: the formats, for an error."""
    file = Path(given_path(path))
    if (form := forms.get(file.suffix.lower())) is None:
        has = f"ends with {file.suffix!r}" if file.suffix else "has no suffix"
        raise PlanError(
            f"save({os.fspath(path)!r}): the name {has}, which is not a known format{nearest(file.suffix, forms)}; "
            f"use {use}"
        )
    try:
        # names may contain lone surrogates, which UTF-8 cannot encode
        file.write_text(form().rstrip("\n") + "\n", "utf-8", errors="backslashreplace", newline="\n")
    except (OSError, ValueError) as error:
        raise PlanError(f"save({os.fspath(path)!r}): {_why(file, error)}") from None


def _why(file: Path, error: OSError | ValueError) -> str:
    """Return what is wrong with a path, and what to do."""
    if isinstance(error, FileNotFoundError):
        return f"there is no folder {str(file.parent)!r}; create it first"
    if isinstance(error, IsADirectoryError):
        return "this is a folder; give the name of a file in it"
    return f"the file cannot be written: {error.strerror if isinstance(error, OSError) else error}"
