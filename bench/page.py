"""Print tables of runs or put them into a page of the documentation: one command per benchmark."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Line = dict[str, Any]


def tables_of_runs(
    arguments: Sequence[str],
    prog: str,
    about: str | None,
    begin: str,
    end: str,
    tables: Callable[[list[Line]], list[str]],
) -> int:
    """Print the tables of one or several files, or put them between the marks of a page."""
    parser = argparse.ArgumentParser(prog=prog, description=about)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN.jsonl")
    parser.add_argument(
        "--into", type=Path, metavar="PAGE", help=f"replace the text between {begin} and {end} in this page"
    )
    asked = parser.parse_args(arguments)
    lines = [json.loads(text) for path in asked.runs for text in path.read_text(encoding="utf-8").splitlines()]
    made = "\n".join(tables(lines))
    if asked.into is None:
        print(made)
        return 0
    before, rest = asked.into.read_text(encoding="utf-8").split(begin)
    asked.into.write_text(f"{before}{begin}\n\n{made}\n\n{end}{rest.split(end)[1]}", encoding="utf-8")
    return 0
