"""`thalweg report EVENTS.jsonl`: what a filter chain did and why, from the events it recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from thalweg.cli.failure import told_in_one_sentence
from thalweg.errors import ThalwegError
from thalweg.events import Record, read
from thalweg.report import fold
from thalweg.report.words import many


def report(
    events: Annotated[Path, typer.Argument(help="A file of event records, as written by tw.filters(events=...).")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Print the report of recorded events."""
    with told_in_one_sentence():
        folded = fold(_records(events))
        if not folded.sections:
            raise ThalwegError(f"{events} holds no observations yet: has the query finished a batch?")
        typer.echo(json.dumps(folded.to_dict(), indent=2) if as_json else str(folded))


def _records(path: Path) -> Iterator[Record]:
    if not path.is_file():
        raise ThalwegError(f"there is no file {path}: name the one that was given as tw.filters(events=...)")
    good = 0
    try:
        for record in read(path):
            yield record
            good += 1
    except OSError as error:
        raise ThalwegError(f"cannot read {path}: {error.strerror}") from error
    except (ThalwegError, ValueError, TypeError, AttributeError) as error:
        raise ThalwegError(
            f"{path} is no file of event records: after {many(good, 'good one')} comes something else ({error})"
        ) from error
